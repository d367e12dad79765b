"""Several clients as one: the merge of the parts is the whole, and only the time that all overlap counts."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tiers import rest_in_ci

from strata.model import histogram
from strata.model.clients import FALSE_ALARM, OneClient, merged, outliers, pooled
from strata.model.clients.outliers import line
from strata.model.result import (
    ClientResult,
    Direction,
    EngineResult,
    ErrorCount,
    Instants,
    Interval,
    IntervalDirection,
    LostClient,
)

S = 1_000_000_000
NOTHING = IntervalDirection(ops=0, bytes=0, errors=0)


def of(times: list[int]) -> IntervalDirection:
    """Reads of 4 KiB that took so long."""
    payload = histogram.from_bins(Counter(times)) if times else None
    return IntervalDirection(
        ops=len(times), bytes=4096 * len(times), errors=0, service_time=payload, service_sum_ns=sum(times)
    )


def run(per_interval: list[list[int]], from_ns: int = 0) -> EngineResult:
    """Intervals of a second, cut from ``from_ns`` of the client's clock on."""
    intervals = tuple(
        Interval(start_ns=k * S, end_ns=(k + 1) * S, read=of(times), write=NOTHING)
        for k, times in enumerate(per_interval)
    )
    every = [t for times in per_interval for t in times]
    told = of(every)
    return EngineResult(
        engine={"kind": "null"},
        effective={},
        started_unix_ns=0,
        instants=Instants(
            first_io_ns=from_ns, last_first_io_ns=from_ns + 5, measured_from_ns=from_ns,
            measured_to_ns=from_ns + len(per_interval) * S,
        ),
        ramp_ns=0,
        measured_ns=len(per_interval) * S,
        issued=told.ops,
        completed=told.ops,
        errored=0,
        stuck=0,
        read=Direction(ops=told.ops, bytes=told.bytes, service_time=told.service_time, service_sum_ns=sum(every)),
        write=Direction(ops=0, bytes=0),
        intervals=intervals,
        stop_reason="runtime",
    )  # fmt: skip


def client(
    number: int, per_interval: list[list[int]], from_ns: int = 0, offset: int = 0, bound: int = 0
) -> ClientResult:
    """Of a node whose clock is ``offset`` ahead; ``from_ns`` is on the scheduler's."""
    told = run(per_interval, from_ns + offset)
    return ClientResult(client=number, node=f"n{number}", offset_ns=offset, bound_ns=bound, result=told)


def one(number: int, iops: float, mean_ns: float = 1e6) -> OneClient:
    return OneClient(
        client=number, node="n", iops=iops, bytes_per_second=iops, mean_ns=mean_ns, p99_ns=1, whole_iops=iops,
        whole_seconds=1.0, after_ns=0, done_ns=0, stop_reason="runtime",
    )  # fmt: skip


TIMES = st.lists(st.integers(1_000, 50_000_000), max_size=12)


@settings(max_examples=60, deadline=None)
@given(
    st.lists(st.lists(TIMES, min_size=3, max_size=3), min_size=1, max_size=5),
    st.lists(st.integers(-(10**15), 10**15), min_size=5, max_size=5),
    st.lists(st.integers(0, 1_000_000), min_size=5, max_size=5),
)
def test_the_merge_of_the_parts_is_the_whole(runs: list[list[list[int]]], offsets: list[int], skews: list[int]) -> None:
    parts = [client(n, times, from_ns=skews[n], offset=offsets[n]) for n, times in enumerate(runs)]
    whole, together = pooled(parts), merged(parts).together
    assert isinstance(whole, EngineResult) and together is not None
    every = [t for times in runs for interval in times for t in interval]
    assert (whole.ops, whole.bytes, whole.read.service_sum_ns) == (len(every), 4096 * len(every), sum(every))
    assert (together.ops, together.bytes) == (whole.ops, whole.bytes)
    assert together.iops == pytest.approx(len(every) / 3)
    assert whole.iops == pytest.approx(together.iops)
    # Totals are the sum of the intervals, to the bucket.
    assert sum(i.read.ops for i in whole.intervals) == whole.ops
    assert together.service_time == whole.read.service_time
    if every:
        assert whole.read.service_time is not None
        assert histogram.decode(whole.read.service_time) == histogram.decode(histogram.from_bins(Counter(every)))


def test_percentiles_are_those_of_one_pooled_recording() -> None:
    draw = np.random.default_rng(7)
    # Clients as unlike as they get: the slow one has the tail, and a mean of percentiles would be far off.
    each = [[int(x) for x in draw.lognormal(11 + n, 0.7, 20_000)] for n in range(4)]
    whole = pooled([client(n, [times]) for n, times in enumerate(each)])
    assert isinstance(whole, EngineResult) and whole.read.service_time is not None
    exact = np.quantile([t for times in each for t in times], [0.5, 0.99, 0.999], method="inverted_cdf")
    told = histogram.quantiles(whole.read.service_time, [0.5, 0.99, 0.999])
    assert told == pytest.approx(list(exact), rel=0.01)


def test_only_the_time_that_all_overlap_counts_and_each_ones_own_run_is_kept() -> None:
    early = client(0, [[1000] * 10, [1000] * 20, [1000] * 30, [1000] * 40])
    late = client(1, [[2000] * 5, [2000] * 6], from_ns=2 * S + 3_000_000)
    told = merged([early, late])
    assert told.together is not None
    # The interval that begins 3 ms before the other client is in it, by the tolerance of 1 % of its length.
    assert (told.together.ops, told.together.clients) == (30 + 5 + 40 + 6, (0, 1))
    assert [c.iops for c in told.each] == [35.0, 5.5]
    assert [c.whole_iops for c in told.each] == [25.0, 5.5]
    assert (told.first_done, told.last_done) != (None, None)
    assert told.first_done is not None and told.last_done is not None
    assert (told.first_done.done, told.last_done.done) == (1, 2)
    assert told.first_done.seconds == 4.0 and told.first_done.ops == 100 + 5 + 6
    assert told.last_done.seconds == pytest.approx(4.003) and told.last_done.ops == 111
    assert told.each[1].after_ns == 2 * S + 3_000_000 and told.each[1].done_ns == 3_000_000
    assert told.start_skew is not None and told.start_skew.ns == 2 * S + 3_000_000 + 5


def test_what_does_not_overlap_says_so_and_gives_no_figure() -> None:
    apart = [client(0, [[1000]] * 2), client(1, [[1000]] * 2, from_ns=5 * S)]
    told = merged(apart)
    assert told.together is None and told.why_not == "client 1 began 3 s after client 0 had ended"
    assert pooled(apart) == told.why_not
    assert [c.iops for c in told.each] == [None, None] and told.fairness is None
    short = [client(0, [[1000]] * 2), client(1, [[1000]] * 2, from_ns=S + S // 2)]
    assert merged(short).why_not == "they overlap for 0.5 s, in which no interval of 1 s lies"
    assert merged([]).why_not == "no client measured anything"


def test_what_the_clocks_are_known_to_is_taken_from_the_common_time() -> None:
    sure = [client(n, [[1000]] * 3, bound=4_000_000) for n in range(2)]
    told = merged(sure)
    assert told.together is not None and (told.together.ops, told.together.bound_ns) == (6, 4_000_000)
    assert told.start_skew is not None and told.start_skew.bound_ns == 8_000_000
    # 50 ms: the first and the last interval may lie outside.
    unsure = merged([client(n, [[1000]] * 3, bound=50_000_000) for n in range(2)]).together
    assert unsure is not None and unsure.ops == 2
    assert merged([client(0, [[1000]], bound=2 * S), client(1, [[1000]])]).why_not == (
        "the clock of client 0 is not known well enough for what it measured"
    )


def test_a_client_alone_needs_no_clock() -> None:
    """Seen on a busy machine: a clock known to 0.4 ms, and one interval of 40 ms at the null endpoint."""
    for bound in (20_000_000, 2 * S):
        alone = merged([client(0, [[1000]], bound=bound)]).together
        assert alone is not None and (alone.ops, alone.seconds) == (1, 1.0)
        assert alone.bound_ns == bound, "it is told for who compares it with another node's"


def test_a_lost_client_is_told_and_the_rest_is_valid() -> None:
    rest = [client(n, [[1000] * 10] * 4) for n in range(3)]
    gone = LostClient(
        client=3, node="n3", why="ended by signal 9", measured_from_ns=0,
        intervals=run([[5000] * 10, [5000] * 10]).intervals,
    )  # fmt: skip
    told = merged(rest, [gone])
    assert told.together is not None and told.together.ops == 3 * 40
    assert told.before_loss is not None
    assert (told.before_loss.ops, told.before_loss.clients) == (4 * 20, (0, 1, 2, 3))
    assert [one.client for one in told.lost] == [3] and len(told.each) == 3
    silent = gone.model_copy(update={"intervals": ()})
    assert merged(rest, [silent]).before_loss is None


def test_fairness_by_hand() -> None:
    told = merged([client(n, [[1000] * ops]) for n, ops in enumerate((100, 100, 100, 20))]).fairness
    assert told is not None
    assert told.jain == pytest.approx(320**2 / (4 * (3 * 100**2 + 20**2)))
    assert (told.slowest, told.starved) == (3, (3,))
    assert (told.spread, told.slowest_share) == (pytest.approx(80 / 80), pytest.approx(0.2))
    equal = merged([client(n, [[1000] * 7]) for n in range(3)]).fairness
    assert equal is not None and (equal.jain, equal.spread, equal.starved) == (1.0, 0.0, ())


def test_errors_and_reasons_of_all_are_told() -> None:
    failed = Direction(ops=0, bytes=0, errors=(ErrorCount(errno=5, name="EIO", count=2, first_offset=0),))
    changes = [{"write": failed, "errored": 2, "stop_reason": reason} for reason in ("runtime", "lease")]
    runs = [run([[1000]]).model_copy(update=change) for change in changes]
    parts = [ClientResult(client=n, node="n", result=result) for n, result in enumerate(runs)]
    whole = pooled(parts)
    assert isinstance(whole, EngineResult)
    assert (whole.write.errors[0].count, whole.errored, whole.stop_reason) == (4, 4, "lease")
    assert (whole.engine["clients"], len(whole.clients)) == (2, 2)


def test_a_client_that_differs_is_named_and_healthy_ones_are_not() -> None:
    rates = [1000.0, 1010.0, 990.0, 1005.0, 995.0, 1002.0, 998.0, 500.0]
    named = outliers([one(n, x) for n, x in enumerate(rates)])
    assert [(o.client, o.of) for o in named] == [(7, "rate")] and named[0].score < -line(8)
    slow = [one(n, x, 1e6 if n else 9e6) for n, x in enumerate(rates[:7])]
    assert [(o.client, o.of) for o in outliers(slow)] == [(0, "mean time")]
    # Four cannot say which of them is odd, and 3 % is no difference that matters.
    assert outliers([one(n, x) for n, x in enumerate((1.0, 1.0, 1.0, 9.0))]) == ()
    assert outliers([one(n, x) for n, x in enumerate((1000.0,) * 9 + (970.0,))]) == ()


@pytest.mark.parametrize("clients", rest_in_ci([5, 8, 11, 16, 40, 200], [8, 16]))
def test_of_healthy_fleets_no_more_are_accused_than_is_stated(clients: int) -> None:
    draw = np.random.default_rng(clients)
    fleets = 3000 if clients <= 40 else 600
    # Scatter of 15 %: what differs by chance is beyond what is too small to matter.
    logs = draw.normal(0.0, 0.15, (fleets, clients, 2))
    accused = sum(
        bool(outliers([one(n, 1000 * np.exp(a), 1e6 * np.exp(b)) for n, (a, b) in enumerate(fleet)])) for fleet in logs
    )
    # Within three standard deviations of a count of the stated share.
    expected = FALSE_ALARM * fleets
    assert accused <= expected + 3 * expected**0.5, f"{accused} of {fleets}"
