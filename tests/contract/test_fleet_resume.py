"""A matrix of clients on nodes goes on where it was: a finished cell is on the nodes' disks first, in the store once.

Real processes: `strata node serve` and `join`, the command, one of the nodes and the scheduler, which are killed.
"""

from __future__ import annotations

import json
import os
import signal
import sqlite3
import subprocess
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, TypeVar

import pytest
from commands import STRATA, strata, target
from fleet_peers import BOUND_S, Running, cluster, ended, results_of, said, started
from loops import run
from namespaces import inside, star

from strata.app.kept import opened
from strata.app.runner import kept_name
from strata.errors import StoreError
from strata.model.result import EngineResult
from strata.model.run import RunStatus

T = TypeVar("T")
NAMES = [f"n{number}" for number in range(5)]
CLIENTS = 10
CELLS = ("--matrix", "bs=4k,16k;iodepth=1,4;rw=randread", "--budget", "16s")
GOES_ON_S = 5.0
"""The second without what the command waited for a CPU that something else had: beside others, that is most of it."""


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """1000 IOPS, so that ten clients leave the processors alone."""
    shape = ("--service-threads", 2, "--service-time", "2ms")
    with target("--memory", "16m", *shape, "--socket", tmp_path_factory.mktemp("served") / "s") as (uri, _):
        yield uri


def cells() -> list[tuple[int, str | None]]:
    """Order and error of what the store has."""
    store = Path(os.environ["XDG_STATE_HOME"]) / "strata" / "strata.db"
    if not store.exists():
        return []
    with sqlite3.connect(f"file:{store}?mode=ro", uri=True) as db:
        try:
            return list(db.execute("SELECT step_order, error FROM cells ORDER BY step_order"))
        except sqlite3.OperationalError:
            return []


def begun(*words: object) -> subprocess.Popen[str]:
    argv = [*STRATA, "measure", *map(str, words), "--progress", "none"]
    return subprocess.Popen(argv, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def until(true: Callable[[], bool], command: subprocess.Popen[str], within_s: float = 90.0) -> float:
    """When it became true while the command ran."""
    end = time.monotonic() + within_s
    while not true():
        assert command.poll() is None, command.communicate()
        assert time.monotonic() < end, cells()
        time.sleep(0.02)
    return time.monotonic()


def waited_s(pid: int) -> float:
    """For how long the threads of the process were ready to run and had no CPU."""
    found = 0
    for task in Path(f"/proc/{pid}/task").iterdir():
        with suppress(OSError):
            found += int((task / "schedstat").read_text().split()[1])
    return found / 1e9


def goes_on(*words: object) -> tuple[float, dict[str, Any]]:
    """Seconds from the command to its first new cell in the store, its time of measuring included and its wait for a
    CPU not, and its result."""
    before, began = len(cells()), time.monotonic()
    again = begun("--resume", *words, "--json")
    try:
        wall_s = until(lambda: len(cells()) > before, again) - began
        took_s = wall_s - waited_s(again.pid)
        out, err = again.communicate(timeout=90)
    finally:
        again.kill()
    assert again.returncode == 0, err
    print(f"the first new cell was in the store after {wall_s:.2f} s, {took_s:.2f} s without waiting for a CPU")
    document: dict[str, Any] = json.loads(out)
    return took_s, document


def each_once(document: dict[str, Any]) -> None:
    """No measurement is in the store twice, under whatever order, and every cell has one."""
    none_twice(document)
    assert all(cell["iops"] is not None for cell in document["cells"])


def none_twice(document: dict[str, Any]) -> int:
    """How many measurements there are, each of them once."""
    with opened(None) as store:
        done = [c.result for c in store.cells(document["run"]) if c.result is not None and c.error is None]
    assert len({result.started_unix_ns for result in done}) == len(done)
    assert sum(cell["visits"] for cell in document["cells"]) <= len(done)
    return len(done)


@pytest.mark.ci
@pytest.mark.first
@pytest.mark.calm
@pytest.mark.parametrize(
    "harm", [signal.SIGKILL, pytest.param(signal.SIGSTOP, marks=pytest.mark.slow)], ids=["killed", "stopped"]
)
def test_a_node_is_killed_with_its_clients_and_the_missing_cells_are_measured_later(
    served: str, tmp_path: Path, harm: signal.Signals
) -> None:
    with cluster(tmp_path, NAMES) as running:
        first = begun(served, *CELLS, "--clients", CLIENTS, "--nodes", running.address)
        until(lambda: len(cells()) >= 3, first)
        running.nodes["n3"].send_signal(harm)
        harmed = time.monotonic()
        _, err = first.communicate(timeout=60)
        assert time.monotonic() - harmed < BOUND_S
        assert first.returncode == 1
        assert "n3" in err and "strata measure --resume" in err
        good = [order for order, error in cells() if error is None]
        assert len(good) >= 3, "what was finished is kept"
        # One that was stopped goes on with its load, finds that it was given up, and ends.
        running.nodes["n3"].send_signal(signal.SIGCONT)
        ended(running.nodes.pop("n3"), 30)
        refused = strata("measure", "--resume", "--progress", "none")
        assert refused.returncode == 1 and "4 have joined" in refused.stderr
        running.nodes["n3"] = started(["join", running.address, "--name", "n3"], running.folder / "n3")
        said(running.nodes["n3"], "has joined")
        took_s, document = goes_on()
    each_once(document)
    assert took_s < GOES_ON_S, f"the first new cell was in the store after {took_s:.1f} s"


@pytest.mark.slow
@pytest.mark.alone
@pytest.mark.parametrize("harm", [signal.SIGKILL, signal.SIGSTOP], ids=["killed", "stopped"])
def test_the_scheduler_and_then_the_command_are_killed(served: str, tmp_path: Path, harm: signal.Signals) -> None:
    few = NAMES[:3]
    with cluster(tmp_path, few) as running:
        first = begun(served, *CELLS, "--clients", len(few), "--nodes", running.address)
        until(lambda: len(cells()) >= 2, first)
        running.scheduler.send_signal(harm)
        harmed = time.monotonic()
        _, err = first.communicate(timeout=60)
        assert time.monotonic() - harmed < BOUND_S
        assert first.returncode == 1 and "strata measure --resume" in err
    (tmp_path / "again").mkdir()
    with cluster(tmp_path / "again", few) as running:
        second = begun("--resume", "--nodes", running.address)
        before = len(cells())
        until(lambda: len(cells()) > before, second)
        second.send_signal(signal.SIGKILL)
        second.communicate()
        # The command is gone, and so is who knew the cell in hand; the nodes end by themselves, and take the next one.
        _, document = goes_on("--nodes", running.address)
    each_once(document)


def in_hand(running: Running, command: subprocess.Popen[str], after: int) -> None:
    """The command stands still once a result is on the disks of its nodes that is not in the store, and is killed.

    After so many stored cells. It stands still at any time; where no cell was on its way it goes on for a while.
    """
    until(lambda: len(cells()) >= after, command)
    for _ in range(20):
        command.send_signal(signal.SIGSTOP)
        end = time.monotonic() + 4
        while time.monotonic() < end:
            found: set[str] = set()
            try:
                found = _unstored(running)
            except StoreError as e:  # the command stands still in the middle of a commit
                assert "damaged" not in e.why
            if found:
                command.kill()
                command.communicate()
                return
            time.sleep(0.1)
        command.send_signal(signal.SIGCONT)
        time.sleep(0.2)
    raise AssertionError("no result was in hand")


def _unstored(running: Running) -> set[str]:
    with opened(None) as store:
        run_id = list_one(store.list_runs(1)).id
        stored = {kept_name(run_id, c) for c in store.cells(run_id)}
    there = [{f.stem for f in (running.state_of(n) / "results").glob(f"{run_id}.*")} for n in running.nodes]
    return set.intersection(*there) - stored


def list_one(found: Sequence[T]) -> T:
    (one,) = found
    return one


@pytest.mark.ci
def test_one_measurement_whose_command_is_killed_is_fetched_from_the_nodes(served: str, tmp_path: Path) -> None:
    few = NAMES[:2]
    with cluster(tmp_path, few) as running:
        words = (served, "--rw", "randread", "--runtime", "1s", "--ramp-time", "200ms", "--clients", 2)
        first = begun(*words, "--nodes", running.address)
        until(lambda: bool(runs()), first)
        in_hand(running, first, 0)
        killed_ns = time.time_ns()
        again = strata("measure", "--resume", "--json", "--progress", "none")
        assert again.returncode == 0, again.stderr
        document = json.loads(again.stdout)
        assert document["result"]["started_unix_ns"] < killed_ns, "it was measured before, and not again"
        assert results_of(running) == dict.fromkeys(few, 0), "the nodes have forgotten what is stored"
        with opened(None) as store:
            run = list_one(store.list_runs(9))
            assert run.id == document["run"] and run.status is RunStatus.DONE
            cell = list_one(store.cells(run.id))
            assert cell.error is None
            whole = store.load_run(run.id)
            # As a command leaves it that ends between the result and its judgement.
            store.update_run(whole.model_copy(update={"status": RunStatus.RUNNING}))
        assert strata("measure", "--resume", "--progress", "none").returncode == 0
        with opened(None) as store:
            assert list_one(store.cells(run.id)) == cell, "what is stored is not measured again"
            assert store.load_run(run.id).status is RunStatus.DONE
        ended_well = strata("measure", "--resume", run.id, "--progress", "none")
        assert ended_well.returncode == 2 and "it has ended" in ended_well.stderr
        with opened(None) as store:
            assert list_one(store.cells(run.id)) == cell
    assert strata("report", run.id).returncode == 0
    assert strata("measure", "--resume", "--progress", "none").returncode == 2, "nothing is left to resume"


@pytest.mark.slow
@pytest.mark.alone
def test_a_command_that_was_stopped_for_longer_than_nodes_wait_goes_on(served: str, tmp_path: Path) -> None:
    """Its budget went on meanwhile, so that there may be no time for every cell."""
    few = NAMES[:3]
    with cluster(tmp_path, few) as running:
        argv = [*STRATA, "measure", served, *CELLS[:2], "--budget", "40s", "--clients", str(len(few)), "--json"]
        quiet = [*argv, "--nodes", running.address, "--progress", "none"]
        first = subprocess.Popen(quiet, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        until(lambda: len(cells()) >= 2, first)
        first.send_signal(signal.SIGSTOP)
        before = len(cells())
        time.sleep(15)
        first.send_signal(signal.SIGCONT)
        out, err = first.communicate(timeout=90)
        assert first.returncode == 0, err
        assert all(node.poll() is None for node in running.nodes.values())
    assert none_twice(json.loads(out)) > before
    assert not [error for _, error in cells() if error is not None]


@pytest.mark.root
@pytest.mark.slow
def test_what_lost_the_link_to_a_node_is_measured_again_with_it_and_counted_once(tmp_path: Path) -> None:
    """Its load ended well meanwhile, and is on its own disk: what is there of it is not taken for what comes after."""
    few = NAMES[:3]
    with star(few) as spaces:
        hub = inside(spaces["hub"])
        apart = {name: inside(spaces[name]) for name in few}
        wire = ("ip", "-n", Path(spaces["n1"]).name, "link", "set", "wire")
        with cluster(tmp_path, few, "tcp://10.213.8.1:8786", inside=hub, apart=apart) as running:
            words = ("null:", "--rw", "randread", "--rate-iops", "600", "--runtime", "3s", "--ramp-time", "200ms")
            argv = [*hub, *STRATA, "measure", *words, "--clients", "3", "--nodes", running.address]
            quiet = [*argv, "--progress", "none"]
            first = subprocess.Popen(quiet, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
            until(lambda: measures(running, "n1"), first)
            time.sleep(1.0)
            run(*wire, "down")
            cut, cut_ns = time.monotonic(), time.time_ns()
            _, err = first.communicate(timeout=60)
            assert time.monotonic() - cut < BOUND_S
            assert first.returncode == 1 and "1 of 3 clients were lost (client 1 on n1" in err, err
            ended(running.nodes.pop("n1"), 30)
            run(*wire, "up")
            running.nodes["n1"] = started(["join", running.address, "--name", "n1"], running.folder / "n1", apart["n1"])
            said(running.nodes["n1"], "has joined")
            assert results_of(running) == {"n0": 0, "n1": 1, "n2": 0}
            argv = [*hub, *STRATA, "measure", "--resume", "--json", "--progress", "none"]
            again = subprocess.run(argv, capture_output=True, text=True, timeout=60, check=False)
            assert again.returncode == 0, again.stderr
            assert results_of(running) == dict.fromkeys(few, 0), "the nodes have forgotten what is stored"
    result = whole_once(json.loads(again.stdout)["run"], few)
    assert result.started_unix_ns > cut_ns and result.iops == pytest.approx(600, rel=0.1)


def measures(running: Running, name: str) -> bool:
    """Whether the node has been told what to measure, after the load generator alone: it writes both down."""
    plans = running.state_of(name) / "plans"
    return plans.exists() and len(list(plans.iterdir())) == 2


def whole_once(run_id: str, names: Sequence[str]) -> EngineResult:
    """The store has one result of that run, of one client on each of these nodes, and it is well."""
    with opened(None) as store:
        assert [one.id for one in store.list_runs(9)] == [run_id]
        assert store.load_run(run_id).status is RunStatus.DONE
        cell = list_one(store.cells(run_id))
    assert cell.error is None and cell.result is not None and not cell.result.lost
    assert [one.node for one in cell.result.clients] == list(names)
    assert cell.result.ops == sum(one.result.ops for one in cell.result.clients)
    return cell.result


@pytest.mark.ci
@pytest.mark.first
def test_a_sweep_over_clients_whose_command_is_killed_takes_the_point_in_hand_from_the_nodes(
    served: str, tmp_path: Path
) -> None:
    few = NAMES[:2]
    sweep = ("scale", served, "--over", "clients", "--points", "2,4,6,8", "--budget", "8s", "--progress", "none")
    with cluster(tmp_path, few) as running:
        argv = [*STRATA, *sweep, "--nodes", running.address]
        first = subprocess.Popen(argv, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        in_hand(running, first, 3)
        before, killed_ns = len(cells()), time.time_ns()
        again = strata("scale", "--resume", "--json", "--progress", "none")
        assert again.returncode == 0, again.stderr
        assert results_of(running) == dict.fromkeys(few, 0)
    with opened(None) as store:
        done = store.cells(list_one(store.list_runs(9)).id)
    assert [c.error for c in done if c.error is not None] == []
    began = [c.result.started_unix_ns for c in done if c.result is not None]
    assert len(set(began)) == len(began) == len(done), "each is stored once"
    assert any(c.result.started_unix_ns < killed_ns for c in done[before:] if c.result), "one was not measured again"


@pytest.mark.first
@pytest.mark.ci
def test_a_lost_client_ends_a_sweep_which_goes_on_once_it_is_back(served: str, tmp_path: Path) -> None:
    few = NAMES[:2]
    sweep = ("scale", served, "--over", "clients", "--points", "2,4,6,8", "--budget", "8s", "--progress", "none")
    with cluster(tmp_path, few) as running:
        argv = [*STRATA, *sweep, "--nodes", running.address]
        first = subprocess.Popen(argv, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        until(lambda: len(cells()) >= 3, first)
        running.nodes["n1"].kill()
        _, err = first.communicate(timeout=60)
        assert first.returncode == 1 and "n1" in err and "strata scale --resume" in err
        ended(running.nodes.pop("n1"))
        gone = [order for order, error in cells() if error is not None and "n1" in error]
        assert gone == [len(cells()) - 1] and gone[0] >= 3, "nothing is measured without it"
        refused = strata("scale", "--resume", "--progress", "none")
        assert refused.returncode == 1 and "1 have joined" in refused.stderr
        running.nodes["n1"] = started(["join", running.address, "--name", "n1"], running.folder / "n1")
        said(running.nodes["n1"], "has joined")
        again = strata("scale", "--resume", "--json", "--progress", "none")
        assert again.returncode == 0, again.stderr
    with opened(None) as store:
        done = store.cells(list_one(store.list_runs(9)).id)
    assert done[gone[0]].cell in {c.cell for c in done[gone[0] + 1 :]}, "it was measured by all of them"
    document = json.loads(again.stdout)
    assert [p["value"] for p in document["points"]] == [2, 4, 6, 8] and "n1" in str(document["remarks"])


@pytest.mark.ci
@pytest.mark.first
def test_a_measurement_that_lost_a_client_is_kept_with_its_error_and_compared_with_nothing(
    served: str, tmp_path: Path
) -> None:
    few = NAMES[:3]
    words = ("measure", served, "--rw", "randread", "--runtime", "3s", "--clients", 3, "--progress", "none")
    with cluster(tmp_path, few) as running:
        whole = strata(*words, "--nodes", running.address, "--json")
        assert whole.returncode == 0, whole.stderr
        first = begun(*words[1:], "--nodes", running.address)
        until(lambda: len(runs()) == 2, first)
        time.sleep(2.0)
        running.nodes["n1"].kill()
        _, err = first.communicate(timeout=60)
        assert first.returncode == 1 and "1 of 3 clients were lost (client 1 on n1" in err
        ended(running.nodes.pop("n1"))
        with opened(None) as store:
            lost, _ = store.list_runs(2)
            kept = list_one(store.cells(lost.id))
        assert lost.status is RunStatus.STOPPED and kept.error is not None and "client 1 on n1" in kept.error
        assert kept.result is not None and [c.node for c in kept.result.lost] == ["n1"]
        assert f"strata measure --resume {lost.id}" in err and f"strata report {lost.id}" in err, err
        shown = strata("report", lost.id)
        assert shown.returncode == 0 and "1 of 3 clients were lost (client 1 on n1" in shown.stdout, shown.stdout
        for refused in (("compare", json.loads(whole.stdout)["run"], lost.id), ("baseline", "save", "b", lost.id)):
            assert strata(*refused).returncode != 0, refused
        running.nodes["n1"] = started(["join", running.address, "--name", "n1"], running.folder / "n1")
        said(running.nodes["n1"], "has joined")
        again = strata("measure", "--resume", "--json", "--progress", "none")
        assert again.returncode == 0, again.stderr
    with opened(None) as store:
        assert store.load_run(lost.id).status is RunStatus.DONE and list_one(store.cells(lost.id)).error is None


@pytest.mark.ci
def test_several_targets_that_lost_a_client_are_not_said_to_be_resumable_also_when_they_are_stopped(
    tmp_path: Path,
) -> None:
    few = NAMES[:2]
    with cluster(tmp_path, few) as running:
        one, other = (f"file:{tmp_path / name}" for name in ("one", "other"))
        words = (one, "--target", other, "--size", "8m", "--rw", "randread", "--runtime", "30s", "--clients", 2)
        first = begun(*words, "--nodes", running.address)
        try:
            until(lambda: has_read(running.nodes["n1"].pid) > 2 << 20, first)
            running.nodes["n1"].kill()
            # It is lost once nothing has been heard of it for a while.
            time.sleep(BOUND_S)
            first.send_signal(signal.SIGINT)
            _, err = first.communicate(timeout=60)
        finally:
            first.kill()
        ended(running.nodes.pop("n1"))
        assert first.returncode == 130 and "1 of 2 clients were lost" in err, err
        assert "--resume" not in err, err
        with opened(None) as store:
            lost = list_one(store.list_runs(9))
        assert lost.status is RunStatus.FAILED and lost.id in err
        refused = strata("measure", "--resume", "--progress", "none")
        assert refused.returncode == 2 and "no unfinished run" in refused.stderr


def has_read(pid: int) -> int:
    """Bytes from storage."""
    return int(dict(line.split(": ") for line in Path(f"/proc/{pid}/io").read_text().splitlines())["read_bytes"])


def runs() -> list[str]:
    """Ids of the store."""
    store = Path(os.environ["XDG_STATE_HOME"]) / "strata" / "strata.db"
    if not store.exists():
        return []
    with sqlite3.connect(f"file:{store}?mode=ro", uri=True) as db:
        try:
            return [row[0] for row in db.execute("SELECT id FROM runs")]
        except sqlite3.OperationalError:
            return []
