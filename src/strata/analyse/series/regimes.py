"""A series cut into its ramp and its regimes."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

from strata.analyse.series import change, steady, truncate
from strata.analyse.series.change import changes
from strata.analyse.series.longrun import Floats
from strata.analyse.series.steady import steadiness
from strata.analyse.series.truncate import ramp_end

CRITERION = f"ramp by {truncate.CRITERION}; steady: {steady.CRITERION}"
REGIMES_MOST = 3
"""More than these, and the level comes and goes: there is no regime to be in."""


@dataclass(frozen=True)
class Segmentation:
    """``ramp``: bins left out. ``pieces``: (start, end) of the regimes after it; one piece where it ``alternates``."""

    ramp: int
    pieces: tuple[tuple[int, int], ...]
    alternates: bool


def cut(values: Floats, bin_s: float) -> Segmentation:
    """Where ``values`` (bins of ``bin_s`` seconds) ramp up, and where they change their level for good.

    The first piece is the ramp where it is not steady by itself: a climb is no regime, a plateau is.
    """
    edges = [0, *changes(values, bin_s), values.size]
    pieces = list(pairwise(edges))
    shortest = max(10, round(change.SHORTEST_S / bin_s))
    ramp = 0
    while len(pieces) > 1:
        start, end = pieces[0]
        plateau = start + ramp_end(values[start:end])
        found = steadiness(values[plateau:end])
        if end - plateau >= shortest and found is not None and found.steady:
            break
        ramp = end
        pieces.pop(0)
    start, end = pieces[0]
    ramp = start + ramp_end(values[start:end])
    pieces[0] = (ramp, end)
    if len(pieces) > REGIMES_MOST:
        return Segmentation(ramp, ((ramp, values.size),), alternates=True)
    return Segmentation(ramp, tuple(pieces), alternates=False)
