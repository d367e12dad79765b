"""The device throttles itself because it is hot.

What it claims
    The device of a lowest layer reduced its own speed to cool down while it was measured, and the layer gives less
    than it should.
Why it matters
    It looks like a slow or capped medium, and only under load: after a pause it is fast again. A new device in the
    same slot would throttle as well.
Evidence it needs
    Operational: in at least half of the layer's workloads the device itself counts thermal throttling for half of the
    time or more (``nvme_throttled_seconds``). Differential: these workloads give less than the specification or an
    earlier run, by a factor of 1.25 or more.
What rules it out
    A device that counts no throttling; as many IOPS as it should give while it throttles. Without a specification and
    an earlier run it is not known what the heat costs: that it is hot is said, and no verdict made of it.
What to do next
    Improve its cooling (air flow, heat sink, another slot), then lower the load or raise the thresholds of its thermal
    management; measure again when it has cooled down.
How sure
    By the share of the workloads in which it throttles.
Example
    8 KiB reads at depth 32 give 820 IOPS where 1 640 are specified, and the device throttles for all of the time.
Source
    NVM Express base specification 2.0, host controlled thermal management, and the SMART / Health log (time in each
    thermal management temperature).
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from strata import units
from strata.diagnose.case import Case, Station
from strata.diagnose.evidence import differential, operational
from strata.diagnose.opinion import Opinion, Weight
from strata.diagnose.own_limits import SLOW
from strata.diagnose.reference import grounds, held, known
from strata.model.analysis import CellSummary
from strata.model.counters import health
from strata.model.finding import Cause

CAUSE = Cause.HOT_MEDIUM
PRECEDENCE = 17
SIDES = ("far",)
THROTTLED = 0.5
"""Share of a workload's time. The device counts whole seconds or minutes: less than that may be the rounding."""


def judge(case: Case) -> Iterator[Opinion]:
    """Of the lowest layers, whose devices were asked for their health."""
    for station in grounds(case):
        told = [(cell, share) for cell in station.cells if (share := _throttled(cell)) is not None]
        hot = [(cell, share) for cell, share in told if share >= THROTTLED]
        if hot and 2 * len(hot) >= len(told):
            yield _opinion(case, station, hot, len(told))


def _throttled(cell: CellSummary) -> float | None:
    """Share of the time, of the device that throttles most; None where no device was asked."""
    found = [r.value for r in cell.readings.of(health.THROTTLED) if r["device"] in cell.devices]
    return min(1.0, max(found)) if found else None


def _opinion(case: Case, station: Station, hot: list[tuple[CellSummary, float]], looked: int) -> Opinion:
    layer, should = station.layer.name, known(case, station)
    keys = frozenset(cell.workload.key for cell, _ in hot)
    compared = [h for h in held(station, should) if h.key in keys]
    lost = -float(np.mean([h.ratio_log for h in compared])) if compared else 0.0
    slow = [h for h in compared if h.ratio_log + 2 * h.sd < 0 and h.ratio_log <= -np.log(SLOW)]
    cell, share = max(hot, key=lambda one: one[1])
    seen = operational(
        f"the device throttled itself in {len(hot)} of {looked} workloads; {cell.workload.label}: for "
        f"{units.percent(share, 2)} of the time",
        [c for c, _ in hot],
    )
    if should is None or not compared:
        return Opinion(
            weight=Weight.SHOWN,
            title=f"{layer} is hot and throttles itself",
            explanation="What that costs is not known: neither a specification nor an earlier run says what the device "
            "gives when it is cool.",
            next_step="Let it cool down and measure again; state what it should give (expect.iops, expect.latency).",
            cells=keys,
            strength=0.4,
            evidence=(seen,),
            missing=("a specification (expect) or an earlier run of the cool device",),
            layer=layer,
        )
    if not slow:
        return Opinion(False, f"it gives as much as in {should.source} while it throttles", layer=layer)
    worst = min(slow, key=lambda h: h.ratio_log)
    compared_with = differential(
        f"{worst.cell.workload.label}: {units.count(worst.measured)} IOPS, {units.count(worst.promised)} by "
        f"{should.source}",
        [h.cell for h in slow],
    )
    return Opinion(
        weight=Weight.SHOWN,
        title=f"{layer} is hot and throttles itself",
        explanation=f"The device reduced its own speed to cool down in {len(hot)} of {looked} workloads, and gives "
        f"down to {units.percent(worst.measured / worst.promised, 2)} of {should.source}.",
        next_step="Improve its cooling (air flow, heat sink, another slot), then lower the load or raise the "
        f"thresholds of its thermal management; cool it would give {units.count(worst.promised)} IOPS in {worst.key}.",
        cells=keys,
        strength=min(1.0, 0.5 + len(hot) / (2 * looked)),
        lead=2.0 * len(hot),
        evidence=(seen, compared_with),
        layer=layer,
        loss=max(0.0, lost),
    )
