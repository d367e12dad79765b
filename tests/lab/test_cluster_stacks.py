"""The stacks of several nodes: the same data everywhere, the bytes that each path costs, and nothing left behind."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from statistics import median

import pytest
from labbench import measuring
from labbench.rows import Round
from tiers import rest_in_ci

from strata.engine import Timing
from strata.errors import RunFailed, UsageError
from strata.host import programs
from strata.host.testfile import MARK_BYTES, read_mark
from strata.model.rw import Rw
from strata.model.stack import Stack
from strata_lab import disks, stacks, where
from strata_lab.client import inside, layers_of
from strata_lab.counters import CounterDelta
from strata_lab.down import down
from strata_lab.lab import Lab
from strata_lab.ledger import names
from strata_lab.leftovers import leftovers
from strata_lab.servers import smbd
from strata_lab.stacks.vm_disks.build import spread
from strata_lab.up import up

pytestmark = pytest.mark.root

Build = Callable[[str, Mapping[str, str]], Lab]


@pytest.fixture
def build() -> Iterator[Build]:
    """Labs with names of this process; each is removed, and nothing of it may be left."""
    made: list[Lab] = []

    def make(stack: str, options: Mapping[str, str]) -> Lab:
        made.append(up(stack, f"c{os.getpid() % 10**8}n{len(made)}", options))
        return made[-1]

    yield make
    for lab in made:
        down(lab)
        assert leftovers(lab.name, lab.token) == ()


def places_of(lab: Lab) -> dict[str, measuring.Place]:
    """Every layer where it can be driven, by its name."""
    volume = lab.facts("volume")[0]
    stack = Stack.from_toml((lab.data / "stack.toml").read_text())
    return {p.layer.name: p for p in measuring.places(stack, Path(volume["file"]), volume["fs"])}


def cost(lab: Lab, layer: str, rw: str, bs: int = 256 << 10, ramp_s: float = 0.05, runtime_s: float = 0.4) -> Round:
    """One round at one layer: bytes on the wires and at the disks for each byte of the application."""
    nodes = {n.name: n.netns for n in lab.nodes if n.netns is not None}
    media = tuple(disks.control(lab, fact["name"]) for fact in lab.facts("disk"))
    counted = measuring.Counted(nodes, lab.token, media)
    _, workload = measuring.asked("", Rw(rw), bs, 4)

    def over(seconds: float) -> Round:
        timing = Timing(ramp_s=ramp_s, runtime_s=seconds, interval_s=0.4)
        return measuring.once(places_of(lab)[layer], workload, timing, 0, counted)

    try:
        return over(runtime_s)
    except RunFailed as e:
        # None failed and none is lost: the machine stood still for the whole of it.
        if e.why != "0 stuck, 0 done":
            raise
        return over(10 * runtime_s)


def sent_per_byte(lab: Lab, layer: str, rw: str) -> float:
    """Bytes that all nodes together sent for each byte of the application; each counts once, at its sender."""
    # The first write after another client's waits up to a second for that client's lock in some engines.
    return cost(lab, layer, rw, ramp_s=1.2 if lab.last_fact("volume", fs="gluster") else 0.05).sent_by_all


def owner_and_other(lab: Lab) -> list[float]:
    """Reads and writes on the owner, reads and writes elsewhere."""
    cells = [("owner", "randread"), ("owner", "randwrite"), ("other node", "randread"), ("other node", "randwrite")]
    return [sent_per_byte(lab, layer, rw) for layer, rw in cells]


@pytest.mark.ci
@pytest.mark.parametrize("copies", [2, pytest.param(3, marks=pytest.mark.slow)])
def test_a_mirror_of_btrfs_costs_0_r_1_and_1_plus_r(build: Build, copies: int) -> None:
    lab = build("mirrored", {"engine": "btrfs", "copies": str(copies), "data": "16m"})
    remote = copies - 1
    assert owner_and_other(lab) == pytest.approx([0, remote, 1, 1 + remote], abs=0.15 * copies)


@pytest.mark.ci
def test_a_gluster_volume_costs_0_r_1_and_1_plus_r(build: Build) -> None:
    lab = build("mirrored", {"engine": "gluster", "data": "16m", "medium": "fast"})
    assert owner_and_other(lab) == pytest.approx([0, 1, 1, 2], abs=0.3)


@pytest.mark.slow
@pytest.mark.parametrize("copies", [2, 3])
def test_a_ceph_pool_costs_0_r_1_and_1_plus_r(build: Build, copies: int) -> None:
    lab = build("mirrored", {"engine": "ceph", "copies": str(copies), "data": "16m"})
    assert owner_and_other(lab) == pytest.approx([0, copies - 1, 1, copies], abs=0.15 * copies)


@pytest.mark.slow
@pytest.mark.parametrize("engine", ["gluster", "ceph"])
def test_the_clients_library_sends_as_many_bytes(build: Build, engine: str) -> None:
    """Through fio, which tells nothing of what it did in a ramp: there is none."""
    lab = build("mirrored", {"engine": engine, "client": "library", "data": "16m", "medium": "fast"})
    cells = [(end, rw) for end in ("owner", "other node") for rw in ("randread", "randwrite")]
    sent = [cost(lab, f"{end} by library", rw, ramp_s=0.0, runtime_s=3.0).sent_by_all for end, rw in cells]
    assert sent == pytest.approx([0, 1, 1, 2], abs=0.3)


@pytest.mark.ci
def test_every_way_to_a_clustered_volume_reaches_the_same_bytes(build: Build) -> None:
    lab = build("cluster-volume", {"data": "16m", "medium": "fast"})
    volume = lab.facts("volume")[0]
    mark = read_mark(Path(volume["file"]))
    assert mark is not None
    other = places_of(lab)["direct, other node"].endpoints[0]
    with Path(str(other.path)).open("rb") as device:
        device.seek(volume["offset"])
        assert device.read(MARK_BYTES) == Path(volume["file"]).read_bytes()[:MARK_BYTES]
    by_layer = {name: sent_per_byte(lab, name, "randread") for name in places_of(lab)}
    on_no_wire = {"disk", "direct, coordinator", "direct, other node", "redirected, coordinator"}
    expected = {name: 0.0 if name in on_no_wire else 2.0 if name == "scale-out share" else 1.0 for name in by_layer}
    assert by_layer == pytest.approx(expected, abs=0.15)


@pytest.mark.ci
def test_each_io_of_a_file_level_path_is_one_of_the_disk_and_a_killed_part_of_it_is_no_rest(build: Build) -> None:
    lab = build("cluster-volume", {"data": "16m", "medium": "fast", "landing": "redirected"})
    layers = ("share, other node", "redirected, coordinator", "scale-out share")
    assert all(places_of(lab)[layer].layer.endpoint.startswith("smb://") for layer in layers)
    # What is under way at both ends of a round, and what the file system writes of its own, is counted at the disk
    # alone: little of a long one, more of one in which the machine stood still. So each has three.
    cells = [(layer, rw) for layer in layers for rw in ("randread", "randwrite")]
    seen: dict[tuple[str, str], Round] = {}
    for _ in range(3):
        again = [cell for cell in cells if cell not in seen or abs(seen[cell].media - 1) > 0.1]
        seen |= {(layer, rw): cost(lab, layer, rw, 8192, runtime_s=1.5) for layer, rw in again}
    assert {cell: r.media for cell, r in seen.items()} == pytest.approx(dict.fromkeys(cells, 1.0), abs=0.1)
    wires = {"share, other node": 1.0, "redirected, coordinator": 0.0, "scale-out share": 2.0}
    expected = {(layer, rw): wires[layer] for layer, rw in seen}
    assert {cell: r.sent_by_all for cell, r in seen.items()} == pytest.approx(expected, abs=0.3)
    for part in ("direct-volume", "direct-scale-out", "smbd-n2"):
        os.kill(lab.process(part).pid, signal.SIGKILL)


@pytest.mark.parametrize("cache", rest_in_ci(["none", "page"], every_day=1))
def test_a_share_reaches_the_medium_unless_it_is_to_have_a_cache(build: Build, cache: str) -> None:
    lab = build("share", {"size": "192m", "file": "16m", "cache": cache, "rate": "0", "model": ""})
    # Once over the whole file: what a page cache keeps it has now.
    cost(lab, "SMB share", "read")
    assert cost(lab, "SMB share", "randread", 8192).media == pytest.approx(1.0 if cache == "none" else 0.0, abs=0.1)


@pytest.mark.slow
def test_over_nbd_the_file_level_paths_cost_the_same_bytes(build: Build) -> None:
    lab = build("cluster-volume", {"data": "16m", "medium": "fast", "protocol": "nbd", "landing": "redirected"})
    expected = {"share, other node": 1.0, "redirected, coordinator": 0.0, "redirected, other node": 1.0}
    expected["scale-out share"] = 2.0
    seen = {layer: cost(lab, layer, "randread") for layer in expected}
    assert {layer: r.sent_by_all for layer, r in seen.items()} == pytest.approx(expected, abs=0.15)
    assert {layer: r.media for layer, r in seen.items()} == pytest.approx(dict.fromkeys(seen, 1.0), abs=0.1)


@pytest.mark.slow
@pytest.mark.parametrize("landing", ["direct", "redirected"])
def test_a_scale_out_share_costs_what_it_lands_on_and_one_wire_more(build: Build, landing: str) -> None:
    lab = build("cluster-volume", {"data": "16m", "medium": "fast", "landing": landing})
    expected = 1.0 if landing == "direct" else 2.0
    assert sent_per_byte(lab, "scale-out share", "randread") == pytest.approx(expected, abs=0.15)


@pytest.mark.ci
def test_a_read_cache_that_holds_everything_keeps_the_storage_nodes_idle(build: Build) -> None:
    lab = build("vm-disks", {"data": "4m", "disks": "1", "cache": "64m", "medium": "none"})
    cost(lab, "read cache", "read")
    assert cost(lab, "read cache", "randread", 8192).media < 0.2
    store = cost(lab, "store", "randread", 8192)
    assert store.media == pytest.approx(1.0, abs=0.2)
    assert store.sent_by_all == pytest.approx(1.0, abs=0.2)


@pytest.mark.ci
def test_a_storage_node_joins_a_running_store_and_takes_its_share(build: Build) -> None:
    lab = build("vm-disks", {"data": "16m", "disks": "1", "medium": "none"})
    with lab.ledger.locked():
        assert stacks.grow(lab) == "s3"
    each = {fact["name"]: disks.control(lab, fact["name"]) for fact in lab.facts("disk")}
    for control in each.values():
        # What was read to spread the data is not the load's.
        control.reset()
    cost(lab, "store", "randread", 8192)
    read = {name: control.truth().read.bytes for name, control in each.items()}
    assert read["s3"] > 0.2 * sum(read.values()), read


@pytest.mark.ci
def test_a_storage_node_leaves_a_running_store_and_its_data_stays(build: Build) -> None:
    lab = build("vm-disks", {"data": "16m", "disks": "1", "medium": "none"})
    volume = lab.facts("volume")[0]
    before = Path(volume["file"]).read_bytes()
    with lab.ledger.locked():
        assert stacks.grow(lab) == "s3"
        assert all(spread(lab).values())
        assert stacks.shrink(lab) == "s3"
    assert set(spread(lab)) == {"s1", "s2"} and all(spread(lab).values())
    control = disks.control(lab, "s3")
    control.reset()
    cost(lab, "store", "randread", 8192)
    assert control.truth().read.bytes == 0
    assert Path(volume["file"]).read_bytes() == before
    with lab.ledger.locked():
        assert stacks.grow(lab) == "s3", "who left comes back"
    assert all(spread(lab).values()) and Path(volume["file"]).read_bytes() == before


@pytest.mark.first
@pytest.mark.parametrize(
    "server", [pytest.param("tgt", marks=pytest.mark.ci), pytest.param("strata", marks=pytest.mark.slow)]
)
def test_a_node_of_a_block_cluster_is_taken_away_under_load_and_the_others_go_on(build: Build, server: str) -> None:
    lab = build("block-cluster", {"server": server, "file": "16m", "sessions": "3", "model": "c=2 svc=4000"})
    paths = [layer for layer in layers_of(lab) if layer.name.startswith("through")]
    assert [p.target.connections for p in paths] == [3, 3, 3]
    client = lab.node("client")
    words = ("--rw", "randread", "--bs", "8k", "--iodepth", "6", "--runtime", "9s", "--interval", "100ms", "--json")
    loads = [
        subprocess.Popen(
            inside(lab, client, programs.python("strata", "measure", p.endpoint, *words, "--progress", "none")),
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=os.environ | lab.environment, text=True,
        )
        for p in paths
    ]  # fmt: skip
    time.sleep(5)
    with lab.ledger.locked():
        assert stacks.shrink(lab) == "n3"
    told = [load.communicate(timeout=60) for load in loads]
    done = [json.loads(out)["result"] for out, _ in told[:2]]
    assert [load.returncode for load in loads[:2]] == [0, 0], told
    assert all(not r["read"]["errors"] and r["stuck"] == 0 for r in done)
    assert loads[2].returncode != 0 or json.loads(told[2][0])["trouble"], "its own path is gone, and it says so"
    # What the third took of the disk is the others' now; of tenths of a second, so that a standstill is a few of them.
    last = [median(i["read"]["ops"] for i in r["intervals"][-10:]) for r in done]
    first = [median(i["read"]["ops"] for i in r["intervals"][:10]) for r in done]
    assert sum(last) > 1.15 * sum(first), (first, last)
    with lab.ledger.locked():
        assert stacks.grow(lab) == "n3"
        with pytest.raises(UsageError, match="all 3 nodes serve"):
            stacks.grow(lab)
    assert cost(lab, "through n3", "randread", 8192).iops > 0


@pytest.mark.first
@pytest.mark.ci
@pytest.mark.parametrize("server", ["strata", "tgt"])
def test_what_a_dead_node_acknowledged_is_there_through_the_others(build: Build, server: str, tmp_path: Path) -> None:
    """A guest writes with verification over several sessions to the last node, and reads through the others. The node
    dies: every write that it acknowledged is found through each of the others, whose loads have no error."""
    lab = build("block-cluster", {"server": server, "file": "16m", "sessions": "3", "model": "c=2 svc=1000"})
    first, second, last = [layer for layer in layers_of(lab) if layer.name.startswith("through")]
    client, journal = lab.node("client"), tmp_path / "journal"
    quiet = ("--json", "--progress", "none")

    def begun(*words: str) -> subprocess.Popen[str]:
        argv = inside(lab, client, programs.python("strata", *words, *quiet))
        env = os.environ | lab.environment
        return subprocess.Popen(argv, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=env, text=True)

    load = ("--rw", "randread", "--bs", "8k", "--iodepth", "6", "--runtime", "8s")
    loads = [begun("measure", path.endpoint, *load) for path in (first, second)]
    shape = ("--size", "8m", "--bs", "4k", "--iodepth", "8", "--runtime", "60s", "--flush-every", "50")
    writing = begun("verify", last.endpoint, *shape, "--journal", str(journal))
    until = time.monotonic() + 60
    while (not journal.exists() or journal.stat().st_size < 5_000) and writing.poll() is None:
        assert time.monotonic() < until, "it does not write"
        time.sleep(0.05)
    with lab.ledger.locked():
        assert stacks.shrink(lab) == "n3"
    out, err = writing.communicate(timeout=60)
    assert writing.returncode == 1, (out, err)
    assert "strata verify --check" in err
    for process in loads:
        out, err = process.communicate(timeout=60)
        assert process.returncode == 0, err
        result = json.loads(out)["result"]
        assert not result["read"]["errors"] and result["stuck"] == 0
    for path in (first, second):
        checking = begun("verify", path.endpoint, "--check", "--journal", str(journal))
        out, err = checking.communicate(timeout=60)
        assert checking.returncode == 0, (out, err)
        found = json.loads(out)
        assert found["verdict"] == "sound"
        assert found["result"]["writes"] > 0 or found["result"]["reads"] > 1000


@pytest.mark.ci
@pytest.mark.first
def test_two_connections_of_a_share_use_both_cards(build: Build) -> None:
    """Of 32 MB/s each; bytes as both cards counted them. With ``spread=off`` all go to the one that is named."""
    lab = build("share", {"nics": "2", "rate": "32m", "file": "32m", "cache": "page"})
    (share,) = [layer for layer in layers_of(lab) if layer.name == "SMB share"]
    assert share.target.connections == 2
    client, found = lab.node("n2"), {}
    words = ("--rw", "read", "--bs", "256k", "--iodepth", "8", "--runtime", "2s", "--json", "--progress", "none")
    for how in ("", "&multichannel=on", "&spread=off"):
        counting = CounterDelta(lab)
        argv = inside(lab, client, programs.python("strata", "measure", f"{share.endpoint}{how}", *words))
        env = os.environ | lab.environment | {"STRATA_SMB_PASSWORD": smbd.PASSWORD}
        done = subprocess.run(argv, capture_output=True, env=env, text=True, check=False, timeout=60)
        figures = counting.stop()
        assert done.returncode == 0, done.stderr
        result = json.loads(done.stdout)["result"]
        addresses = result["effective"]["smb"]["addresses"]
        cards = [figures[f"wire.n2.{card}.rx_bytes"] for card in (0, 1)]
        found[how] = (result["read"]["bytes"] / result["measured_ns"] * 1e9, cards)
        if how == "&spread=off":
            assert addresses == [] and cards[1] < 0.05 * cards[0], (addresses, cards)
        else:
            assert addresses == list(lab.node("n1").addresses)
            assert min(cards) > 0.35 * sum(cards), (how, cards)
    one = found["&spread=off"][0]
    assert all(found[how][0] > 1.5 * one for how in ("", "&multichannel=on")), found


def test_a_stack_that_cannot_grow_says_which_can(build: Build) -> None:
    lab = build("cluster-volume", {"data": "16m", "medium": "none"})
    with pytest.raises(UsageError) as refused:
        stacks.grow(lab)
    assert "vm-disks" in refused.value.hint


def test_what_is_no_choice_is_refused_before_anything_is_made() -> None:
    for stack, options in (
        ("mirrored", {"copies": "7"}),
        ("mirrored", {"engine": "btrfs", "client": "library"}),
        ("cluster-volume", {"landing": "moon"}),
        ("cluster-volume", {"protocol": "fax"}),
        ("share", {"cache": "7"}),
        ("block-cluster", {"nodes": "9"}),
        ("block-cluster", {"server": "fax"}),
    ):
        with pytest.raises(UsageError):
            up(stack, f"c{os.getpid() % 10**8}x", options)
    assert f"c{os.getpid() % 10**8}x" not in names()


@pytest.mark.ci
@pytest.mark.parametrize("after_s", [0.4, 1.2])
def test_killed_while_it_is_built_a_mirror_is_removed_whole(after_s: float) -> None:
    name = f"c{os.getpid() % 10**8}k"
    words = [sys.executable, "-m", "strata", "lab", "up", "mirrored", "--name", name, "--set", "engine=btrfs"]
    process = subprocess.Popen(words, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    ledger = where.ledgers() / name / "ledger.jsonl"
    deadline = time.monotonic() + 30
    while not ledger.exists() and process.poll() is None and time.monotonic() < deadline:
        time.sleep(0.02)
    time.sleep(after_s)
    process.send_signal(signal.SIGKILL)
    _, said = process.communicate()
    assert ledger.exists(), f"it ended by itself ({process.returncode}): {said}"
    lab = Lab.open(name)
    token = lab.token
    down(lab)
    assert leftovers(name, token) == ()
    assert name not in names()
