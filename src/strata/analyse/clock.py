"""What the counters themselves went through: steps of the wall clock, sleep, counters that began anew."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise

from strata import units
from strata.model.counters import clock
from strata.model.plan import round_words
from strata.model.result import CellResult
from strata.model.series import Series, SeriesKind

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
        anew = [s.metric for s in cell.counters if _fell(s)]
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


def _fell(series: Series) -> bool:
    return series.kind is SeriesKind.COUNTER and any(b < a for a, b in pairwise(series.values))
