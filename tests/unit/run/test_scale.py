"""The order of a sweep: the ladder, points at the knee, rounds, open loops, an end; driven without a machine."""

from __future__ import annotations

import re
import time
from collections import Counter
from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest
from tests.unit.analyse.material import engine_result

from strata.analyse.scaling.result import ROUNDS, counted_rounds, load_of, value_of
from strata.app.options import Options
from strata.app.scale_plan import cell_at, check_base, over_targets, scale_plan
from strata.app.scale_points import HOLE, Maker, pieces_at, placed_at
from strata.engine import Piece
from strata.errors import RunFailed, UsageError
from strata.model.axis import Axis
from strata.model.endpoint import Endpoint
from strata.model.plan import Plan, Segment
from strata.model.result import CellResult
from strata.model.run import RunStatus
from strata.model.scale import ScaleAsk
from strata.model.stack import Stack
from strata.model.workload import OpenLoop, Workload
from strata.plan.words import workload_from_words
from strata.run.execute import execute
from strata.run.judge import result_of
from strata.run.scale import LONGEST_S, LOOK_S, LOOKS, Sweep, ladder

LADDER = (1, 2, 4, 8, 16, 32, 64)


def base() -> Workload:
    return workload_from_words("randread", "4k")


def stack(*names: str) -> Stack:
    return Stack.model_validate({"name": "s", "layers": [{"name": n, "endpoint": f"file:/nowhere/{n}"} for n in names]})


def plan_for(ask: ScaleAsk, *layers: str) -> Plan:
    return scale_plan(stack(*layers), ask, base(), Options(), "20261125-000000-0000", 1 << 30, writable=False)


def ask_for(**more: object) -> ScaleAsk:
    return ScaleAsk.model_validate({"axis": Axis.IODEPTH, "values": LADDER, "budget_s": 60.0, "target": 0.03} | more)


class Clock:
    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


def capped(workload: Workload) -> float:
    """250 IOPS for each I/O in flight, up to 3,000; open loops get what they ask, up to that."""
    arrival = workload.arrival
    return min(arrival.iops, 3000.0) if isinstance(arrival, OpenLoop) else min(250.0 * workload.outstanding, 3000.0)


def carried(
    ask: ScaleAsk, rate: Callable[[Workload], float], layers: tuple[str, ...] = ("file",),
    stop_after: int | None = None, change_s: float = 0.0,
) -> tuple[Sweep, list[CellResult], RunStatus]:  # fmt: skip
    plan, clock = plan_for(ask, *layers), Clock()
    done: list[CellResult] = []
    sweep = Sweep(plan, ask, partial(cell_at, base(), ask.axis), done, clock)
    now: list[object] = []

    def measure(step: object, cell: object) -> CellResult:
        seconds = plan.ramp_s + plan.runtime_s
        if cell.at is not None and now[-1:] != [cell.at]:  # type: ignore[attr-defined]
            now.append(cell.at)  # type: ignore[attr-defined]
            seconds += change_s
            sweep.changed(change_s)
        clock.now += seconds
        # One round is 1 % above the mean and the next as far below.
        wobble = 1 + 0.01 * (-1) ** step.round  # type: ignore[attr-defined]
        w = cell.workload  # type: ignore[attr-defined]
        return result_of(step, cell, engine_result(w, rate(w) * wobble, seconds=plan.runtime_s))  # type: ignore[arg-type]

    status = execute(
        sweep,
        measure=measure,
        commit=done.append,
        emit=lambda _: None,
        stop_requested=lambda: stop_after is not None and len(done) >= stop_after,
    )
    return sweep, done, status


@pytest.mark.parametrize("budget_s", [1.0, 8.0, 60.0, 600.0])
def test_a_point_has_intervals_enough_for_clients_that_begin_apart(budget_s: float) -> None:
    plan = plan_for(ask_for(budget_s=budget_s), "file")
    # Of three, the clients share one even where they begin half an interval apart.
    assert plan.runtime_s / plan.interval_s >= 3


def test_the_ladder_is_followed_by_points_at_the_knee_and_every_point_has_its_rounds() -> None:
    sweep, done, status = carried(ask_for(), capped)
    closed = [r for r in done if "qd" in r.cell]
    depths = {int(r.cell.partition("-qd")[2]) for r in closed}
    assert status is RunStatus.DONE and set(LADDER) <= depths
    added = depths - set(LADDER)
    assert added and all(5 <= d <= 26 for d in added), "the knee is at 12"
    assert min(Counter(r.cell for r in closed).values()) >= LOOKS + ROUNDS
    one = [r for r in closed if r.cell == closed[0].cell]
    assert [r.round for r in counted_rounds(one)] == [r.round for r in one if r.round > 0], "the look does not count"
    assert len(counted_rounds(one[:ROUNDS])) == ROUNDS, "with no more than these every round counts"
    first = [r.cell for r in done[: len(LADDER)]]
    assert {int(c.partition("-qd")[2]) for c in first} == set(LADDER), "the ladder comes first"
    assert sweep.ended == "every point is within the target"


def test_open_loops_lie_around_the_limit() -> None:
    sweep, _, _ = carried(ask_for(), capped)
    asked = sorted(c.workload.arrival.iops for c in sweep.plan.cells if isinstance(c.workload.arrival, OpenLoop))
    assert asked[0] == pytest.approx(1500, rel=0.03) and asked[-1] == pytest.approx(3600, rel=0.03)
    assert not any("iops" in r.cell for r in carried(ask_for(open_loop=False), capped)[1])


def test_rounds_are_interleaved_and_in_other_orders() -> None:
    _, done, _ = carried(ask_for(open_loop=False), capped)
    rounds: dict[int, list[str]] = {}
    for r in done:
        rounds.setdefault(r.round, []).append(r.cell)
    common = set(rounds[1]) & set(rounds[2])
    assert [c for c in rounds[1] if c in common] != [c for c in rounds[2] if c in common]
    assert len(set(rounds[1])) == len(rounds[1])


def test_layers_of_one_point_stand_next_to_each_other() -> None:
    _, done, _ = carried(ask_for(open_loop=False), capped, ("disk", "share"))
    pairs = [(a.workload_key, b.workload_key) for a, b in zip(done[0:14:2], done[1:14:2], strict=True)]
    assert all(a == b for a, b in pairs)


def test_a_noisy_point_gets_more_rounds_until_the_budget_is_gone() -> None:
    state = Counter[str]()

    def noisy(w: Workload) -> float:
        state[w.key] += 1
        return capped(w) * (1.3 if w.outstanding == 4 and state[w.key] % 2 else 1.0)

    sweep, done, _ = carried(ask_for(open_loop=False), noisy)
    counts = Counter(r.cell for r in done)
    assert counts["file/randread-4KiB-qd4"] == max(counts.values()) > ROUNDS
    assert sweep.ended == "budget"


def gone_on(cut: Sweep, part: list[CellResult]) -> tuple[Sweep, list[CellResult]]:
    """A sweep that was stopped, resumed with what is left of it; and what it measured then."""
    resumed = Sweep(cut.plan, ask_for(), partial(cell_at, base(), Axis.IODEPTH), part, Clock())
    rest: list[CellResult] = []
    execute(
        resumed,
        measure=lambda step, cell: result_of(step, cell, engine_result(cell.workload, capped(cell.workload))),
        commit=rest.append,
        emit=lambda _: None,
        stop_requested=lambda: False,
    )  # fmt: skip
    return resumed, rest


@pytest.mark.parametrize("after", [1, 5, 9, 16, 30])
def test_a_stopped_sweep_goes_on_to_the_same_points(after: int) -> None:
    whole, all_of_it, _ = carried(ask_for(), capped)
    cut, part, status = carried(ask_for(), capped, stop_after=after)
    assert status is RunStatus.STOPPED and len(part) == after
    resumed, rest = gone_on(cut, part)
    assert closed_of(part + rest) == closed_of(all_of_it) and len(resumed.plan.cells) == len(whole.plan.cells)
    assert len({r.order for r in (*part, *rest)}) == len(part) + len(rest)


def test_a_resumed_sweep_asks_for_no_round_again_that_was_measured_to_its_end() -> None:
    """Under its name the nodes may still have it: it would be counted twice."""
    cut, part, _ = carried(ask_for(), capped, stop_after=16)
    cell = Counter(r.cell for r in part).most_common(1)[0][0]
    of = [n for n, r in enumerate(part) if r.cell == cell]
    assert len(of) >= 2
    part[of[0]] = part[of[0]].model_copy(update={"error": "it failed"})
    _, rest = gone_on(cut, part)
    # The last one was cut short: that one is asked for again.
    whole = [(r.cell, r.round) for r in (*part[:-1], *rest)]
    assert len(set(whole)) == len(whole) and (cell, part[of[-1]].round + 1) in whole


def closed_of(results: list[CellResult]) -> set[str]:
    return {r.cell for r in results if "qd" in r.cell}


def test_doublings_end_at_what_was_asked() -> None:
    assert ladder(1, 100) == (1, 2, 4, 8, 16, 32, 64, 100) and ladder(4, 4) == (4,)


def over(axis: Axis, values: tuple[int, ...], endpoint: str, **words: object) -> Plan:
    where = Stack.model_validate({"name": "s", "layers": [{"name": "x", "endpoint": endpoint}]})
    ask = ask_for(axis=axis, values=values)
    workload = workload_from_words("randread", "4k", **words)  # type: ignore[arg-type]
    check_base(workload, ask)
    return scale_plan(where, ask, workload, Options(), "20261125-000000-0000", 1 << 30, writable=False)


def test_connections_grow_beside_a_workload_that_stays_the_same() -> None:
    plan = over(Axis.CONNECTIONS, (1, 2, 4), "nbd://h/e?connections=8", iodepth=32)
    assert [c.at for c in plan.cells] == [("connections", 1), ("connections", 2), ("connections", 4)]
    assert len({c.key for c in plan.cells}) == 3 and len({c.workload.key for c in plan.cells}) == 1
    assert [value_of(c, Axis.CONNECTIONS) for c in plan.cells] == [load_of(c, Axis.CONNECTIONS) for c in plan.cells]
    address = plan.stack.layers[0].target.over(2)
    assert (address.uri, address.connections) == ("nbd://h/e?connections=2", 2)
    with pytest.raises(UsageError, match="it has no connections"):
        over(Axis.CONNECTIONS, (1, 2), "file:/nowhere", iodepth=32)
    with pytest.raises(UsageError, match="as many I/Os in flight"):
        over(Axis.CONNECTIONS, (1, 2), "nbd://h/e")


def test_cores_are_those_that_the_threads_of_the_load_run_on() -> None:
    (cell,) = over(Axis.CORES, (1,), "file:/nowhere").cells
    placed = placed_at(cell, None, (2, 5))
    assert placed is not None and placed.cpus == (2,)
    assert placed_at(cell.model_copy(update={"at": None}), None, (2, 5)) is None
    with pytest.raises(UsageError, match="do not run on 2 CPUs"):
        over(Axis.CORES, (1, 2), "file:/nowhere")


def test_a_slow_point_is_measured_for_longer_once_its_rate_is_known() -> None:
    sweep, _, _ = carried(ask_for(), lambda w: capped(w) / 10, stop_after=2)
    fast, _, _ = carried(ask_for(), lambda w: 100 * capped(w), stop_after=2)
    known = [c for c in sweep.plan.cells if sweep.runtime_s(c) > sweep.plan.runtime_s]
    assert known and all(sweep.runtime_s(c) <= LONGEST_S for c in known)
    assert any(sweep.runtime_s(c) == LOOK_S for c in sweep.plan.cells), "nothing is known of these yet"
    assert {fast.runtime_s(c) for c in fast.plan.cells} == {LOOK_S, fast.plan.runtime_s}, "a first look is short"


def test_a_working_set_is_measured_over_more_ios() -> None:
    sizes = (1 << 20, 1 << 21)
    cached, _, _ = carried(ask_for(axis=Axis.RANGE, values=sizes, open_loop=False, budget_s=5.0), lambda w: 300.0)
    queued, _, _ = carried(ask_for(values=(1, 2), open_loop=False, budget_s=5.0), lambda w: 300.0)
    assert {cached.runtime_s(c) for c in cached.plan.cells} == {2.1}, "600 I/Os at 297 or 300 a second"
    assert {queued.runtime_s(c) for c in queued.plan.cells} == {0.6}, "150"


def test_clients_are_a_load_like_threads() -> None:
    plan = over(Axis.CLIENTS, (1, 2, 4), "file:/nowhere", iodepth=2)
    assert [value_of(c, Axis.CLIENTS) for c in plan.cells] == [1, 2, 4]
    assert [load_of(c, Axis.CLIENTS) for c in plan.cells] == [2, 4, 8]


def test_points_that_a_command_makes_are_gone_through_up_and_down() -> None:
    ask = ask_for(axis=Axis.STORAGE_NODES, values=(1, 2, 3), open_loop=False, target=0.5)
    _, done, status = carried(ask, lambda _: 1000.0, layers=("store", "served"), change_s=1.0)
    values = [int(r.cell.rpartition("=")[2]) for r in done]
    assert status is RunStatus.DONE
    assert values[::2] == values[1::2], "a change is made once for both layers"
    assert values[::2][:9] == [1, 2, 3, 3, 2, 1, 1, 2, 3]
    assert not any(c.workload.key != base().key for c in plan_for(ask, "store").cells), "the load stays as it is"


def test_what_the_changes_take_is_part_of_the_budget() -> None:
    ask = ask_for(axis=Axis.QUEUES, values=(1, 2, 4), budget_s=30.0, target=0.0001)
    rounds = [len(carried(ask, lambda _: 1000.0, change_s=seconds)[1]) for seconds in (0.0, 5.0)]
    assert rounds[1] < rounds[0], rounds


def test_the_blocks_of_a_file_are_not_read_below_it_where_a_command_may_move_them() -> None:
    ask = ask_for(axis=Axis.STORAGE_NODES, values=(1, 2))
    layers = [{"name": "disk", "endpoint": "block:/dev/x"}, {"name": "file", "endpoint": "file:/x", "on": ["disk"]}]
    where = Stack.model_validate({"name": "s", "layers": layers})
    plan = scale_plan(where, ask, base(), Options(), "20261125-000000-0000", 1 << 30, writable=False)
    assert {c.layer for c in plan.cells if c.skip is None} == {"file"}
    assert "may move the blocks" in next(c.skip for c in plan.cells if c.skip is not None)


def test_disks_share_the_same_ios_in_flight() -> None:
    plan = over(Axis.DISKS, (1, 2, 4), "file:/a", iodepth=8)
    assert [c.workload.outstanding for c in plan.cells] == [8, 8, 8]
    assert [c.workload.clients for c in plan.cells] == [1, 2, 4]
    assert [len(c.workload.shares) for c in plan.cells] == [0, 2, 4]
    # What a resumed sweep takes for the workload is that of any of its points.
    for cell in plan.cells:
        again = cell_at(cell.workload, Axis.DISKS, cell.layer, 4)
        assert again is not None and again.key == plan.cells[-1].key
    assert cell_at(plan.cells[0].workload, Axis.DISKS, "x", 3) is None, "8 I/Os do not divide among 3"
    with pytest.raises(UsageError, match="cannot be divided among 3 disks"):
        over(Axis.DISKS, (1, 2, 3), "file:/a", iodepth=8)
    pieces = [
        Piece(endpoint=Endpoint.parse(f"file:/{n}"), segments=(Segment(start=0, length=1, target=0),)) for n in "abcd"
    ]
    driven = [[p.endpoint.path for p in pieces_at(c, pieces)] for c in plan.cells]
    assert driven == [["/a"], ["/a", "/b"], ["/a", "/b", "/c", "/d"]]


def test_points_that_are_added_between_disks_divide_the_ios_too() -> None:
    eight = workload_from_words("randread", "4k", iodepth=24)
    ask = ask_for(axis=Axis.DISKS, values=(1, 2, 4, 8, 12), open_loop=False)
    plan = scale_plan(stack("file"), ask, eight, Options(), "20261125-000000-0000", 1 << 30, writable=False)
    done: list[CellResult] = []
    sweep = Sweep(plan, ask, partial(cell_at, eight, ask.axis), done, Clock())
    execute(
        sweep,
        measure=lambda step, cell: result_of(
            step, cell, engine_result(cell.workload, min(1000.0 * cell.at[1], 4000.0), seconds=0.5)
        ),
        commit=done.append,
        emit=lambda _: None,
        stop_requested=lambda: len(done) > 40,
    )
    added = {c.at[1] for c in sweep.plan.cells if c.at is not None} - set(ask.values)
    assert added and all(24 % n == 0 for n in added), added


def test_several_targets_have_a_client_each_unless_they_are_what_grows() -> None:
    over_two = over_targets(base(), Axis.IODEPTH, 2)
    assert (over_two.clients, over_two.shares, over_two.deal) == (2, (1, 1), "client")
    assert over_targets(base(), Axis.DISKS, 2) == base() == over_targets(base(), Axis.IODEPTH, 1)
    for axis in (Axis.CLIENTS, Axis.NODES):
        with pytest.raises(UsageError, match="each of several targets has its own client"):
            check_base(over_two, ask_for(axis=axis, values=(1, 2)))


def test_nodes_are_a_load_with_one_client_each() -> None:
    plan = over(Axis.NODES, (1, 2, 3), "file:/nowhere", iodepth=4)
    assert [value_of(c, Axis.NODES) for c in plan.cells] == [1, 2, 3]
    assert [load_of(c, Axis.NODES) for c in plan.cells] == [4, 8, 12]
    with pytest.raises(UsageError, match="each node has one client"):
        over(Axis.NODES, (1, 2), "file:/nowhere", clients=2)


def script(folder: Path, text: str) -> str:
    made = folder / "make"
    made.write_text(f"#!/bin/sh\n{text}\n")
    made.chmod(0o755)
    return f"'{made}' {HOLE}"


def test_a_maker_runs_its_command_where_the_number_changes_and_puts_it_back(tmp_path: Path) -> None:
    told = tmp_path / "told"
    maker = Maker(Axis.QUEUES, script(tmp_path, f"echo $1 >> '{told}'"), 2)
    for value in (2, 4, 4, 1):
        maker.make(value)
    assert maker.put_back() is None and told.read_text().split() == ["4", "1", "2"]


def test_what_a_command_leaves_running_is_not_waited_for(tmp_path: Path) -> None:
    begun = time.monotonic()
    Maker(Axis.QUEUES, script(tmp_path, "sleep 5 & echo started"), 1).make(2)
    assert time.monotonic() - begun < 4


def test_a_command_that_fails_says_what_it_said_and_is_tried_again(tmp_path: Path) -> None:
    maker = Maker(Axis.QUEUES, script(tmp_path, "echo no room for $1 >&2; exit 3"), 2)
    with pytest.raises(RunFailed, match=r"cannot set queues=4 .*exit status 3: no room for 4"):
        maker.make(4)
    left = maker.put_back()
    assert left is not None and left.startswith("queues was not restored to 2:"), "the number is not known"
    with pytest.raises(RunFailed, match="No such file"):
        Maker(Axis.QUEUES, f"/nowhere/at-all {HOLE}", 1).make(2)


@pytest.mark.parametrize(
    ("command", "now", "why"), [("attach", 1, "no {} for the number"), ("'a {}", 1, "quotation"), ("a {}", 0, "--now")]
)
def test_a_command_without_a_place_for_the_number_is_refused(command: str, now: int, why: str) -> None:
    with pytest.raises(UsageError, match=re.escape(why)):
        Maker(Axis.QUEUES, command, now)
