"""Changes of level of a watching that goes on: when, at which place, from what to what.

By `strata.analyse.series.change` over the slices of each place; a change by less than a third is none that anybody
would look into.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Protocol

import numpy as np

from strata import units
from strata.analyse.series.change import changes
from strata.model.watch import CALLS, WatchedLayer, WatchEvent

SHORTEST = 3
"""Slices of a level: one that is shorter is a moment, not a level."""
LEAST = 4 / 3
METRICS = ("iops", "bytes_per_second", "in_flight", "request_ns")
_WORDS = {
    "iops": "I/Os per second",
    "bytes_per_second": "rate",
    "in_flight": "requests in flight",
    "request_ns": "time of a request",
}
_UNTOLD = ("application", "CPUs")
"""Places whose rows come and go with processes, or follow all that runs."""


class TimedRows(Protocol):
    """A piece of the time, until when, and what each place did in it: a slice, or a piece of one watching."""

    @property
    def at_unix_ns(self) -> int: ...

    @property
    def layers(self) -> tuple[WatchedLayer, ...]: ...


_Place = tuple[str, str]
_TimedRow = tuple[int, WatchedLayer]


def level_changes(slices: Sequence[TimedRows]) -> tuple[WatchEvent, ...]:
    """In the order of their time, the larger of those of one moment first."""
    found = [event for at, rows in _by_place(slices).items() for metric in METRICS for event in _of(at, rows, metric)]
    return tuple(sorted(found, key=lambda e: (e.at_unix_ns, -max(e.after / e.before, e.before / e.after))))


def _by_place(slices: Sequence[TimedRows]) -> dict[_Place, list[_TimedRow]]:
    """Each place with its rows, one of each slice: a machine of containers has hundreds of cards."""
    found: dict[_Place, list[_TimedRow]] = {}
    for one in slices:
        here: dict[_Place, WatchedLayer] = {}
        for row in one.layers:
            if _told(row):
                here.setdefault((row.layer, row.what), row)
        for place, row in here.items():
            found.setdefault(place, []).append((one.at_unix_ns, row))
    return found


def _told(row: WatchedLayer) -> bool:
    return row.layer not in _UNTOLD and row.kind != CALLS


def _of(place: _Place, rows: Sequence[_TimedRow], metric: str) -> Iterator[WatchEvent]:
    told: list[tuple[int, float]] = [(at, v) for at, row in rows if (v := getattr(row, metric)) is not None]
    values = np.array([v for _, v in told], dtype=np.float64)
    if values.size < 2 * SHORTEST:
        return
    edges = [0, *changes(values, 1.0, shortest=SHORTEST), values.size]
    for before, at, end in zip(edges, edges[1:], edges[2:], strict=False):
        low, high = float(values[before:at].mean()), float(values[at:end].mean())
        if low > 0 and high > 0 and max(low / high, high / low) >= LEAST:
            yield WatchEvent(
                at_unix_ns=told[at][0], layer=place[0], what=place[1], metric=metric, before=low, after=high,
                says=f"{place[1]}: {_WORDS[metric]} from {_shown(metric, low)} to {_shown(metric, high)}",
            )  # fmt: skip


def _shown(metric: str, value: float) -> str:
    if metric == "request_ns":
        return units.duration(value)
    if metric == "bytes_per_second":
        return units.rate(value)
    return units.count(value) if metric == "iops" else units.significant(value, 2)
