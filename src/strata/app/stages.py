"""A ladder whose layers were measured at other times and places: runs of the store and files of other tools as one.

Nothing is driven here. Each layer's figures are taken as they were kept. Which two stages may be compared is asked
field by field, as `strata compare` asks it of two runs; what was repeated in every stage (the anchor) says how far they
are apart by time and place alone. The verdict is made as of a live run. Where it needs an experiment, the experiment is
told; once it was measured and is named beside its layer, it is held to what every cause had predicted without it.
"""

from __future__ import annotations

import fnmatch
import math
import shlex
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from strata import units
from strata.app.circumstances import environment
from strata.app.imported_run import ImportedAs
from strata.app.imports import import_paths, settings_of
from strata.app.kept import opened, repeat_commands, report_of
from strata.app.stage_counters import aligned, beside, clock_said, clocks_of, counted_in
from strata.errors import InconclusiveError, UsageError
from strata.model.analysis import Analysis, Check, Comparison
from strata.model.clock_skew import ClockSkew
from strata.model.compared import EnvironmentField, Fairness
from strata.model.endpoint import Endpoint
from strata.model.experiment import Condition, Experiment, Tried
from strata.model.finding import Diagnosis
from strata.model.groups import grouped
from strata.model.plan import Cell, Plan, Segment, Step
from strata.model.remembered import Wanted
from strata.model.result import IMPORTED, CellResult
from strata.model.run import Label, Report, Run, RunStatus, StageRecord
from strata.model.stack import Layer, Stack, unreached
from strata.model.workload import Workload
from strata.plan.ident import new_id

if TYPE_CHECKING:
    from strata.store import Store

ANCHOR = "anchor"
"""What the layer is called that `strata stage` measures again in every stage."""
ASSUMED_DRIFT = 0.05
"""What two stages are taken to differ by where nothing was repeated in them, and single figures of one stage, too."""
FASTER = "faster-than-below"
"""The law that a layer is not faster than what it stands on, by its key."""
MOST_EXPERIMENTS = 16
STAGES_MOST = 1000
"""Runs of one stack among which its stages are looked for, the newest first."""


@dataclass(frozen=True)
class StageCell:
    """One cell of a stage: its workload, and its results in the order they were measured."""

    workload: Workload
    results: tuple[CellResult, ...]


@dataclass(frozen=True)
class Stage:
    """One layer as it was measured: the runs, its cells and those of the anchor by workload key."""

    layer: Layer
    runs: tuple[Run, ...]
    cells: dict[str, StageCell] = field(default_factory=dict)
    anchors: dict[str, StageCell] = field(default_factory=dict)
    clocks: tuple[ClockSkew, ...] = ()

    @property
    def record(self) -> StageRecord:
        """For the run that it becomes a part of."""
        first = self.runs[0]
        tool = first.environment.engine
        return StageRecord(
            layer=self.layer.name,
            runs=tuple(r.id for r in self.runs),
            sources=tuple(r.source.path for r in self.runs if r.source is not None),
            created_unix_ns=first.created_unix_ns,
            host=first.environment.hostname,
            tool=" ".join(str(tool[k]) for k in ("name", "version") if tool.get(k)),
            clocks=self.clocks,
        )


def diagnose_stages(path: Path, stack: Stack, store_url: str | None, label: Label) -> Report:
    """The verdict on a stack whose layers name their measurements. Nothing is measured.

    Raises `InconclusiveError` where layers have no measurement yet, or no two of them can be compared; `UsageError` for
    runs and files that are not there or hold nothing of the layer.
    """
    with opened(store_url) as store:
        stack = located(stack, store)
        if missing := [layer.name for layer in stack.layers if not layer.brought]:
            have = len(stack.layers) - len(missing)
            raise InconclusiveError(
                "cannot diagnose the stages of", stack.name,
                f"{have} of {len(stack.layers)} layers have a measurement; missing: {', '.join(missing)}",
                f"{shlex.join(['strata', 'stage', str(path)])} says what to do next",
            )  # fmt: skip
        stages = [stage_of(layer, path.parent, store, store_url) for layer in stack.layers]
        run, results, analysis, diagnosis = _judged(stack, stages, label)
        store.keep_whole([(run, results, (analysis, diagnosis))])
    report = report_of(results, run, analysis, diagnosis)
    return report.model_copy(update={"repeat": (*repeat_commands(run), *_to_do(run, diagnosis))})


def located(stack: Stack, store: Store) -> Stack:
    """The stack whose layers name their newest run in the store, where they name no measurement themselves."""
    newest: dict[str, str] = {}
    for head in store.heads(STAGES_MOST, Wanted(stack=stack.name)) if stack.stages else ():
        run = store.load_run(head.id)
        if run.stage_of is not None and run.status is RunStatus.DONE:
            newest.setdefault(run.stage_of, run.id)
    layers = (
        layer if layer.brought or layer.name not in newest else layer.model_copy(update={"run": (newest[layer.name],)})
        for layer in stack.layers
    )
    return stack.model_copy(update={"layers": tuple(layers)})


def stage_of(layer: Layer, folder: Path, store: Store, store_url: str | None) -> Stage:
    """What a layer's runs and files hold of it; a file is kept as a run. Raises `UsageError`."""
    runs = [store.load_run(name) for name in layer.run]
    runs += [store.load_run(_imported(layer, folder / name, store_url)) for name in layer.measured]
    counted = counted_in(runs, store)
    cells_of = [list(_cells_of(one, store.cells(one.id))) for one in runs]
    pairs = [(one, [result for _, _, result in cells]) for one, cells in zip(runs, cells_of, strict=True)]
    clocks = clocks_of(pairs, counted)
    mine: list[tuple[Workload, CellResult]] = []
    anchors: list[tuple[Workload, CellResult]] = []
    for one, cells, apart in zip(runs, cells_of, clocks, strict=True):
        series = aligned(one, apart, counted)
        for name, workload, result in cells:
            if _matches(name, layer.anchor or ANCHOR):
                anchors.append((workload, result))
            elif layer.of is None or _matches(name, layer.of):
                mine.append((workload, beside(result, series)))
    if not mine:
        there = sorted({name for one in runs for name, _, _ in _cells_of(one, store.cells(one.id))})
        why = "it holds no complete cell" if not there else f"none of its names matches {layer.of!r}: {_few(there)}"
        raise UsageError(
            "cannot use the measurement of layer", layer.name, why,
            "strata import FILE --dry-run shows what a file holds and what it lacks; set = { direct = true } states it",
        )  # fmt: skip
    return Stage(
        layer, tuple(runs), _by_workload(mine), _by_workload(anchors), tuple(c for some in clocks for c in some)
    )


def _imported(layer: Layer, path: Path, store_url: str | None) -> str:
    """The run of a file."""
    named = ImportedAs(stack=layer.name, settings=settings_of(layer.set))
    outcomes = import_paths([str(path)], store_url, named).files
    good = [one for one in outcomes if one.run or one.known_as]
    if len(good) != 1:
        why = next((one.problem or one.not_kept for one in outcomes if one.problem or one.not_kept), None)
        several = f"it holds {len(outcomes)} files: name one"
        raise UsageError("cannot use the measurement of layer", layer.name, f"{path}: {why or several}")
    return good[0].run or good[0].known_as or ""


def _cells_of(run: Run, results: Sequence[CellResult]) -> Iterator[tuple[str, Workload, CellResult]]:
    """(name, workload, result) of what was measured; what failed, experiments and traces are no part of it."""
    cells = {cell.key: cell for cell in run.plan.cells}
    for one in results:
        if one.kind == "measure" and one.result is not None and one.error is None and one.cell in cells:
            yield one.layer, cells[one.cell].workload, one


def _matches(name: str, pattern: str) -> bool:
    return fnmatch.fnmatchcase(name.casefold(), pattern.casefold())


def _few(names: Sequence[str]) -> str:
    return ", ".join(names[:8]) + (f" and {len(names) - 8} more" if len(names) > 8 else "")


def _by_workload(found: Iterable[tuple[Workload, CellResult]]) -> dict[str, StageCell]:
    several = grouped((one[0].key, one) for one in found)
    return {key: StageCell(of[0][0], tuple(r for _, r in of)) for key, of in several.items()}


def _judged(
    stack: Stack, stages: Sequence[Stage], label: Label
) -> tuple[Run, tuple[CellResult, ...], Analysis, Diagnosis]:
    from strata.analyse import analyse

    by_layer = {stage.layer.name: stage for stage in stages}
    differences = {
        (upper.name, lower.name): _differences(stack, by_layer[upper.name], by_layer[lower.name])
        for upper, lower in stack.pairs
    }
    refused = {pair: why for pair, found in differences.items() if (why := _preventing(found))}
    compared = _without(stack, set(refused))
    if stack.pairs and not compared.pairs:
        pairs = [f"{a} with {b}: {'; '.join(why)}" for (a, b), why in refused.items()]
        raise InconclusiveError(
            "cannot compare the stages of", stack.name, "they are not measurements of the same thing",
            "measure again with the same settings, or list in [stack] what may_differ", tuple(pairs),
        )  # fmt: skip
    base, extra = _split(compared, stages)
    drift = drift_of(stages)
    plan, results = _as_one(compared, stages, base)
    analysis = _with_drift(analyse(plan, results), stages, drift)
    checks = (*_checks(stages, differences, refused, drift), *analysis.checks)
    analysis = analysis.model_copy(update={"checks": checks})
    diagnosis = _diagnosed(compared, analysis, by_layer, extra)
    run = Run(
        id=plan.id, created_unix_ns=max(s.runs[0].created_unix_ns for s in stages), status=RunStatus.DONE, plan=plan,
        environment=environment({"name": "stages", "version": "none"}), label=label,
        message=_said(stages, drift), stages=tuple(s.record for s in stages),
    )  # fmt: skip
    return run, results, analysis, diagnosis


def _differences(stack: Stack, upper: Stage, lower: Stage) -> tuple[EnvironmentField, ...]:
    """In what the environments of two stages differ, what the stack allows left out."""
    from strata.analyse.fair import compare_environments

    found = compare_environments(lower.runs[0], upper.runs[0])
    return tuple(f for f in found if f.fairness is not Fairness.SAME and f.name not in ("stack", *stack.may_differ))


def _preventing(found: Iterable[EnvironmentField]) -> tuple[str, ...]:
    return tuple(f"{f.name}: {f.a} and {f.b}" for f in found if f.fairness is Fairness.PREVENTS)


def _without(stack: Stack, pairs: set[tuple[str, str]]) -> Stack:
    """The stack without these comparisons."""
    layers = (
        layer.model_copy(update={"against": tuple(b for b in layer.against if (layer.name, b) not in pairs)})
        for layer in stack.layers
    )
    return stack.model_copy(update={"layers": tuple(layers)})


def _split(stack: Stack, stages: Sequence[Stage]) -> tuple[set[str], dict[tuple[str, str], StageCell]]:
    """The workloads that the verdict is made of, and by layer and workload what was measured at one layer alone: the
    outcome of an experiment, if one was proposed that is the same."""
    times = Counter(key for stage in stages for key in stage.cells)
    shared = {key for key, count in times.items() if count > 1}
    if not shared or not stack.pairs:
        return set(times), {}
    alone = {(stage.layer.name, key): one for stage in stages for key, one in stage.cells.items() if key not in shared}
    return shared, alone


def _as_one(stack: Stack, stages: Sequence[Stage], keys: set[str]) -> tuple[Plan, tuple[CellResult, ...]]:
    """The stages as one plan and its results."""
    cells: list[Cell] = []
    steps: list[Step] = []
    results: list[CellResult] = []
    for stage in stages:
        for one in (one for key, one in stage.cells.items() if key in keys):
            cell = Cell(layer=stage.layer.name, workload=one.workload)
            cells.append(cell)
            for number, result in enumerate(one.results):
                place = {"order": len(steps), "round": number, "cell": cell.key, "layer": cell.layer}
                steps.append(Step(order=len(steps), round=number, cell=cell.key))
                results.append(_timed(result, one.workload).model_copy(update=place))
    first = stages[0].runs[0].plan
    plan = Plan(
        id=new_id(), stack=stack, cells=tuple(cells), steps=tuple(steps),
        rounds=max(s.round for s in steps) + 1, seed=first.seed, ramp_s=first.ramp_s, runtime_s=first.runtime_s,
        interval_s=first.interval_s, file_size=first.file_size, seconds=0.0, bytes_written=0, assumed_write_bps=0.0,
    )  # fmt: skip
    return plan, tuple(results)


def _timed(result: CellResult, workload: Workload) -> CellResult:
    """With what follows from what a tool printed: the mean time by Little's law (N = X · R) where it printed none, and
    the bytes of I/Os of one size, which it printed rounded."""
    found = result.result
    if found is None or found.ops == 0 or found.stop_reason != IMPORTED:
        return result
    size, deviation = workload.bs_moments
    silent = found.read.service_sum_ns + found.write.service_sum_ns == 0
    each = workload.outstanding * found.measured_ns / found.ops
    sides = {
        name: side.model_copy(
            update=({"service_sum_ns": round(each * side.ops)} if silent else {})
            | ({"bytes": round(size) * side.ops} if deviation == 0 else {})
        )
        for name, side in (("read", found.read), ("write", found.write))
    }
    return result.model_copy(update={"result": found.model_copy(update=sides)})


def drift_of(stages: Sequence[Stage]) -> float | None:
    """How far the anchors of the stages are apart at most, as ln of a ratio; None where not all have one."""
    keys = set.intersection(*(set(stage.anchors) for stage in stages)) if stages else set()
    apart = []
    for key in keys:
        rates = [_iops(stage.anchors[key]) for stage in stages]
        if all(rate > 0 for rate in rates):
            apart.append(math.log(max(rates) / min(rates)))
    return max(apart, default=None)


def _iops(one: StageCell) -> float:
    """The median of its results."""
    rates = sorted(
        (r.result.read.ops + r.result.write.ops) / r.result.seconds
        for r in one.results
        if r.result is not None and r.result.measured_ns
    )
    return rates[len(rates) // 2] if rates else 0.0


def _with_drift(analysis: Analysis, stages: Sequence[Stage], drift: float | None) -> Analysis:
    """Comparisons of layers of different runs, as wide as the stages are apart; of single figures, as wide as these."""
    runs = {stage.layer.name: {r.id for r in stage.runs} for stage in stages}
    apart = ASSUMED_DRIFT if drift is None else drift
    within = max(ASSUMED_DRIFT, analysis.noise.within_bins)
    comparisons = tuple(
        _wider(c, 0.0 if runs[c.layer] == runs[c.below] else apart, within) for c in analysis.comparisons
    )
    alone = {a for a in runs for b in runs if runs[a] != runs[b]}
    # What was measured at another time may be faster for any reason: it is told, and is not impossible.
    checks = tuple(
        c.model_copy(update={"impossible": False}) if c.kind == FASTER and c.layer in alone else c
        for c in analysis.checks
    )
    single = analysis.noise.rounds < 2
    noise = analysis.noise
    if single:
        noise = noise.model_copy(
            update={"between_rounds": within / 2, "tolerance": max(noise.tolerance, within), "within_bins": within / 2}
        )
    return analysis.model_copy(update={"comparisons": comparisons, "checks": checks, "noise": noise})


def _wider(one: Comparison, apart: float, within: float) -> Comparison:
    from strata.analyse.compare import equivalence

    ratio = one.iops
    own = math.exp(math.sqrt(2) * within)
    low = ratio.low if ratio.low is not None else ratio.value / own
    high = ratio.high if ratio.high is not None else ratio.value * own
    iops = ratio.model_copy(update={"low": low / math.exp(apart), "high": high * math.exp(apart)})
    return one.model_copy(update={"iops": iops, "verdict": equivalence(iops, one.expected_overhead)})


def _checks(
    stages: Sequence[Stage],
    differences: dict[tuple[str, str], tuple[EnvironmentField, ...]],
    refused: dict[tuple[str, str], tuple[str, ...]],
    drift: float | None,
) -> Iterator[Check]:
    """What the reader must know of stages before the figures."""

    def said(layer: str, title: str, message: str, step: str = "", kind: str = "stages") -> Check:
        return Check(
            kind=kind, title=title, layer=layer, workload_key=None, impossible=False, message=message,
            next_step=step,
        )  # fmt: skip

    for stage in stages:
        for clock in stage.clocks:
            if message := clock_said(clock):
                yield said(stage.layer.name, "clocks of counters", message, kind="clocks")
    for (upper, lower), why in refused.items():
        yield said(
            upper, "stages that are not compared", f"{upper} is not compared with {lower}: {'; '.join(why)}",
            "Measure both with the same settings, or list in [stack] what may_differ.",
        )  # fmt: skip
    for (upper, lower), fields in differences.items():
        caveats = [f"{f.name}: {f.a or 'not recorded'} and {f.b or 'not recorded'}" for f in fields]
        if caveats and (upper, lower) not in refused:
            yield said(upper, "stages that differ", f"{lower} and {upper} differ in {'; '.join(caveats)}")
    if drift is None and len({r.id for s in stages for r in s.runs}) > 1:
        by = units.percent(ASSUMED_DRIFT, 2)
        yield said(
            stages[0].layer.name, "drift between stages",
            f"no cell was measured in every stage, so {by} between stages is an assumption",
            "Repeat one cell that does not change in every stage, and name it with anchor.",
        )  # fmt: skip


def _said(stages: Sequence[Stage], drift: float | None) -> str:
    apart = "not known" if drift is None else f"at most {units.percent(math.expm1(drift), 2)} by the anchor"
    parts = [f"{s.layer.name} from {_few([*s.record.sources] or [*s.record.runs])}" for s in stages]
    return f"measured in stages: {', '.join(parts)}; drift between stages: {apart}"


def _diagnosed(
    stack: Stack, analysis: Analysis, stages: dict[str, Stage], extra: dict[tuple[str, str], StageCell]
) -> Diagnosis:
    """The verdict, after every experiment whose outcome was brought: each was predicted without it."""
    from strata.diagnose import diagnose, propose

    tried: tuple[Tried, ...] = ()
    refused: tuple[Experiment, ...] = ()
    for _ in range(MOST_EXPERIMENTS):
        asked = propose(stack, analysis, tried, math.inf, refused)
        if asked is None:
            break
        done = _outcome(stack, analysis, asked, stages, extra)
        if done is None:
            refused = (*refused, asked)
        else:
            tried = (*tried, done)
    return diagnose(stack, analysis, tried)


def _outcome(
    stack: Stack, analysis: Analysis, asked: Experiment, stages: dict[str, Stage],
    extra: dict[tuple[str, str], StageCell],
) -> Tried | None:  # fmt: skip
    from strata.analyse import analyse

    changed = extra.get((asked.layer, asked.workload.key))
    reference = analysis.summary(asked.reference_layer or asked.layer, asked.reference)
    if changed is None or reference is None or asked.condition is not Condition.NONE:
        return None
    alone = Stage(stages[asked.layer].layer, stages[asked.layer].runs, {asked.workload.key: changed})
    plan, results = _as_one(stack, [alone], {asked.workload.key})
    summary = analyse(plan, results).summary(asked.layer, asked.workload.key)
    return None if summary is None else Tried.of(asked, reference, summary)


PLACEHOLDER = "file:/TESTFILE"
"""Where the layer is that nobody here reaches."""


def _to_do(run: Run, diagnosis: Diagnosis) -> Iterator[tuple[str, str]]:
    """The experiment that would tell most, as the commands that run it."""
    from strata.formats.diskspd import diskspd_line
    from strata.formats.fio import fio_command

    asked = next((f.experiment for f in diagnosis.findings if f.experiment is not None and f.outcome is None), None)
    if asked is None or asked.condition is not Condition.NONE:
        return
    layer = run.plan.stack.layer(asked.layer)
    here = layer.endpoint != unreached(layer.name)
    endpoint = layer.target if here else Endpoint.parse(PLACEHOLDER)
    where = "" if here else ", its own test file in the place of /TESTFILE"
    segments = (Segment(start=0, length=run.plan.file_size or units.GIB, target=0),)
    told = endpoint, asked.workload, segments, run.plan.ramp_s, run.plan.runtime_s or 30.0
    for tool, command in (("fio", fio_command(*told)), ("diskspd", diskspd_line(*told))):
        if command is not None:
            yield f"to confirm: {asked.changes} at {asked.layer}{where} · {tool}", command
