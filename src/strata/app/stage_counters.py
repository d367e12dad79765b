"""Counters that were collected beside a stage by another tool, given to the measurements of their time.

Their clock may be another. How far it is ahead is looked for in what both saw; without evidence nothing is moved, and
that is said. A file that does not say when it was measured gets counters only where such evidence says it.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import PurePath
from typing import TYPE_CHECKING

from strata import units
from strata.app.imported_run import UNKNOWN
from strata.model.clock_skew import ClockSkew
from strata.model.result import CellResult, EngineResult
from strata.model.run import Run
from strata.model.series import Series

if TYPE_CHECKING:
    from strata.store import Store

COVERED = 0.8
"""Of the time of a measurement, what counters have to be of to be its own."""
Counted = tuple[str, tuple[Series, ...]]
"""The file of counters, and what it holds."""


def counted_in(runs: Sequence[Run], store: Store) -> list[Counted]:
    """The counters of every run that has some for itself."""
    return [
        (_name(one), cell.counters) for one in runs for cell in store.cells(one.id) if cell.kind == "counters"
    ]  # fmt: skip


def clocks_of(
    measured: Sequence[tuple[Run, Sequence[CellResult]]], counted: Sequence[Counted]
) -> list[list[ClockSkew]]:
    """For each run, how far the clock of each file of counters is ahead of its own.

    Runs of one host have one clock: where one of them shows it, and no other says otherwise, it holds for all of them.
    """
    found = [[_skew(run, results, name, series) for name, series in counted if results] for run, results in measured]
    for at in range(len(counted)):
        shown: dict[str, list[ClockSkew]] = {}
        for (run, _), clocks in zip(measured, found, strict=True):
            if clocks and clocks[at].seconds is not None and run.environment.hostname != UNKNOWN:
                shown.setdefault(run.environment.hostname, []).append(clocks[at])
        for (run, _), clocks in zip(measured, found, strict=True):
            others = shown.get(run.environment.hostname, [])
            if clocks and clocks[at].seconds is None and others and _dated(run) and _agree(others):
                best = min(others, key=lambda c: c.within_s or 0.0)
                clocks[at] = best.model_copy(update={"measured": clocks[at].measured})
    return found


def _agree(clocks: Sequence[ClockSkew]) -> bool:
    low = max((c.seconds or 0.0) - (c.within_s or 0.0) for c in clocks)
    return low <= min((c.seconds or 0.0) + (c.within_s or 0.0) for c in clocks)


def aligned(run: Run, clocks: Sequence[ClockSkew], counted: Sequence[Counted]) -> tuple[Series, ...]:
    """The counters by the clock of the run."""
    moved = (
        _moved(series, clock.applied_s)
        for clock, (_, series) in zip(clocks, counted, strict=False)
        if clock.seconds is not None or _dated(run)
    )
    return tuple(s for several in moved for s in several)


def beside(result: CellResult, counted: Sequence[Series]) -> CellResult:
    """With what other files of the layer counted in its time, where it has no counters of its own.

    The devices are those of the counters where there is one alone.
    """
    from strata.formats.counter_sets import as_ours

    found = result.result
    if found is None or result.counters or not counted:
        return result
    start = found.started_unix_ns + found.ramp_ns
    end = start + found.measured_ns
    least = (end - start) * COVERED
    there = tuple(s for s in as_ours(counted) if min(end, s.t_ns[-1]) - max(start, s.t_ns[0]) >= least)
    devices = tuple(dict.fromkeys(d for s in there if (d := s.labels.get("device"))))
    alone = {"devices": devices, "carriers": devices} if len(devices) == 1 else {}
    return result.model_copy(update={"counters": there, **alone}) if there else result


def clock_said(clock: ClockSkew) -> str | None:
    """What the reader must know of it; None where the clocks agree."""
    if clock.seconds is None:
        return (
            f"how far the clocks of {clock.counters} and {clock.measured} are apart is not known ({clock.why}): they "
            "are taken to agree"
        )
    if not clock.applied_s:
        return None
    side = "ahead of" if clock.seconds > 0 else "behind"
    by, within = (units.duration(round(abs(s or 0.0) * units.NS_PER_S)) for s in (clock.seconds, clock.within_s))
    return (
        f"the clock of {clock.counters} is {by} (± {within}) {side} that of {clock.measured}, by the I/Os that "
        f"{clock.seen_by} also saw: its counters are shifted by this offset"
    )


def _skew(run: Run, results: Sequence[CellResult], name: str, series: tuple[Series, ...]) -> ClockSkew:
    from strata.analyse.skew import Estimated, Seen, skew
    from strata.formats.counter_sets import ios_of

    spans = [span for one in results if one.result is not None for span in _spans(one.result)]
    found = skew(spans, {of: Seen(t, total) for of, (t, total) in ios_of(series).items()})
    ends = {"counters": name, "measured": _name(run)}
    if isinstance(found, Estimated):
        return ClockSkew(**ends, seconds=found.seconds, within_s=found.within_s, seen_by=found.by)
    return ClockSkew(**ends, why=found)


def _spans(one: EngineResult) -> list[tuple[int, int, float]]:
    """When it did how many I/Os each second."""
    begin = one.started_unix_ns + one.ramp_ns
    ramp = [(one.started_unix_ns, begin, one.ops / one.seconds)] if one.ramp_ns and one.seconds else []
    if one.intervals:
        return ramp + [
            (
                begin + i.start_ns, begin + i.end_ns,
                (i.read.ops + i.write.ops) * units.NS_PER_S / (i.end_ns - i.start_ns),
            )
            for i in one.intervals if i.end_ns > i.start_ns
        ]  # fmt: skip
    return [*ramp, (begin, begin + one.measured_ns, one.ops / one.seconds)] if one.seconds else []


def _moved(series: tuple[Series, ...], ahead_s: float) -> tuple[Series, ...]:
    """By the other clock, which is so much behind."""
    by = round(ahead_s * units.NS_PER_S)
    return tuple(s.model_copy(update={"t_ns": tuple(t - by for t in s.t_ns)}) for s in series) if by else series


def _dated(run: Run) -> bool:
    """Whether it says when it was measured: the time of a file is that of a copy, as often as not."""
    found = run.imported
    if found is None or found.started_unix_ns is not None:
        return True
    return all(c.started_unix_ns is not None for c in found.cells)


def _name(run: Run) -> str:
    return run.id if run.source is None else PurePath(run.source.path).name
