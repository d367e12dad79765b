"""What a run is compared with: the newest earlier run of the same place with which nothing was wrong, and a spec."""

from __future__ import annotations

import math
import random
from pathlib import Path

import pytest

from strata.analyse.references import specified
from strata.app.earlier import earlier_of, remembered_of
from strata.model.analysis import Analysis, CellSummary, NoiseFloor
from strata.model.estimate import Estimate
from strata.model.expect import Expect
from strata.model.finding import Cause, Diagnosis, Verdict, VerdictKind
from strata.model.reference import ReferenceSource
from strata.model.run import Run, RunStatus
from strata.model.stack import Layer, Stack
from strata.store import Store, open_store

from .test_history import ROUNDS, WORKLOADS, run_of, step_of

NOTHING = Analysis(
    noise=NoiseFloor(between_rounds=0, within_bins=0, tolerance=0.01, rounds=3, cells=2),
    cells=(),
    comparisons=(),
    checks=(),
)
DEPTH_1, DEPTH_8 = (w.key for w in WORKLOADS)


@pytest.fixture
def store(tmp_path: Path):
    with open_store(str(tmp_path / "s.db")) as opened:
        yield opened


def keep(
    store: Store,
    number: int,
    level: float = 1.0,
    verdict: tuple[VerdictKind, Cause] | None = (VerdictKind.MEDIUM, Cause.MEDIUM),
    **given: object,
) -> Run:
    """A run at so many times the usual IOPS; rounds differ by 2 %."""
    run = run_of(number, **given)  # type: ignore[arg-type]
    rng = random.Random(number)
    store.create_run(run)
    for order in range(2 * ROUNDS):
        base = 20_000 if order % 2 else 5_000
        store.save_cell(run.id, step_of(run, order, base * level * math.exp(rng.gauss(0, 0.02))))
    if verdict is not None:
        said = Verdict(
            kind=verdict[0],
            layer="disk",
            cause=verdict[1],
            confidence=0.9,
            headline="h",
            explanation="e",
            next_step="n",
        )
        store.save_outcome(run.id, NOTHING, Diagnosis(verdict=said, findings=(), ruled_out=()))
    return run


def test_no_whole_document_is_read_to_choose_the_earlier_run(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    before = keep(store, 1)
    now = keep(store, 2, verdict=None)
    monkeypatch.setattr(store, "verdicts", None)
    monkeypatch.setattr(store, "cells", None)
    found = earlier_of(store, now)
    assert found is not None and found.id == before.id


def test_a_medium_that_is_slower_than_it_was_is_told_with_its_interval(store: Store) -> None:
    keep(store, 1)
    now = keep(store, 2, level=0.5, verdict=None)
    found = remembered_of(store, now)
    assert {r.workload_key for r in found} == {DEPTH_1, DEPTH_8}
    for one in found:
        assert (one.layer, one.source, one.of) == ("disk", ReferenceSource.BASELINE, "run run-001")
        assert one.ratio.value == pytest.approx(0.5, rel=0.1) and one.slower and not one.fine
        assert one.ratio.low is not None and one.ratio.high is not None
        # What equal runs differ by is not known from one: the interval is no narrower than that.
        assert one.ratio.high / one.ratio.low > math.exp(2 * 0.05 * 2)
        assert one.iops.value == pytest.approx(20_000 if one.workload_key == DEPTH_8 else 5_000, rel=0.1)


def test_an_equal_run_is_neither_slower_nor_far(store: Store) -> None:
    for n in range(8):
        keep(store, n)
    found = remembered_of(store, keep(store, 9, verdict=None))
    assert len(found) == 2 and not any(r.slower for r in found) and all(r.fine for r in found)


def test_only_runs_with_which_nothing_was_wrong_are_taken(store: Store) -> None:
    good = keep(store, 1)
    keep(store, 2, level=0.3, verdict=(VerdictKind.LAYER, Cause.SLOW_MEDIUM))
    keep(store, 3, level=0.3, verdict=(VerdictKind.INCONCLUSIVE, Cause.NONE))
    keep(store, 4, level=0.3, verdict=None)
    now = keep(store, 5, verdict=None)
    chosen = earlier_of(store, now)
    assert chosen is not None and chosen.id == good.id


def test_a_noisy_run_that_found_nothing_wrong_is_taken_where_there_is_no_better_one(store: Store) -> None:
    noisy = keep(store, 1, verdict=(VerdictKind.INCONCLUSIVE, Cause.NONE))
    keep(store, 2, level=0.3, verdict=(VerdictKind.INCONCLUSIVE, Cause.UNEXPLAINED))
    chosen = earlier_of(store, keep(store, 3, verdict=None))
    assert chosen is not None and chosen.id == noisy.id


def test_an_accepted_baseline_comes_before_a_newer_verdict(store: Store) -> None:
    accepted = keep(store, 1, verdict=(VerdictKind.LAYER, Cause.SLOW_MEDIUM))
    keep(store, 2)
    store.save_baseline("main", [accepted.id], 1, "", new=True)
    chosen = earlier_of(store, keep(store, 3, verdict=None))
    assert chosen is not None and chosen.id == accepted.id


@pytest.mark.parametrize(
    "other",
    [{"stack": "another"}, {"hostname": "elsewhere"}, {"build": {"profile": "debug"}}, {"engine": {"name": "fio"}}],
)
def test_another_place_or_generator_says_nothing(store: Store, other: dict[str, object]) -> None:
    keep(store, 1, **other)
    assert remembered_of(store, keep(store, 2, verdict=None)) == ()


def test_another_endpoint_says_nothing_and_a_later_run_neither(store: Store) -> None:
    keep(store, 1, endpoint="block:/dev/y")
    keep(store, 3)
    assert remembered_of(store, keep(store, 2, verdict=None)) == ()


def test_a_run_that_was_stopped_is_no_reference(store: Store) -> None:
    stopped = keep(store, 1)
    store.update_run(stopped.model_copy(update={"status": RunStatus.STOPPED}))
    assert remembered_of(store, keep(store, 2, verdict=None)) == ()


def summary(key: int, iops: float) -> CellSummary:
    rate = Estimate(value=iops, low=iops * 0.95, high=iops / 0.95, n=3, unit="IOPS")
    return CellSummary(
        layer="disk", workload=WORKLOADS[key], rounds=3, ios=1000, iops=rate, bytes_per_second=rate,
        mean_ns=rate, latency_ns={}, curve=(), outstanding=1.0,
    )  # fmt: skip


def test_a_specification_is_held_against_the_workloads_that_it_speaks_of() -> None:
    layer = Layer(name="disk", endpoint="block:/dev/x", expect=Expect(iops=20_000, latency="200us"))
    found = specified(Stack(name="s", layers=(layer,)), [summary(0, 2_000), summary(1, 19_000)])
    told = {r.of: r for r in found}
    assert told["expect.latency"].slower and told["expect.latency"].ratio.value == pytest.approx(0.4)
    assert told["expect.iops"].fine and told["expect.iops"].workload_key == DEPTH_8
    analysis = NOTHING.model_copy(update={"references": found})
    assert analysis.reference("disk", DEPTH_1) == told["expect.latency"]
    assert analysis.reference("disk", DEPTH_1, ReferenceSource.BASELINE) is None
    assert specified(Stack(name="s", layers=(Layer(name="disk", endpoint="block:/dev/x"),)), [summary(0, 1)]) == ()
