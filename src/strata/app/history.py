"""Baselines, histories and the gate: what earlier runs say of a later one."""

from __future__ import annotations

import fnmatch
import statistics
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from strata import units
from strata.app.compare import environments
from strata.app.demos import demo_of
from strata.app.going_on import next_step
from strata.app.kept import opened
from strata.errors import InconclusiveError, UsageError
from strata.host.clock import now_unix_ns
from strata.model.compared import EnvironmentField, Fairness
from strata.model.groups import grouped
from strata.model.history import CellHistory, ChangePoint, Gate, GateCell, GateOutcome, History, HistoryPoint
from strata.model.remembered import Baseline, RunHead, SeriesName
from strata.model.run import LABEL_MOST, Run, RunStatus
from strata.model.step_figures import StepFigures

if TYPE_CHECKING:
    from strata.store import Store

MAX_LOSS = 0.1
"""The loss of IOPS that has to be found where nobody says another."""
SEARCHED = 1000
"""How many of the newest runs are looked at for those of one stack."""


def save_baseline(
    name: str, runs: Sequence[str], last: int | None, note: str, store_url: str | None, *, new: bool, anyway: bool
) -> Baseline:
    """Keeps these runs (or the ``last`` finished ones of the newest one's stack) under a name.

    ``new``: the name must not be taken, else it must be. Raises `InconclusiveError` where the runs are not
    measurements of the same thing, unless ``anyway``.
    """
    if not name or len(name) > LABEL_MOST or "/" in name:
        raise UsageError("cannot name a baseline", repr(name), "", f"use up to {LABEL_MOST} characters without a slash")
    with opened(store_url) as store:
        chosen = _chosen(store, runs, last)
        for other in chosen[1:]:
            environments(chosen[0], other, anyway)
        now = now_unix_ns()
        return store.save_baseline(name, [r.id for r in chosen], now, note, new=new)


def list_baselines(store_url: str | None) -> tuple[Baseline, ...]:
    """Every version of every baseline, by name, the one in force first."""
    with opened(store_url) as store:
        return store.baselines()


def known_cells(store_url: str | None, *, demos: bool = False) -> dict[str, int]:
    """Every cell that was ever measured, as ``<layer>/<workload key>``, and at how many places."""
    with opened(store_url) as store:
        every = store.series()
    shown = {name: demos or demo_of(name) is None for name in {s.stack for s in every}}
    return dict(sorted(Counter(s.name for s in every if shown[s.stack]).items()))


def history_of(cell: str | None, store_url: str | None, last: int | None = None, *, demos: bool = False) -> History:
    """The cells whose ``<layer>/<workload key>`` matches (all without one), each place by itself, with its changes.

    Cells of demos only with ``demos``; cells that only a confirming experiment ran have no history.
    """
    from strata.analyse.changes import ALPHA

    with opened(store_url) as store:
        every = store.series()
        shown = {name: demos or demo_of(name) is None for name in {s.stack for s in every}}
        known = [s for s in every if shown[s.stack]]
        wanted = [s for s in known if cell is None or fnmatch.fnmatchcase(s.name, cell)]
        if not wanted:
            names = tuple(dict.fromkeys(s.name for s in known))
            hint = "strata history --all lists them" if names else "there are no runs yet: strata diagnose PATH"
            if len(known) < len(every) and not names:
                hint = "there are only demos: strata history --all --demos"
            raise UsageError("there is no history of", cell or "any cell", "", hint, names[:10] if cell else ())
        # Many histories looked at together: each has to be surer of itself (Bonferroni).
        found = (_history(store, s, ALPHA / len(wanted), last) for s in wanted)
        return History(cells=tuple(c for c in found if c.points))


def baselines_of(run: Run, store: Store) -> tuple[Baseline, ...]:
    """The baselines in force of the run's stack that it is no part of."""
    force = {b.name: b for b in reversed(store.baselines())}.values()
    others = (b for b in force if run.id not in b.runs)
    return tuple(b for b in others if store.load_run(b.runs[0]).plan.stack.name == run.plan.stack.name)


def gate_runs(
    against: str,
    runs: Sequence[str],
    last: int | None,
    store_url: str | None,
    *,
    max_loss: float = MAX_LOSS,
    noise: float | None = None,
    anyway: bool = False,
) -> Gate:
    """The named runs (else the ``last`` finished ones, by default one) against the baseline in force of that name."""
    from strata.analyse.gate import BASELINE_LEAST, gate_cells, overall

    with opened(store_url) as store:
        baseline = store.baseline(against)
        old = [store.load_run(r) for r in baseline.runs]
        newest = max(run.created_unix_ns for run in old)
        new = _chosen(store, runs, last, stack=old[0].plan.stack.name, but=baseline.runs, since=newest)
        environment = [environments(old[-1], run, anyway) for run in new][-1]
        before, after = (by_run([store.figures(r.id) for r in side]) for side in (old, new))
    cells = gate_cells(before, after, max_loss=max_loss, noise=noise)
    missing = tuple(n for n in before if n not in after)
    outcome = overall(cells, missing)
    unmeasured = _why_missing(missing, len(before), new[-1].id)
    said = _why(outcome, cells, len(new), noise is None and len(old) < BASELINE_LEAST, len(old))
    before_it = _older([run.id for run in new if run.created_unix_ns < newest])
    return Gate(
        baseline=baseline.name,
        version=baseline.version,
        baseline_runs=baseline.runs,
        candidate_runs=tuple(r.id for r in new),
        max_loss=max_loss,
        outcome=outcome,
        why="; ".join(filter(None, (said, unmeasured, before_it)))
        or "no run of the baseline has figures: promote other runs",
        cells=cells,
        missing=missing,
        environment=tuple(f for f in environment if f.fairness is not Fairness.SAME),
    )


def by_run(figures: Iterable[Sequence[StepFigures]]) -> dict[str, list[float]]:
    """The IOPS of each run by cell: the geometric mean over its rounds."""
    found: dict[str, list[float]] = {}
    for run in figures:
        for cell, iops in grouped((step.cell, step.iops) for step in run if step.kind == "measure").items():
            found.setdefault(cell, []).append(statistics.geometric_mean(iops))
    return found


def _older(runs: Sequence[str]) -> str | None:
    """Taken only where the user named them: what looks like a loss may then be a gain since."""
    if not runs:
        return None
    were = "was" if len(runs) == 1 else "were"
    return f"{', '.join(runs)} {were} made before the newest run of the baseline: a loss here may be a later gain"


def _why_missing(missing: Sequence[str], of: int, run: str) -> str | None:
    if not missing:
        return None
    were = "was" if len(missing) == 1 else "were"
    next_step = f"strata report {run} shows why; measure again, or gate against a baseline of the same cells"
    return f"{len(missing)} of {of} baseline cells {were} not measured by the candidate: {next_step}"


def _why(outcome: GateOutcome, cells: Sequence[GateCell], runs: int, short: bool, baseline: int) -> str | None:
    """Of the cells that both have; None where there is nothing to say of them."""
    bad = [c for c in cells if c.outcome is outcome]
    if outcome is GateOutcome.REGRESSION:
        worst = min(bad, key=lambda c: c.ratio.value)
        return f"{len(bad)} of {len(cells)} cells lost IOPS, most {worst.name}"
    if outcome is GateOutcome.FINE:
        return f"none of {len(cells)} cells lost more than the limit"
    if not bad:
        return None
    if short:
        there = f"a baseline of {units.plural(baseline, 'run')}"
        return f"{there} does not show how much identical runs vary: save three or more, or set --noise"
    needed = [c.runs_needed for c in bad]
    if None in needed:
        return f"{len(bad)} of {len(cells)} cells are too noisy for any number of runs: add runs to the baseline"
    most = max(n for n in needed if n is not None)
    return f"{len(bad)} of {len(cells)} cells need {most} runs of the candidate, but there are {runs}"


def _history(store: Store, series: SeriesName, alpha: float, last: int | None) -> CellHistory:
    from strata.analyse.changes import change_points, noise_of

    points = points_of(store.history(series))[-last:] if last else points_of(store.history(series))
    values = [p.iops for p in points]
    found = change_points(values, alpha=alpha)
    changes = tuple(
        ChangePoint(
            index=f.index,
            run=points[f.index].run,
            created_unix_ns=points[f.index].created_unix_ns,
            ratio=f.ratio,
            p=f.p,
            environment=_changed(store, points[f.index - 1].run, points[f.index].run),
        )
        for f in found
    )
    noise = noise_of(values, [f.index for f in found])
    return CellHistory(**series.model_dump(), points=points, changes=changes, noise=noise)


def points_of(steps: Sequence[StepFigures]) -> tuple[HistoryPoint, ...]:
    """One point a run: geometric means over its measuring rounds."""
    runs = grouped((step.run_id, step) for step in steps if step.kind == "measure")
    return tuple(
        HistoryPoint(
            run=run,
            created_unix_ns=rounds[0].created_unix_ns,
            iops=_mean([r.iops for r in rounds]) or 0.0,
            p50_ns=_mean([r.p50_ns for r in rounds]),
            p99_ns=_mean([r.p99_ns for r in rounds]),
            rounds=len(rounds),
        )
        for run, rounds in runs.items()
    )


def _mean(values: Sequence[float | None]) -> float | None:
    there = [v for v in values if v is not None and v > 0]
    return statistics.geometric_mean(there) if there else None


def _changed(store: Store, before: str, after: str) -> tuple[EnvironmentField, ...]:
    fields = environments(store.load_run(before), store.load_run(after), anyway=True)
    return tuple(f for f in fields if f.fairness is not Fairness.SAME)


def _chosen(
    store: Store,
    runs: Sequence[str],
    last: int | None,
    stack: str | None = None,
    but: Sequence[str] = (),
    since: int | None = None,
) -> list[Run]:
    """The runs that are meant, the oldest first. Those not named are none of ``but`` and made after ``since`` (ns)."""
    if runs and last is not None:
        raise UsageError("cannot use both runs and", f"--last {last}", "", "give either the runs or --last")
    if runs:
        ids = [store.load_run(r).id for r in runs]
        if taken := [i for i in ids if i in but]:
            raise UsageError(
                "cannot compare with itself:",
                ", ".join(taken),
                "it is one of the baseline's runs",
                "give a later run: strata runs lists them",
            )
    else:
        ids = [h.id for h in _newest(store, last or 1, stack, but, since)]
    loaded = [store.load_run(i) for i in dict.fromkeys(ids)]
    if unfinished := [r for r in loaded if r.status is not RunStatus.DONE]:
        raise InconclusiveError(
            "cannot use", ", ".join(r.id for r in unfinished), "not finished", next_step(unfinished[0])
        )
    return sorted(loaded, key=lambda r: r.created_unix_ns)


def _newest(store: Store, count: int, stack: str | None, but: Sequence[str], since: int | None = None) -> list[RunHead]:
    done = [h for h in store.heads(SEARCHED) if h.status is RunStatus.DONE]
    wanted = stack or (done[0].stack if done else None)
    others = [h for h in done if h.stack == wanted and h.id not in but]
    found = [h for h in others if since is None or h.created_unix_ns > since][:count]
    if len(found) < count:
        what = units.plural(count, "finished run")
        where = "" if wanted is None else f"of stack {wanted}"
        beside = "" if not but else " other than the baseline's" if since is None else " newer than the baseline's"
        older = next((h.id for h in others if since is not None and h.created_unix_ns <= since), None)
        hint = "strata runs" if older is None else f"measure it again, or give an older one: strata gate {older}"
        raise UsageError("too few:", f"{what} {where}{beside}".strip(), f"only {len(found)} found", hint)
    return found
