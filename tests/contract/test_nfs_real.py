"""Files on an NFS server that nobody here wrote: the safety gate, what is made there, what is measured."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from commands import QUICK, STRATA, working_disk
from engine_cases import MIB, request
from namespaces import inside
from nfs_peer import NfsServer, nfs_server

from strata.engine import engine_of, probe_remote, read_remote, remote_file
from strata.errors import RunFailed, SafetyRefusal
from strata.host import registry, testfile
from strata.host.mark import read_mark
from strata.model.endpoint import Endpoint
from strata.model.plan import Segment

pytestmark = pytest.mark.root


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[NfsServer]:
    with working_disk() as disk, nfs_server(tmp_path_factory.mktemp("nfs"), disk) as made:
        yield made


def strata(server: NfsServer, *words: object) -> subprocess.CompletedProcess[str]:
    """The command line on a machine that reaches the server."""
    argv = [*inside(server.netns), *STRATA, *map(str, words)]
    return subprocess.run(argv, capture_output=True, text=True, timeout=120, check=False)


def test_a_file_is_made_filled_measured_and_removed(server: NfsServer) -> None:
    uri = server.uri("new.dat")
    words = ("measure", uri, "--rw", "randrw", "--rwmixread", 70, "--bs", "8k", "--iodepth", 8, "--size", "8m")
    done = strata(server, *words, "--runtime", "100ms", *QUICK, "--json")
    assert done.returncode == 0, done.stderr
    result = json.loads(done.stdout)
    assert result["result"]["engine"]["kind"] == "nfs"
    assert not (server.data / "new.dat").exists()


@pytest.mark.ci
def test_a_kept_file_is_marked_whole_and_written_again(server: NfsServer) -> None:
    uri, path = server.uri("kept.dat"), server.data / "kept.dat"
    words = ("measure", uri, "--rw", "randwrite", "--size", "8m", "--runtime", "200ms", *QUICK)
    for _ in range(2):
        done = strata(server, *words, "--keep")
        assert done.returncode == 0, done.stderr
    mark = read_mark(path)
    assert mark is not None
    assert mark.size == path.stat().st_size == 8 * MIB
    data = path.read_bytes()
    assert not [at for at in range(0, 8 * MIB, 4096) if data[at : at + 4096] == bytes(4096)], "all of it was filled"
    assert strata(server, "clean").returncode == 0
    assert path.exists(), "what was kept stays"
    path.unlink()


def test_what_is_not_ours_is_read_and_never_written(server: NfsServer) -> None:
    path, content = server.data / "foreign.dat", os.urandom(MIB)
    path.write_bytes(content)
    assert strata(server, "measure", server.uri(path.name), "--runtime", "200ms", *QUICK).returncode == 0
    done = strata(server, "measure", server.uri(path.name), "--rw", "randwrite", "--runtime", "200ms", *QUICK)
    assert done.returncode == 5, done.stderr
    assert "does not carry Strata's mark" in done.stderr
    with pytest.raises(SafetyRefusal, match="a file of this name exists"):
        remote_file.create(server.endpoint(path.name), 8 * MIB)
    assert path.read_bytes() == content
    path.unlink()


def test_what_a_crash_left_behind_is_cleaned(server: NfsServer, monkeypatch: pytest.MonkeyPatch) -> None:
    endpoint, path = server.endpoint("left.dat"), server.data / "left.dat"
    remote_file.create(endpoint, 8 * MIB)
    assert remote_file.clean() == ((), ()), "its maker lives"
    monkeypatch.setattr(registry.Entry, "abandoned", property(lambda _: True))
    assert testfile.clean() == ()
    assert remote_file.clean() == ((endpoint.uri,), ())
    assert not path.exists()
    assert registry.entries() == ()
    remote_file.create(endpoint, 8 * MIB)
    path.write_bytes(b"somebody else's by now")
    assert remote_file.clean() == ((), ())
    assert path.exists()
    assert registry.entries() == ()
    path.unlink()


def test_reads_give_what_the_server_has(server: NfsServer) -> None:
    path, content = server.data / "data.dat", os.urandom(MIB)
    path.write_bytes(content)
    endpoint = server.endpoint(path.name)
    assert read_remote(endpoint, 12_345, 100_001) == content[12_345:112_346]
    with pytest.raises(RunFailed, match="it ends at byte 1048576"):
        read_remote(endpoint, MIB - 10, 11)
    remote = probe_remote("share", endpoint)
    assert 0 < remote.min_rtt_ns <= remote.rtt_ns.value
    path.unlink()


@pytest.mark.parametrize(("sync", "word"), [("none", "unstable"), ("dsync", "file_sync")])
def test_writes_arrive_in_their_place(server: NfsServer, sync: str, word: str) -> None:
    path = server.data / f"written-{sync}.dat"  # the server remembers names that were removed behind its back
    path.write_bytes(bytes(8 * MIB))
    segment = Segment(start=0, length=2 * MIB, target=4 * MIB)
    asked = request(
        server.uri(path.name),
        "randwrite",
        "8k",
        iodepth=8,
        threads=2,
        sync=sync,
        fsync=16,
        segments=(segment,),
    )
    result = engine_of("native").run(asked.model_copy(update={"endpoint": server.endpoint(path.name)}))
    assert result.errored == 0
    assert word in result.engine["setup"]
    assert result.effective["sync"] == sync
    assert result.effective["connections"] == 2
    assert result.sync is not None and result.sync.ops > 0
    data = path.read_bytes()
    assert data[: 4 * MIB] == bytes(4 * MIB) and data[6 * MIB :] == bytes(2 * MIB)
    # Of 256 places; how many writes were in time is the machine's affair.
    places = [at for at in range(4 * MIB, 6 * MIB, 8192) if any(data[at : at + 8192])]
    assert len(places) >= min(100, max(1, result.write.ops // 2))
    path.unlink()


@pytest.mark.ci
def test_what_was_written_is_verified(server: NfsServer, tmp_path: Path) -> None:
    """Ours end to end: stamped, flushed, read back and compared with a journal, over two connections."""
    uri, journal = server.uri("verified.dat"), tmp_path / "journal"
    words = ("verify", uri, "--size", "4m", "--bs", "8k", "--iodepth", 8, "--threads", 2, "--flush-every", 64)
    done = strata(server, *words, "--journal", journal, "--progress", "none")
    assert done.returncode == 0, done.stderr + done.stdout
    path = server.data / "verified.dat"
    with path.open("r+b") as f:
        f.seek(2 * MIB)
        f.write(b"x" * 4096)
    found = strata(server, "verify", "--check", "--journal", journal, "--progress", "none")
    assert found.returncode != 0, "a block that was changed is found"
    path.unlink()


def test_a_file_that_shrinks_gives_short_reads(server: NfsServer) -> None:
    path = server.data / "short.dat"
    path.write_bytes(os.urandom(8 * MIB))
    asked = request(server.uri(path.name), "randread", runtime_s=30, ramp_s=0)
    told = []

    def cut(interval: object) -> None:
        os.truncate(path, MIB)
        told.append(interval)

    asked = asked.model_copy(update={"endpoint": server.endpoint(path.name)})
    # However late the first interval is told, some more follow it.
    result = engine_of("native").run(asked, cut, lambda: len(told) >= 4)
    assert {e.name for e in result.read.errors} == {"SHORT"}
    path.unlink()


def test_what_is_not_there_is_named(server: NfsServer) -> None:
    for name, why in (("gone.dat", "looking up 'gone.dat'|looking up \"gone.dat\""), ("no/such/dir.dat", "looking up")):
        with pytest.raises(RunFailed, match=why):
            probe_remote("share", server.endpoint(name))
    elsewhere = Endpoint.parse("nfs://127.0.0.1/nowhere/x").seen_from(server.netns)
    with pytest.raises(RunFailed, match=f"it exports {server.data}"):
        probe_remote("share", elsewhere)
    silent = Endpoint.parse("nfs://127.0.0.1:1/a/b?mountport=1").seen_from(server.netns)
    with pytest.raises(RunFailed, match=r"cannot reach its MOUNT server.*refused"):
        probe_remote("share", silent)


@pytest.mark.ci
def test_a_stack_with_an_nfs_layer(server: NfsServer, tmp_path: Path) -> None:
    data, stack = server.data / "strata.dat", tmp_path / "stack.toml"
    quick = ("--runtime", "200ms", *QUICK)
    assert strata(server, "measure", f"file:{data}", "--size", "16m", "--keep", *quick).returncode == 0
    stack.write_text(f"""
[stack]
name = "nfs"
[[node]]
name = "client"
netns = "{server.netns}"
[[layer]]
name = "file system"
endpoint = "file:{data}"
[[layer]]
name = "nfs"
endpoint = "{server.uri(data.name)}"
node = "client"
on = ["file system"]
""")
    argv = [*STRATA, "diagnose", str(stack), "--rounds", "2", "--no-confirm", "--json", *quick]
    words = ("--workloads", "randread-*-qd8,write-128*")
    done = subprocess.run([*argv, *words], capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode in (0, 4), done.stderr
    report = json.loads(done.stdout)
    assert {cell["layer"] for cell in report["cells"]} == {"file system", "nfs"}
    assert "mark" in report["run"]["data"]["identity"]["nfs"]
    data.unlink()
