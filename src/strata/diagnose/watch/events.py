"""Changes of level within one watching: the rule of a watching that goes on, over the pieces of this one."""

from __future__ import annotations

from typing import NamedTuple

from strata.analyse.watch.levels import level_changes
from strata.analyse.watch.places import places
from strata.diagnose.watch.view import LoadView
from strata.model.watch import Observed, WatchedLayer, WatchEvent
from strata.units import NS_PER_S


class PieceRows(NamedTuple):
    """Until when, and what each place did in it."""

    at_unix_ns: int
    layers: tuple[WatchedLayer, ...]


def events_within(seen: Observed) -> tuple[WatchEvent, ...]:
    """In the span of the load: that it begins and ends is no change of its level. Pure."""
    return level_changes(
        [
            PieceRows(seen.began_unix_ns + round(seen.bins[at + 1] * NS_PER_S), places(seen, at, at + 1))
            for at in range(*LoadView(seen).span)
        ]
    )
