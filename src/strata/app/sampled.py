"""One measurement with the counters of all nodes beside it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from strata.app.watching import Watch
from strata.discover.chain import NOTHING, Under
from strata.engine import Engine, run_cell
from strata.engine.cell import Prepared
from strata.model.progress import Glance
from strata.model.result import EngineResult, Interval, ServerTimes
from strata.model.series import Series
from strata.probes import Sampler
from strata.probes.processes import Processes
from strata.probes.target import ask, between

INTERVAL_S, LEAST_S, SAMPLES = 0.25, 0.1, 4
"""Between two samples, and of a short measurement so many at least, as far as the least interval allows it."""


@dataclass(frozen=True)
class Sampled:
    """What one measurement gave, what was counted meanwhile, and what could not be."""

    result: EngineResult
    counters: tuple[Series, ...]
    absent: tuple[str, ...]
    server: ServerTimes | None
    under: Under = NOTHING
    """The block devices that the requests reach."""


def run_sampled(
    engine: Engine,
    prepared: Prepared,
    watch: Watch,
    on_interval: Callable[[Interval, Glance], None],
    stop_requested: Callable[[], bool],
    processes: Processes | None = None,
) -> Sampled:
    """Measure, and read the counters of ``watch`` meanwhile; each interval comes with a glance at them.

    ``processes``: what is known of this machine's, where several are measured one after the other.

    Raises what the engine raises; the counters are closed either way.
    """
    timing = prepared.request.timing
    interval_s = min(INTERVAL_S, max(LEAST_S, (timing.ramp_s + timing.runtime_s) / SAMPLES))
    sampler = Sampler(watch.devices, interval_s, paths=watch.paths, nodes=watch.nodes, processes=processes)
    before = _server(watch)
    sampler.start()
    try:
        result = run_cell(engine, prepared, lambda i: on_interval(i, sampler.glance()), stop_requested)
    finally:
        counters = sampler.stop()
    return Sampled(result, counters, sampler.absent, _grown(before, _server(watch)), watch.under)


def _server(watch: Watch) -> dict[str, object] | None:
    try:
        return None if watch.stats is None else ask(watch.stats, times=True)
    except OSError:
        return None


def _grown(before: dict[str, object] | None, after: dict[str, object] | None) -> ServerTimes | None:
    if before is None or after is None:
        return None
    found = between(before, after)
    if not found:
        return None
    return ServerTimes(source="target", read=found.get("read"), write=found.get("write"))
