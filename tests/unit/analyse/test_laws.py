"""Each law catches its violation and is silent when it holds."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence

import pytest

from strata.analyse import analyse
from strata.analyse.laws.generator import ceiling
from strata.model import histogram
from strata.model.access import BsShare, BsSplit, Once
from strata.model.analysis import Analysis, Check, Generator
from strata.model.caching import Caching, CachingState
from strata.model.expect import Expect, Faster
from strata.model.result import CellResult, Direction, ThreadResult
from strata.model.run import DataSet
from strata.model.series import Series
from strata.model.stack import Layer, Stack
from strata.model.workload import ClosedLoop, Limits, OpenLoop, Workload

from .material import SECOND, cell_result, counter, engine_result, plan_of, workload

STACK = Stack(
    name="s",
    layers=(Layer(name="file", endpoint="file:/x"), Layer(name="share", endpoint="nbd://h:1/x", on=("file",))),
)
W = workload(depth=8)
RATES = (1000.0, 1003.0, 998.0)


def look(results: Sequence[CellResult], w: Workload = W, **more: object) -> Analysis:
    return analyse(plan_of(STACK, [w]), results, **more)  # type: ignore[arg-type]


def rounds(
    layer: str, iops: float = 40_000.0, w: Workload = W, counters: Sequence[Series] = (), **more: object
) -> list[CellResult]:
    return [
        cell_result(layer, w, r, engine_result(w, iops * x / 1000, **more), counters)  # type: ignore[arg-type]
        for r, x in enumerate(RATES)
    ]


def of(analysis: Analysis, kind: str) -> list[Check]:
    return [c for c in analysis.checks if c.kind == kind]


def over(**more: object) -> Layer:
    return Layer(name="share", endpoint="nbd://h:1/y", **{"on": ("file",), **more})  # type: ignore[arg-type]


def test_figures_that_hold_break_no_law() -> None:
    found = look([*rounds("file"), *rounds("share", 39_000)])
    assert {c.kind for c in found.checks} == {"counters"}


def test_more_outstanding_than_the_depth_is_impossible_and_less_is_a_colour() -> None:
    over = of(look(rounds("file", mean_ns=1e6)), "little")  # 40 000/s x 1 ms = 40 in flight of 8
    # In a run of our own it is known which run and which clock a figure is from.
    assert (over[0].title, over[0].next_step.split(";")[0]) == ("Little's law", "Measure again")
    assert [c.impossible for c in over] == [True]
    assert "40" in over[0].message
    under = of(look(rounds("file", mean_ns=1e5)), "little")
    assert [c.impossible for c in under] == [False]


def test_iops_times_size_must_be_the_bytes() -> None:
    results = rounds("file")
    first = results[0].result
    assert first is not None
    slipped = first.model_copy(update={"read": first.read.model_copy(update={"bytes": first.read.bytes // 10})})
    results[0] = results[0].model_copy(update={"result": slipped})
    found = of(look(results), "rate")
    assert found[0].impossible and "round 1" in found[0].message
    assert found[0].next_step == "Check the units and the columns of these figures."


def device(share: float, iops: float = 40_000.0) -> list[Series]:
    seen = share * iops * W.bs
    return [
        counter("blockdev_read_bytes", seen, device="vda"),
        counter("blockdev_write_bytes", 0, device="vda"),
    ]


def test_unbuffered_reads_that_never_reach_the_device_came_from_a_cache() -> None:
    found = of(look([*rounds("file", counters=device(0.01)), *rounds("share")]), "cache")
    assert [(c.layer, c.impossible) for c in found] == [("file", True)]
    assert of(look(rounds("file", counters=device(1.0))), "cache") == []


def test_a_share_is_only_held_to_a_device_that_its_file_system_was_seen_to_read() -> None:
    both = [*rounds("file", counters=device(1.0)), *rounds("share", counters=device(0.0))]
    (said,) = of(look(both), "cache")
    assert (said.layer, said.impossible) == ("share", False), "what serves it may hold the data"
    assert "a cache on the way" in said.message
    other = [*rounds("file"), *rounds("share", counters=device(0.0))]
    assert of(look(other), "cache") == []


def unread(layer: Layer, devices: tuple[str, ...] = ()) -> list[bool]:
    """Whether it is impossible that ``layer``, on a file whose device was read, had nothing read from it."""
    stack = Stack(name="s", layers=(Layer(name="file", endpoint="file:/x"), layer))
    mine = [r.model_copy(update={"devices": devices}) for r in rounds(layer.name, counters=device(0.0))]
    found = analyse(plan_of(stack, [W]), [*rounds("file", counters=device(1.0)), *mine], chain=("vda",))
    return [c.impossible for c in of(found, "cache")]


def test_only_a_device_of_its_own_that_was_not_read_is_impossible() -> None:
    assert unread(Layer(name="disk", endpoint="block:/dev/vda")) == [True]
    assert unread(Layer(name="other path", endpoint="block:/dev/vdb")) == [], "a run of before each layer's was sampled"
    assert unread(Layer(name="other path", endpoint="block:/dev/by-id/b"), ("vda",)) == [True]
    assert unread(Layer(name="clustered file", endpoint="file:/mnt/x", on=("file",))) == [False]
    said = Expect(faster=Faster.CACHE)
    assert unread(Layer(name="cache", endpoint="nbd://h:1/x", on=("file",), expect=said)) == []


def test_few_samples_name_the_highest_percentile_they_carry() -> None:
    found = of(look(rounds("file", 200)), "samples")
    assert "up to p90" in found[0].message


def test_a_cliff_inside_a_measurement_is_named() -> None:
    falling = rounds("file", rates=(60_000, 60_000, 60_000, 20_000, 20_000, 20_000))
    assert "cliff" in of(look(falling), "unsteady")[0].message
    steady = rounds("file", rates=(40_000, 41_000, 39_000, 40_000, 40_500, 39_500))
    assert of(look(steady), "unsteady") == []


def test_a_flush_in_flight_is_one_of_the_outstanding() -> None:
    w = workload("write", depth=8, fdatasync=4)
    # A fifth of the slots' time goes to flushes: reads and writes alone would fill 6.4 of 8.
    writes = engine_result(w, 32_000.0, mean_ns=2e5)
    flush = Direction(ops=16_000, bytes=0, service_sum_ns=round(1.6 * 2 * SECOND))
    results = [cell_result("file", w, r, writes.model_copy(update={"sync": flush})) for r in range(3)]
    found = look(results, w)
    assert of(found, "little") == []
    assert found.cells[0].outstanding == pytest.approx(8)
    assert (found.cells[0].flushes, found.cells[0].ios) == (48_000, 3 * 64_000)
    without = of(look(rounds("file", 32_000.0, w, mean_ns=2e5), w), "little")
    assert [c.impossible for c in without] == [False]


def test_a_loop_that_is_held_back_need_not_fill_its_depth() -> None:
    arrival = ClosedLoop(iodepth=8, limits=Limits(iops=1000))
    w = Workload(rw=W.rw, bs=W.bs, arrival=arrival)
    assert of(look(rounds("file", 1000.0, w, mean_ns=1e5), w), "little") == []
    over = of(look(rounds("file", 40_000.0, w, mean_ns=1e6), w), "little")
    assert [c.impossible for c in over] == [True]


@pytest.mark.parametrize(
    ("limits", "reached"),
    [(Limits(iops=1000), True), (Limits(iops=2000), False), (Limits(bytes_per_s=1000 * W.bs), True),
     (Limits(iops=5000, bytes_per_s=1000 * W.bs), True), (Limits(think_ns=1000), False)],
)  # fmt: skip
def test_a_ceiling_that_was_reached_is_no_capacity(limits: Limits, reached: bool) -> None:
    w = Workload(rw=W.rw, bs=W.bs, arrival=ClosedLoop(iodepth=8, limits=limits))
    assert bool(of(look(rounds("file", 1000.0, w, mean_ns=1e5), w), "cap")) == reached


def test_flushes_are_a_part_of_what_a_mix_keeps_in_flight() -> None:
    w = workload("randrw", depth=8, rwmixread=50, fsync=2)
    result = engine_result(w, 32_000.0, mean_ns=2e5)
    half = {k: getattr(result.write, k) // 2 for k in ("ops", "bytes", "service_sum_ns")}
    side = result.write.model_copy(update=half)
    flush = Direction(ops=16_000, bytes=0, service_sum_ns=round(1.6 * 2 * SECOND))
    mixed = result.model_copy(update={"read": side, "write": side, "sync": flush})
    found = look([cell_result("file", w, r, mixed) for r in range(3)], w)
    assert of(found, "parts") == of(found, "little") == []


def test_sizes_that_are_drawn_may_differ_by_chance_and_no_more() -> None:
    sizes = (BsShare(bs=4096, weight=1), BsShare(bs=16_384, weight=1))
    w = Workload(rw=W.rw, bs=16_384, arrival=W.arrival, bssplit=BsSplit(read=sizes))

    def moved(share: float) -> list[CellResult]:
        one = engine_result(w, 1000.0)
        read = one.read.model_copy(update={"bytes": round(one.read.ops * 10_240 * share)})
        return [cell_result("file", w, 0, one.model_copy(update={"read": read}))]

    # 2000 I/Os of 10 KiB ± 6 KiB: a standard error of 1.3 %.
    assert of(look(moved(1.05), w), "rate") == []
    assert [c.impossible for c in of(look(moved(1.1), w), "rate")] == [True]


@pytest.mark.parametrize(("top", "words"), [(100_000, None), (60_000, "its own cost"), (45_000, "is the limit")])
def test_headroom_of_the_generator(top: float, words: str | None) -> None:
    generator = Generator(iops={"write-8KiB-qd8": top}, ns_per_io={})
    found = of(look(rounds("file"), generator=generator), "generator")
    assert (words is None and not found) or (words is not None and words in found[0].message)


def test_the_ceiling_is_found_by_depth_and_size() -> None:
    generator = Generator(iops={"randread-8KiB-qd8": 5.0, "randread-8KiB-qd1": 1.0}, ns_per_io={})
    assert ceiling(generator, "write-8KiB-qd8") == 5.0
    assert ceiling(generator, "write-8KiB-qd2") is None
    assert ceiling(None, "write-8KiB-qd8") is None


def test_errors_debug_builds_and_missing_identity_colour() -> None:
    bad = rounds("file", errored=7, engine={"build": {"profile": "debug"}})
    data = DataSet(path="/x", size=1, mark="m", segments={}, identity={"file": "its own file"})
    found = look([*bad, cell_result("share", W, 0, None, error="connection refused")], data=data)
    kinds = {c.kind: c for c in found.checks}
    assert "21" in kinds["errors"].message or "refused" in kinds["errors"].message
    assert kinds["identity"].layer == "share"
    assert not kinds["build"].impossible
    assert {c.layer for c in of(found, "errors")} == {"file", "share"}


def test_an_empty_run_gives_an_empty_analysis() -> None:
    found = look([])
    assert (found.cells, found.comparisons, found.noise.rounds) == ((), (), 0)


@pytest.mark.parametrize(
    ("iops", "mean_ns", "who"),
    [
        (1000.0, 200e6, "the target does not keep up"),
        (1000.0, 1e6, "the load generator or its schedule did not keep up"),
        (1990.0, 1e6, None),
    ],
)
def test_a_rate_that_was_not_reached_is_said(iops: float, mean_ns: float, who: str | None) -> None:
    w = Workload(rw=W.rw, bs=4096, arrival=OpenLoop(iops=2000))
    found = of(look(rounds("file", iops, w, mean_ns=mean_ns), w), "overload")
    assert len(found) == (0 if who is None else 1)
    assert all(who in c.message and not c.impossible for c in found if who)
    assert of(look(rounds("file", iops, mean_ns=8e6)), "overload") == [], "a closed loop has no rate"


def thread(ops: int, pinned: str | None = None, cpus: str = "0-1") -> ThreadResult:
    return ThreadResult(
        read_ops=ops, write_ops=0, user_ns=1, system_ns=1, voluntary_switches=0, involuntary_switches=0,
        pinned=pinned, cpus=cpus,
    )  # fmt: skip


@pytest.mark.parametrize(
    ("first", "second", "said"),
    [
        (thread(10_000), thread(9_000), None),
        (thread(10_000), thread(4_000), "thread 1 did 40 % of the I/Os of thread 0"),
        # Half of next to nothing is chance.
        (thread(10), thread(4), None),
        (thread(100, "1", "1"), thread(100, "0-1", "1"), "thread 1 was pinned to CPUs 0-1 but may only run on 1"),
        (thread(100, "1", "1"), thread(100, "0", "0"), None),
    ],
)
def test_threads_that_are_not_alike_or_not_where_they_should(
    first: ThreadResult, second: ThreadResult, said: str | None
) -> None:
    found = of(look(rounds("file", threads=(first, second))), "threads")
    assert [said in c.message for c in found if said] == ([True] if said else [])
    assert bool(found) == bool(said)


def test_threads_that_were_dealt_different_targets_need_not_be_alike() -> None:
    w = W.model_copy(update={"threads": 2, "shares": (1, 1), "deal": "thread"})
    unlike = (thread(10_000), thread(100))
    assert of(look(rounds("file", w=w, threads=unlike), w), "threads") == []
    shared = w.model_copy(update={"deal": "share"})
    assert len(of(look(rounds("file", w=shared, threads=unlike), shared), "threads")) == 1


def test_a_state_that_was_not_in_force_colours_the_cell() -> None:
    state = CachingState(direct=False, sync="none", cache="cold")
    caching = Caching(asked=state, in_force=state, departures=("40 % were in memory",))
    found = of(look(rounds("file", caching=caching)), "caching")
    assert [(c.impossible, "40 % were in memory" in c.message) for c in found] == [(False, True)]
    assert of(look(rounds("file", caching=caching.model_copy(update={"departures": ()}))), "caching") == []


def test_a_mixed_workload_obeys_little_in_total_and_by_direction() -> None:
    w = workload("randrw", rwmixread=50)
    result = engine_result(w, 40_000)
    all_ = result.write
    parts = {"ops": all_.ops // 2, "bytes": all_.bytes // 2, "service_sum_ns": all_.service_sum_ns // 2}
    half = all_.model_copy(update=parts)
    sound = result.model_copy(update={"read": half, "write": half})
    laws = {"parts", "rate", "little"}
    assert not laws & {c.kind for c in look([cell_result("file", w, 0, sound)], w).checks}
    slow = half.model_copy(update={"service_sum_ns": half.service_sum_ns * 10})
    found = look([cell_result("file", w, 0, result.model_copy(update={"read": half, "write": slow}))], w)
    assert [c.impossible for c in of(found, "little")] == [True, True], "in total, and of the writes alone"
    assert of(found, "parts") == []


def test_the_share_of_time_in_the_tail_of_our_own_cells_is_told() -> None:
    from strata.analyse.laws import check_run
    from strata.analyse.whole import view_of
    from strata.model.estimate import Estimate

    view = view_of(plan_of(STACK, [W]), rounds("file"))
    cell = view.cells[0]
    tail = Estimate(value=cell.mean_ns.value / 4, low=None, high=None, n=1, unit="ns")
    slow = cell.model_copy(update={"latency_ns": {"99": tail}})
    kinds = {c.kind: c for c in check_run(dataclasses.replace(view, cells=[slow]))}
    assert "tail" in kinds
    assert not kinds["tail"].impossible
    assert "75 %" in kinds["tail"].message


def test_a_rate_that_was_asked_for_and_reached_is_no_capacity() -> None:
    w = Workload(rw=W.rw, bs=4096, arrival=OpenLoop(iops=2000))
    found = of(look(rounds("file", 2000, w, mean_ns=1e6), w), "cap")
    assert [(c.layer, c.impossible) for c in found] == [("file", False)]


def test_unbuffered_that_was_opened_buffered_is_said_and_not_impossible() -> None:
    opened = {"direct": False, "sync": "none"}
    found = of(look(rounds("file", effective=opened)), "execution")
    assert [(c.layer, c.impossible) for c in found] == [("file", False)]
    assert "caching off was planned, on was run" in found[0].message
    remote = of(look(rounds("share", effective=opened)), "execution")
    assert remote == [], "a remote end has caches of its own"
    assert of(look(rounds("file", effective={"direct": True, "sync": "none"})), "execution") == []


def test_two_threads_that_give_three_times_as_much_are_beyond_linear() -> None:
    one, two = workload(depth=8), workload(depth=8, threads=2)
    results = [*rounds("file", 10_000, one), *rounds("file", 30_000, two)]
    found = of(analyse(plan_of(STACK, [one, two]), results), "scaling")
    assert [(c.workload_key, c.impossible) for c in found] == [(two.key, False)]
    results = [*rounds("file", 10_000, one), *rounds("file", 19_000, two)]
    assert of(analyse(plan_of(STACK, [one, two]), results), "scaling") == []


def test_a_buffered_file_that_fits_the_memory_is_said() -> None:
    from strata.analyse.laws import check_run
    from strata.analyse.whole import view_of

    w = workload(direct=False)
    view = view_of(plan_of(STACK, [w]), [*rounds("file", w=w), *rounds("share", 39_000, w)])
    small, large = (dataclasses.replace(view, memory=view.plan.file_size * n // 2) for n in (1, 4))
    assert [(c.layer, c.impossible) for c in check_run(large) if c.kind == "cache"] == [("file", False)]
    assert [c for c in check_run(small) if c.kind == "cache"] == []


def test_a_mean_below_its_percentiles_is_not_of_the_same_ios() -> None:
    quick, slow = (histogram.from_bins({ns: 4000}) for ns in (1_000_000, 200_000))
    assert of(look(rounds("file", mean_ns=199_000, payload=slow)[:1]), "mean") == []
    assert [c.impossible for c in of(look(rounds("file", mean_ns=199_000, payload=quick)[:1]), "mean")] == [True]
    # The mean of rounds is not that of their I/Os.
    assert of(look(rounds("file", mean_ns=199_000, payload=quick)), "mean") == []


@pytest.mark.parametrize(("rw", "spent", "told"), [("randread", 0.2, 1), ("randread", 0.004, 0), ("randtrim", 0.2, 0)])
def test_discards_beside_a_workload_are_told(rw: str, spent: float, told: int) -> None:
    w = workload(rw)
    series = [
        counter(f"blockdev_{name}", rate, device=device)
        for device in ("sda", "sdb")
        for name, rate in (("discard_seconds", spent if device == "sda" else 0.9), ("discard_bytes", 3e8))
    ]
    results = [cell_result("file", w, n, engine_result(w, 1000.0), series, devices=("sda",)) for n in range(3)]
    found = of(look(results, w), "discards")
    assert len(found) == told
    said = [c.message.replace("\u202f", " ") for c in found if not c.impossible]
    assert said == ["sda discarded 286 MiB/s beside the workload, 20 % of the time"] * told


@pytest.mark.parametrize(
    ("rw", "more", "iops", "told"),
    [
        # 256 MiB are 4096 blocks of 64 KiB; two seconds, and a second of ramp before.
        ("trim", {}, 1300.0, None), ("trim", {}, 2000.0, "48 %"), ("randtrim", {"order": Once()}, 1300.0, None),
        ("randtrim", {}, 1300.0, "46 %"), ("randtrim", {}, 100.0, None), ("randwrite", {}, 50_000.0, None),
    ],
)  # fmt: skip
def test_trims_of_what_was_trimmed_before_are_told(
    rw: str, more: dict[str, object], iops: float, told: str | None
) -> None:
    w = workload(rw, kib=64, **more)
    found = of(look([cell_result("file", w, 0, engine_result(w, iops))], w), "freed")
    assert [c.impossible for c in found] == [False] * bool(told)
    assert all(str(told) in c.message.replace("\u202f", " ") and "256 MiB" in c.message for c in found)


def stated(w: Workload = W, **expect: int) -> list[tuple[str, str, bool]]:
    """What is said of the number of parts that the stack file states, with eight I/Os outstanding."""
    stack = Stack(name="s", layers=(STACK.layers[0], over(expect=Expect(**expect))))
    found = analyse(plan_of(stack, [w]), [*rounds("file", w=w), *rounds("share", 39_000, w)]).checks
    kinds = ("controllers", "virtual-disks", "paths")
    return [(c.kind, c.layer, c.impossible) for c in found if c.kind in kinds]


def test_a_run_is_asked_about_the_disks_and_controllers_that_its_stack_states() -> None:
    assert stated(disks=4, controllers=4, queue=64) == stated(disks=1, controllers=1, queue=64) == stated() == []
    # One row for a layer, however many workloads it has.
    assert stated(disks=1, controllers=1, queue=2) == [
        ("controllers", "share", False), ("virtual-disks", "share", False),
    ]  # fmt: skip
    assert stated(disks=8, controllers=2) == [("controllers", "share", False)]


def test_a_run_is_asked_about_the_paths_to_the_nodes_that_its_stack_states() -> None:
    assert stated(nodes=3, paths=3) == [] and stated(nodes=3, paths=2) == [("paths", "share", False)]

    def reached(hosts: Sequence[str], nodes: int) -> list[str]:
        below = Layer(name="file", endpoint="file:/x", expect=Expect(nodes=nodes))
        layers = [Layer(name=f"{i}", endpoint=f"nbd://{h}:1/x", on=("file",)) for i, h in enumerate(hosts)]
        return [
            c.layer
            for c in of(analyse(plan_of(Stack(name="s", layers=(below, *layers)), [W]), rounds("file")), "paths")
        ]

    assert reached(["a", "b", "c"], 3) == [] and reached(["a", "b", "a"], 3) == ["file"]
    several = Layer(
        name="share", endpoint="block:/dev/x", on=("file", "other"), expect=Expect(nodes=3, faster=Faster.PATHS)
    )
    stack = Stack(name="s", layers=(STACK.layers[0], Layer(name="other", endpoint="file:/y"), several))
    assert [c.layer for c in of(analyse(plan_of(stack, [W]), rounds("file")), "paths")] == ["share"]
