"""Sides that causes are on: what is full, what counts bytes, what lies before the far end and what is at it."""

from __future__ import annotations

from strata.model.cause import Cause

BYTES = frozenset({Cause.WIRE_BANDWIDTH, Cause.WRONG_CARD, Cause.NOISY_WIRE, Cause.BANDWIDTH_CAP})
"""So many bytes per second, whatever the size of a request."""
FULL = BYTES | {
    Cause.IOPS_CAP,
    Cause.LIMITED_QUEUE,
    Cause.PROCESSORS,
    Cause.QUOTA,
    Cause.SINGLE_THREAD,
    Cause.CLIENT_PROCESSORS,
    Cause.GENERATOR,
    Cause.MEDIUM,
}
"""Causes that claim that something is full in the cells that they explain: more requests at once gain nothing."""
EPISODES = frozenset({Cause.STALLS, Cause.SLOW_PHASES})
"""A limit is fitted to the rate between these: it may be so beside them in the same cells."""
BETWEEN = frozenset({Cause.SLOW_MEDIUM, Cause.LIMITED_QUEUE, Cause.IOPS_CAP, Cause.BANDWIDTH_CAP})
"""Limits that are: whether episodes come again says nothing of them."""
PATH = frozenset(
    {
        Cause.WIRE_BANDWIDTH,
        Cause.WIRE_LATENCY,
        Cause.WIRE_LOSS,
        Cause.SMALL_WINDOW,
        Cause.WRONG_CARD,
        Cause.NOISY_WIRE,
        Cause.CLIENT_PROCESSORS,
        Cause.GENERATOR,
    }
)
"""On the way to the far end, or in front of it."""
FAR = frozenset(
    {
        Cause.MEDIUM,
        Cause.SLOW_MEDIUM,
        Cause.SLOW_MEMBER,
        Cause.LIMITED_QUEUE,
        Cause.IOPS_CAP,
        Cause.BANDWIDTH_CAP,
        Cause.NOISY_DEVICE,
        Cause.COLD_CACHE,
        Cause.QUOTA,
        Cause.SINGLE_THREAD,
        Cause.PER_REQUEST_COST,
        Cause.FEW_NODES,
    }
)
"""At the far end: the server, or what it stores on."""
