"""Counters were sampled.

What it claims
    Processor time and the block device were sampled throughout the run, no counter was reset in between, and the wall
    clock was not set.
Why it matters
    Without samples a cause can be neither confirmed nor ruled out.
Evidence
    The counters of all cells, and the wall clock beside the monotonic one. Rates use the monotonic clock; a counter of
    32 bits that wrapped is continued, one that was reset is ignored in that round.
What rules it out
    Data on no block device (a file system in memory): no device counter can be missing there.
Source
    Strata's own rule.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice

from strata.analyse.clock import events
from strata.analyse.laws.view import RunView, colour
from strata.model.figures import Flag

NAME, TITLE, ORDER = "counters", "counters", 340
SAYS = "counters were not sampled"
NEXT = "Make them readable (rights, /proc and /sys), then measure again."

MOST = 5
"""Events that are told one by one; a clock that is set all the time says it once for all."""


def of_run(run: RunView) -> Iterator[Flag]:
    """One for the run, naming what is absent."""
    if not run.cells:
        return
    absent = []
    if all(c.cpu_busy is None for c in run.cells):
        absent.append("processor time")
    if run.devices and all(c.device_in_flight is None for c in run.cells):
        absent.append("the block device")
    for event in islice(events([r for c in run.cells for r in run.of(c).results]), MOST):
        yield colour(event)
    if absent:
        text = f"no counters of {' and '.join(absent)}: causes there can be neither named nor ruled out"
        yield colour(text)
