"""Laws that hold between layers, and what must be known about the whole run."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from strata import units
from strata.analyse.rounds import CellRounds
from strata.model.analysis import CellSummary, Check, CheckKind, Comparison, Equivalence, NoiseFloor
from strata.model.endpoint import EndpointKind
from strata.model.plan import Plan
from strata.model.run import DataSet
from strata.model.stack import Stack

FASTER_IMPOSSIBLE = 0.10
CACHE_SHARE = 0.5


def faster_than_below(plan: Plan, one: Comparison, noise: NoiseFloor) -> Check | None:
    """A layer adds work; beyond the noise it cannot beat what it stands on, unless a cache answers for it.

    Impossible from 10 % beyond the noise floor with caching off; buffered workloads may be answered from memory.
    """
    if one.verdict is not Equivalence.FASTER or one.iops.low is None:
        return None
    direct = all(w.direct for w in plan.workloads if w.key == one.workload_key)
    impossible = direct and one.iops.low > 1 + noise.tolerance + FASTER_IMPOSSIBLE
    text = f"{units.significant(one.iops.value)} times the IOPS of {one.below}, which it stands on"
    text += ": a cache answers, or the layers do not reach the same data" if impossible else ": look for a cache"
    return Check(
        kind=CheckKind.FASTER_THAN_BELOW,
        layer=one.layer,
        workload_key=one.workload_key,
        impossible=impossible,
        message=text,
    )


def caches(plan: Plan, cells: Sequence[CellSummary]) -> list[Check | None]:
    """Unbuffered reads must reach the device: below half a byte read per byte asked, a cache (or a hole) answered.

    Asked of local layers, and of layers that stand on a local one whose same reads did reach the device (else the
    sampled device is not the one that holds the data).
    """
    by = {(c.layer, c.workload.key): c for c in cells}
    found: list[Check | None] = []
    for cell in cells:
        share = cell.device_read_bytes_per_byte
        if share is None or not cell.workload.direct or cell.workload.rw.writes or share >= CACHE_SHARE:
            continue
        layers = [cell.layer, *below(plan.stack, cell.layer)]
        local = [n for n in layers if plan.stack.layer(n).target.kind in (EndpointKind.FILE, EndpointKind.BLOCK)]
        reached = [by.get((n, cell.workload.key)) for n in local if n != cell.layer]
        witness = any(c is not None and (c.device_read_bytes_per_byte or 0) >= CACHE_SHARE for c in reached)
        if not witness and cell.layer not in local:
            continue
        text = f"the device read {units.significant(share)} bytes per byte asked for, unbuffered"
        text += ": the reads were answered by a cache, or from parts of the file that were never written"
        found.append(
            Check(kind=CheckKind.CACHE, layer=cell.layer, workload_key=cell.workload.key, impossible=True, message=text)
        )
    return found


def below(stack: Stack, name: str) -> tuple[str, ...]:
    """Every layer under this one, nearest first."""
    found: list[str] = []
    queue = list(stack.layer(name).above)
    while queue:
        one = queue.pop(0)
        if one not in found:
            found.append(one)
            queue += stack.layer(one).above
    return tuple(found)


def identity(plan: Plan, data: DataSet | None) -> list[Check | None]:
    """Two "similar" volumes may differ by physical layout: each layer must be shown to reach the same data."""
    if data is None:
        return []
    return [
        Check(
            kind=CheckKind.IDENTITY,
            layer=layer.name,
            workload_key=None,
            impossible=False,
            message=f"it was not shown that {layer.name} reaches the same data as the layers below it",
        )
        for layer in plan.stack.layers
        if layer.name not in data.identity and layer.target.kind is not EndpointKind.NULL
    ]


def debug_build(rounds: Iterable[CellRounds]) -> Check | None:
    """An engine compiled without optimisation measures itself."""
    if not any(r.result is not None and r.result.debug_build for c in rounds for r in c.results):
        return None
    return Check(
        kind=CheckKind.BUILD,
        layer="",
        workload_key=None,
        impossible=False,
        message="the engine is a debug build: every time contains its own slowness; build with --release",
    )


def missing_counters(cells: Sequence[CellSummary], devices: bool = True) -> Check | None:
    """What was not sampled cannot speak for or against a cause.

    ``devices`` False: the data lies on no block device (a file system in memory), so none can be missed.
    """
    if not cells:
        return None
    absent = []
    if all(c.cpu_busy is None for c in cells):
        absent.append("processor time")
    if devices and all(c.device_in_flight is None for c in cells):
        absent.append("the block device")
    if not absent:
        return None
    return Check(
        kind=CheckKind.COUNTERS,
        layer="",
        workload_key=None,
        impossible=False,
        message=f"no counters of {' and '.join(absent)}: causes there can be neither named nor ruled out",
    )
