"""Sides that causes are on, as their modules declare them (``SIDES``)."""

from __future__ import annotations

from enum import StrEnum
from functools import lru_cache

from strata.diagnose.registry import rules
from strata.model.cause import Cause


class CauseSide(StrEnum):
    """What experiments, and the findings beside it, have to know of a cause."""

    BYTES = "bytes"
    """So many bytes per second, whatever the size of a request."""
    OTHERS = "others"
    """The bytes of others fill it: requests wait behind them, and what is left is no fixed rate."""
    FULL = "full"
    """Something is full in the cells that it explains: more requests at once gain nothing."""
    EPISODES = "episodes"
    """A limit is fitted to the rate between these: it may be so beside them in the same cells."""
    BETWEEN = "between"
    """A limit that is: whether episodes come again says nothing of it."""
    PATH = "path"
    """On the way to the far end, or in front of it."""
    FAR = "far"
    """At the far end: the server, or what it stores on."""
    WAIT = "wait"
    """Each request takes a fixed time more."""
    FIGURES = "figures"
    """It costs nothing: the figures are those of something else, so its loss is a rank and no part of what is lost."""


@lru_cache
def on(side: CauseSide) -> frozenset[Cause]:
    """The causes on that side. Raises `ValueError` where one declares a side that there is not."""
    return frozenset(rule.cause for rule in rules() if side in map(CauseSide, rule.sides))
