"""Where the rate of a layer stops growing under load, and which resource is saturated there.

What it asks
    Rows that differ only in the load (threads): whether the last of them is past the knee, and which resource with a
    printed utilisation is saturated in it.
Evidence
    The utilisation in the last row (`busy.server`, `busy` of the client, a `link` with the bytes it carries); the last
    row but one, whose rate ÷ utilisation predicts what a saturated resource gives; the gain of the last step.
What it cannot tell
    A resource that is not printed. A rate that stops growing names no resource: not the one that is left over, and not
    the one that one expects. A device that is busy all the time may still serve several requests at once.
Source
    Denning and Buzen, The operational analysis of queueing network models, ACM Computing Surveys 10 (1978); Talpey,
    SMB3 application workload performance (SNIA Storage Developer Conference).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from strata import units
from strata.analyse.scaling.table import (
    CLIENT,
    DEVICE,
    SERVER,
    WIRE,
    LoadResponse,
    LoadSeries,
    ScalingPoint,
    courses,
    usl,
)
from strata.model.cause import Cause
from strata.model.figures import Conclusion, Standing, Table

NAME, ORDER = "scaled", 20
READS = frozenset({"iops", "rate", "size", "threads", "busy"})
CAUSES = {SERVER: Cause.PROCESSORS, CLIENT: Cause.CLIENT_PROCESSORS, WIRE: Cause.WIRE_BANDWIDTH, DEVICE: Cause.MEDIUM}
WORDS = {
    SERVER: "the server's CPUs",
    CLIENT: "the client's CPUs",
    WIRE: "the wire",
    DEVICE: "the device",
}
STEPS = {
    SERVER: "Give the server more or faster cores, or ask for larger blocks; more threads only wait.",
    CLIENT: "Share the load among more clients, or ask for larger blocks.",
    WIRE: "Add or widen links; more threads and faster disks would not help.",
    DEVICE: "Add devices; check how many requests it serves at once.",
}
PREDICTS = 0.15
"""X ÷ U of the row before predicts the full one within this: the cost of a request is not quite constant."""


def conclude(table: Table) -> Iterator[Conclusion]:
    """One answer for each series that bends or is flat."""
    found = tuple(courses(table))
    for course in found:
        if course.shape is not LoadResponse.GROWS:
            yield _full(course) if course.full else _nothing_full(course, found)


def named(resource: str) -> str:
    """``the server's CPUs``."""
    return WORDS.get(resource, resource)


def _full(course: LoadSeries) -> Conclusion:
    resource = course.full[0]
    before, after = course.last
    predicted = course.predicted(resource)
    holds = predicted is not None and abs(after.rate / predicted - 1) <= PREDICTS
    because = [_grown(course), _shares(after)]
    if predicted is not None:
        text = f"{units.percent(before.used[resource])} in use at {_rate(course, before)} leaves room for "
        text += f"{_amount(after, predicted)}, and {_rate(course, after)} were measured"
        because.append(
            text if holds else (f"{text}: so it was saturated before and gave less, and is not the only limit")
        )
    cost = course.cost_grew(resource)
    if cost is not None and cost >= 1.25:
        because.append(f"a request uses {units.significant(cost, 2)} times as much of it as in the first row")
    direct = holds and resource != DEVICE
    return Conclusion(
        asked=NAME,
        standing=Standing.SHOWN if direct else Standing.SUGGESTED,
        cause=CAUSES.get(resource),
        at=resource,
        says=f"{course.name}: {named(resource)} {_verb(resource)} saturated at {_load(course, after)}, with "
        f"{_rate(course, after)}",
        because="; ".join([*because, _knee(course)]) + ".",
        next_step=STEPS.get(resource, f"Give it more of {resource}."),
        rows=tuple(p.row.name for p in course.points),
        missing=()
        if len(course.full) == 1
        else (f"which of {' and '.join(map(named, course.full))} is saturated first",),
        numbers=_numbers(course) | ({"predicted": predicted} if predicted is not None else {}),
    )


def _nothing_full(course: LoadSeries, others: Sequence[LoadSeries]) -> Conclusion:
    after = course.last[1]
    flat = course.shape is LoadResponse.FLAT
    alike = next((o for o in others if _same_size(o, course) and set(o.full) - set(after.used)), None)
    because = [_grown(course), _shares(after)]
    unknown = [r for r in (SERVER, WIRE, DEVICE) if r not in after.used]
    full = None if alike is None else next(r for r in alike.full if r not in after.used)
    if alike is not None and full is not None:
        because.append(f"{named(full)} {_verb(full)} saturated in {alike.name}, and not printed here")
    saturated = "saturated" if flat else "nearly saturated"
    return Conclusion(
        asked=NAME,
        standing=Standing.OPEN,
        says=f"{course.name}: {saturated} at {_rate(course, after)}, and no resource in these figures is saturated",
        because="; ".join([*because, _knee(course)]) + ".",
        next_step=_tell(unknown, full),
        rows=tuple(p.row.name for p in course.points),
        missing=tuple(f"the utilisation of {named(r)}" for r in unknown),
        numbers=_numbers(course),
    )


def _tell(unknown: Sequence[str], alike: str | None) -> str:
    """What separates the resources that are left."""
    if alike is not None:
        return f"Read {named(alike)} in these rows as well."
    if WIRE not in unknown:
        return "Read the CPUs of the server and the queue of the devices in the last row."
    return (
        "Take one link away: if the wire is the limit, the rate falls by its share, otherwise by less. Read the "
        "server's CPUs in the last row."
    )


def _same_size(a: LoadSeries, b: LoadSeries) -> bool:
    sizes = [c.points[-1].row.figures.get("size") for c in (a, b)]
    return a is not b and None not in sizes and sizes[0] == sizes[1] and a.points[-1].load == b.points[-1].load


def _grown(course: LoadSeries) -> str:
    load, rate = course.grew
    before, after = course.last
    return (
        f"from {before.load:g} to {_load(course, after)} the rate grows {units.significant(rate)} times, and a "
        f"request takes {units.significant(load / rate)} times as long"
    )


def _shares(point: ScalingPoint) -> str:
    if not point.used:
        return "utilisation is not printed"
    used = sorted(point.used.items(), key=lambda one: -one[1])
    return "utilisation: " + ", ".join(f"{named(r)} {units.percent(share)}" for r, share in used)


def _knee(course: LoadSeries) -> str:
    text = f"requests queue from {units.significant(course.knee, 2)} {course.load_in} on"
    fitted = usl(course)
    if fitted is not None and fitted.most_at is not None and fitted.most_at <= 2 * course.points[-1].load:
        text += f", and the fitted curve has its maximum at {units.significant(fitted.most_at, 2)}"
        text += ", which was not measured" if fitted.most_at > course.points[-1].load else ""
    return text


def _numbers(course: LoadSeries) -> dict[str, float]:
    load, rate = course.grew
    numbers = {"knee": course.knee, "load_grew": load, "rate_grew": rate, "rate": course.points[-1].rate}
    numbers |= {f"used.{r}": share for r, share in course.points[-1].used.items()}
    fitted = usl(course)
    if fitted is not None:
        numbers |= {"contention": fitted.contention, "crosstalk": fitted.crosstalk}
    return numbers


def _load(course: LoadSeries, point: ScalingPoint) -> str:
    return f"{point.load:g} {course.load_in}"


def _rate(course: LoadSeries, point: ScalingPoint) -> str:
    return _amount(point, point.rate)


def _amount(point: ScalingPoint, amount: float) -> str:
    printed = point.row.figures.get("rate")
    if "iops" in point.row.figures or printed is None:
        return f"{units.count(round(amount))} IOPS"
    return f"{units.significant(amount / printed.readings[0][1])} {printed.readings[0][0]}"


def _verb(resource: str) -> str:
    return "are" if named(resource).endswith("s") else "is"
