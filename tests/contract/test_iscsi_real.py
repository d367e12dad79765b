"""Units of an iSCSI target that nobody here wrote: the safety gate of raw devices, reads, writes, refusals."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from commands import QUICK, STRATA, working_disk
from engine_cases import MIB, request
from iscsi_peer import NAME, IscsiServer, iscsi_server
from namespaces import inside

from strata.engine import build_job, engine_of, probe_remote, read_remote, run_job
from strata.errors import RunFailed, UsageError
from strata.host.mark import Mark, header_bytes
from strata.model.endpoint import Endpoint
from strata.model.plan import Segment

pytestmark = pytest.mark.root
SIZE = 16 * MIB


@pytest.fixture(scope="module")
def backing() -> Iterator[Path]:
    with working_disk() as disk:
        path = disk / "unit.img"
        path.write_bytes(os.urandom(SIZE))
        yield path


@pytest.fixture(scope="module")
def server(backing: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[IscsiServer]:
    with iscsi_server(tmp_path_factory.mktemp("tgt"), backing) as made:
        yield made


def strata(server: IscsiServer, *words: object) -> subprocess.CompletedProcess[str]:
    """The command line on a machine that reaches the target."""
    argv = [*inside(server.netns), *STRATA, *map(str, words), "--runtime", "200ms", *QUICK]
    return subprocess.run(argv, capture_output=True, text=True, timeout=120, check=False)


def test_reads_give_what_the_unit_has(server: IscsiServer, backing: Path) -> None:
    content = backing.read_bytes()
    assert read_remote(server.endpoint(), 1001, 300_000) == content[1001:301_001]
    with pytest.raises(RunFailed, match="go beyond its 16777216"):
        read_remote(server.endpoint(), SIZE - 10, 11)
    remote = probe_remote("disk", server.endpoint())
    assert 0 < remote.min_rtt_ns <= remote.rtt_ns.value


def test_a_unit_that_is_not_ours_is_read_and_never_written(server: IscsiServer, backing: Path) -> None:
    before = backing.read_bytes()
    assert strata(server, "measure", server.uri()).returncode == 0
    done = strata(server, "measure", server.uri(), "--rw", "randwrite")
    assert done.returncode == 5, done.stderr
    assert "does not carry Strata's mark" in done.stderr
    done = strata(server, "measure", server.uri(), "--rw", "randwrite", "--destructive", "iscsi://else/where/1")
    assert done.returncode == 2, done.stderr
    assert backing.read_bytes() == before


def test_a_unit_with_the_mark_is_written_behind_it(server: IscsiServer, backing: Path) -> None:
    before = backing.read_bytes()
    mark = header_bytes(Mark.new(SIZE))
    with backing.open("r+b") as f:
        f.write(mark)
    try:
        done = strata(server, "measure", server.uri(), "--rw", "randwrite", "--iodepth", 8)
        assert done.returncode == 0, done.stderr
        after = backing.read_bytes()
        assert after[:MIB] == mark + before[4096:MIB]
        assert after[MIB:] != before[MIB:]
    finally:
        backing.write_bytes(before)


@pytest.mark.parametrize("bs", ["8k", "2m"])
@pytest.mark.parametrize("sync", ["none", "dsync"])
def test_writes_arrive_in_their_place(server: IscsiServer, backing: Path, bs: str, sync: str) -> None:
    """Short ones go with their command, of long ones most when the target asks for it."""
    before = backing.read_bytes()
    segment = Segment(start=0, length=4 * MIB, target=8 * MIB)
    words = {"iodepth": 4, "threads": 2, "sync": sync, "fsync": 4, "segments": (segment,)}
    # Long enough that a slow machine comes to a flush, too.
    asked = request(server.uri(), "randwrite", bs, runtime_s=1.0, **words)
    result = engine_of("native").run(asked.model_copy(update={"endpoint": server.endpoint()}))
    assert result.errored == 0
    assert (result.effective["sync"], result.effective["connections"]) == (sync, 2)
    assert result.write.ops > 0 and result.sync is not None and result.sync.ops > 0
    after = backing.read_bytes()
    assert (after[: 8 * MIB], after[12 * MIB :]) == (before[: 8 * MIB], before[12 * MIB :])
    # Whole and in order: what was read back through the same wire is what the file holds.
    assert after[8 * MIB : 12 * MIB] != before[8 * MIB : 12 * MIB]
    assert read_remote(server.endpoint(), 8 * MIB, 4 * MIB) == after[8 * MIB : 12 * MIB]


def test_what_was_written_is_verified(server: IscsiServer, backing: Path) -> None:
    """Ours end to end: long blocks in several pieces each, stamped, read back and compared."""
    before = backing.read_bytes()
    argv = [*inside(server.netns), *STRATA, "verify", server.uri(), "--destructive", server.uri(), "--bs", "256k"]
    words = ["--size", "8m", "--iodepth", "4", "--threads", "2", "--flush-every", "8", "--progress", "none"]
    done = subprocess.run([*argv, *words], capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stderr + done.stdout
    assert backing.read_bytes()[: 8 * MIB] != before[: 8 * MIB]
    backing.write_bytes(before)


def test_more_commands_than_the_target_takes_at_once(server: IscsiServer) -> None:
    """They wait for the window of command numbers; none is lost."""
    asked = request(server.uri(), "randread", iodepth=600, segments=(Segment(start=0, length=SIZE, target=0),))
    result = engine_of("native").run(asked.model_copy(update={"endpoint": server.endpoint()}))
    assert result.ops > 600
    assert result.errored == result.stuck == 0


def test_blocks_that_do_not_fit_are_refused(server: IscsiServer) -> None:
    asked = request(server.uri())
    job = build_job(server.endpoint(), asked.workload, asked.segments, asked.timing)
    job["workload"]["bs"] = 1000
    with pytest.raises(RunFailed, match="its blocks have 512 bytes, bs is 1000"):
        run_job(job)


def test_what_is_not_there_is_named(server: IscsiServer) -> None:
    other = server.uri().replace(NAME, "iqn.2026-11.invalid.strata:other")
    for uri, why in (
        (server.uri(lun=7), "no such logical unit"),
        (other, "there is no target iqn.2026-11.invalid.strata:other"),
        ("iscsi://127.0.0.1:1/a/1", "refused"),
    ):
        with pytest.raises(RunFailed, match=why):
            probe_remote("disk", Endpoint.parse(uri).seen_from(server.netns))
    for wrong in ("iscsi://host", "iscsi://host/name", "iscsi://host/name/x", "iscsi:///name/1"):
        with pytest.raises(UsageError, match="iscsi://"):
            Endpoint.parse(wrong)
