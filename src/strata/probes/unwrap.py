"""Counters of 32 bits that began again at 0: told from a reset, and carried on."""

from __future__ import annotations

from collections.abc import Sequence


def unwrap(values: Sequence[float], wraps_at: float | None) -> list[float]:
    """The same growth without the falls that a wrap explains.

    A fall is a wrap when it leaves a growth below half the range; the counter must be read that often (a counter of
    milliseconds of 100 requests in flight: every 6 h). Any other fall is a reset (a module loaded anew, a device
    replaced) and stays a fall: what grew across it is not known, and whoever takes differences finds it absent.
    """
    if wraps_at is None:
        return list(values)
    carried, added = [], 0.0
    for place, value in enumerate(values):
        fallen = place > 0 and value < values[place - 1]
        if fallen and 0 <= value + wraps_at - values[place - 1] < wraps_at / 2:
            added += wraps_at
        carried.append(value + added)
    return carried
