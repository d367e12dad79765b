"""What carries out a cell: in this process, unless the layer is driven from a node of its own."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol

from strata.app.sampling_scope import SamplingScope
from strata.engine import Engine, Request, Timing, prepare_cell, run_cell
from strata.engine.cell import Prepared
from strata.host.proc import Sys
from strata.model.progress import Glance
from strata.model.result import EngineResult, Interval, ServerTimes
from strata.probes import Sampler
from strata.probes.processes import Processes
from strata.probes.target import ask, between

Hear = Callable[[Interval, Glance], None]
Stop = Callable[[], bool]

INTERVAL_S, LEAST_S, SAMPLES = 0.25, 0.1, 4
"""Between two samples, and of a short measurement so many at least, as far as the least interval allows it."""


def interval_of(timing: Timing) -> float:
    """Seconds between two samples of the counters."""
    return min(INTERVAL_S, max(LEAST_S, (timing.ramp_s + timing.runtime_s) / SAMPLES))


def run_sampled(
    engine: Engine,
    prepared: Prepared,
    sampling: SamplingScope,
    on_interval: Hear,
    stop_requested: Stop,
    processes: Processes | None = None,
) -> tuple[EngineResult, dict[str, Any]]:
    """Measure, and read the counters of ``sampling`` meanwhile; each interval comes with a glance at them. What was
    counted, and what could not be, comes as fields of `CellResult`.

    ``processes``: what is known of this machine's, where several are measured one after the other.

    Raises what the engine raises; the counters are closed either way.
    """
    interval_s = interval_of(prepared.request.timing)
    sampler = Sampler(sampling.devices, interval_s, paths=sampling.paths, nodes=sampling.nodes, processes=processes)
    before = server_told(sampling)
    sampler.start()
    try:
        result = run_cell(engine, prepared, lambda i: on_interval(i, sampler.glance()), stop_requested)
    finally:
        counters = sampler.stop()
    server, under = server_times(before, server_told(sampling)), sampling.under
    beside = {"counters": counters, "absent": sampler.absent, "server": server}
    return result, beside | {"devices": under.devices, "carriers": under.carriers}


def server_told(sampling: SamplingScope) -> dict[str, object] | None:
    """What the target says whose socket is in ``sampling``; None where there is none, or it says nothing."""
    try:
        return None if sampling.stats is None else ask(sampling.stats, times=True)
    except OSError:
        return None


def server_times(before: dict[str, object] | None, after: dict[str, object] | None) -> ServerTimes | None:
    """Of the requests between two of its answers."""
    if before is None or after is None:
        return None
    found = between(before, after)
    if not found:
        return None
    return ServerTimes(source="target", read=found.get("read"), write=found.get("write"))


class Driver(Protocol):
    """Carries out requests where their layer is driven."""

    def ready(self, layer: str, request: Request) -> Prepared:
        """As `prepare_cell`, there."""

    def measured(
        self, layer: str, prepared: Prepared, hear: Hear, stop_requested: Stop
    ) -> tuple[EngineResult, dict[str, Any]]:
        """As `run_sampled`, there, with the counters of all nodes beside it."""

    def alone(self, layer: str, request: Request, stop_requested: Stop) -> EngineResult:
        """Both in one, without counters."""


class Here:
    """This process. ``sampling`` says what is sampled beside the cells of a layer."""

    def __init__(self, engine: Engine, sampling: Callable[[str], SamplingScope]) -> None:
        self._engine, self._sampling = engine, sampling
        self._processes = Processes(Sys())

    def ready(self, _layer: str, request: Request) -> Prepared:
        return prepare_cell(request)

    def measured(
        self, layer: str, prepared: Prepared, hear: Hear, stop_requested: Stop
    ) -> tuple[EngineResult, dict[str, Any]]:
        return run_sampled(self._engine, prepared, self._sampling(layer), hear, stop_requested, self._processes)

    def alone(self, _layer: str, request: Request, stop_requested: Stop) -> EngineResult:
        return run_cell(self._engine, prepare_cell(request), None, stop_requested)
