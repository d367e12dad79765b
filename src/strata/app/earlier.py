"""What earlier runs showed: of the noise of this host and device, and the one that a run is compared with.

The noise is the prior of whoever measures next: the stopping rule of one measurement, the prediction of a matrix, and
the tolerance of a diagnosis. A run is compared with the newest one of the same place with which nothing was wrong;
where there is none, one that found nothing wrong and was too noisy to be called healthy.
"""

from __future__ import annotations

import platform
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from strata.app.compare import Rates, environments
from strata.discover.survey import survey
from strata.errors import StrataError
from strata.model.compared import Fairness
from strata.model.endpoint import Endpoint, EndpointKind, own_export
from strata.model.finding import Cause, VerdictKind
from strata.model.noise import PooledNoise
from strata.model.plan import StepKind
from strata.model.remembered import RunHead, SeriesName, Wanted
from strata.model.run import Run, RunStatus
from strata.model.stack import Stack

if TYPE_CHECKING:
    from strata.analyse.again import Earlier
    from strata.model.reference import Reference
    from strata.store import Store

RUNS_LOOKED_AT = 40
RUNS_POOLED = 8
ROWS = 300
"""Rows of one cell that are read: of runs with a few rounds, about a hundred runs."""


def noise_place(endpoint: Endpoint, direct: bool) -> str:
    """``host · sda2 · direct``: figures through the page cache are another device's. A path that does not exist yet
    stands for the device below it."""
    match endpoint.kind:
        case EndpointKind.FILE:
            device = _device(Path(endpoint.path or "/"))
        case EndpointKind.BLOCK:
            device = Path(endpoint.path or "").resolve().name
        case EndpointKind.NBD if own_export(endpoint.uri) is not None:
            device = "own server"
        case _:
            device = endpoint.uri.partition("?")[0]
    return " · ".join((platform.node(), device, "direct" if direct else "buffered"))


def noise_place_of(stack: Stack, direct: bool) -> str:
    """The same of the lowest layer; one that another node drives is known by that node."""
    lowest = stack.layers[0]
    if stack.scheduler is None or lowest.node is None:
        return noise_place(lowest.target, direct)
    return " · ".join((lowest.node, lowest.target.uri, "direct" if direct else "buffered"))


def earlier_noise(store: Store, place: str, besides: str | None = None) -> PooledNoise | None:
    """Pooled over the newest runs of that place that have any; None without one. ``besides``: a run to leave out."""
    from strata.analyse.pooled import together

    # Documents of runs are long; only the newest are read.
    runs = [r for r in store.list_runs(RUNS_LOOKED_AT) if r.id != besides and r.pooled_at == place]
    found = [r.pooled.model_copy(update={"runs": (r.id,)}) for r in runs if r.pooled is not None]
    # Runs of a single start do not say what starts differ by; they must not hide the newest ones that do.
    telling = [n for n in found if n.between_df > 0][:RUNS_POOLED]
    return together([n for n in found if n in found[:RUNS_POOLED] or n in telling])


def earlier_noise_of(
    where: Endpoint | Stack, direct: bool, url: str | None, cell: SeriesName | None = None
) -> PooledNoise | None:
    """The same for one endpoint, or the lowest layer of a stack, from the store of that URL; None where there is no
    store yet or it gives trouble: a measurement does not depend on it. With ``cell``, what starts differ by is that of
    its own earlier runs where there are enough."""
    from strata.analyse.again import with_earlier
    from strata.store import open_store
    from strata.store.location import server_url, store_path

    try:
        if server_url(url) is None and not store_path(url).exists():
            return None
        with open_store(url) as store:
            place = noise_place(where, direct) if isinstance(where, Endpoint) else noise_place_of(where, direct)
            noise = earlier_noise(store, place)
            if cell is None:
                return noise
            runs = _runs(store, cell)
            if noise is None and runs:
                # The newest runs of the store are all of other places.
                noise = store.load_run(runs[-1].run).pooled
            return with_earlier(noise, runs)
    except StrataError:
        return None


def _runs(store: Store, cell: SeriesName) -> tuple[Earlier, ...]:
    """Of runs of several rounds, the first one of each: rounds of one run do not show what runs differ by."""
    from strata.analyse.again import Earlier

    newest = store.history(cell, newest=ROWS)
    first = {f.run_id: f for f in reversed(newest) if f.kind == StepKind.MEASURE.value and f.iops > 0}
    return tuple(Earlier(run=f.run_id, iops=f.iops, seconds=f.ops / f.iops) for f in reversed(first.values()))


def _device(path: Path) -> str:
    there = path
    while not there.exists() and there != there.parent:
        there = there.parent
    try:
        found = survey(there, 0.0).file_system
    except StrataError:
        return str(there)
    return found.device or f"{found.kind} {found.source}"


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
            history=lambda names: Rates(store).others([before[n][0] for n in names], {earlier.id, run.id}),
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
    for found in map(store.load_run, runs[:LOADED]):
        prevented = any(f.fairness is Fairness.PREVENTS for f in environments(found, run, anyway=True))
        if not prevented and _devices(found) == _devices(run):
            yield found


def _devices(run: Run) -> list[tuple[str | None, str | None, int | None]]:
    return [(d.model, d.serial, d.size) for d in run.survey.devices] if run.survey is not None else []
