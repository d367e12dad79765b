"""The size of a cache from the points of a sweep over the working set; the truth is what the points were made from."""

from __future__ import annotations

import numpy as np
import pytest

from strata.analyse.scaling.cache_end import cache_end
from strata.model.estimate import Estimate
from strata.model.scale import ScalePoint

MIB = 1 << 20
SIZES = (2, 4, 6, 8, 12, 16, 24, 32, 48, 64)


def points(cache: float, hit: float = 1.0, miss: float = 8.0, noise: float = 0.0, sizes=SIZES) -> list[ScalePoint]:
    """``cache`` in MiB; times in ms of one I/O in flight."""
    draw = np.random.default_rng(7)
    made = []
    for size in sizes:
        share = min(1.0, cache / size)
        rate = 1000 / (hit * share + miss * (1 - share)) * float(np.exp(draw.normal(0, noise)))
        error = 1.96 * max(noise, 0.01) * rate
        iops = Estimate(value=rate, low=rate - error, high=rate + error, n=3, unit="IOPS")
        made.append(ScalePoint(layer="x", value=size * MIB, outstanding=1, iops=iops, rounds=3))
    return made


@pytest.mark.parametrize("cache", [5.0, 8.0, 14.0, 30.0])
def test_the_corner_is_the_cache(cache: float) -> None:
    found = cache_end(points(cache))
    assert found is not None
    assert found.size.value == pytest.approx(cache * MIB, rel=0.03)
    assert found.times == pytest.approx(8, rel=0.05) and found.answers == pytest.approx(cache / 64, rel=0.05)


def test_its_interval_holds_it_where_the_points_scatter() -> None:
    found = cache_end(points(12.0, noise=0.03))
    assert found is not None and found.size.low is not None and found.size.high is not None
    assert found.size.low <= 12 * MIB <= found.size.high < 1.6 * found.size.low


@pytest.mark.parametrize(
    "made",
    [
        points(8.0, hit=1.0, miss=1.1),
        points(200.0),
        points(1.0),
        points(8.0, sizes=(4, 8, 16)),
        points(8.0, noise=0.5),
    ],
    ids=["no difference", "everything fits", "nothing fits", "few points", "noise"],
)
def test_where_no_cache_ends_none_is_told(made: list[ScalePoint]) -> None:
    assert cache_end(made) is None
