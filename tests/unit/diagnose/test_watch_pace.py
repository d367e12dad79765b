"""What the pace of completions tells a watching: a cap, and a queue of one."""

from __future__ import annotations

import random

import pytest

from strata.diagnose.watch.verdict import Judged, judge
from strata.model.finding import Cause, VerdictKind
from tests.unit.diagnose.watched import FULL, arrival, disk, observed, queue, said


@pytest.mark.parametrize(
    ("sizes", "gap", "cause"),
    [
        ((8192,), lambda _: 1000.0, Cause.IOPS_CAP),
        ((131072,), lambda _: 9000.0, Cause.BANDWIDTH_CAP),
        ((4096, 8192, 16384), lambda b: b / 8, Cause.BANDWIDTH_CAP),
    ],
)
def test_an_even_pace_below_a_requests_time_is_a_cap(sizes: tuple[int, ...], gap: object, cause: Cause) -> None:
    requests = queue(16, 64, lambda n, s: 2432, sizes=sizes, gap_us=gap)  # type: ignore[arg-type]
    size = sum(sizes) // len(sizes)
    found = judge(observed(disk(500, **FULL, size=size), [arrival(requests)], expect=""))
    assert said(found) == (VerdictKind.LAYER, "disk", cause)


def test_a_limit_has_its_count_and_interval_and_few_requests_show_none() -> None:
    def told(count: int) -> Judged:
        requests = queue(16, 64, lambda n, s: 2432, count=count, gap_us=lambda n: 1000)
        return judge(observed(disk(990, **FULL), [arrival(requests)], expect=""))

    many, few = told(800), told(60)
    assert said(many) == (VerdictKind.LAYER, "disk", Cause.IOPS_CAP)
    assert "784 completions" in many.verdict.explanation and "95 %: " in many.verdict.explanation
    assert said(few)[2] not in (Cause.IOPS_CAP, Cause.BANDWIDTH_CAP) and few.verdict.confidence < 0.6
    assert any("44 were traced" in one for one in few.verdict.missing)


def test_a_cap_below_the_rate_of_one_server_is_told_by_the_requests_that_met_nobody() -> None:
    found = judge(observed(disk(200, **FULL), [arrival(queue(16, 64, lambda n, s: 2432, gap_us=lambda _: 5000))]))
    assert said(found)[1:] != ("disk", Cause.SLOW_MEDIUM) or found.verdict.confidence < 0.8


def _of_one_server(gap_us: float, vary_us: float = 0.0, late_us: float = 0.0, credit: int = 0) -> Judged:
    """Single completions ``gap_us`` apart, of a limit (with so many that it lets through at first) or of one server
    whose times vary; the first ones are told ``late_us`` late.
    """
    chance = random.Random(7)
    if vary_us:
        plain = queue(16, 1, lambda n, s: chance.gauss(gap_us, vary_us))
    else:
        plain = queue(16, 64, lambda n, s: 2432, gap_us=lambda _: gap_us)
    took, ends = list(plain.took_us), [i + t for i, t in zip(plain.issued_us, plain.took_us, strict=True)]
    for n in range(16):
        if n < credit:
            took[n] = 2432 + n
        elif ends[n] < late_us:
            took[n] = round(late_us) + n
    return judge(observed(disk(1e6 / gap_us, **FULL), [arrival(plain.model_copy(update={"took_us": tuple(took)}))]))


def test_one_at_a_time_a_little_slower_than_specified_is_a_clocks_or_a_servers_by_how_it_varies() -> None:
    """A clock does not vary. Neither is what the medium is specified for: that is four at once."""
    for gap_us in (2750, 2969, 3030):
        clock, server = _of_one_server(gap_us), _of_one_server(gap_us, vary_us=90)
        assert said(clock) == (VerdictKind.LAYER, "disk", Cause.IOPS_CAP)
        assert said(server) == (VerdictKind.LAYER, "disk", Cause.LIMITED_QUEUE)
        assert max(clock.verdict.confidence, server.verdict.confidence) < 0.8
    # As long as one request is specified to take: one server, however regular.
    assert said(_of_one_server(2432))[2] is Cause.LIMITED_QUEUE


def test_who_lets_several_through_at_first_is_no_queue_of_one() -> None:
    assert said(_of_one_server(2432, vary_us=60))[2] is Cause.LIMITED_QUEUE
    found = _of_one_server(2432, credit=4)
    assert said(found)[2] is Cause.IOPS_CAP
    assert "served at once" in found.verdict.explanation
    # Told late, those of a queue of one come together, too.
    assert said(_of_one_server(2432, vary_us=60, late_us=12000))[2] is Cause.LIMITED_QUEUE
