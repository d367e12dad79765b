"""What each client is told, and how what is heard of them is put together while they run."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from strata.engine.clients.collector import LATE, ClientCollector
from strata.engine.clients.words import client_words, part_of
from strata.engine.generator import measure_generator
from strata.engine.job import Piece, Timing
from strata.engine.native import NativeEngine
from strata.engine.port import Request
from strata.errors import UsageError
from strata.fleet.clients_here import ROWS_MOST, Telling
from strata.model import histogram
from strata.model.endpoint import Endpoint
from strata.model.plan import Segment
from strata.model.result import EngineResult, Interval, IntervalDirection
from strata.model.workload import ClosedLoop, Workload
from strata.plan.words import dealt, workload_from_words

NOTHING = IntervalDirection(ops=0, bytes=0, errors=0)


def interval(number: int, ops: int) -> Interval:
    read = IntervalDirection(ops=ops, bytes=ops * 4096, errors=0)
    return Interval(start_ns=number * 10**9, end_ns=(number + 1) * 10**9, read=read, write=NOTHING)


def request(workload: Workload, targets: int = 1) -> Request:
    segments = (Segment(start=1 << 20, length=8 << 20, target=1 << 20),)
    pieces = [Piece(endpoint=Endpoint.parse(f"file:/t/{n}"), segments=segments) for n in range(targets)]
    return Request(
        endpoint=pieces[0].endpoint, segments=segments, workload=workload, more=tuple(pieces[1:]),
        timing=Timing(ramp_s=0, runtime_s=1),
    )  # fmt: skip


SEGMENTS = st.lists(st.tuples(st.integers(0, 200), st.integers(0, 300), st.integers(0, 10**6)), min_size=1, max_size=6)


@given(SEGMENTS, st.integers(1, 40), st.sampled_from([512, 4096]))
def test_the_parts_are_all_blocks_once_and_as_equal_as_they_can_be(
    given: list[tuple[int, int, int]], clients: int, bs: int
) -> None:
    segments, start = [], 0
    for gap, length, target in given:
        start += gap * 512
        segments.append(Segment(start=start, length=length * 512, target=target * 512))
        start += length * 512
    workload = workload_from_words("randread", bs=bs, clients=clients)

    def blocks(of: list[Segment] | tuple[Segment, ...]) -> list[tuple[int, int]]:
        found = []
        for s in of:
            for block in range(-(-s.start // bs), (s.start + s.length) // bs):
                found.append((block, s.target + block * bs - s.start))
        return found

    every = blocks(segments)
    if len(every) < clients:
        with pytest.raises(UsageError, match="too few"):
            part_of(segments, workload, 0, clients, "file:/a")
        return
    parts = [blocks(part_of(segments, workload, n, clients)) for n in range(clients)]
    assert [block for part in parts for block in part] == every
    assert max(map(len, parts)) - min(map(len, parts)) <= 1


def test_the_words_are_plain_values_and_each_clients_own() -> None:
    words = client_words(request(workload_from_words("randread", clients=4, rate_iops=1000.0, iodepth=8)))
    jobs = [w["job"] for w in words]
    assert [w["client"] for w in words] == [0, 1, 2, 3]
    assert {j["workload"]["rate_iops"]["iops"] for j in jobs} == {250.0}
    assert len({j["workload"]["seed"] for j in jobs}) == 4
    assert [j["workload"]["segments"][0]["start"] for j in jobs] == [(1 << 20) + n * (2 << 20) for n in range(4)]
    assert "clients" not in jobs[0]["workload"] and words[0]["marks"] == [None]


def test_each_client_has_one_of_several_targets_where_it_is_asked() -> None:
    workload = dealt(workload_from_words("randread", clients=5), (1, 1), "client")
    jobs = [w["job"] for w in client_words(request(workload, 2))]
    assert [j["target"]["path"] for j in jobs] == ["/t/0", "/t/1", "/t/0", "/t/1", "/t/0"]
    # Three divide the first target, two the second.
    lengths = [j["workload"]["segments"][0]["length"] for j in jobs]
    assert lengths[1] == lengths[3] == 4 << 20
    assert lengths[0] + lengths[2] + lengths[4] == 8 << 20
    shared = client_words(request(dealt(workload_from_words("randread", clients=2), (3, 1), "share"), 2))
    assert [aim["weight"] for aim in shared[0]["job"]["targets"]] == [3, 1]
    with pytest.raises(UsageError) as refused:
        dealt(workload_from_words("randread"), (1, 1), "client")
    assert "deal=client with 2 targets needs at least 2 clients" in str(refused.value.problems)


def test_limits_are_those_of_all_clients_together() -> None:
    workload = workload_from_words("randread", clients=4, iodepth=2, limit_iops=1000.0, limit_bytes=8 << 20)
    each = workload.of_one_client
    assert isinstance(each.arrival, ClosedLoop) and each.arrival.limits is not None
    assert (each.arrival.limits.iops, each.arrival.limits.bytes_per_s) == (250.0, 2 << 20)
    assert (workload.outstanding, each.outstanding) == (8, 2)
    assert (workload.key, each.key) == (
        "randread-4KiB-qd2-max1000iops-max8388608Bps-c4", "randread-4KiB-qd2-max250iops-max2097152Bps"
    )  # fmt: skip


def test_rows_are_told_once_all_have_delivered_and_not_for_ever_waited_for() -> None:
    heard = ClientCollector({0: "a", 1: "b", 2: "b"})
    heard.add(0, interval(0, 10))
    heard.add(1, interval(0, 20))
    assert heard.rows() == []
    heard.add(2, interval(0, 30))
    (row,) = heard.rows()
    assert row.read.ops == 60 and [c.iops for c in row.clients] == [10, 20, 30]
    # Client 2 falls silent: its row waits until the others are so far ahead.
    for number in range(1, 1 + LATE):
        heard.add(0, interval(number, 1))
        heard.add(1, interval(number, 1))
        assert heard.rows() == []
    heard.add(0, interval(1 + LATE, 1))
    (row,) = heard.rows()
    assert row.read.ops == 2 and [c.late for c in row.clients] == [0, 0, 1]
    # Given up, it is waited for no more.
    heard.end(2, "it was ended by signal 9")
    rows = heard.rows()
    assert [r.read.ops for r in rows] == [2] and rows[0].clients[2].lost == "it was ended by signal 9"
    heard.end(1)
    assert [r.read.ops for r in heard.rows()] == [1]


def told(number: int, bins: dict[int, int]) -> dict[str, Any]:
    """An interval as a client of a node has it: with its histogram."""
    read = IntervalDirection(ops=sum(bins.values()), bytes=4096, errors=0, service_time=histogram.from_bins(bins))
    made: dict[str, Any] = interval(number, 1).model_copy(update={"read": read}).model_dump(mode="json")
    return made


def taking(sent: list[dict[str, Any]]) -> Callable[[dict[str, Any]], bool]:
    def send(message: dict[str, Any]) -> bool:
        sent.extend(message["intervals"])
        return True

    return send


def test_a_node_tells_the_p99_of_all_its_clients_from_the_sum_of_their_histograms() -> None:
    sent: list[dict[str, Any]] = []
    telling = Telling(taking(sent), 0.0, (0, 1))
    fast, slow = {1000: 980}, {1000: 90, 9000: 10}
    telling.add(0, told(0, fast))
    telling.add(1, told(0, slow))
    (first, last), whole = sent, histogram.quantiles(histogram.from_bins({1000: 1070, 9000: 10}), [0.99])[0]
    assert "node_p99_ns" not in first and last["node_p99_ns"] == whole == pytest.approx(1000, rel=0.01)
    assert last["p99_ns"] == pytest.approx(9000, rel=0.01), "the worst of its clients is another figure"
    assert first["interval"]["read"]["service_time"] is None, "histograms do not travel"
    heard = ClientCollector({0: "n", 1: "n", 2: "m"})
    for one in sent:
        heard.add(one["client"], Interval.model_validate(one["interval"]), one["p99_ns"], one.get("node_p99_ns"))
    heard.add(2, interval(0, 1), 5)
    (row,) = heard.rows()
    assert [c.node_p99_ns for c in row.clients] == [whole, whole, None]


def test_of_an_interval_that_a_client_is_behind_with_the_node_has_no_p99_until_the_client_is_gone() -> None:
    sent: list[dict[str, Any]] = []
    telling = Telling(taking(sent), 0.0, (0, 1))
    for number in range(3 * ROWS_MOST):
        telling.add(0, told(number, {1000: 1}))
    assert not any("node_p99_ns" in one for one in sent) and len(telling._rows) <= ROWS_MOST + 1
    # What was let go of is not told by the slowest of them alone.
    telling.add(1, told(0, {9000: 1}))
    assert "node_p99_ns" not in sent[-1]
    telling.end(1)
    telling.add(0, told(number + 1, {2000: 1}))
    assert sent[-1]["node_p99_ns"] == sent[-1]["p99_ns"]


def test_the_ceiling_of_several_clients_has_several_intervals() -> None:
    """They begin some milliseconds apart, so that no single interval lies in the time all of them overlap."""
    asked: list[Request] = []

    class Asked(NativeEngine):
        def run(self, request: Request, *_: object) -> EngineResult:
            asked.append(request)
            brief = Timing(ramp_s=0, runtime_s=0.01, interval_s=0.01)
            return super().run(request.model_copy(update={"timing": brief, "workload": request.workload.of_one_client}))

    brief = Timing(ramp_s=0.01, runtime_s=0.04, interval_s=0.04)
    measure_generator(Asked(), [workload_from_words("read", clients=n) for n in (1, 3)], brief)
    assert asked[0].timing == brief
    assert asked[1].timing.runtime_s >= 5 * asked[1].timing.interval_s
