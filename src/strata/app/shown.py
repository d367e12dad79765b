"""The intervals of one measurement as the events that whoever watches a run is told."""

from __future__ import annotations

from strata import units
from strata.app.runner import Emit, Hear, rates
from strata.model.progress import Glance, Phase, Progress
from strata.model.result import Interval


def as_progress(emit: Emit, layer: str, label: str, longest_s: float) -> Hear:
    """What `measure_endpoint` takes as ``on_interval``; ``longest_s`` is the most it may take, without its ramp."""

    def told(done: Interval, now: Glance) -> None:
        left = max(0.0, longest_s - done.end_ns / units.NS_PER_S)
        emit(Progress(phase=Phase.MEASURE, layer=layer, label=label, seconds_left=left, now=now, **rates(done)))

    return told
