"""What another tool's file says, as a run of the store: what compare, history, report and check of stored runs read."""

from __future__ import annotations

import platform
from collections import Counter
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import strata
from strata import units
from strata.errors import UsageError
from strata.model.base import Value
from strata.model.imported import FileOutcome, Imported, ImportedCell, ImportedInterval, ImportSource, Measured
from strata.model.plan import Cell, Plan, Step
from strata.model.result import IMPORTED, CellResult, Direction, EngineResult, Interval, IntervalDirection
from strata.model.run import Environment, Label, Run, RunStatus
from strata.model.stack import LAYERS_MOST, Layer, Stack, unreached
from strata.model.workload import Workload

if TYPE_CHECKING:
    from strata.model.analysis import Analysis
    from strata.model.finding import Diagnosis

UNKNOWN = "unknown"


class ImportedAs(Value):
    """What the user calls what is imported; None: as the file says it."""

    layer: str | None = None
    stack: str = "imported"
    host: str | None = None
    label: Label = Label()
    settings: dict[str, Any] = {}
    columns: dict[str, str] = {}
    """What columns of a plain table are, by their headings."""


def id_of(digest: str) -> str:
    """The run of a file: the same file is the same run."""
    return f"imported-{digest[:16]}"


RUNTIME = "runtime"
"""The setting that says how long was measured, in seconds: a table of IOPS alone does not."""
NEEDED = ("rw", "bs", "iodepth", "direct")
"""Settings without which nobody could measure the same."""


def with_workloads(found: Imported, given: Mapping[str, Any]) -> Imported:
    """Each cell with its workload, or with why there is none that Strata could measure too. ``given``: settings that
    the user says where a file does not."""
    runtime = given.get(RUNTIME)
    words = {name: value for name, value in given.items() if name != RUNTIME}
    cells = tuple(_with_workload(_timed(cell, runtime), words) for cell in found.cells)
    said = [
        f"{k}={int(v) if isinstance(v, bool) else f'{v:g}s' if k == RUNTIME else v}"
        for k, v in given.items()
        if any(k not in cell.asked for cell in found.cells)
    ]
    notes = (*found.notes, f"{', '.join(said)}: set by the user, not stated in the file") if said else found.notes
    return found.model_copy(update={"cells": cells, "notes": notes})


def _timed(cell: ImportedCell, seconds: float | None) -> ImportedCell:
    """So long where it does not say how long."""
    silent = seconds is not None and cell.seconds is None
    return cell.model_copy(update={"seconds": seconds}) if silent else cell


def _with_workload(cell: ImportedCell, given: Mapping[str, Any]) -> ImportedCell:
    if cell.incomplete:
        return cell
    from strata.plan.words import workload_from_words

    asked = {**given, **cell.asked}
    mixed = str(asked.get("rw", "")).removeprefix("rand") in ("rw", "readwrite")
    if missing := [name for name in (*NEEDED, *["rwmixread"] * mixed) if name not in asked]:
        return cell.model_copy(update={"incomplete": (f"not stated: {', '.join(missing)}",)})
    try:
        workload = workload_from_words(**asked)
    except UsageError as e:
        return cell.model_copy(update={"incomplete": e.problems or (e.headline,)})
    if _result(cell, workload, {}, 0.0, 0) is None:
        why = "it states neither the number of I/Os nor IOPS with a duration"
        return cell.model_copy(update={"incomplete": (why,)})
    return cell.model_copy(update={"workload": workload, "asked": asked})


def run_of(outcome: FileOutcome, named: ImportedAs, modified_unix_ns: int) -> tuple[Run, tuple[CellResult, ...]]:
    """The run of an understood file and its results: cells with a workload, and its counters."""
    found = outcome.imported
    assert found is not None
    kept = _kept(found)
    tool = {"name": found.tool, "version": found.version or UNKNOWN}
    layers = _layers(kept, found, named)
    asked: dict[str, Cell] = {}
    steps: list[Step] = []
    results: list[CellResult] = []
    rounds: Counter[str] = Counter()
    begun = found.started_unix_ns or modified_unix_ns
    for cell in kept:
        workload = cell.workload
        assert workload is not None
        one = Cell(layer=layers[_target(cell)], workload=workload)
        asked.setdefault(one.key, one)
        number = rounds[one.key]
        rounds[one.key] += 1
        made = _result(cell, workload, tool, found.settings.get("ramp_s", 0.0), cell.started_unix_ns or begun)
        order = len(steps)
        steps.append(Step(order=order, round=number, cell=one.key))
        results.append(
            CellResult(
                order=order, round=number, cell=one.key, kind="measure", layer=one.layer,
                workload_key=workload.key, result=made,
            )
        )  # fmt: skip
    if found.counters:
        name = next(iter(dict.fromkeys(layers.values())), named.layer or found.tool)
        results.append(
            CellResult(
                order=len(steps), round=0, cell=f"{name}/counters", kind="counters", layer=name,
                workload_key="counters", result=None, counters=found.counters,
            )
        )  # fmt: skip
    seconds = [cell.seconds for cell in kept if cell.seconds]
    plan = Plan(
        id=id_of(outcome.digest), stack=_stack(layers, found, named), cells=tuple(asked.values()), steps=tuple(steps),
        rounds=max(rounds.values(), default=1), seed=1, ramp_s=found.settings.get("ramp_s", 0.0),
        runtime_s=found.settings.get("runtime_s") or float(round(max(seconds, default=0.0))), interval_s=1.0,
        file_size=round(found.settings.get("file_bytes", 0)), seconds=sum(seconds), bytes_written=0,
        assumed_write_bps=0.0,
    )  # fmt: skip
    run = Run(
        id=plan.id,
        created_unix_ns=begun,
        status=RunStatus.DONE,
        plan=plan,
        environment=Environment(
            strata_version=strata.__version__, build={}, python=platform.python_version(),
            hostname=named.host or found.host or UNKNOWN, kernel=found.system or UNKNOWN, engine=tool,
        ),
        label=named.label,
        source=ImportSource(
            path=outcome.path, digest=outcome.digest, bytes=outcome.bytes, format=found.format, tool=found.tool,
            version=found.version, member=outcome.member,
        ),
        imported=found,
    )  # fmt: skip
    return run, tuple(results)


def outcome_of(run: Run, results: tuple[CellResult, ...]) -> tuple[Analysis, Diagnosis]:
    """What the run says: its cells, the laws that its figures do not obey, and no more than that."""
    from strata.analyse import view_of
    from strata.analyse.laws import check_table
    from strata.diagnose import diagnose
    from strata.formats.results._table import table_of as table_of_import
    from strata.model.analysis import SAMPLES, Analysis, Check

    assert run.imported is not None
    seen = view_of(run.plan, results)
    timed = {(c.layer, c.workload.key) for c in seen.cells if c.mean_ns.value > 0}
    layers = {cell.name: r.layer for cell, r in zip(_kept(run.imported), results, strict=False)}
    first = run.plan.stack.layers[0].name
    checks = [
        Check(
            kind=flag.law, title=flag.title, layer=layers.get(flag.words.get("job", ""), first), workload_key=None,
            impossible=flag.broken, message=f"{flag.row}: {flag.reason}" if flag.row else flag.reason,
            next_step=flag.next_step,
        )
        for flag in check_table(table_of_import(run.imported, run.id))
        # Percentiles that the samples do not support are printed by every tool, and shown nowhere here.
        if flag.broken or flag.law != SAMPLES
    ]  # fmt: skip
    checks += [
        Check(
            kind="figures", title="no response times", layer=c.layer, workload_key=c.workload.key, impossible=False,
            message=f"{run.imported.tool} printed none; compare and history use its IOPS only",
        )
        for c in seen.cells if (c.layer, c.workload.key) not in timed
    ]  # fmt: skip
    cells = tuple(_with_percentiles(c, run) for c in seen.cells if (c.layer, c.workload.key) in timed)
    analysis = Analysis(
        noise=seen.noise, cells=cells, comparisons=(), checks=tuple(sorted(checks, key=lambda c: not c.impossible))
    )
    return analysis, diagnose(run.plan.stack, analysis)


def _with_percentiles(summary: Any, run: Run) -> Any:
    """With the percentiles that the tool printed, where it printed no distribution; of one measurement only."""
    from strata.model.estimate import Estimate
    from strata.model.percentiles import PERCENTILES, supported

    assert run.imported is not None
    if summary.latency_ns or summary.rounds != 1:
        return summary
    cell = next((c for c in run.imported.cells if c.workload == summary.workload), None)
    only = None if cell is None else cell.total or next(iter(cell.sides.values()), None)
    if only is None:
        return summary
    there = {p: only.base(f"time.p{p}") for p in supported(PERCENTILES, summary.ios)}
    made = {p: Estimate(value=v, low=None, high=None, n=1, unit="ns") for p, v in there.items() if v}
    return summary.model_copy(update={"latency_ns": made})


def _kept(found: Imported) -> list[ImportedCell]:
    """The cells that Strata could measure too."""
    return [cell for cell in found.cells if cell.workload is not None]


def _target(cell: ImportedCell) -> str:
    return cell.words.get("target", "")


def _layers(cells: list[ImportedCell], found: Imported, named: ImportedAs) -> dict[str, str]:
    """The name of the layer by what a cell was aimed at."""
    targets = list(dict.fromkeys(map(_target, cells))) or [""]
    if named.layer is not None or len(targets) > LAYERS_MOST:
        return dict.fromkeys(targets, named.layer or found.tool)
    names: dict[str, str] = {}
    for target in targets:
        name = target[-128:].strip() or found.tool
        names[target] = name if name not in names.values() else f"{name} ({len(names) + 1})"
    return names


def _stack(layers: Mapping[str, str], found: Imported, named: ImportedAs) -> Stack:
    names = list(dict.fromkeys(layers.values())) or [named.layer or found.tool]
    return Stack(name=named.stack, layers=tuple(Layer(name=n, endpoint=unreached(n)) for n in names))


def _result(
    cell: ImportedCell, workload: Workload, tool: Mapping[str, Any], ramp_s: float, begun: int
) -> EngineResult | None:
    """As an engine's result. I/Os that were not printed are IOPS × time; None where neither is known."""
    sides: dict[str, Measured] = {name: cell.sides[name] for name in ("read", "write") if name in cell.sides}
    if not sides and cell.total is not None and not workload.rw.mixed:
        sides = {"write" if workload.rw.carries else "read": cell.total}
    made = {name: _direction(measured, cell.seconds, workload) for name, measured in sides.items()}
    if not made or any(direction is None for direction in made.values()):
        return None
    empty = Direction(ops=0, bytes=0)
    read, write = (made.get(name) or empty for name in ("read", "write"))
    seconds = cell.seconds or _seconds(sides)
    if not seconds or read.ops + write.ops == 0:
        return None
    return EngineResult(
        engine=dict(tool),
        effective={},
        started_unix_ns=begun,
        ramp_ns=round(ramp_s * units.NS_PER_S),
        measured_ns=round(seconds * units.NS_PER_S),
        stop_reason=IMPORTED,
        issued=read.ops + write.ops + (cell.errors or 0),
        completed=read.ops + write.ops,
        errored=cell.errors or 0,
        stuck=0,
        read=read,
        write=write,
        intervals=_intervals(cell.points),
    )


def _seconds(sides: Mapping[str, Measured]) -> float | None:
    spans = [ios / iops for m in sides.values() if (ios := m.base("ios")) and (iops := m.base("iops"))]
    return max(spans, default=None)


def _direction(measured: Measured, seconds: float | None, workload: Workload) -> Direction | None:
    ios, iops = measured.base("ios"), measured.base("iops")
    if ios is None and iops is not None and seconds:
        ios = iops * seconds
    if ios is None:
        return None
    moved, rate = measured.base("bytes"), measured.base("rate")
    if moved is None:
        moved = rate * seconds if rate is not None and seconds else ios * workload.bs_moments[0]
    mean = measured.base("time.mean")
    return Direction(
        ops=round(ios),
        bytes=round(moved),
        service_time=None if measured.clock else measured.histogram,
        service_sum_ns=0 if mean is None else round(mean * round(ios)),
    )


def _intervals(points: tuple[ImportedInterval, ...]) -> tuple[Interval, ...]:
    """Those of which the I/Os are known."""
    made = []
    for point in points:
        seconds = (point.end_ns - point.start_ns) / units.NS_PER_S
        sides = {}
        for name in ("read", "write"):
            there = point.sides.get(name, {})
            ios = there.get("ios", there["iops"] * seconds if "iops" in there else None)
            sides[name] = IntervalDirection(ops=round(ios or 0), bytes=round(there.get("bytes", 0)), errors=0)
        if any(point.sides.get(name) for name in sides):
            made.append(Interval(start_ns=point.start_ns, end_ns=point.end_ns, **sides))
    return tuple(made)
