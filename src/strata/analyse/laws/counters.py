"""Counters were sampled.

What it claims
    CPU time and the block device were sampled throughout the run, no counter was reset in between, and the wall
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

from collections.abc import Iterator, Sequence
from itertools import islice, pairwise

from strata import units
from strata.analyse.laws.base import Answers, RunView, caveat
from strata.model.counters import clock
from strata.model.plan import round_words
from strata.model.result import CellResult
from strata.model.series import Series, SeriesKind

NAME, TITLE, ORDER = "counters", "counters", 340
SAYS = "counters were not sampled"
NEXT = "Make them readable (rights, /proc and /sys), then measure again."

MOST = 5
"""Events that are told one by one; a clock that is set all the time says it once for all."""


def of_run(run: RunView) -> Answers:
    """One for the run, naming what is absent."""
    if not run.cells:
        return
    absent = []
    if all(c.cpu_busy is None for c in run.cells):
        absent.append("CPU time")
    if run.devices and all(c.device_in_flight is None for c in run.cells):
        absent.append("the block device")
    for event in islice(events([r for c in run.cells for r in run.of(c).results]), MOST):
        yield caveat(event)
    if absent:
        text = f"no counters of {' and '.join(absent)}: causes there can be neither named nor ruled out"
        yield caveat(text)


STEP_S = 0.002
"""Above what reading two clocks one after the other differs by on a busy machine."""
SLEW = 0.0005
"""The kernel slews a clock by at most this share of the time; a correction of that kind is no step."""
SHOWN = 3


def events(cells: Sequence[CellResult]) -> Iterator[str]:
    """In words, with the round, in the order they happened."""
    for cell in cells:
        for series in cell.counters:
            if series.metric == clock.OFFSET.name:
                for step in steps(series):
                    yield f"{_told(series, step)} in {round_words(cell.round)}"
        counters = [s for s in cell.counters if s.kind is SeriesKind.COUNTER]
        anew = [s.metric for s in counters if any(b < a for a, b in pairwise(s.values))]
        if anew:
            names = sorted(set(anew))
            more = f" and {len(names) - SHOWN} more" if len(names) > SHOWN else ""
            told = f"{', '.join(names[:SHOWN])}{more} were reset in {round_words(cell.round)}"
            yield f"{told}: their increments are not known"


def steps(series: Series) -> list[float]:
    """Jumps of a clock against the monotonic one, in seconds."""
    found = []
    for (t0, v0), (t1, v1) in pairwise(zip(series.t_ns, series.values, strict=True)):
        if abs(v1 - v0) > STEP_S + SLEW * (t1 - t0) / units.NS_PER_S:
            found.append(v1 - v0)
    return found


def _told(series: Series, step: float) -> str:
    size = units.duration(abs(step) * units.NS_PER_S)
    if series.labels.get("clock") == clock.BOOTTIME:
        return f"the machine slept for {size}"
    return f"the wall clock was set {'forward' if step > 0 else 'back'} by {size}"
