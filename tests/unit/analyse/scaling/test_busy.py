"""What is named as full at the knee, and what is not."""

from __future__ import annotations

import pytest

from strata.analyse.scaling.busy import saturated
from strata.analyse.scaling.demands import demands_of
from strata.model.estimate import Estimate
from strata.model.scale import Busy, ScalePoint


def one(value: float, unit: str) -> Estimate:
    return Estimate(value=value, low=None, high=None, n=1, unit=unit)


def points(rest: float, each: float, of: str = "cores") -> list[ScalePoint]:
    """Two CPUs that are in use for ``rest`` whatever is done, and ``each`` seconds for an I/O, up to 2,000 a second."""
    found = []
    for n in (1, 2, 4, 8, 16, 32):
        iops = min(250.0 * n, 2000.0)
        share = min(1.0, (rest + each * iops) / 2)
        busy = Busy(name=of, of=of, share=share, servers=2.0, demand_ns=one(share * 2 / iops * 1e9, "ns"))
        found.append(ScalePoint(layer="x", value=n, outstanding=n, iops=one(iops, "IOPS"), busy=(busy,)))
    return found


def ours(some: list[ScalePoint]) -> dict[str, float]:
    return {d.name: d.seconds for d in demands_of(some).each}


def test_cpus_that_follow_the_rate_are_named_and_those_that_others_fill_are_not() -> None:
    mine, others = points(0.05, 0.00097), points(1.99, 0.0)
    assert saturated(mine, 8, ours(mine)).name == "cores"
    told = saturated(others, 8, ours(others))
    assert told.name is None and "other programs use them" in told.says


def test_the_demand_is_the_slope_and_what_others_take_is_taken_from_what_there_is() -> None:
    (demand,) = demands_of(points(0.6, 0.0005)).each
    assert demand.seconds == pytest.approx(0.0005) and demand.servers == pytest.approx(1.4)
    assert demands_of(points(0.6, 0.0)).each == ()


def test_a_device_that_is_never_idle_is_not_named() -> None:
    told = saturated(points(1.99, 0.0, "device@vda"), 8, {})
    assert told.name is None and "never idle" in told.says


def test_without_a_knee_nothing_is_full() -> None:
    assert "not reached" in saturated(points(0.0, 0.001), None, {}).says


def test_a_card_of_the_path_has_a_demand_where_the_rate_does_not_grow_and_cpus_that_others_use_have_none() -> None:
    """Full from the first point on: the rate tells no slope, and the other programs' CPUs must not bound anything."""
    found = []
    for n, iops in zip((1, 2, 4, 8, 16), (172.0, 182.0, 180.0, 181.0, 182.0), strict=True):
        used = [("card@eth0-of-n1", iops / 183, 1.0), ("cores", 0.99 + 0.00005 * iops, 2.0)]
        busy = tuple(
            Busy(name=name, of=name, share=share, servers=many, demand_ns=one(share * many / iops * 1e9, "ns"))
            for name, share, many in used
        )
        found.append(ScalePoint(layer="x", value=n, outstanding=n, iops=one(iops, "IOPS"), busy=busy))
    (demand,) = demands_of(found).each
    assert demand.name == "card@eth0-of-n1" and demand.seconds == pytest.approx(1 / 183, rel=1e-6)
