"""One measurement with the machine's counters beside it."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from strata.engine import Engine, run_cell
from strata.engine.cell import Prepared
from strata.model.result import EngineResult, Interval
from strata.model.series import Series
from strata.probes import Sampler


def run_sampled(
    engine: Engine,
    prepared: Prepared,
    devices: Sequence[str],
    on_interval: Callable[[Interval], None],
    stop_requested: Callable[[], bool],
) -> tuple[EngineResult, tuple[Series, ...]]:
    """Measure, and read the counters of ``devices`` meanwhile.

    Raises what the engine raises; the counters are closed either way.
    """
    sampler = Sampler(tuple(devices))
    sampler.start()
    try:
        result = run_cell(engine, prepared, on_interval, stop_requested)
    finally:
        counters = sampler.stop()
    return result, counters
