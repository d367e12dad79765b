"""The words of a sweep, the workload at each value of its axis, and the plan."""

from __future__ import annotations

import os

from pydantic import ValidationError

from strata import units
from strata.app.matrix import ENDPOINT_SIZE
from strata.app.options import Options
from strata.app.until import half_width
from strata.errors import UsageError, choices
from strata.model.access import ByteRange
from strata.model.caching import refusal
from strata.model.endpoint import EndpointKind
from strata.model.placement import Placement
from strata.model.plan import HEAD, Cell, Plan, Step
from strata.model.scale import Axis, ScaleAsk
from strata.model.stack import Stack
from strata.model.workload import ClosedLoop, OpenLoop, Workload
from strata.model.workload_options import CONNECTIONS_MOST, OPTIONS
from strata.plan.matrix import most_written
from strata.run.scale import ladder

SPELLED = {"numjobs": Axis.THREADS, "depth": Axis.IODEPTH}
"""Other words of the field for an axis."""
MOST_VALUES = 40
EXAMPLE = "for example: strata scale file:/mnt/new.dat --over iodepth --points 1,2,4,8,16,32,64"
TARGET = 0.02
RAMP_S, SHORTEST_S, LONGEST_S = 0.15, 0.2, 3.0
OVERHEAD_S = 0.15
"""A point's time beside ramp and measurement: open, sample, commit. No measurement: an allowance."""
ROUNDS_OF_BUDGET = 0.7


def ask_of(
    over: str, points: str | None, budget: str | None, until: str | None, worth: str | None, *, open_loop: bool,
    what_if: tuple[str, ...], size: int | None,
) -> ScaleAsk:  # fmt: skip
    """From the user's words; ``size``: of the data, where it was said. Raises `UsageError`."""
    word = over.strip().lower().lstrip("-")
    names = [a.value for a in Axis] + list(SPELLED)
    if word not in names:
        raise UsageError("cannot scale over", over, "it is not an axis", choices(word, names))
    axis = SPELLED.get(word) or next(a for a in Axis if a.value == word)
    budget_s = units.parse_duration_ns(budget or "1m") / units.NS_PER_S
    if budget_s <= 0:
        raise UsageError("cannot use --budget", budget or "", "it must be greater than 0", "for example --budget 1m")
    for one in what_if:
        _check_what_if(one)
    return ScaleAsk(
        axis=axis, values=_values(axis, points, size), budget_s=budget_s,
        target=TARGET if until is None else half_width(until), worth=gain_of(worth), open_loop=open_loop and axis.load,
        what_if=what_if,
    )  # fmt: skip


def gain_of(text: str | None) -> float:
    """The gain of a doubling below which it is not worth it: 0.2 from ``20%``. Raises `UsageError`."""
    if text is None:
        return 0.2
    try:
        share = float(text.strip().removesuffix("%")) / 100
    except ValueError:
        share = 0.0
    if not 0.01 <= share < 1:
        raise UsageError("cannot use --worth", text, "it is not a gain from 1 to 99 percent", "for example --worth 20%")
    return share


def _check_what_if(text: str) -> None:
    name, equals, value = text.partition("=")
    value, _, place = value.partition("@")
    try:
        sound = bool(name.strip()) and equals == "=" and value.strip() != "" and units.parse_size(place or "1") > 0
        if sound and not value.strip().endswith(("s", "x")):
            sound = float(value) > 0
        elif sound and value.strip().endswith("x"):
            sound = float(value.strip()[:-1]) > 0
        elif sound:
            units.parse_duration_ns(value)
    except (ValueError, UsageError):
        sound = False
    if not sound:
        why = "it is not NAME=VALUE[@N] with a number above 0, a factor (2x) or a time (500us)"
        raise UsageError("cannot use --what-if", text, why, "for example --what-if cores=2x --what-if iodepth=256")


def _values(axis: Axis, points: str | None, size: int | None) -> tuple[int, ...]:
    room = (size or ENDPOINT_SIZE) - HEAD
    most = axis.most or (len(usable()) if axis is Axis.CORES else room)
    if points is None:
        return ladder(axis.least, max(most, axis.least))
    try:
        parts = [p.strip() for p in points.split(",") if p.strip()]
        found = sorted({units.parse_size(p) if axis.size else int(p) for p in parts})
    except (ValueError, UsageError) as e:
        raise UsageError("cannot use --points", points, str(e), EXAMPLE) from e
    if axis is Axis.RANGE:
        sound = all(v >= units.MIB and (size is None or v <= room) for v in found)
        why = f"working sets lie between 1 MiB and {units.size(room)}, what the test file has behind its mark"
    elif axis.means:
        sound, bound = True, CONNECTIONS_MOST if axis is Axis.CONNECTIONS else most
        sound, why = all(1 <= v <= bound for v in found), f"{axis.value} must be in 1..{bound}"
    else:
        row = OPTIONS[axis.value]
        sound, why = all(map(row.holds, found)), f"{axis.value} must be in {row.within}"
    if not found or not sound or len(found) > MOST_VALUES:
        raise UsageError("cannot use --points", points, why if not sound else f"1 to {MOST_VALUES} values", EXAMPLE)
    return tuple(found)


def at_value(base: Workload, axis: Axis, value: int) -> Workload:
    """The workload with this value of the axis. Raises `UsageError` where it cannot be."""
    changed: dict[str, object]
    match axis:
        case Axis.IODEPTH:
            changed = {"arrival": base.arrival.model_copy(update={"iodepth": value})}
        case Axis.THREADS:
            changed = {"threads": value}
        case Axis.CLIENTS:
            changed = {"clients": value}
        case Axis.BS:
            changed = {"bs": value}
        case Axis.RANGE:
            changed = {"range": ByteRange(start=0, length=value)}
        case _:
            return base
    try:
        return Workload.model_validate(base.model_copy(update=changed).model_dump())
    except ValidationError as e:
        why = "; ".join(str(p["msg"]).removeprefix("Value error, ") for p in e.errors())
        raise UsageError(f"cannot use {axis.value}={value} with", base.label, why) from e


def cell_at(base: Workload, axis: Axis, layer: str, value: int) -> Cell:
    """The cell of a layer with this value of the axis."""
    return Cell(layer=layer, workload=at_value(base, axis, value), at=(axis.value, value) if axis.means else None)


def usable() -> tuple[int, ...]:
    """The CPUs on which this process may run."""
    return tuple(sorted(os.sched_getaffinity(0)))


def placed_at(cell: Cell, placement: Placement | None) -> Placement | None:
    """Where the load's threads run in this cell."""
    if cell.at is None or cell.at[0] != Axis.CORES:
        return placement
    return Placement(cpus=usable()[: cell.at[1]])


def check_base(base: Workload, ask: ScaleAsk) -> None:
    """Raises `UsageError` where the workload fixes what is to grow, or is no closed loop."""
    axis = ask.axis
    if isinstance(base.arrival, OpenLoop):
        why = "it has a fixed rate, and a sweep finds the rate"
        raise UsageError("cannot scale", base.label, why, "leave --rate-iops out; open loops are added by themselves")
    if isinstance(base.arrival, ClosedLoop) and base.arrival.limits is not None:
        why = "limits and pauses of the load generator would be what is found"
        raise UsageError("cannot scale", base.label, why, "leave --limit-iops, --limit-bytes and --thinktime out")
    most = max(ask.values)
    if axis is Axis.CONNECTIONS and (base.outstanding < most or base.threads > min(ask.values)):
        why = f"{most} connections need as many I/Os in flight, and every thread has one of its own"
        raise UsageError(
            "cannot scale over connections with", base.label, why, f"--iodepth {max(32, most)} --numjobs 1"
        )
    if axis is Axis.CORES and base.threads < most:
        why = f"{base.threads} threads do not run on {most} CPUs"
        raise UsageError("cannot scale over cores with", base.label, why, f"--numjobs {most}")
    if axis is Axis.BS and base.bssplit is not None:
        raise UsageError("cannot scale over bs with", base.label, "--bssplit fixes the sizes", "leave --bssplit out")


def scale_plan(
    stack: Stack, ask: ScaleAsk, base: Workload, options: Options, run_id: str, size: int, *, writable: bool
) -> Plan:
    """The ladder at every layer; further points are added as they are wanted."""
    raw = {x.name for x in stack.layers if x.target.kind is EndpointKind.BLOCK and not writable}
    cells = []
    for value in ask.values:
        for x in stack.layers:
            made = cell_at(base, ask.axis, x.name, value)
            skip = refusal(x.target, made.workload, read_only=x.name in raw)
            if ask.axis is Axis.CONNECTIONS and not x.target.remote:
                skip = "no connections lead there"
            cells.append(made.model_copy(update={"skip": skip}))
    live = [c for c in cells if c.skip is None]
    if not live:
        raise UsageError("nothing to measure with", base.label, cells[0].skip or "", "choose a workload that reads")
    each = ROUNDS_OF_BUDGET * ask.budget_s / (3 * (len(live) + 4 * len(stack.layers))) - RAMP_S - OVERHEAD_S
    # Whole tenths of a second: a CPU quota is one for each of them.
    runtime_s = min(LONGEST_S, max(SHORTEST_S, round(each, 1)))
    return Plan(
        id=run_id, stack=stack, cells=tuple(cells),
        steps=tuple(Step(order=i, round=0, cell=c.key) for i, c in enumerate(live)),
        rounds=1, seed=options.seed, ramp_s=RAMP_S, runtime_s=runtime_s, interval_s=min(0.1, runtime_s),
        file_size=size, seconds=ask.budget_s,
        bytes_written=most_written(tuple(c.workload for c in live), len(stack.layers), ask.budget_s, size),
        assumed_write_bps=0, placement=options.placement, scale=ask,
    )  # fmt: skip
