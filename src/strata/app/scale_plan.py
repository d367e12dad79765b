"""The words of a sweep, the workload at each value of its axis, and the plan."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence

from pydantic import ValidationError

from strata import units
from strata.app.options import Options
from strata.app.scale_points import WORKLOADS, each_thread
from strata.app.until import half_width
from strata.errors import UsageError, choices
from strata.host.proc import usable_cpus
from strata.model.axis import Axis, Made
from strata.model.caching import refusal
from strata.model.endpoint import EndpointKind
from strata.model.plan import HEAD, Cell, Plan, Step
from strata.model.scale import ScaleAsk
from strata.model.stack import Stack
from strata.model.workload import ClosedLoop, OpenLoop, Workload
from strata.model.workload_options import CONNECTIONS_MOST, NEW_FILE_BYTES, OPTIONS
from strata.plan.matrix import most_written
from strata.plan.words import dealt
from strata.run.scale import ladder

SPELLED = {"numjobs": Axis.THREADS, "depth": Axis.IODEPTH}
"""Other words of the field for an axis."""
MOST_VALUES = 40
MOST_THERE = 1024
"""Of what a command makes: more is a slip of the keyboard."""
EXAMPLE = "for example: strata scale file:/mnt/new.dat --over iodepth --points 1,2,4,8,16,32,64"
MORE = {
    Made.TARGETS: "name each further disk with --target URI",
    Made.NODES: "on each further node: strata node join tls://host:8786",
}
"""How there can be more of what is there."""
TARGET = 0.02
RAMP_S, SHORTEST_S, LONGEST_S = 0.15, 0.2, 3.0
OVERHEAD_S = 0.15
"""A point's time beside ramp and measurement: open, sample, commit. No measurement: an allowance."""
ROUNDS_OF_BUDGET = 0.7
INTERVAL_S, LEAST_INTERVALS = 0.1, 4
"""Clients of several nodes begin milliseconds apart: of two intervals of each, none may lie in their common time."""


def ask_of(
    over: str, points: str | None, budget: str | None, until: str | None, worth: str | None, *, open_loop: bool,
    what_if: tuple[str, ...], size: int | None, there: int | None = None, make: str = "", driven: bool = False,
) -> ScaleAsk:  # fmt: skip
    """From the user's words; ``size``: of the data, where it was said; ``there``: how many there are of what grows;
    ``driven``: from nodes, whose CPUs are not known before they are asked.

    Raises `UsageError`.
    """
    axis = axis_of(over)
    budget_s = units.parse_duration_ns(budget or "1m") / units.NS_PER_S
    if budget_s <= 0:
        raise UsageError("cannot use --budget", budget or "", "it must be greater than 0", "for example --budget 1m")
    for one in what_if:
        _check_what_if(one)
    return ScaleAsk(
        axis=axis, values=_values(axis, points, size, _there(axis, there, driven=driven)), budget_s=budget_s,
        target=TARGET if until is None else half_width(until), worth=gain_of(worth), open_loop=open_loop and axis.load,
        what_if=what_if, make=make,
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


def axis_of(over: str) -> Axis:
    """The axis of that word. Raises `UsageError`."""
    word = over.strip().lower().lstrip("-")
    names = [a.value for a in Axis] + list(SPELLED)
    if word not in names:
        raise UsageError("cannot scale over", over, "it is not an axis", choices(word, names))
    return SPELLED.get(word) or next(a for a in Axis if a.value == word)


def _there(axis: Axis, there: int | None, *, driven: bool) -> int | None:
    return len(usable_cpus()) if axis is Axis.CORES and not driven else there


def _values(axis: Axis, points: str | None, size: int | None, there: int | None) -> tuple[int, ...]:
    room = (size or NEW_FILE_BYTES) - HEAD
    if points is None:
        if axis.most is None and there is None and not axis.size:
            raise UsageError("cannot scale over", axis.value, "its largest value is not known", "--points 1,2,4")
        return ladder(axis.least, max(axis.most or there or room, axis.least))
    try:
        parts = [p.strip() for p in points.split(",") if p.strip()]
        found = sorted({units.parse_size(p) if axis.size else int(p) for p in parts})
    except (ValueError, UsageError) as e:
        raise UsageError("cannot use --points", points, str(e), EXAMPLE) from e
    if axis is Axis.RANGE:
        sound = all(v >= units.MIB and (size is None or v <= room) for v in found)
        why = f"working sets must be between 1 MiB and {units.size(room)}, the size of the test file without its mark"
    elif axis.value in OPTIONS:
        row = OPTIONS[axis.value]
        sound, why = all(map(row.holds, found)), f"{axis.value} must be in {row.within}"
    else:
        bound = CONNECTIONS_MOST if axis is Axis.CONNECTIONS else there or MOST_THERE
        sound, why = all(1 <= v <= bound for v in found), f"{axis.value} must be in 1..{bound}"
    if not found or not sound or len(found) > MOST_VALUES:
        why = why if not sound else f"1 to {MOST_VALUES} values"
        raise UsageError("cannot use --points", points, why, EXAMPLE if sound else MORE.get(axis.made, EXAMPLE))
    return tuple(found)


def at_value(base: Workload, axis: Axis, value: int) -> Workload:
    """The workload with this value of the axis. Raises `UsageError` where it cannot be."""
    if axis not in WORKLOADS:
        return base
    try:
        return Workload.model_validate({**base.model_dump(), **WORKLOADS[axis](base, value)})
    except ValidationError as e:
        why = "; ".join(str(p["msg"]).removeprefix("Value error, ") for p in e.errors())
        raise UsageError(f"cannot use {axis.value}={value} with", base.label, why) from e


def possible(base: Workload, axis: Axis, value: int) -> bool:
    """Whether this value keeps what stays the same over the axis: of disks the I/Os in flight."""
    return axis is not Axis.DISKS or each_thread(base) % value == 0


def cell_at(base: Workload, axis: Axis, layer: str, value: int) -> Cell | None:
    """The cell of a layer with this value of the axis; None where there is no such point."""
    if not possible(base, axis, value):
        return None
    return Cell(layer=layer, workload=at_value(base, axis, value), at=(axis.value, value) if axis.means else None)


Refused = tuple[str, str]
"""Why, and what to do."""


def _connections(base: Workload, values: Sequence[int]) -> Refused | None:
    most = max(values)
    if base.outstanding >= most and base.threads <= min(values):
        return None
    why = f"{most} connections need as many I/Os in flight, and every thread has its own"
    return why, f"--iodepth {max(32, most)} --numjobs 1"


def _cores(base: Workload, values: Sequence[int]) -> Refused | None:
    most = max(values)
    return None if base.threads >= most else (f"{base.threads} threads do not run on {most} CPUs", f"--numjobs {most}")


def _bs(base: Workload, _: Sequence[int]) -> Refused | None:
    return None if base.bssplit is None else ("--bssplit fixes the sizes", "leave --bssplit out")


def _disks(base: Workload, values: Sequence[int]) -> Refused | None:
    if base.clients > 1:
        return "each disk has its own client", "leave --clients out"
    odd = [v for v in values if not possible(base, Axis.DISKS, v)]
    if not odd:
        return None
    depth = each_thread(base)
    return f"{depth} I/Os in flight cannot be divided among {odd[0]} disks", f"--iodepth {math.lcm(*values)}"


def _clients(base: Workload, _: Sequence[int]) -> Refused | None:
    return None if not base.shares else ("each of several targets has its own client", "leave --target out")


def _nodes(base: Workload, values: Sequence[int]) -> Refused | None:
    if base.shares or base.clients == 1:
        return _clients(base, values)
    return "each node has one client", "leave --clients out; --numjobs gives it more threads"


CHECKS: Mapping[Axis, Callable[[Workload, Sequence[int]], Refused | None]] = {
    Axis.CONNECTIONS: _connections, Axis.CORES: _cores, Axis.BS: _bs, Axis.DISKS: _disks, Axis.CLIENTS: _clients,
    Axis.NODES: _nodes,
}  # fmt: skip
"""What a workload must not fix, and must have, to be swept over the axis."""


def check_base(base: Workload, ask: ScaleAsk) -> None:
    """Raises `UsageError` where the workload fixes what is to grow, or is no closed loop."""
    if isinstance(base.arrival, OpenLoop):
        why = "it has a fixed rate, and a sweep finds the rate"
        raise UsageError("cannot scale", base.label, why, "leave --rate-iops out; Strata adds open loops itself")
    if isinstance(base.arrival, ClosedLoop) and base.arrival.limits is not None:
        why = "the sweep would find the limits and pauses of the load generator"
        raise UsageError("cannot scale", base.label, why, "leave --limit-iops, --limit-bytes and --thinktime out")
    refused = CHECKS[ask.axis](base, ask.values) if ask.axis in CHECKS else None
    if refused is not None:
        raise UsageError(f"cannot scale over {ask.axis.value} with", base.label, *refused)


def over_targets(base: Workload, axis: Axis, targets: int) -> Workload:
    """The workload over so many targets: each has a client of its own, unless they are what grows."""
    if targets == 1 or axis is Axis.DISKS:
        return base
    return dealt(base.model_copy(update={"clients": max(base.clients, targets)}), (1,) * targets, "client")


def scale_plan(
    stack: Stack, ask: ScaleAsk, base: Workload, options: Options, run_id: str, size: int, *, writable: bool
) -> Plan:
    """The ladder at every layer; further points are added as they are wanted."""
    raw = {x.name for x in stack.layers if x.target.kind is EndpointKind.BLOCK and not writable}
    cells = []
    for value in ask.values:
        for x in stack.layers:
            made = cell_at(base, ask.axis, x.name, value)
            if made is None:
                continue
            skip = refusal(x.target, made.workload, read_only=x.name in raw)
            if ask.axis is Axis.CONNECTIONS and not x.target.remote:
                skip = "it has no connections"
            if ask.axis.commanded and len(stack.layers) > 1 and x.target.kind is EndpointKind.BLOCK:
                skip = f"changing {ask.axis.value} may move the blocks of the file on it"
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
        rounds=1, seed=options.seed, ramp_s=RAMP_S, runtime_s=runtime_s,
        interval_s=min(INTERVAL_S, runtime_s / LEAST_INTERVALS),
        file_size=size, seconds=ask.budget_s,
        bytes_written=most_written(tuple(c.workload for c in live), len(stack.layers), ask.budget_s, size),
        assumed_write_bps=0, placement=options.placement, scale=ask,
    )  # fmt: skip
