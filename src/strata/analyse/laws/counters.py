"""Counters are there.

What it claims
    Processor time and the block device were sampled through the run, nothing began anew in between, and the wall
    clock was not set.
Why it matters
    What was not sampled can speak neither for a cause nor against it.
Evidence
    The counters of all cells, and the wall clock beside the monotonic one. Rates are taken by the monotonic clock; a
    counter of 32 bits that wrapped is carried on, one that was reset says nothing in that round.
What rules it out
    Data on no block device (a file system in memory): none can be missed there.
Source
    Our own.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice

from strata.analyse.clock import events
from strata.analyse.laws.view import RunView, colour
from strata.model.analysis import Check

NAME, TITLE, ORDER = "counters", "counters", 340
SAYS = "counters were not sampled"
NEXT = "Make them readable (rights, /proc and /sys), then measure again."

MOST = 5
"""Events that are told one by one; a clock that is set all the time says it once for all."""


def of_run(run: RunView) -> Iterator[Check]:
    """One for the run, naming what is absent."""
    if not run.cells:
        return
    absent = []
    if all(c.cpu_busy is None for c in run.cells):
        absent.append("processor time")
    if run.devices and all(c.device_in_flight is None for c in run.cells):
        absent.append("the block device")
    for event in islice(events([r for c in run.cells for r in run.of(c).results]), MOST):
        yield colour(NAME, event)
    if absent:
        text = f"no counters of {' and '.join(absent)}: causes there can be neither named nor ruled out"
        yield colour(NAME, text)
