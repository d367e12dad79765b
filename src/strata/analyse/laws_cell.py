"""Laws that one cell can break by itself."""

from __future__ import annotations

import math

import numpy as np

from strata import units
from strata.analyse.noise import interval_rates
from strata.analyse.rounds import PERCENTILES, CellRounds, supported
from strata.model.analysis import CellSummary, Check, CheckKind, Generator, NoiseFloor
from strata.model.workload import ClosedLoop, OpenLoop

LITTLE_TOLERANCE = 0.05
RATE_TOLERANCE = 0.005
HEADROOM_COLOUR, HEADROOM_LIMIT = 0.5, 0.8
RATE_SHORT = 0.02
SLOTS_FULL = 0.5
BURST = 100.0
"""From a hundredfold rise on the first third held nothing, or a stall, and a factor would say nothing."""


def little(cell: CellSummary) -> Check | None:
    """Little (1961): in a closed loop X·R is the number of I/Os kept outstanding, N.

    More than N cannot be. Less says that the generator left slots empty between a completion and the next issue:
    it colours the cell, unless that is what the workload asks for (ceilings, pauses). A flush in flight occupies a
    slot like an I/O and is one of the N. Edges of the measured span are worth up to N I/Os, which is added to the 5 %.
    """
    if not isinstance(cell.workload.arrival, ClosedLoop) or cell.ios < 100:
        return None
    n = cell.workload.outstanding
    slack = LITTLE_TOLERANCE + 2 * n * cell.rounds / cell.ios
    ratio = cell.outstanding / n
    if abs(ratio - 1) <= slack:
        return None
    over = ratio > 1
    if not over and not cell.workload.saturates:
        return None
    text = f"IOPS × mean time gives {units.significant(cell.outstanding)} I/Os outstanding, the workload keeps {n}"
    text += ": these figures cannot belong together" if over else ": the generator left part of the depth unused"
    return Check(kind=CheckKind.LITTLE, layer=cell.layer, workload_key=cell.workload.key, impossible=over, message=text)


def rate(cell: CellSummary, rounds: CellRounds) -> Check | None:
    """IOPS × size = bytes per second, in every round. Sizes that are drawn may differ by five standard errors."""
    mean, deviation = cell.workload.bs_moments
    for value in rounds.values:
        expected = value.iops * mean
        chance = 5 * deviation / mean / math.sqrt(max(1, value.ios))
        if abs(value.bytes_per_second / expected - 1) > RATE_TOLERANCE + chance:
            return Check(
                kind=CheckKind.RATE,
                layer=cell.layer,
                workload_key=cell.workload.key,
                impossible=True,
                message=f"{units.count(value.iops)} IOPS of {units.size(mean)} are {units.rate(expected)}, "
                f"but round {value.round} says {units.rate(value.bytes_per_second)}",
            )
    return None


def samples(cell: CellSummary) -> Check | None:
    """n·(1−p) ≥ 100: fewer I/Os beyond a percentile and it is a handful of single events."""
    known = supported(PERCENTILES, cell.ios)
    if "99" in known:
        return None
    best = f"up to p{known[-1]}" if known else "not even the median"
    return Check(
        kind=CheckKind.SAMPLES,
        layer=cell.layer,
        workload_key=cell.workload.key,
        impossible=False,
        message=f"{units.count(cell.ios)} I/Os carry {best}; p99 needs 10 000",
    )


def unsteady(cell: CellRounds, noise: NoiseFloor) -> Check | None:
    """Drift, a cliff or a spread between the intervals of one cell far beyond what this machine shows elsewhere.

    Drift: last third against first third of the intervals, over the rounds; a halving is always
    said. Spread: coefficient of variation over three
    times the typical one (and 30 %). Both may mean a cache that fills, a tier change or a neighbour.
    """
    series = [interval_rates(r.result.intervals) for r in cell.results if r.result is not None]
    series = [s for s in series if len(s) >= 4 and min(s) >= 0 and sum(s) > 0]
    if not series:
        return None
    thirds = [(float(np.mean(s[: len(s) // 3 or 1])), float(np.mean(s[-(len(s) // 3 or 1) :]))) for s in series]
    logs = [math.log(max(b, 1e-9) / max(a, 1e-9)) for a, b in thirds]
    typical = max(noise.within_bins, 0.02)
    shift = float(np.median(logs))
    message = None
    if abs(shift) > min(max(0.2, 3 * typical), math.log(2)):
        word = "fell" if shift < 0 else "rose"
        cliff = shift < math.log(0.5)
        share = math.exp(shift)
        change = f"{word} to {units.percent(share, 2)}" if share < BURST else "rose from next to nothing"
        message = f"IOPS {change} from the first to the last third of a measurement"
        message += ": a cliff, as when a cache is full; measure longer" if cliff else "; measure longer"
    else:
        spread = float(np.median([np.std(s, ddof=1) / np.mean(s) for s in series]))
        if spread > max(0.3, 3 * typical):
            message = f"intervals differ by {units.percent(spread, 2)} (standard deviation), "
            message += f"elsewhere {units.percent(typical, 2)}"
    if message is None:
        return None
    return Check(
        kind=CheckKind.UNSTEADY, layer=cell.layer, workload_key=cell.workload.key, impossible=False, message=message
    )


def errors(cell: CellRounds) -> Check | None:
    """Failed I/Os and failed measurements."""
    if not cell.errors and not cell.failed:
        return None
    parts = [f"{units.count(cell.errors)} I/Os failed"] if cell.errors else []
    if cell.failed:
        parts.append(f"{len(cell.failed)} measurement(s) failed: {cell.failed[0]}")
    return Check(
        kind=CheckKind.ERRORS,
        layer=cell.layer,
        workload_key=cell.workload.key,
        impossible=False,
        message="; ".join(parts),
    )


def ceiling(generator: Generator | None, key: str) -> float | None:
    """What the engine reaches against nothing at this depth and size; the pattern does not matter to it."""
    if generator is None:
        return None
    if key in generator.iops:
        return generator.iops[key]
    shape = key.partition("-")[2]
    return next((v for k, v in generator.iops.items() if k.partition("-")[2] == shape), None)


def generator_headroom(cell: CellSummary, generator: Generator | None) -> Check | None:
    """IOPS against the null ceiling: from 50 % the generator is in the figure, from 80 % it is the figure."""
    top = ceiling(generator, cell.workload.key)
    if top is None or top <= 0 or (share := cell.iops.value / top) < HEADROOM_COLOUR:
        return None
    limit = share >= HEADROOM_LIMIT
    text = f"{units.count(cell.iops.value)} IOPS are {units.percent(share, 2)} of what the generator reaches"
    text += " against nothing"
    text += ": the generator is the limit" if limit else ": its own cost is part of the figure"
    return Check(
        kind=CheckKind.GENERATOR, layer=cell.layer, workload_key=cell.workload.key, impossible=False, message=text
    )


def overload(cell: CellSummary, rounds: CellRounds) -> Check | None:
    """Open loop: fewer I/Os done than asked for, beyond 2 % and three standard deviations of a Poisson count.

    Response times then grow for as long as the run lasts, so they say how long it was, not how slow the target is.
    With the slots mostly taken (on average over a run in which they fill up) it is the target that does not keep
    up; with slots free it is the generator.
    """
    arrival = cell.workload.arrival
    if not isinstance(arrival, OpenLoop):
        return None
    seconds = sum(r.result.seconds for r in rounds.results if r.result is not None)
    asked = arrival.iops * seconds
    if cell.ios >= asked * (1 - RATE_SHORT) - 3 * math.sqrt(asked):
        return None
    bound = cell.workload.outstanding
    who = "the target does" if cell.outstanding >= SLOTS_FULL * bound else "the generator or its schedule did"
    text = (
        f"asked for {units.count(arrival.iops)} IOPS, {units.count(cell.iops.value)} were done: {who} not keep up, "
        f"and response times grow with the length of the run; {units.significant(cell.outstanding)} of at most "
        f"{bound} I/Os were in flight"
    )
    return Check(
        kind=CheckKind.OVERLOAD, layer=cell.layer, workload_key=cell.workload.key, impossible=False, message=text
    )
