"""The clock of a node by least round trip: it was read at some instant between the question and the answer."""

from __future__ import annotations

import asyncio
import time
from typing import Any

from strata.errors import RunFailed
from strata.fleet.settings import CONNECT_S
from strata.model.nodes import ClockOffset

OP = "strata_clock"
"""What a node's worker answers with its CLOCK_MONOTONIC."""


def now_ns() -> int:
    """CLOCK_MONOTONIC, which the measuring clock of the engine follows and no daemon sets."""
    return time.clock_gettime_ns(time.CLOCK_MONOTONIC)


async def measured(client: Any, address: str, node: str, probes: int) -> ClockOffset:
    """Asks the node itself, or through its scheduler where it cannot be reached from here. Raises `RunFailed`."""
    ways = (client.rpc(address).strata_clock, lambda: client.scheduler.proxy(msg={"op": OP}, worker=address))
    error: BaseException | None = None
    for way in ways:
        best: ClockOffset | None = None
        try:
            # The first one opens the connection.
            for _ in range(probes + 1):
                sent = now_ns()
                there = int(await asyncio.wait_for(way(), CONNECT_S))
                best = least(best, sent, there, now_ns())
        except (OSError, TimeoutError, TypeError, ValueError) as e:
            error = e
            continue
        assert best is not None
        return best
    why = str(error) or "it does not answer"
    raise RunFailed("cannot read the clock of", node, why, "check that it has joined: strata node list") from error


def least(best: ClockOffset | None, sent: int, there: int, received: int) -> ClockOffset:
    """The better of what is known and one more question."""
    trip = received - sent
    if best is not None and best.round_trip_ns <= trip:
        return best
    # Rounded up, so that the bound holds for an odd number of nanoseconds as well.
    return ClockOffset(offset_ns=there - (sent + received) // 2, bound_ns=(trip + 1) // 2, round_trip_ns=trip)
