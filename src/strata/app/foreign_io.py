"""What the devices do while nothing of ours reaches them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeVar

from strata.model.counters import Counter, blockdev
from strata.model.foreign_io import ForeignIo
from strata.model.series import Series
from strata.probes import PROBES, Sampler

WHOLE_S = 60.0
"""Between two samples: what counts is the growth from the first to the last."""

T = TypeVar("T")


def with_foreign_io(devices: Sequence[str], call: Callable[[], T]) -> tuple[T, tuple[ForeignIo, ...]]:
    """What ``call`` gives, and what ``devices`` did meanwhile. It must reach none of them itself."""
    sampler = Sampler(devices, WHOLE_S, {"blockdev": PROBES["blockdev"]}).start()
    try:
        made = call()
    finally:
        found = sampler.stop()
    return made, foreign_io(devices, found)


def foreign_io(devices: Sequence[str], found: Sequence[Series]) -> tuple[ForeignIo, ...]:
    """Of each device that was sampled at both ends."""
    rates = {(s.metric, s.labels["device"]): s for s in found if s.rate is not None}

    def of(counter: Counter, device: str) -> float | None:
        one = rates.get((counter.name, device))
        return None if one is None else one.rate

    made = []
    for device in devices:
        moved = [of(c, device) for c in (blockdev.READS, blockdev.WRITES, blockdev.READ_BYTES, blockdev.WRITE_BYTES)]
        reads, writes, read_bytes, write_bytes = moved
        if reads is None or writes is None or read_bytes is None or write_bytes is None:
            continue
        made.append(
            ForeignIo(
                device=device,
                seconds=rates[blockdev.READS.name, device].seconds,
                reads=reads,
                writes=writes,
                read_bytes=read_bytes,
                write_bytes=write_bytes,
                # The kernel counts it in ticks, of which a short look may hold one more than fits into it.
                busy=None if (busy := of(blockdev.IO_SECONDS, device)) is None else min(1.0, busy),
                in_flight=of(blockdev.WEIGHTED_SECONDS, device),
            )
        )
    return tuple(made)
