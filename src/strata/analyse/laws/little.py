"""Little's law.

What it claims
    IOPS × mean time is the number of I/Os in flight, in total and for reads and writes separately, and in a closed
    loop no more are in flight than are kept outstanding. It follows that a mean time grown by a factor lowers the
    IOPS by that factor, no more and no less.
Why it matters
    It connects three figures that are often copied from different runs or clocks. A row that breaks it combines
    figures that do not belong together.
Evidence
    IOPS, mean time and the number kept outstanding (depth × threads); or the number in flight as counted.
What rules it out
    An open loop, which keeps no number outstanding; and, where fewer are in flight, a loop that is throttled by a
    rate cap or by pauses. A flush in flight is one of the I/Os. A time that is only part of an I/O's time is checked
    against the upper bound alone. The law allows five per cent (ten where fewer are in flight), the edges of the
    measured span (twice the outstanding I/Os of each repetition; where more are in flight than kept, the longest I/O's
    share of the span if it is known: an I/O that started before the span counts whole) and the rounding of every
    figure.
Source
    J. D. C. Little, A proof for the queuing formula L = λW, Operations Research 9 (1961); Denning and Buzen, The
    operational analysis of queueing network models, ACM Computing Surveys 10 (1978).
"""

from __future__ import annotations

from strata import units
from strata.analyse.laws.base import Answers, Interval, bounds, flag, given, outstanding, throughput, times, value
from strata.model.figures import Row, Table

NAME, TITLE, ORDER = "little", "Little's law", 10
NEXT_OF_RUN = "Measure again; if it persists, report it as an error of the measurement."
SAYS = "more I/Os in flight than are kept outstanding, or clearly fewer"
TOLERANCE = 0.05
FEWER = 0.10
"""How many fewer in flight than kept are clearly fewer: a short I/O lets the load generator's own time show."""
DIRECTIONS = ("read", "write")
RATIO_TOLERANCE = 0.03
SLIP = 0.15
"""How near to a thousand or a million times a slip of a unit comes, with the noise of two figures."""
FEW = 100
"""With fewer I/Os the edges of the span are most of it."""


def check(table: Table) -> Answers:
    """Rows in which more is in flight than is kept outstanding, or clearly less."""
    for row in given(table):
        yield from _in_flight(table, row)
        yield from _ratio(table, row)


def _in_flight(table: Table, row: Row) -> Answers:
    n = outstanding(table, row)
    ios = value(table, row, "ios")
    loop = table.word(row, "loop")
    if not n or loop == "open" or (ios is not None and ios < FEW):
        return
    slack = TOLERANCE + (2 * n * (value(table, row, "rounds") or 1) / ios if ios else 0.0)
    fewer = FEWER + slack - TOLERANCE
    # The I/Os that lie over an edge are the long ones: with stalls of 200 ms they are far longer than the mean.
    most = TOLERANCE + max(slack - TOLERANCE, value(table, row, "edge") or 0.0)
    counted = bounds(table, row, "in_flight")
    found = [(key, "mean time", span, True) for key, span in ([("in_flight", counted)] if counted else [])]
    if counted is None:
        found += _products(table, row)
    for d in DIRECTIONS:
        if (part := bounds(table, row, f"in_flight.{d}")) is not None:
            found.append((f"in_flight.{d}", f"mean time of {d}s", part, False))
    for key, what, span, whole in found:
        yield None
        over, under = (
            span[0] > n * (1 + most),
            whole and loop != "held" and span[1] < n * (1 - fewer),
        )
        if not over and not under:
            continue
        middle = (span[0] + span[1]) / 2
        text = f"IOPS × {what} gives {units.significant(middle)} I/Os in flight, the workload keeps {n:g}"
        slip = _slip(middle / n) if key != "in_flight" else None
        if slip is not None:
            text += f": {slip} times too {'many' if over else 'few'}, as if a unit were another one"
            yield flag(
                row, text, "Check the units of IOPS and time.", broken=True, column=key,
                numbers={"in_flight": middle, "outstanding": n},
            )  # fmt: skip
            continue
        text += ": these figures cannot belong together" if over else ": the load generator did not use the whole depth"
        step = (
            "Find the run and the clock each figure was taken from; measure again with Strata."
            if over
            else "Use an engine that keeps the depth (asynchronous, unbuffered)."
        )
        yield flag(row, text, step, broken=over, column=key, numbers={"in_flight": middle, "outstanding": n})


def _slip(times: float) -> str | None:
    """A thousand or a million, where so many times too many or too few are in flight, and the rest fits."""
    for power, words in ((1e3, "1,000"), (1e6, "1,000,000")):
        if any(abs(times / scale - 1) <= SLIP for scale in (power, 1 / power)):
            return words
    return None


def _products(table: Table, row: Row) -> list[tuple[str, str, Interval, bool]]:
    """(key, its words, X·R, whether it is the whole of what is outstanding)."""
    rate = throughput(table, row)
    found = []
    if rate is not None:
        for key, what, whole in (("time.mean", "mean time", True), ("time.service", "service time", False)):
            time = bounds(table, row, key)
            if time is not None:
                found.append((key, what, _product(rate, time), whole))
    parts = [
        _product(x, r)
        for d in DIRECTIONS
        if (x := bounds(table, row, f"iops.{d}")) and (r := bounds(table, row, f"time.mean.{d}"))
    ]
    if parts:
        total = (sum(p[0] for p in parts), sum(p[1] for p in parts))
        found.append(("time.mean.read", "mean time over both directions", total, len(parts) == len(DIRECTIONS)))
    return found


def _product(rate: Interval, time_ns: Interval) -> Interval:
    low, high = times(rate, time_ns)
    return low / units.NS_PER_S, high / units.NS_PER_S


def _ratio(table: Table, row: Row) -> Answers:
    slower, rate = value(table, row, "ratio.time"), value(table, row, "ratio.iops")
    if not slower or rate is None:
        return
    yield None
    if abs(slower * rate - 1) <= RATIO_TOLERANCE:
        return
    text = f"a time {units.significant(slower)} times as long leaves a closed loop {units.percent(1 / slower)} of its "
    text += f"IOPS, a loss of {units.percent(1 - 1 / slower)}; {units.percent(1 - rate)} is stated"
    step = "Calculate IOPS = outstanding ÷ mean time."
    yield flag(row, text, step, broken=True, column="ratio.iops", numbers={"said": rate, "expected": 1 / slower})
