"""A layer reaches other data than the layer it is compared with.

What it claims
    The data that this layer reads and writes is not that of the layers below: another file, volume or export answers.
Why it matters
    The whole comparison is meaningless, and this mistake takes the longest to find.
Evidence it needs
    Operational: the device that the layer stands on moved less than a twentieth of what the layer read **and** of what
    it wrote through, while the same workloads from below reached it. Differential: a figure that no layer above that
    device can have, where there is one.
What rules it out
    Writes that reach the device (then a cache answers the reads); a device that is not observed; as many bytes at
    another device of the same stack (then the path to the data is another one, not the data).
What to do next
    Check where the export, the mount or the mapping leads and compare it with the file below; then measure again.
How sure
    By how little the device moved. Strata reads its own mark through every layer before it measures, so this cause is
    seen where something is swapped afterwards, and in the figures of other tools.
Example
    An export that was redirected to a copy on a faster disk: 9 400 IOPS at the share, 0 requests at the volume's
    device.
Source
    Operational conservation: what a layer moves, the device below it moves (Denning, Buzen 1978).
"""

from __future__ import annotations

from collections.abc import Iterator

from strata import units
from strata.diagnose.case import Case, Station
from strata.diagnose.evidence import differential, operational
from strata.diagnose.opinion import Opinion, Weight
from strata.model.analysis import CellSummary
from strata.model.counters import blockdev
from strata.model.finding import Cause

CAUSE = Cause.WRONG_FILE
PRECEDENCE = 5
SIDES = ("figures",)
NOTHING, REACHED = 0.05, 0.5


def judge(case: Case) -> Iterator[Opinion]:
    """Every layer whose reads and writes never reached the device it stands on."""
    known = {name for s in case.stations for c in s.cells for name in (*c.devices, *c.carriers)}
    for station in case.stations:
        missed = [c for c in station.cells if (share := moved(c)) is not None and share <= NOTHING]
        if any(elsewhere(c, known) >= REACHED for c in missed):
            # The same data by another way: a path that is redirected is no other file.
            continue
        if {c.workload.rw.writes for c in missed} != {False, True}:
            continue
        below = [s for s in case.stations if s.layer.name in station.layer.on]
        if any(reached(below, c) for c in missed) and len(missed) >= 0.6 * len(station.cells):
            yield _opinion(station, missed)


def moved(cell: CellSummary, *, at_most: bool = False) -> float | None:
    """Bytes at the devices that the data lies on for each byte of the application, in the direction of the workload.

    ``at_most``: the upper ends of the intervals. Several that share the data count together; those below one carry
    parts of it (a stripe) or more of it (copies).
    """
    direction = "write" if cell.workload.rw.writes else "read"
    names = carriers(cell)
    if not names or (cell.workload.rw.writes and cell.workload.rw.reads):
        return None
    # A place that took no part at all is in no flow: it counts as nothing only where the device was read.
    if any(not cell.readings.of(blockdev.READ_BYTES, device=name) for name in names):
        return None
    flows = (f for f in cell.flows if f.kind == "device" and f.node is None and f.direction == direction)
    return sum((at_most and f.per_byte.high) or f.per_byte.value for f in flows if f.name in names)


def elsewhere(cell: CellSummary, known: set[str]) -> float:
    """The most bytes, for each of the application, at another device that some layer of the stack stands on."""
    direction = "write" if cell.workload.rw.writes else "read"
    own = {*cell.devices, *cell.carriers}
    flows = (f for f in cell.flows if f.kind == "device" and f.direction == direction and f.name in known - own)
    return max((f.per_byte.value for f in flows), default=0.0)


def carriers(cell: CellSummary) -> tuple[str, ...]:
    """The devices that the data lies on; in a run that does not name them the uppermost of all."""
    return cell.carriers or cell.devices[:1]


def reached(below: list[Station], cell: CellSummary) -> bool:
    """Whether the same workload from a layer below did reach its device."""
    same = [c for s in below if (c := s.cell(cell.workload.key)) is not None]
    return any((moved(c) or 0.0) >= REACHED for c in same)


def _opinion(station: Station, missed: list[CellSummary]) -> Opinion:
    name, device = station.layer.name, " and ".join(carriers(missed[0]))
    most = max(moved(c) or 0.0 for c in missed)
    return Opinion(
        title=f"{name} does not read and write the data of the layer below",
        explanation=f"In {len(missed)} of {len(station.cells)} workloads {device} moved at most "
        f"{units.percent(most, 2)} of the bytes, including written ones, while the same workloads from below reached "
        "it.",
        next_step=f"Check where the endpoint of {name} leads and compare it with the file below, then measure again.",
        cells=frozenset(c.workload.key for c in missed),
        strength=len(missed) / len(station.cells),
        lead=8.0,
        evidence=(
            operational(
                f"{device} moved at most {units.percent(most, 2)} of the bytes that {name} read and wrote", missed
            ),
            differential("the same workloads from the layer below reached it", missed),
        ),
        weight=Weight.SHOWN,
        layer=name,
        loss=1.0,
    )
