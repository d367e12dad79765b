"""A server that serves k at once beside a cap of as many requests a second: which is named, and when neither is."""

from __future__ import annotations

from dataclasses import replace

import pytest
from tiers import rest_in_ci

from strata.diagnose import diagnose, few_at_once, propose
from strata.diagnose.case import Case
from strata.model.analysis import Analysis
from strata.model.experiment import Tried
from strata.model.finding import Cause, Diagnosis, VerdictKind

from .known import Scene
from .queueing import Path
from .scenes import DEFAULT, demo_stack, simulate, workload
from .test_experiment import carry_out

SERVICE, EACH, HELD = 2.4e-3, 4e-9, 3e-4
"""Of a medium of four servers: 128 KiB take a fifth longer than 8 KiB."""
TRIPS = {"direct": 4e-5, "path": 4.5e-5}
WORKLOADS = (*DEFAULT, workload("randwrite", 8, 1))


def scene(each: float = EACH, **limit: float) -> Scene:
    medium = Path(servers=4, service=SERVICE, per_byte=each, base=20e-6)
    path = replace(medium, base=95e-6, **limit)  # type: ignore[arg-type]
    return Scene(demo_stack(), {"direct": medium, "path": path}, TRIPS, "path", Cause.LIMITED_QUEUE)


def measured(one: Scene, seed: int, sd: float) -> Analysis:
    return simulate(one.stack, one.paths, seed=seed, sd=sd, workloads=WORKLOADS, trips=one.trips)


def told(one: Scene, analysis: Analysis, seed: int, sd: float) -> Diagnosis:
    """After every experiment that is proposed, at most six."""
    tried: tuple[Tried, ...] = ()
    while len(tried) < 6 and (experiment := propose(one.stack, analysis, tried)) is not None:
        tried = (*tried, carry_out(one, analysis, experiment, sd=sd, seed=seed + len(tried)))
    return diagnose(one.stack, analysis, tried)


@pytest.mark.parametrize("sd", rest_in_ci([0.02, 0.06], [0.06]))
@pytest.mark.parametrize("threads", [1, 2, 3])
def test_few_threads_are_named_and_told_from_a_cap(threads: int, sd: float) -> None:
    for seed in range(2):
        one = scene(threads=threads, held=HELD)
        found = told(one, measured(one, seed, sd), seed, sd)
        assert (found.verdict.layer, found.verdict.cause) == ("path", Cause.LIMITED_QUEUE), (seed, found.verdict)
        assert f"{threads} request" in found.verdict.headline


@pytest.mark.parametrize("sd", rest_in_ci([0.02, 0.06], [0.06]))
@pytest.mark.parametrize("threads", [1, 2])
def test_a_cap_of_as_many_requests_a_second_is_no_queue(threads: int, sd: float) -> None:
    """The very IOPS that so many threads give of small blocks: larger ones tell."""
    for seed in range(2):
        one = scene(cap=threads / (SERVICE + EACH * 8192 + 1e-4))
        found = told(one, measured(one, seed, sd), seed, sd)
        assert found.verdict.cause is not Cause.LIMITED_QUEUE or found.verdict.confidence < 0.5, (seed, found.verdict)
        assert all(f.cause is not Cause.LIMITED_QUEUE or f.confidence < 0.5 for f in found.findings)


@pytest.mark.parametrize("limit", [{"threads": 2, "held": 1e-4}, {"cap": 2 / (SERVICE + 1e-4)}])
def test_where_all_blocks_take_the_same_time_neither_is_certain(limit: dict[str, float]) -> None:
    one = scene(each=0.0, **limit)
    for seed in range(2):
        found = told(one, measured(one, seed, 0.02), seed, 0.02)
        assert found.verdict.cause in (Cause.LIMITED_QUEUE, Cause.IOPS_CAP)
        assert found.verdict.confidence < 0.8, found.verdict
        assert found.verdict.cause is Cause.LIMITED_QUEUE or "would look the same" in found.verdict.explanation


def test_a_cap_that_is_no_whole_number_is_told_as_before() -> None:
    one = scene(cap=1.5 / (SERVICE + EACH * 8192))
    for seed in range(2):
        analysis = measured(one, seed, 0.03)
        (pair,) = Case(one.stack, analysis).pairs
        assert few_at_once.of(pair) is None or few_at_once.lead(pair, few_at_once.of(pair)) < 0  # type: ignore[arg-type]
        found = told(one, analysis, seed, 0.03)
        assert (found.verdict.kind, found.verdict.cause) == (VerdictKind.LAYER, Cause.IOPS_CAP)


def test_without_the_time_of_one_alone_no_number_is_told() -> None:
    one = scene(threads=2, held=HELD)
    deep = tuple(w for w in WORKLOADS if w.outstanding > 1)
    analysis = simulate(one.stack, one.paths, seed=1, sd=0.02, workloads=deep, trips=one.trips)
    (pair,) = Case(one.stack, analysis).pairs
    assert few_at_once.of(pair) is None


def test_a_long_way_to_the_server_leaves_the_number_open() -> None:
    """Each request waits 5 ms on a wire: how long a thread is held of them is not known."""
    one = scene(delay=5e-3)
    (pair,) = Case(one.stack, measured(one, 1, 0.02)).pairs
    assert few_at_once.of(pair) is None


def test_more_at_once_than_below_is_no_limit() -> None:
    one = scene(threads=4)
    (pair,) = Case(one.stack, measured(one, 1, 0.02)).pairs
    assert few_at_once.of(pair) is None


def test_fewer_than_were_ever_measured_may_fill_the_layer_below_and_confirm_no_queue() -> None:
    """Of reads in order only depth 8 is measured: at 4 a cap of three requests' IOPS is still what limits."""
    one = scene(cap=3 / (SERVICE + EACH * 8192 + 1e-4))
    found = told(one, measured(one, 11, 0.03), 11, 0.03)
    assert found.verdict.cause is not Cause.LIMITED_QUEUE or found.verdict.confidence < 0.8, found.verdict
