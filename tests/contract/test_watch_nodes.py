"""`strata watch --nodes`: real node processes sample their own layers, and fio is the application.

A node in a mount and a time namespace of its own, with another boot id and another monotonic clock, is another machine
to whoever watches.
"""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import pytest
from another_machine import another_machine
from commands import STRATA, strata
from fleet_peers import Running, cluster
from loops import MIB, image, loop, need, need_root
from tracing import HIDDEN, with_tracefs

from strata.app.diagnose import diagnose_path
from strata.app.options import Options
from strata.app.watch import Watching, observe, told, watch
from strata.app.watch_every import look_back, watch_on
from strata.errors import RunFailed, UsageError
from strata.model.counters import Readings, blockdev, net
from strata.model.finding import VerdictKind
from strata.model.watch import Observed, Slice
from strata.plan.words import workload_from_words

pytestmark = pytest.mark.root
STACK = """
[stack]
name = "watched"

[[node]]
name = "n1"
owner = true

[[node]]
name = "n2"

[[layer]]
name = "disk"
node = "n1"
endpoint = "block:{device}"

[[layer]]
name = "share"
node = "n2"
on = ["disk"]
endpoint = "nbd://192.0.2.1:10809/volume"
"""


@pytest.fixture(autouse=True)
def own_state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("STRATA_STATE_DIR", str(tmp_path / "state"))


@pytest.fixture
def device(tmp_path: Path) -> Iterator[str]:
    need_root()
    with loop(image(tmp_path / "image", 64 * MIB), "--direct-io=on") as made:
        yield made


@contextmanager
def two_machines(folder: Path) -> Iterator[Running]:
    """n1 is another machine, n2 is on this one."""
    with cluster(folder, ["n1", "n2"], apart={"n1": another_machine(folder)}) as running:
        yield running


@pytest.fixture
def apart(tmp_path: Path) -> Iterator[Running]:
    """For a test that kills one of them."""
    with two_machines(tmp_path) as running:
        yield running


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    """For all others, one after the other."""
    with two_machines(tmp_path_factory.mktemp("shared")) as running:
        yield running
        assert all(process.poll() is None for process in running.processes)


def stack(folder: Path, device: str) -> Path:
    path = folder / "stack.toml"
    path.write_text(STACK.format(device=device))
    return path


ATTEMPTS = 3


@contextmanager
def load(device: str, *more: str) -> Iterator[subprocess.Popen[str]]:
    """fio, as somebody's application, which moves more than others on this machine: 26 MB a second."""
    words = ["--name=app", f"--filename={device}", "--direct=1", "--rw=randread", "--bs=64k", "--iodepth=4"]
    words += ["--ioengine=libaio", "--time_based", "--runtime=120", "--rate_iops=400", *more]
    process = subprocess.Popen([need("fio"), *words], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    try:
        time.sleep(1)
        yield process
    finally:
        process.terminate()
        process.communicate(timeout=30)


def asked(where: Path, nodes: Running, seconds: float = 4.0, **more: Any) -> Watching:
    return Watching(where=str(where), seconds=seconds, nodes=nodes.address, trace=False, **more)


def of_device(seen: Observed, name: str, node: str | None) -> tuple[float | None, ...]:
    """Reads per second in each piece."""
    told = {key: values for key, values in seen.rates.items() if Readings({key: 1.0}).of(blockdev.READS)}
    for key, values in told.items():
        (one,) = Readings({key: 1.0}).of(blockdev.READS)
        if (one["device"], one.node) == (name, node):
            return values
    return ()


def net_nodes(seen: Observed, piece: int | None = None) -> set[str | None]:
    """Whose network was counted, in that piece."""
    told = [key for key, values in seen.rates.items() if piece is None or values[piece] is not None]
    return {one.node for key in told for one in Readings({key: 1.0}).of(net.BYTES)}


def test_each_layer_is_sampled_by_its_node_on_our_clock(tmp_path: Path, shared: Running, device: str) -> None:
    name = device.removeprefix("/dev/")
    with load(device):
        for _ in range(ATTEMPTS):
            seen, traces = observe(asked(stack(tmp_path, device), shared))
            # On a machine that is busy a node may be late for its last answer, and is given up then, which is said.
            applications = {i.node for i in seen.issuers if i.name == "fio"}
            if "n1" in applications and not any(why.startswith("n1 (") for why in seen.absent):
                break
    assert traces is None
    assert {r.layer: (r.devices[0], r.node) for r in seen.reached} == {"disk": (name, "n1"), "share": (name, "n1")}
    # An hour apart, its samples lie where they were taken: there is a rate in each piece.
    rates = of_device(seen, name, "n1")
    assert len(rates) == len(seen.bins) - 1
    inner = [rate for rate in rates[1:-1] if rate is not None]
    # Of a device that stood still for a moment the piece has fewer, and the next one more.
    assert len(inner) == len(rates) - 2 and 300 < statistics.median(inner) < 500, rates
    assert not of_device(seen, name, None)
    # Nothing of the path is on this machine but n2, which has a network and processes of its own name.
    assert net_nodes(seen) == {"n1", "n2"}
    assert "n1" in applications
    result = told(seen)
    row = next(r for r in result.layers if r.kind == "device" and r.layer == "disk")
    assert row.what == f"{name} of n1"
    assert row.iops is not None and 300 < row.iops < 500
    assert result.verdict.kind is not VerdictKind.IDLE
    assert not any("another machine" in why for why in seen.absent)
    assert not any(why.startswith("n1 (") for why in seen.absent)


@pytest.mark.ci
@pytest.mark.parametrize("may", [True, False])
def test_a_node_traces_what_arrives_at_its_devices_where_it_may(tmp_path: Path, device: str, may: bool) -> None:
    far = another_machine(tmp_path)
    words = {"n1": with_tracefs(*far) if may else [*HIDDEN, *far]}
    with cluster(tmp_path, ["n1", "n2"], apart=words) as nodes, load(device):
        seen, traces = observe(Watching(where=str(stack(tmp_path, device)), seconds=5.0, nodes=nodes.address))
    # Nothing below the layers is on this machine.
    assert traces is None
    if not may:
        assert not seen.arrivals and told(seen).verdict.headline
        (why,) = [why for why in seen.absent if why.startswith("traces: n1 (disk): ")]
        assert "tracefs is not mounted here" in why
        return
    name = device.removeprefix("/dev/")
    one = next(a for a in seen.arrivals if (a.device, a.node) == (name, "n1"))
    # 400 reads of 64 KiB each second; an hour apart by its clock, and yet within the time of the watching.
    assert 200 < one.summary.read.requests / one.seconds < 600 and one.lengths[0][0] == 65536
    assert one.from_s >= 0 and one.from_s + one.seconds < seen.seconds + 0.5
    assert one.requests is not None and one.depths and one.sharers[0].name == "fio"
    row = next(r for r in told(seen).layers if r.what == f"{name} of n1")
    assert row.sequential is not None and row.p50_ns
    assert all(a.node == "n1" for a in seen.arrivals)


@pytest.mark.ci
def test_a_node_that_dies_says_so_and_the_rest_goes_on(tmp_path: Path, apart: Running, device: str) -> None:
    killed: list[float] = []

    def kill(now: float) -> None:
        if now > 6 and not killed:
            apart.nodes["n1"].kill()
            killed.append(now)

    name = device.removeprefix("/dev/")
    with load(device):
        seen, _ = observe(asked(stack(tmp_path, device), apart, 14.0), kill)
    (why,) = [why for why in seen.absent if why.startswith("n1 (disk) after ")]
    assert "cannot ask node n1" in why
    # When it was heard of last, not when it was missed.
    assert 3 < float(why.split()[3]) < killed[0] + 1
    rates = of_device(seen, name, "n1")
    assert any(r is not None and 200 < r < 600 for r in rates[: len(rates) // 3])
    assert rates[-1] is None
    # The other one is sampled to the end.
    late = net_nodes(seen, piece=-1)
    assert "n2" in late and "n1" not in late
    assert told(seen).verdict.headline


@pytest.mark.ci
def test_a_scheduler_that_dies_takes_its_nodes_and_not_the_watching(
    tmp_path: Path, apart: Running, device: str
) -> None:
    killed: list[float] = []

    def kill(now: float) -> None:
        if now > 5 and not killed:
            apart.scheduler.kill()
            killed.append(now)

    with load(device):
        seen, _ = observe(asked(stack(tmp_path, device), apart, 9.0), kill)
    lost = sorted(why.partition(" after ")[0] for why in seen.absent if " after " in why)
    assert lost == ["n1 (disk)", "n2 (share)"], seen.absent
    assert any(rate is not None for rate in of_device(seen, device.removeprefix("/dev/"), "n1"))
    assert told(seen).verdict.headline


@pytest.mark.ci
def test_a_scheduler_that_dies_at_the_end_costs_the_traces_and_not_the_watching(tmp_path: Path, device: str) -> None:
    """Before a sample could not be fetched, so that no node is known to be lost when the traces are asked for."""

    def kill(now: float) -> None:
        if now > 4.5:
            nodes.scheduler.kill()

    apart = {"n1": with_tracefs(*another_machine(tmp_path))}
    with cluster(tmp_path, ["n1", "n2"], apart=apart) as nodes, load(device):
        where = str(stack(tmp_path, device))
        seen, _ = observe(Watching(where=where, seconds=4.7, nodes=nodes.address), kill)
    # On a busy machine a sample is under way then, and the node is lost before its traces are asked for.
    assert any(why.startswith(("traces: n1: ", "n1: ")) for why in seen.absent), seen.absent
    assert any(rate is not None for rate in of_device(seen, device.removeprefix("/dev/"), "n1"))
    assert told(seen).verdict.headline


def test_a_node_issues_no_io(tmp_path: Path, shared: Running, device: str) -> None:
    stat = Path(f"/sys/class/block/{device.removeprefix('/dev/')}/stat")
    pids = {name: process.pid for name, process in shared.nodes.items()}
    opened: set[str] = set()

    def look(_: float) -> None:
        for pid in pids.values():
            for fd in Path(f"/proc/{pid}/fd").iterdir():
                try:
                    opened.add(str(fd.readlink()))
                except OSError:
                    continue

    words = stack(tmp_path, device)
    observe(asked(words, shared, 2.5))
    # What is loaded at a first call is there by now.
    before, storage = stat.read_text(), {name: _storage(pid) for name, pid in pids.items()}
    seen, _ = observe(asked(words, shared, 4.0), look)
    assert stat.read_text() == before
    assert {name: _storage(pid) for name, pid in pids.items()} == storage
    assert device not in opened
    assert told(seen).verdict.kind is not VerdictKind.MEDIUM
    # What was sampled for it has ended.
    for pid in pids.values():
        names = {(task / "comm").read_text().strip() for task in Path(f"/proc/{pid}/task").iterdir()}
        assert not names & {"strata-probes", "strata-issuers"}


@pytest.mark.ci
@pytest.mark.first
def test_a_watching_that_goes_on_keeps_what_nodes_saw_and_which_is_gone(
    tmp_path: Path, apart: Running, device: str
) -> None:
    words, slices = stack(tmp_path, device), list[Slice]()

    def take(one: Slice) -> None:
        slices.append(one)
        if len(slices) == 1:
            apart.nodes["n1"].kill()

    with load(device):
        watch_on(str(words), 5.0, take, 17.0, apart.address)
    first, last = slices[0], slices[-1]
    what = f"{device.removeprefix('/dev/')} of n1"
    row = next(r for r in first.layers if r.what == what)
    assert row.iops is not None and 200 < row.iops < 600
    assert any(one.label.endswith(" of n1") for one in first.issuers)
    assert not first.absent
    assert len(slices) >= 2
    assert last.absent and last.absent[0].startswith("n1 (disk) after ")
    assert not any(r.what == what for r in last.layers)
    kept = look_back(str(words), time.strftime("%H:%M:%S"))
    assert kept.slices[-1].absent == last.absent


@pytest.mark.ci
def test_the_devices_of_one_machine_are_read_once(tmp_path: Path, device: str) -> None:
    name = device.removeprefix("/dev/")
    with cluster(tmp_path, ["n1", "n2"]) as nodes, load(device):
        argv = [*STRATA, "watch", str(stack(tmp_path, device)), "--nodes", nodes.address, "--for", "4s", "--json"]
        done = subprocess.run(with_tracefs(*argv), capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode in (0, 4), done.stderr
    found = json.loads(done.stdout)
    devices = [r["what"] for r in found["layers"] if r["kind"] == "device"]
    assert devices[0] == name and len(set(devices)) == len(devices)
    assert [r["what"] for r in found["layers"] if r["kind"] == "processors"] == [f"{os.cpu_count()} CPUs"]
    assert any(i["name"] == "fio" and "node" not in i for i in found["issuers"])
    # It can be traced from here, too.
    assert found["arrivals"][0]["device"] == name
    assert f" --nodes {nodes.address} --profile " in found["confirm"]["command"]


@pytest.mark.ci
def test_a_command_here_is_watched_to_its_end_with_what_its_nodes_see(
    tmp_path: Path, shared: Running, device: str
) -> None:
    fio = [need("fio"), "--name=app", f"--filename={device}", "--direct=1", "--rw=randread", "--bs=8k", "--iodepth=1"]
    argv = [*STRATA, "watch", str(stack(tmp_path, device)), "--nodes", shared.address, "--json", "--"]
    argv += [*fio, "--time_based", "--runtime=4"]
    done = subprocess.run(with_tracefs(*argv), capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode in (0, 4), done.stderr
    found = json.loads(done.stdout)
    assert found["ran"]["status"] == 0
    assert any(i["watched"] and i["name"] == "fio" and "node" not in i for i in found["issuers"])
    row = next(r for r in found["layers"] if r["kind"] == "device")
    assert row["what"] == f"{device.removeprefix('/dev/')} of n1" and row["iops"] > 100


@pytest.mark.ci
def test_a_run_goes_on_beside_a_watching_and_a_third_watching_is_refused(
    tmp_path: Path, shared: Running, device: str
) -> None:
    words = stack(tmp_path, device)
    until = threading.Event()

    def watching() -> None:
        def tick(_: float) -> None:
            if until.is_set():
                raise InterruptedError

        with suppress(InterruptedError):
            observe(asked(words, shared, 60.0), tick)

    beside = [threading.Thread(target=watching) for _ in range(2)]
    for one in beside:
        one.start()
        time.sleep(2)
    try:
        third, _ = observe(asked(words, shared, 2.0))
        assert any("n1" in why and "takes part in 2 watchings or traces already" in why for why in third.absent), (
            third.absent
        )
        driven = tmp_path / "driven.toml"
        layer = f'[[layer]]\nname = "file"\nnode = "n1"\nendpoint = "file:{tmp_path}/fresh.dat"\n'
        driven.write_text(f'[stack]\nname = "driven"\n\n[[node]]\nname = "n1"\nowner = true\n\n{layer}')
        only = (workload_from_words("randread", iodepth=2, direct=False),)
        options = Options(
            only=only, store=f"sqlite:///{tmp_path / 's.db'}", rounds=1, runtime_s=0.2, ramp_s=0.05, confirm=False,
            load_seconds=0.0, size=16 * MIB, nodes=shared.address,
        )  # fmt: skip
        report = diagnose_path(driven, options, lambda _: None)
        assert [c.layer for c in report.results if c.result is not None and c.result.ops] == ["file"]
    finally:
        until.set()
        for one in beside:
            one.join(60)
    # Their places are free again.
    again, _ = observe(asked(words, shared, 2.0))
    assert not any("watchings or traces already" in why for why in again.absent)


def test_what_a_node_does_not_have_is_said(tmp_path: Path, shared: Running) -> None:
    seen, _ = observe(asked(stack(tmp_path, "/dev/no-such-device"), shared, 2.5))
    assert any(why == "n1: layer disk: /dev/no-such-device does not exist or is not readable" for why in seen.absent)
    assert told(seen).verdict.kind is VerdictKind.INCONCLUSIVE
    assert "n2" in net_nodes(seen)


@pytest.mark.ci
def test_what_nodes_cannot_be_asked_for_is_refused_before_anything_is_sampled(tmp_path: Path, device: str) -> None:
    words = stack(tmp_path, device)
    with cluster(tmp_path, ["n1"]) as nodes:
        with pytest.raises(RunFailed, match="cannot watch 'share' from n2: no node of that name has joined") as caught:
            observe(asked(words, nodes))
        assert "strata node join" in caught.value.hint and "--layers" not in caught.value.hint
        with pytest.raises(UsageError, match="cannot use --nodes with"):
            observe(asked(tmp_path, nodes))
        # A node that this machine reads need not have joined.
        exporter = 'name = "n2"\ncounters = "http://127.0.0.1:9/"\n'
        words.write_text(words.read_text().replace('name = "n2"\n', exporter, 1))
        seen, _ = observe(asked(words, nodes, 2.5))
        assert any("n2" in why for why in seen.absent)
        # A stack file may name its scheduler itself.
        words.write_text(words.read_text().replace("[stack]", f'[stack]\nscheduler = "{nodes.address}"'))
        result = watch(Watching(where=str(words), seconds=2.5, trace=False), lambda _: None)
        assert result.confirm is not None and "--nodes" not in result.confirm.command
    with pytest.raises(RunFailed, match="cannot connect to"):
        observe(asked(words, nodes))
    done = strata("watch", words, "--around", "14:05", "--nodes", nodes.address)
    assert done.returncode == 2 and "--nodes" in done.stderr


def _storage(pid: int) -> tuple[int, int]:
    """Bytes that a process has had storage read and write."""
    told = dict(line.split(": ") for line in Path(f"/proc/{pid}/io").read_text().splitlines())
    return int(told["read_bytes"]), int(told["write_bytes"])
