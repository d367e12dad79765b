"""The earlier run that a run is held against: the newest one of the same place with which nothing was wrong.

Where there is none, one that found nothing wrong and was too noisy to be called healthy."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from strata.app.comparing import others
from strata.errors import StrataError
from strata.model.compared import Fairness
from strata.model.finding import Cause, VerdictKind
from strata.model.remembered import RunHead, Wanted
from strata.model.run import Run, RunStatus

if TYPE_CHECKING:
    from strata.model.reference import Reference
    from strata.store import Store

LOOKED_AT = 200
LOADED = 8
"""Runs are long documents: of those that could be meant so many are read."""


def remembered_of(store: Store, run: Run) -> tuple[Reference, ...]:
    """The cells of ``run`` against those of an earlier one; none without one, or where the store gives trouble."""
    from strata.analyse.references import remembered
    from strata.analyse.two import by_cell

    try:
        earlier = earlier_of(store, run)
        if earlier is None:
            return ()
        before, now = by_cell(store.figures(earlier.id)), by_cell(store.figures(run.id))
        return remembered(
            before,
            now,
            earlier.id,
            history=lambda names: others(store, [before[n][0] for n in names], {earlier.id, run.id}),
            between=run.earlier.between if run.earlier is not None else 0.0,
        )
    except StrataError:
        return ()


def earlier_of(store: Store, run: Run) -> Run | None:
    """The newest run of the same stack and host that was accepted as a baseline, else one that ended healthy."""
    wanted = Wanted(stack=run.plan.stack.name, host=run.environment.hostname)
    heads = [h for h in store.heads(LOOKED_AT, wanted) if h.id != run.id and h.created_unix_ns < run.created_unix_ns]
    return next(_alike(store, run, _in_order(store, heads)), None)


def _in_order(store: Store, heads: Sequence[RunHead]) -> list[str]:
    newest = {b.name: b for b in reversed(store.baselines())}
    accepted = {run for baseline in newest.values() for run in baseline.runs}
    done = [h.id for h in heads if h.status is RunStatus.DONE]
    causes = store.causes(done)
    first = [i for i in done if i in accepted]
    others = [i for i in done if i not in accepted and i in causes]
    return [*first, *(i for i in others if _nothing_wrong(*causes[i])), *(i for i in others if _too_noisy(*causes[i]))]


def _nothing_wrong(kind: VerdictKind, cause: Cause) -> bool:
    return kind is VerdictKind.HEALTHY or (kind is VerdictKind.MEDIUM and cause in (Cause.MEDIUM, Cause.NONE))


def _too_noisy(kind: VerdictKind, cause: Cause) -> bool:
    """Nothing was found wrong, and not everything could be told: its intervals are wide, and so are the ratios."""
    return kind is VerdictKind.INCONCLUSIVE and cause is Cause.NONE


def _alike(store: Store, run: Run, runs: Sequence[str]) -> Iterator[Run]:
    """Those that measured the same thing: the same generator, size, times and devices."""
    from strata.analyse.fair import compare_environments

    for found in map(store.load_run, runs[:LOADED]):
        prevented = any(f.fairness is Fairness.PREVENTS for f in compare_environments(found, run))
        if not prevented and _devices(found) == _devices(run):
            yield found


def _devices(run: Run) -> list[tuple[str | None, str | None, int | None]]:
    return [(d.model, d.serial, d.size) for d in run.survey.devices] if run.survey is not None else []
