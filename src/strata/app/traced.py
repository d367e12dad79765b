"""One extra short window of a workload with a block trace beside it. Never in a timed round: a trace costs."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from strata.app.tracing import targets_of
from strata.engine import Engine, Request, Timing, prepare_cell, run_cell
from strata.model.trace import TraceSummary, summary_of
from strata.probes.trace import recording

WINDOW_S, RAMP_S, GRACE_S = 0.5, 0.1, 30.0
MAX_EVENTS = 2_000_000


def traced(
    engine: Engine, request: Request, where: Path, stop_requested: Callable[[], bool] = lambda: False
) -> tuple[TraceSummary, ...]:
    """The workload of ``request`` for half a second, and what reached the devices below ``where`` meanwhile.

    The upper device comes first; what others did there is in it too. Raises what the engine and the trace raise.
    """
    seconds = min(WINDOW_S, request.timing.runtime_s)
    timing = Timing(ramp_s=RAMP_S, runtime_s=seconds, interval_s=seconds)
    prepared = prepare_cell(request.model_copy(update={"timing": timing}))
    with recording(targets_of(where), RAMP_S + seconds + GRACE_S, MAX_EVENTS) as window:
        result = run_cell(engine, prepared, None, stop_requested)
        window.stop()
        figures, told = window.result()
    # Ramp and drain are in the trace, so they are in the count it is held against.
    return tuple(summary_of(d, figures.window_ns / 1e9, told.whole, result.completed) for d in figures.devices)
