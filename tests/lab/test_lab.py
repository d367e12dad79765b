"""Labs come up, carry I/O, and go without a trace: also after a kill at any point, and only what is theirs."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from pathlib import Path

import pytest
from tiers import rest_in_ci

from strata.errors import RunFailed, StrataError, UsageError
from strata.host import testfile
from strata.host.mark import read_mark
from strata.model.stack import Stack
from strata_lab import cgroups, disks, inject, ledger, proc
from strata_lab.client import measure
from strata_lab.down import down
from strata_lab.inside import create
from strata_lab.lab import Lab
from strata_lab.ledger import Ledger, heads, names
from strata_lab.leftovers import leftovers
from strata_lab.namespaces import remove
from strata_lab.parts.hop import HopControl
from strata_lab.prove import put_in
from strata_lab.truth import ProofCell
from strata_lab.up import up

pytestmark = pytest.mark.root
SMALL = {"size": "192m", "file": "16m"}
CLI = [sys.executable, "-m", "strata"]


def test_a_local_lab_carries_io_to_its_modelled_disk_and_leaves_nothing(name: str) -> None:
    lab = up("local", name, SMALL)
    stack = Stack.from_toml((lab.data / "stack.toml").read_text())
    assert [x.name for x in stack.layers] == ["disk", "file system"]
    assert stack.nodes[0].netns == f"/run/netns/strata-{name}-n1"
    seen = measure(lab, ProofCell("file system", "randread", "8k", 4, runtime="300ms"))
    # Four servers of 0.8 ms: never faster, whatever the machine does.
    assert 0 < seen.iops < 5200
    assert seen.figures["disk.ios"] * 8192 >= seen.moved_bytes > 0
    assert seen.figures["disk.service_us"] == pytest.approx(830, rel=0.05)
    assert down(lab) > 0
    assert leftovers(name, lab.token) == ()


@pytest.mark.ci
def test_the_labs_file_is_the_labs_whoever_measures_it(name: str) -> None:
    lab = up("local", name, SMALL)
    file = Path(lab.facts("volume")[0]["file"])
    before = (read_mark(file), file.stat().st_ino)
    short = ["--runtime", "100ms", "--ramp-time", "50ms"]
    one = ["--workloads", "randread-8KiB-qd8", "--rounds", "1"]
    for words in (["measure", f"file:{file}", "--rw", "randwrite"], ["diagnose", str(lab.data / "stack.toml"), *one]):
        done = subprocess.run([*CLI, *words, *short], capture_output=True, text=True, check=False, timeout=3000)
        # One short round may carry no verdict.
        assert done.returncode in (0, 4), done.stderr
    testfile.clean()
    assert (read_mark(file), file.stat().st_ino) == before


@pytest.mark.parametrize("lines", rest_in_ci([2, 7, 12, 18], [7]))
def test_down_after_a_kill_of_up_half_way_leaves_nothing(name: str, lines: int) -> None:
    words = [*CLI, "lab", "up", "share", "--name", name, "--set", "size=192m", "--set", "file=16m"]
    building = subprocess.Popen(words, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    path = Ledger(name).path
    while building.poll() is None and (not path.exists() or path.read_bytes().count(b"\n") < lines):
        time.sleep(0.001)
    building.kill()
    building.wait()
    lab = Lab.open(name)
    assert not lab.facts("up") or lines > 20, "it was to be killed before it was up"
    down(lab)
    assert leftovers(name, lab.token) == ()


@pytest.mark.ci
def test_two_labs_side_by_side_do_not_meet(name: str) -> None:
    other = f"{name}b"
    first = up("block-share", name, SMALL)
    second = up("block-share", other, SMALL | {"medium": "file"})
    try:
        assert {a for n in first.nodes for a in n.addresses} & {a for n in second.nodes for a in n.addresses} == set()
        down(first)
        assert leftovers(name, first.token) == ()
        # The other one still serves, over its wire.
        seen = measure(second, ProofCell("top", "randread", "8k", 4, runtime="200ms"))
        assert seen.figures["wire.n2.0.rx_bytes"] >= seen.moved_bytes > 0
    finally:
        down(second)
    assert leftovers(other, second.token) == ()


@pytest.mark.calm
def test_a_shaped_wire_is_as_fast_as_told_and_an_injection_is_held_to_its_word(name: str) -> None:
    lab = up("block-share", name, SMALL)
    proof = put_in(lab, inject.parse("wire-bandwidth:severe"))
    # 2.5 MB/s of wire less its headers, and at most what the bucket held.
    assert 10 < proof.injected.iops < 40
    assert proof.impact >= 15
    assert 'cause = "wire-bandwidth"' in (lab.data / "truth.toml").read_text()
    assert leftovers(name, lab.token) != (), "the check sees what is there"


def mean_frames(lab: Lab, control: HopControl) -> dict[tuple[str, str], float]:
    """Bytes of a frame in the mean, of reads and of writes, each way."""
    found = {}
    for rw in ("read", "write"):
        control.reset()
        measure(lab, ProofCell("top", rw, "128k", 4, runtime="200ms"))
        truth = control.truth()
        found |= {(rw, name_of): way.bytes / way.frames for name_of, way in (("ab", truth.ab), ("ba", truth.ba))}
    return found


@pytest.mark.ci
def test_a_hop_that_only_delays_gets_whole_frames_and_one_that_loses_those_of_the_wire(name: str) -> None:
    """Frames of 1514 bytes pass a hop at half the rate: a limit of bytes that a delay must not put in."""
    lab = up("block-share", name, {**SMALL, "medium": "file"})
    control = lab.hop(lab.node("n1"), 0, "delay=100")
    whole = mean_frames(lab, control)
    assert sum(size > 4 * 1514 for size in whole.values()) == 2, whole
    control = lab.hop(lab.node("n1"), 0, "delay=100 loss=0")
    single = mean_frames(lab, control)
    assert max(single.values()) <= 1514
    # Where the data goes most are full, 1500 bytes and the header of the link; the other way none is.
    full = [way for way, size in single.items() if size > 500]
    assert [rw for rw, _ in full] == ["read", "write"] and {name_of for _, name_of in full} == {"ab", "ba"}
    down(lab)
    assert leftovers(name, lab.token) == ()


# Calm: others' mount namespaces (a Gluster server's) have copies of the mount that is taken off and made anew here.
@pytest.mark.calm
@pytest.mark.ci
def test_off_the_blocks_of_the_medium_a_read_is_one_more_and_a_write_reads_two_before(name: str) -> None:
    asked = inject.parse("misaligned")
    lab = up("local", name, {**SMALL, **asked.injection.options})
    read, write = (ProofCell("file system", rw, "8k", 8, runtime="300ms") for rw in ("randread", "randwrite"))
    healthy = measure(lab, write).figures
    assert (healthy["disk.straddled_share"], healthy["disk.rmw_per_write"]) == (0, 0)
    asked.apply(lab)
    # The model's own counts; the journal adds a few I/Os of other sizes, the more the fewer a busy machine issues.
    written, fetched = measure(lab, write).figures, measure(lab, read).figures
    assert written["disk.rmw_per_write"] == pytest.approx(2, rel=0.2)
    assert written["disk.service_us"] == pytest.approx(4 * 2400 + 5 * 4096 / 250, rel=0.2)
    assert fetched["disk.straddled_share"] > 0.9
    assert fetched["disk.service_us"] == pytest.approx(2 * 2400 + 3 * 4096 / 250, rel=0.2)
    down(lab)
    assert leftovers(name, lab.token) == ()


def test_what_others_made_is_neither_used_nor_removed(name: str, tmp_path: Path) -> None:
    theirs = Path(f"/run/netns/strata-{name}-n1")
    create(theirs)
    try:
        with pytest.raises(RunFailed, match="one with that name exists"):
            up("local", name, SMALL)
        assert theirs.exists()
        assert leftovers(name, "none") == (f"namespace {theirs.name}",)
    finally:
        remove(theirs.name, None)
    assert not theirs.exists()


def test_a_lab_comes_up_while_another_one_goes(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Between the look for names and the look at what is theirs."""
    monkeypatch.setattr(ledger, "names", lambda: ("gone", *names()))
    made = Lab.create(name, "none")
    assert made.ledger.head in heads()


def test_a_directory_that_no_ledger_speaks_of_stays(name: str) -> None:
    path = Path(f"/var/tmp/strata-lab-{name}")
    path.mkdir()
    try:
        (path / "precious").write_text("of the user")
        with pytest.raises(RunFailed, match="no ledger lists it"):
            up("local", name, SMALL)
        assert (path / "precious").read_text() == "of the user"
    finally:
        (path / "precious").unlink()
        path.rmdir()


def test_lines_that_mean_somebody_else_now_are_not_obeyed(name: str, tmp_path: Path) -> None:
    lab = Lab.create(name, "none")
    with subprocess.Popen(["sleep", "60"]) as bystander:
        started = proc.start_time(bystander.pid)
        assert started is not None
        # Its number was another's before: the start time differs.
        lab.undo("process", pid=bystander.pid, started=started - 1)
        # A namespace of that name, but not that one.
        lab.undo("netns", name=f"strata-{name}-zz", inode=1)
        theirs = Path(f"/run/netns/strata-{name}-zz")
        create(theirs)
        # A mount that is gone already, a loop device on a file that never was, a setting that somebody changed since.
        # Of the last loop device: those in front are in use by other tests.
        setting = max(Path("/sys/block").glob("loop*/queue/max_sectors_kb"))
        before = setting.read_text()
        lab.undo("setting", path=str(setting), before="1", now="2")
        lab.undo("mount", path=str(lab.data / "nowhere"))
        lab.undo("loop", backing=str(lab.data / "never"))
        # A directory of that name, but not that one.
        (lab.data / "anew").mkdir()
        lab.undo("directory", path=str(lab.data / "anew"), inode=1)
        try:
            down(lab)
            assert bystander.poll() is None
            assert theirs.exists()
            assert setting.read_text() == before
        finally:
            remove(theirs.name, None)
            bystander.kill()


def test_a_server_that_forks_and_hides_is_found_by_its_namespace(name: str) -> None:
    lab = Lab.create(name, "none")
    node = lab.add_node("n1")
    # A daemon of its own session, without the lab's token, whose parent has ended.
    script = "setsid env -u STRATA_LAB_TOKEN sleep 1000 & echo $! > hidden; exit 0"
    child = lab.run(node, ["sh", "-c", f"cd {lab.dir('logs')}; {script}"], name="forker")
    hidden = lab.dir("logs") / "hidden"
    while child.alive or not hidden.exists() or not hidden.read_text():
        time.sleep(0.01)
    inode = Path(str(node.netns)).stat().st_ino
    (pid, started), *_ = proc.inside(inode)
    down(lab)
    assert proc.start_time(pid) != started
    assert leftovers(name, lab.token) == ()


def test_a_child_that_fails_is_quoted_and_what_was_built_is_removed(name: str) -> None:
    lab = Lab.create(name, "none")
    with pytest.raises(RunFailed, match="exited before it was ready") as failed:
        lab.run(None, ["sh", "-c", "echo no such disk >&2; exit 3"], name="broken", wait_for=lambda: False)
    assert "no such disk" in failed.value.problems
    down(lab)
    with pytest.raises(StrataError):
        up("local", name, SMALL | {"fs": "fat"})
    assert leftovers(name, lab.token) == ()


def test_a_processor_limit_holds_what_joins_it(name: str) -> None:
    lab = Lab.create(name, "none")
    group = cgroups.limited(lab, "spin", 0.1)
    spin = [sys.executable, "-c", "import time\nt=time.monotonic()\nwhile time.monotonic()-t<0.6: pass\n"]
    with subprocess.Popen(spin) as child:
        cgroups.join(group, (child.pid,))
        child.wait()
    rows = dict(line.split() for line in (group / "cpu.stat").read_text().splitlines())
    assert int(rows["nr_throttled"]) > 3
    down(lab)
    assert not group.exists()


@pytest.mark.ci
def test_the_command_line_tells_of_a_lab_and_goes_inside(name: str) -> None:
    up_ = run("up", "local", "--name", name, *(f"--set={k}={v}" for k, v in SMALL.items()), "--json")
    state = json.loads(up_.stdout)
    assert (state["schema"], state["state"], state["stack"]) == ("strata.lab/1", "up", "local")
    address = state["nodes"][0]["addresses"][0]
    assert address in run("exec", "n1", "--name", name, "--", "ip", "-br", "addr").stdout
    assert run("exec", "n1", "--name", name, "--", "false", check=False).returncode == 1
    (disk,) = (p for p in state["processes"] if p["name"] == "disk-medium")
    os.kill(disk["pid"], 9)
    assert json.loads(run("status", "--name", name, "--json").stdout)["state"] == "broken"
    run("down", "--name", name)
    assert leftovers(name, "none") == ()


@pytest.mark.ci
def test_every_server_outlives_the_command_that_started_it(name: str) -> None:
    run("up", "block-share", "--name", name, "--set=server=nbdkit", *(f"--set={k}={v}" for k, v in SMALL.items()))
    lab = Lab.open(name)
    assert all(child.alive for child in lab.processes)
    assert measure(lab, ProofCell("top", "randread", "8k", 4, runtime="200ms")).iops > 0


def test_a_queue_setting_of_a_loop_device_is_put_back(name: str) -> None:
    lab = Lab.create(name, "none")
    device = disks.attach(lab, disks.image(lab, "plain", 2**24))
    queue = Path("/sys/block") / Path(device).name / "queue"
    disks.set_queue(lab, device, "max_sectors_kb", "64")
    assert (queue / "max_sectors_kb").read_text().strip() == "64"
    first = next(x for x in lab.ledger.lines() if x.get("undo") == "setting")
    down(lab)
    assert (queue / "max_sectors_kb").read_text().strip() == first["before"]


def test_a_stack_is_refused_with_what_there_is() -> None:
    with pytest.raises(UsageError, match="there is no stack 'tower'") as refused:
        up("tower", "none")
    assert "block-share" in refused.value.hint


@pytest.mark.ci
@pytest.mark.first
def test_a_reduced_lab_needs_no_right_and_pretends_its_wire(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("STRATA_LAB_DIR", str(tmp_path / "labs"))
    monkeypatch.setattr("strata_lab.where.is_root", lambda: False)
    said: list[str] = []
    lab = up("block-share", name, {"file": "8m"}, ["wire-latency:mild"], said.append)
    try:
        assert "reduced lab" in said[0]
        assert [n.netns for n in lab.nodes] == [None, None]
        # 500 us each way, whatever else is slow.
        assert measure(lab, ProofCell("top", "randread", "8k", 1, runtime="200ms")).mean_ns > 1e6
        with pytest.raises(UsageError, match="smbd and Ganesha need root"):
            up("share", f"{name}b", {})
    finally:
        down(lab)
    assert leftovers(name, lab.token) == ()


def run(*words: str, check: bool = True) -> subprocess.CompletedProcess[str]:
    return subprocess.run([*CLI, "lab", *words], capture_output=True, text=True, check=check, timeout=300)
