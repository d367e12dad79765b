"""What earlier runs showed of the noise of this host and device: the prior of whoever measures next.

Used by the stopping rule of one measurement, the prediction of a matrix, and the tolerance of a diagnosis.
"""

from __future__ import annotations

import platform
from pathlib import Path
from typing import TYPE_CHECKING

from strata.discover.survey import survey
from strata.errors import StrataError
from strata.model.endpoint import Endpoint, EndpointKind
from strata.model.noise import PooledNoise
from strata.model.place import OWN_SERVER
from strata.model.plan import StepKind
from strata.model.remembered import SeriesName
from strata.model.run import Run

if TYPE_CHECKING:
    from strata.analyse.again import Earlier
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
        case EndpointKind.NBD if OWN_SERVER in endpoint.uri:
            device = "own server"
        case _:
            device = endpoint.uri.partition("?")[0]
    return " · ".join((platform.node(), device, "direct" if direct else "buffered"))


def earlier_noise(store: Store, place: str, besides: str | None = None) -> PooledNoise | None:
    """Pooled over the newest runs of that place that have any; None without one. ``besides``: a run to leave out."""
    from strata.analyse.pooled import together

    # Documents of runs are long; only the newest are read.
    found = [_named(r) for r in store.list_runs(RUNS_LOOKED_AT) if r.id != besides and _of(r, place)]
    # Runs of a single start do not say what starts differ by; they must not hide the newest ones that do.
    telling = [n for n in found if n.between_df > 0][:RUNS_POOLED]
    return together([n for n in found if n in found[:RUNS_POOLED] or n in telling])


def earlier_noise_of(
    endpoint: Endpoint, direct: bool, url: str | None, cell: SeriesName | None = None
) -> PooledNoise | None:
    """The same for one endpoint, from the store of that URL; None where there is no store yet or it gives trouble: a
    measurement does not depend on it. With ``cell``, what starts differ by is that of its own earlier runs where there
    are enough."""
    from strata.analyse.again import with_earlier
    from strata.store import open_store
    from strata.store.location import server_url, store_path

    try:
        if server_url(url) is None and not store_path(url).exists():
            return None
        with open_store(url) as store:
            noise = earlier_noise(store, noise_place(endpoint, direct))
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


def _of(run: Run, place: str) -> bool:
    return run.pooled is not None and run.pooled_at == place


def _named(run: Run) -> PooledNoise:
    assert run.pooled is not None
    return run.pooled.model_copy(update={"runs": (run.id,)})


def _device(path: Path) -> str:
    there = path
    while not there.exists() and there != there.parent:
        there = there.parent
    try:
        found = survey(there, 0.0).file_system
    except StrataError:
        return str(there)
    return found.device or f"{found.kind} {found.source}"
