"""What a changing set of processes spends, as counters that only grow: born, ended, waited for or not, joined."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from kernel_tree import Tree

from strata.probes.processes import Processes, group_members_file
from strata.probes.servers.account import Account, ServerSample
from strata.probes.servers.spent import Spent, Thread

BEGAN = 1000
OLD, YOUNG = BEGAN - 500, BEGAN + 5


def spent(user: float, reaped: float = 0.0, *, ran_ns: int = 0, read: float | None = 0.0) -> Spent:
    threads = {"1": Thread(ran_ns, 10 * ran_ns, 3)}
    return Spent(user + reaped, 0.0, reaped, read, 0.0, 4096.0, threads)


def cpu(row: ServerSample) -> float:
    assert row.user_s is not None and row.system_s is not None
    return row.user_s + row.system_s


def test_a_child_that_was_born_meanwhile_counts_from_its_birth_one_that_joined_from_then_on() -> None:
    account = Account(BEGAN)
    first = account.sample({(1, OLD): spent(7.0)}, 0)
    second = account.sample({(1, OLD): spent(7.0), (2, YOUNG): spent(0.25), (3, OLD): spent(90.0)}, 10**9)
    assert cpu(second) - cpu(first) == pytest.approx(0.25)
    third = account.sample({(1, OLD): spent(7.0), (2, YOUNG): spent(0.5), (3, OLD): spent(90.5)}, 2 * 10**9)
    assert cpu(third) - cpu(first) == pytest.approx(1.0)


def test_a_child_that_was_waited_for_is_counted_once_with_its_last_moments() -> None:
    account = Account(BEGAN)
    first = account.sample({(1, OLD): spent(7.0), (2, OLD): spent(3.0)}, 0)
    second = account.sample({(1, OLD): spent(7.0, reaped=3.2)}, 10**9)
    assert cpu(second) - cpu(first) == pytest.approx(0.2)


def test_a_child_that_nobody_waited_for_stays_counted_and_its_last_sample_is_left_out() -> None:
    account = Account(BEGAN)
    first = account.sample({(1, OLD): spent(7.0), (2, OLD): spent(3.0)}, 0)
    second = account.sample({(1, OLD): spent(7.5)}, 10**9)
    assert (second.user_s, second.run_delay_s, second.processes) == (None, None, 1)
    third = account.sample({(1, OLD): spent(7.5)}, 2 * 10**9)
    assert cpu(third) - cpu(first) == pytest.approx(0.5)


def test_a_server_that_loses_a_child_between_all_samples_has_values_in_every_second() -> None:
    account = Account(BEGAN)
    rows = [account.sample({(1, OLD): spent(1.0), (n + 2, YOUNG): spent(0.5)}, n * 10**9) for n in range(6)]
    assert [r.user_s is None for r in rows] == [False, True, False, True, False, True]
    assert cpu(rows[4]) - cpu(rows[0]) == pytest.approx(4 * 0.5)


def test_what_one_of_them_does_not_tell_is_not_told() -> None:
    account = Account(BEGAN)
    row = account.sample({(1, OLD): spent(1.0, read=5.0), (2, OLD): spent(1.0, read=None)}, 0)
    assert row.read_bytes is None and row.written_bytes == 0.0


def test_the_busiest_thread_of_all_processes() -> None:
    account = Account(BEGAN)
    assert account.sample({(1, OLD): spent(0, ran_ns=5), (2, OLD): spent(0, ran_ns=10**9)}, 0).busiest is None
    grown = {(1, OLD): spent(0, ran_ns=5 + 8 * 10**8), (2, OLD): spent(0, ran_ns=10**9)}
    assert account.sample(grown, 10**9).busiest == pytest.approx(0.8)
    joined = {**grown, (3, OLD): spent(0, ran_ns=9 * 10**9), (4, YOUNG): spent(0, ran_ns=3 * 10**8)}
    assert account.sample(joined, 2 * 10**9).busiest == pytest.approx(0.3), "who joined is not known yet"


FATES = st.lists(st.tuples(st.integers(1, 5), st.sampled_from(["grow", "reap", "lose", "join"])), max_size=30)


@given(FATES)
def test_it_never_shrinks(fates: list[tuple[int, str]]) -> None:
    account, alive, reaped, number = Account(BEGAN), {(1, OLD): 1.0}, 0.0, 10
    last = 0.0
    for at, (amount, fate) in enumerate(fates):
        if fate == "join":
            number += 1
            alive[number, YOUNG if amount % 2 else OLD] = float(amount)
        elif fate == "grow":
            alive = {key: value + amount for key, value in alive.items()}
        elif len(alive) > 1:
            gone = alive.pop(max(alive))
            reaped += gone if fate == "reap" else 0.0
        row = account.sample({key: spent(v, reaped if key[0] == 1 else 0.0) for key, v in alive.items()}, at * 10**9)
        if row.user_s is not None and at:
            assert row.user_s >= last - 1e-9
        last = last if row.user_s is None else row.user_s


def stat(tree: Tree, pid: int, parent: int) -> None:
    fields = ["S", str(parent), *["0"] * 9, "1", "2", "0", "0", "20", "0", "1", "0", str(100 + pid), "0", "3"]
    tree.file(f"/proc/{pid}/stat", f"{pid} (a (b) c) {' '.join(fields)}")


def test_who_descends_from_whom_and_who_shares_a_group(tmp_path: Path) -> None:
    tree = Tree(tmp_path)
    for pid, parent in ((1, 0), (20, 1), (21, 20), (22, 21), (30, 1)):
        stat(tree, pid, parent)
    processes = Processes(tree.sys)
    processes.look()
    assert sorted(processes.descendants([20])) == [20, 21, 22]
    assert processes.name(21) == "a (b) c" and processes.started(22) == 122
    tree.file("/proc/self/mountinfo", "2 0 0:2 / /cg rw - cgroup2 x rw")
    tree.file("/proc/self/cgroup", "0::/user.slice/session-1.scope")
    for pid, group in (
        (20, "/system.slice/smbd.service"),
        (21, "/user.slice/session-9.scope"),
        (22, "/"),
        (30, "/user.slice/session-1.scope"),
    ):
        tree.file(f"/proc/{pid}/cgroup", f"0::{group}")
        tree.file(f"/cg{group}/cgroup.procs", "1")
    assert group_members_file(tree.sys, 20) == "/cg/system.slice/smbd.service/cgroup.procs"
    assert [group_members_file(tree.sys, pid) for pid in (21, 22, 30)] == [None, None, None]


def test_a_number_that_was_given_out_again_is_another_process(tmp_path: Path) -> None:
    tree = Tree(tmp_path)
    for pid, parent in ((1, 0), (20, 1), (300, 1)):
        stat(tree, pid, parent)
    tree.file("/proc/loadavg", "0.0 0.0 0.0 1/3 300")
    processes = Processes(tree.sys)
    processes.look()
    assert list(processes.descendants([300])) == [300]
    # The numbers went up to their end and began again: 20 is a child of 300 now.
    stat(tree, 20, 300)
    processes.begin()
    assert list(processes.descendants([300])) == [300], "who is known is not read again"
    tree.file("/proc/loadavg", "0.0 0.0 0.0 1/3 20")
    processes.begin()
    assert list(processes.descendants([300])) == [300, 20]


def test_who_lost_his_parent_is_looked_for_below_the_one_that_he_was_given_to(tmp_path: Path) -> None:
    tree = Tree(tmp_path)
    for pid, parent in ((1, 0), (20, 1), (21, 20), (22, 21)):
        stat(tree, pid, parent)
    processes = Processes(tree.sys)
    processes.look()
    # 20 adopts what its children leave behind.
    shutil.rmtree(tmp_path / "proc" / "21")
    stat(tree, 22, 20)
    processes.begin()
    assert sorted(processes.descendants([20])) == [20, 22]
