"""Where the added I/Os wait: named where the counters show it, and nothing is blamed that is well."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from strata.analyse.scaling.busy import saturated
from strata.model.estimate import Estimate
from strata.model.scale import Busy, ScalePoint

LOADS = (1, 2, 4, 8, 16, 32, 64)
ALONE_S = 0.004
Path = Callable[[int, float], tuple[float, float]]
"""From the load and the device's time to (rate, requests under way at the device)."""


def device(servers: int) -> Path:
    """So many served at once; all others wait in the device."""
    return lambda n, s: (min(n, servers) / s, n)


def queue(window: int, servers: int = 64) -> Path:
    """So many let through at once; all others wait before the device."""
    return lambda n, s: (min(n, window, servers) / s, min(n, window))


def cap(iops: float) -> Path:
    """A rate that nothing goes beyond, whatever the device does."""

    def at(n: int, s: float) -> tuple[float, float]:
        rate = min(n / s, iops)
        return rate, rate * s

    return at


def slower(iops: float) -> Path:
    """What serves before the device varies itself, as a server's thread does among other programs: ``s`` is its."""

    def at(n: int, s: float) -> tuple[float, float]:
        rate = min(n / ALONE_S, iops * ALONE_S / s)
        return rate, rate * ALONE_S

    return at


def healthy(n: int, s: float) -> tuple[float, float]:
    """Each I/O more is one more of the rate."""
    return n / s, n


def swept(path: Path, seed: int, *, varies: float = 0.03, counted: float = 0.003, split: int = 1) -> list[ScalePoint]:
    """Four rounds of each load. ``varies``: the time that an I/O takes, over the rounds; ``counted``: by what the
    counters are off; ``split``: over so many devices."""
    random, found = np.random.default_rng(seed), []
    for n in LOADS:
        rounds = [path(n, ALONE_S * float(np.exp(varies * random.standard_normal()))) for _ in range(4)]
        each = [(x, q * float(np.exp(counted * random.standard_normal()))) for x, q in rounds]
        rate, held = (float(np.mean(column)) for column in zip(*each, strict=True))
        iops = Estimate(value=rate, low=None, high=None, n=4, unit="IOPS")
        flights = {f"vd{i}": held / split for i in range(split)}
        found.append(
            ScalePoint(layer="x", value=n, outstanding=n, iops=iops, in_flight=flights, under_way=tuple(each), rounds=4)
        )
    return found


def named(path: Path, knee: float | None, many: int = 200, **how: float) -> dict[str | None, int]:
    found: dict[str | None, int] = {}
    for seed in range(many):
        told = saturated(swept(path, seed, **how), knee, {}).name  # type: ignore[arg-type]
        found[told] = found.get(told, 0) + 1
    return found


@pytest.mark.parametrize("servers", [2, 8, 16])
def test_a_device_in_which_the_added_ios_wait_is_named(servers: int) -> None:
    assert named(device(servers), servers) == {"device@vd0": 200}


def test_devices_of_a_stripe_are_named_together() -> None:
    told = saturated(swept(device(8), 1, split=4), 8, {})
    assert told.name is not None and told.name.startswith("device@vd") and "those beside it" in told.says


@pytest.mark.parametrize("window", [2, 8, 16])
def test_a_queue_before_the_device_is_named_where_its_number_stays_and_the_rate_varies(window: int) -> None:
    found = named(queue(window), window)
    assert found.get("queue", 0) >= 190 and set(found) <= {"queue", None}
    assert "a queue before the devices" in saturated(swept(queue(window), 0), window, {}).says


@pytest.mark.parametrize("path", [cap(2000.0), slower(2000.0)])
@pytest.mark.parametrize("counted", [0.003, 0.02])
def test_what_holds_the_rate_is_no_queue_and_no_device(path: Path, counted: float) -> None:
    found = named(path, 8, counted=counted)
    assert found.get(None, 0) >= 198, found


def test_where_nothing_varies_it_is_not_told_which_is_held() -> None:
    for path in (queue(8), cap(2000.0)):
        told = saturated(swept(path, 3, varies=0.0, counted=0.0), 8, {})
        assert told.name is None and "too steady to tell" in told.says


@pytest.mark.parametrize("knee", [None, 64.0, 8.0])
@pytest.mark.parametrize("varies", [0.03, 0.1])
def test_a_healthy_sweep_is_never_blamed(knee: float | None, varies: float) -> None:
    """Also where a knee was read into it."""
    assert named(healthy, knee, varies=varies) == {None: 200}


def test_a_device_that_takes_a_part_of_what_is_added_is_not_named() -> None:
    def half(n: int, s: float) -> tuple[float, float]:
        return min(n, 8) / s, n / 2

    assert named(half, 8) == {None: 200}


def test_without_the_rounds_a_queue_is_not_told_from_a_cap() -> None:
    points = [p.model_copy(update={"under_way": ()}) for p in swept(queue(8), 1)]
    told = saturated(points, 8, {})
    assert told.name is None and "too few rounds" in told.says


def test_beside_cpus_that_others_fill_it_is_said_and_not_named() -> None:
    busy = (Busy(name="cores", of="this machine's CPUs", share=1.0, servers=2.0),)
    points = [p.model_copy(update={"busy": busy}) for p in swept(device(8), 1)]
    told = saturated(points, 8, {})
    assert told.name is None and "other programs use them" in told.says and "device vd0" in told.says
