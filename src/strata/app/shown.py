"""The intervals of one measurement as the events that whoever watches a run is told."""

from __future__ import annotations

from collections.abc import Callable

from strata import units
from strata.model.progress import Glance, Phase, Progress
from strata.model.result import Interval


def as_progress(
    emit: Callable[[Progress], None], layer: str, label: str, longest_s: float
) -> Callable[[Interval, Glance], None]:
    """What `measure_endpoint` takes as ``on_interval``; ``longest_s`` is the most it may take, without its ramp."""

    def told(done: Interval, now: Glance) -> None:
        seconds = (done.end_ns - done.start_ns) / units.NS_PER_S
        emit(
            Progress(
                phase=Phase.MEASURE,
                layer=layer,
                label=label,
                iops=(done.read.ops + done.write.ops) / seconds,
                bytes_per_second=(done.read.bytes + done.write.bytes) / seconds,
                seconds_left=max(0.0, longest_s - done.end_ns / units.NS_PER_S),
                now=now,
            )
        )

    return told
