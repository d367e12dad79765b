from __future__ import annotations

from collections import Counter, defaultdict
from itertools import combinations, pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from strata.errors import UsageError
from strata.model.plan import Plan
from strata.model.rw import Rw
from strata.model.stack import Layer, Stack
from strata.model.workload import ClosedLoop, OpenLoop, Workload
from strata.plan.expand import Schedule, expand
from strata.plan.ident import new_id
from strata.plan.workloads import DIAGNOSE
from strata.units import GIB, MIB

DISK, FS, SHARE = "disk", "file system", "share"


def stack(names: tuple[str, ...] = (DISK, FS, SHARE)) -> Stack:
    return Stack(name="s", layers=tuple(Layer(name=n, endpoint="null:") for n in names))


def make(workloads=DIAGNOSE, names=(DISK, FS, SHARE), **changes) -> Plan:
    chosen = {"rounds": 4, "ramp_s": 0.5, "runtime_s": 1.5, "interval_s": 0.5, "file_size": 256 * MIB, "seed": 7}
    chosen |= changes
    schedule = Schedule(**{key: chosen.pop(key) for key in list(chosen) if key in Schedule.model_fields})
    return expand(stack(names), workloads, schedule, **chosen)


@given(
    layers=st.integers(1, 4),
    count=st.integers(1, len(DIAGNOSE)),
    rounds=st.integers(1, 6),
    seed=st.integers(0, 2**63 - 1),
    read_only=st.booleans(),
)
def test_every_round_holds_every_unskipped_cell_once(layers, count, rounds, seed, read_only):
    names = tuple(f"l{i}" for i in range(layers))
    plan = make(DIAGNOSE[-count:], names, rounds=rounds, seed=seed, read_only_layers=names[:1] if read_only else ())
    wanted = sorted(c.key for c in plan.cells if c.skip is None)
    assert len(plan.cells) == layers * count
    assert [s.order for s in plan.steps] == list(range(len(plan.steps)))
    for number in range(rounds):
        assert sorted(s.cell for s in plan.steps if s.round == number) == wanted
    assert [s.round for s in plan.steps] == sorted(s.round for s in plan.steps)


@given(seed=st.integers(0, 2**32))
def test_layers_of_a_workload_stand_next_to_each_other_and_writes_follow_reads(seed):
    plan = make(seed=seed)
    by_round = defaultdict(list)
    for step in plan.steps:
        by_round[step.round].append(plan.cell(step.cell).workload)
    for workloads in by_round.values():
        changes = sum(a.key != b.key for a, b in pairwise(workloads))
        assert changes == len(DIAGNOSE) - 1
        writes = [w.rw.writes for w in workloads]
        assert writes == sorted(writes)


@given(seed=st.integers(0, 2**32))
def test_of_two_layers_each_goes_first_in_half_of_the_rounds(seed):
    plan = make(seed=seed, rounds=6)
    for workload in DIAGNOSE:
        for a, b in combinations((DISK, FS, SHARE), 2):
            place = {(s.round, s.cell): s.order for s in plan.steps}
            first = sum(place[r, f"{a}/{workload.key}"] < place[r, f"{b}/{workload.key}"] for r in range(6))
            assert first == 3


def test_straight_drift_over_two_rounds_cancels_between_layers():
    """Reading the order as a drift: the mean position of every layer inside its blocks is the same."""
    plan = make(rounds=2)
    position: dict[str, list[int]] = defaultdict(list)
    for start in range(0, len(plan.steps), 3):
        for i, step in enumerate(plan.steps[start : start + 3]):
            position[plan.cell(step.cell).layer].append(i)
    assert {sum(p) for p in position.values()} == {len(DIAGNOSE) * 2}


def test_the_seed_decides_the_order():
    orders = {tuple(s.cell for s in make(seed=seed).steps) for seed in (1, 2, 3, 4)}
    assert len(orders) == 4
    assert make(seed=3).steps == make(seed=3).steps


def test_a_writing_workload_at_a_read_only_layer_is_kept_and_skipped():
    plan = make(read_only_layers={DISK})
    skipped = {c.key for c in plan.cells if c.skip}
    assert skipped == {f"{DISK}/{w.key}" for w in DIAGNOSE if w.rw.writes}
    assert "read-only" in (plan.cell(f"{DISK}/{DIAGNOSE[-1].key}").skip or "")
    assert not skipped & {s.cell for s in plan.steps}


def test_a_given_reason_wins_over_the_general_one():
    key = f"{DISK}/{DIAGNOSE[-1].key}"
    plan = make(skips={key: "the share is signed"}, read_only_layers=(DISK,))
    assert plan.cell(key).skip == "the share is signed"


def test_estimates_hold_time_of_all_steps_and_the_fill():
    write = Workload(rw=Rw.RANDWRITE, bs=8192, arrival=ClosedLoop(iodepth=8))
    plan = make((write,), (DISK,), rounds=3, step_overhead_s=0.25, assumed_write_bps=1e6)
    assert plan.seconds == pytest.approx(3 * (2.0 + 0.25))
    assert plan.bytes_written == 256 * MIB + 3 * 2_000_000


def test_only_the_writing_share_counts_and_an_asked_rate_bounds_it():
    mixed = Workload(rw=Rw.RANDRW, bs=4096, arrival=ClosedLoop(iodepth=1), rwmixread=75)
    paced = Workload(rw=Rw.WRITE, bs=4096, arrival=OpenLoop(iops=100))
    assert make((mixed,), (DISK,), rounds=1, file_size=0, assumed_write_bps=1e6).bytes_written == 500_000
    assert make((paced,), (DISK,), rounds=1, file_size=0, assumed_write_bps=1e9).bytes_written == 100 * 4096 * 2
    assert make(DIAGNOSE[:5], (DISK,), file_size=0).bytes_written == 0


def test_a_plan_with_nothing_to_run_writes_nothing():
    plan = make(DIAGNOSE[-3:], (DISK,), read_only_layers=(DISK,))
    assert (plan.steps, plan.seconds, plan.bytes_written) == ((), 0, 0)


def test_all_problems_are_named_at_once():
    with pytest.raises(UsageError) as caught:
        make(
            (DIAGNOSE[0], DIAGNOSE[0]), rounds=0, ramp_s=-1, runtime_s=0, interval_s=0, file_size=4096,
            skips={"nowhere/x": "y"}, read_only_layers=("attic",),
        )  # fmt: skip
    text = caught.value.render()
    words = ("rounds=0", "ramp=-1", "runtime=0", "interval=0", "requested twice", "does not fit", "nowhere/x", "attic")
    assert [w for w in words if w not in text] == []


def test_no_workload_is_a_problem():
    with pytest.raises(UsageError, match="cannot plan"):
        make(())


def test_default_set_is_the_sample_and_its_neighbours():
    shapes = Counter((w.rw.value, w.bs, w.arrival.iodepth) for w in DIAGNOSE)
    assert shapes == Counter(
        [
            ("randread", 8192, 1), ("randread", 8192, 8), ("randread", 8192, 32), ("read", 8192, 8),
            ("read", 131072, 8), ("randwrite", 8192, 1), ("randwrite", 8192, 8), ("write", 8192, 8),
            ("write", 131072, 8),
        ]
    )  # fmt: skip
    assert all(w.threads == 1 and w.direct for w in DIAGNOSE)
    assert all((w.sync == "dsync") == w.rw.writes for w in DIAGNOSE)


def test_ids_sort_by_time_and_differ():
    from datetime import UTC, datetime, timedelta, timezone

    t = datetime(2026, 3, 1, 12, 0, 0, tzinfo=UTC)
    assert new_id(t).startswith("20260301-120000-")
    assert new_id(t.astimezone(timezone(timedelta(hours=5)))).startswith("20260301-120000-")
    assert new_id(t) < new_id(t + timedelta(seconds=1))
    assert len({new_id(t) for _ in range(8)}) > 1


def test_a_plan_survives_its_saved_form():
    plan = make(read_only_layers=(DISK,), file_size=4 * GIB)
    assert Plan.model_validate_json(plan.model_dump_json()) == plan
