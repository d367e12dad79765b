"""A limit on bytes per second.

What it claims
    The layer carries a fixed number of bytes per second, whatever the size of a request, and no wire is saturated.
Why it matters
    It is a setting (a volume type, a quality of service, a control group) or a link that is slower than the device.
    Small requests do not reach the limit, so it shows only under load.
Evidence it needs
    Differential: X = min(specified, B ÷ size) with one B for all sizes and depths; at a layer above another, X =
    min(below, B ÷ size) where the layer has no wire. Operational: requests wait although a single one is as fast as
    specified.
What rules it out
    Small requests that lose more than the limit explains; any read that moves more bytes per second than the limit.
What to do next
    Look for a bytes-per-second limit on the volume, the device or its control group (``io.max``), and check the
    link's speed.
How sure
    By the part of the loss that is explained, and by how much better it fits than a cap on requests and a slow
    medium.
Example
    128 KiB reads stop at 60 MB/s where 179 MB/s are specified; 8 KiB reads give 1 640 IOPS as they should.
Source
    Asymptotic bounds (Denning, Buzen 1978); the kernel's cgroup documentation (io.max: rbps, wbps).
"""

from __future__ import annotations

from collections.abc import Iterator

from strata import units
from strata.diagnose import blamed, observe, own_limits
from strata.diagnose.blamed import LimitText
from strata.diagnose.case import Case, Pair
from strata.diagnose.evidence import operational
from strata.diagnose.models import LimitDirection, LimitKind
from strata.diagnose.opinion import Opinion
from strata.diagnose.own_limits import GroundLayer, Limit
from strata.model.finding import Cause

CAUSE = Cause.BANDWIDTH_CAP
PRECEDENCE = 58
SIDES = ("full", "bytes", "between", "far")
predict = own_limits.of_experiment
NEXT_STEP = (
    "Look for a bytes-per-second limit on the volume, the device or its control group (io.max), and check the link's "
    "speed"
)


def judge(case: Case) -> Iterator[Opinion]:
    """Of a layer by itself, against its specification."""
    return blamed.judged(case, CAUSE, _said)


def judge_pair(pair: Pair) -> Opinion | None:
    """Of a layer over another, where no wire lies between them: on a wire it is the wire's."""
    view, found = pair.view, pair.shape(LimitKind.BANDWIDTH)
    if view.wired:
        return None
    bound = observe.bound(view, found)
    if pair.best is not found or not pair.acceptable(found) or not bound:
        return observe.refuted(pair, LimitKind.BANDWIDTH)
    rate = units.rate(found.parameter)
    where = "" if found.scope is LimitDirection.BOTH else f" for {found.scope.value}"
    missing = observe.missing_beside(bound)
    return observe.fitted(
        pair,
        found,
        bound,
        f"one limit of {rate} explains {units.percent(found.explained, 2)} of the loss; the "
        f"limited workloads give {observe.spread([p.x * p.bs for p in bound], 'rate')}",
        holds=None if missing else True,
        missing=missing,
        title=f"the layer is limited to {rate}{where}",
        explanation=f"{observe.stopping([p.bs for p in bound], rate)}, and there is no wire "
        f"between {view.layer.name} and {view.below.name}.",
        next_step=f"{NEXT_STEP}.",
        lead=pair.lead(LimitKind.BANDWIDTH),
    )


def _said(own: GroundLayer, limit: Limit) -> LimitText:
    layer, rate = own.station.layer.name, units.rate(limit.parameter)
    bound = [h for h in own.slow if h.key in limit.rows]
    sizes = units.span(units.size(round(min(h.size for h in bound))), units.size(round(max(h.size for h in bound))))
    free = next((h for h in own.cells if h not in own.slow), None)
    spared = f"{free.cell.workload.label} performs as specified" if free else "all workloads are limited"
    return LimitText(
        title=f"{layer} is limited to {rate}",
        explanation=f"Workloads with blocks of {sizes} stop at {rate}; {spared}.",
        next_step=f"{NEXT_STEP}; without the limit, {units.rate(max(h.promised * h.size for h in bound))} are "
        "specified.",
        evidence=operational(
            f"the limited workloads give {observe.spread([h.measured * h.size for h in bound], 'rate')}; {spared}",
            [h.cell for h in own.cells],
        ),
    )
