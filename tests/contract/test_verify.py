"""`strata verify` as a process: each planted fault is named and no other, and a run that is cut off can be checked."""

from __future__ import annotations

import contextlib
import errno
import hashlib
import json
import resource
import signal
import socket
import subprocess
import threading
import time
from pathlib import Path
from typing import Any

import pytest
from commands import STRATA, strata, target
from loops import image, loop, need_root

from strata.host import testfile

MIB = 1 << 20


def verified(*words: object, status: int) -> dict[str, Any]:
    """The JSON of `strata verify WORDS…`, which must end with ``status``."""
    done = strata("verify", *words, "--json", "--progress", "none")
    assert done.returncode == status, done.stderr + done.stdout
    document: dict[str, Any] = json.loads(done.stdout)
    assert document["schema"] == "strata.verify/1"
    return document


def found(document: dict[str, Any]) -> dict[str, int]:
    return {kind: n for kind, n in document["result"]["counts"].items() if n}


def test_each_planted_fault_is_named_at_its_place_and_no_other() -> None:
    planted = ["lost", "torn", "stale", "misdirected", "corrupted", "short-error"]
    at = {kind: (n + 2) * MIB for n, kind in enumerate(planted)}
    words = [word for kind, offset in at.items() for word in ("--fault", f"{kind}:offset={offset}")]
    with target("--memory", "8m", "--writable", "--listen", "127.0.0.1:0", *words) as (uri, _):
        document = verified(uri, "--destructive", uri, "--order", "sequential", status=3)
    result = document["result"]
    assert document["verdict"] == "faults"
    assert [(fault["kind"], fault["offset"]) for fault in result["faults"]] == [
        ("lost", at["lost"]),
        ("torn", at["torn"]),
        ("stale", at["stale"]),
        # It was written for the block behind, and destroyed this one.
        ("misdirected", at["misdirected"] - 4096),
        ("corrupted", at["corrupted"]),
        ("unreadable", at["short-error"]),
    ]
    assert result["faults"][3]["from"] == at["misdirected"]
    assert sum(result["counts"].values()) == 6
    # A write that failed promised nothing: it is told apart from faults of the data.
    (refused,) = result["write_failures"]
    assert (refused["errno"], refused["count"], refused["first_offset"]) == (errno.EIO, 1, at["short-error"])
    assert result["in_flight"]["torn_offsets"] == [at["short-error"]]


def test_a_healthy_target_has_no_faults_and_its_name_is_typed_again_first() -> None:
    with target("--memory", "8m", "--writable", "--listen", "127.0.0.1:0") as (uri, _):
        done = strata("verify", uri)
        assert done.returncode == 5, done.stderr
        assert f"--destructive {uri}" in done.stderr
        document = verified(uri, "--destructive", uri, "--threads", 2, status=0)
    assert (document["verdict"], found(document)) == ("sound", {})
    assert document["result"]["verified_blocks"] == 2048


def test_a_journal_that_cannot_be_written_ends_the_run_and_still_tells_the_truth(tmp_path: Path) -> None:
    journal = tmp_path / "journal"

    def little_room() -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (50_001, 50_001))

    with target("--memory", "8m", "--writable", "--listen", "127.0.0.1:0") as (uri, _):
        done = strata("verify", uri, "--destructive", uri, "--journal", journal, "--json", before=little_room)
        assert done.returncode == 1, done.stderr
        assert "the journal cannot be written" in done.stderr
        document = verified("--check", "--journal", journal, status=0)
    assert found(document) == {}
    assert document["result"]["journal"]["cut_short"]
    assert document["result"]["journal"]["acknowledged"] == 2048


def started(*words: object) -> subprocess.Popen[str]:
    argv = [*STRATA, "verify", *map(str, words), "--progress", "none"]
    return subprocess.Popen(argv, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def until_it_writes(journal: Path, run: subprocess.Popen[str], size: int = 20_000) -> None:
    """Waits until the journal speaks of some thousand writes."""
    deadline = time.monotonic() + 60
    while not journal.exists() or journal.stat().st_size < size:
        assert run.poll() is None, run.communicate()
        assert time.monotonic() < deadline
        time.sleep(0.01)


def test_after_a_kill_of_the_client_every_block_is_one_of_those_allowed(tmp_path: Path) -> None:
    path, journal = tmp_path / "own.dat", tmp_path / "journal"
    run = started(f"file:{path}", "--size", "9m", "--journal", journal, "--runtime", "60s", "--flush-every", 100)
    until_it_writes(journal, run, size=100_000)  # beyond the first pass
    run.kill()
    run.communicate(timeout=30)
    # What is not allowed is found, and nothing else: a block that was acknowledged is wiped behind our back.
    with path.open("r+b") as f:
        f.seek(2 * MIB)
        stamp = f.read(40)
        f.seek(2 * MIB)
        f.write(bytes(4096))
    assert stamp[:6] == b"STRAVS"
    before = hashlib.sha256(path.read_bytes()).digest()
    document = verified("--check", "--journal", journal, status=3)
    assert document["endpoint"] == f"file:{path}"
    assert document["result"]["journal"]["acknowledged"] > 0
    assert hashlib.sha256(path.read_bytes()).digest() == before, "a check writes nothing"
    assert [(f["kind"], f["what"], f["offset"]) for f in document["result"]["faults"]] == [
        ("foreign", "zeroes", 2 * MIB)
    ]
    # And it goes on, which writes every block anew.
    document = verified("--resume", "--journal", journal, "--passes", 1, status=3)
    assert found(document) == {"foreign": 1}
    assert found(verified("--check", "--journal", journal, status=0)) == {}


def test_after_a_kill_of_the_server_nothing_it_acknowledged_is_missing(tmp_path: Path) -> None:
    path, journal = tmp_path / "own.dat", tmp_path / "journal"
    mark = testfile.create(path, 9 * MIB)
    words = ("--file", path, "--writable", "--listen", "127.0.0.1:0", "--iops", 20_000)
    with target(*words) as (uri, server):
        run = started(uri, "--journal", journal, "--runtime", "60s")
        until_it_writes(journal, run)
        server.kill()
        server.wait(timeout=30)
        _, said = run.communicate(timeout=60)
    assert run.returncode == 1, said
    assert "connection" in said
    assert f"strata verify --check --journal {journal}" in said
    with target(*words) as (uri, _):
        document = verified(uri, "--resume", "--journal", journal, "--passes", 1, status=0)
    assert (found(document), document["verdict"]) == ({}, "sound")
    assert document["result"]["journal"]["in_flight"] > 0
    testfile.remove(path, mark)


def test_a_server_that_stops_answering_is_told_as_stuck_and_does_not_hang(tmp_path: Path) -> None:
    journal = tmp_path / "journal"
    with target("--memory", "8m", "--writable", "--listen", "127.0.0.1:0", "--iops", 20_000) as (uri, server):
        limits = ("--runtime", "60s", "--stuck-after", "300ms", "--journal", journal)
        run = started(uri, "--destructive", uri, *limits, "--json")
        until_it_writes(journal, run)
        server.send_signal(signal.SIGSTOP)
        said, notes = run.communicate(timeout=60)
        server.send_signal(signal.SIGCONT)
    assert run.returncode == 4, notes
    document = json.loads(said)
    assert document["verdict"] == "inconclusive"
    assert document["result"]["stuck"]
    assert all(s["age_ns"] >= 300e6 for s in document["result"]["stuck"])


def test_ctrl_c_ends_it_with_what_was_verified_until_then(tmp_path: Path) -> None:
    path, journal = tmp_path / "own.dat", tmp_path / "journal"
    run = started(f"file:{path}", "--size", "9m", "--runtime", "60s", "--journal", journal, "--json")
    until_it_writes(journal, run)
    run.send_signal(signal.SIGINT)
    said, notes = run.communicate(timeout=30)
    assert run.returncode == 130, notes
    document = json.loads(said)
    assert document["verdict"] == "stopped"
    assert document["result"]["writes"] > 0


@pytest.mark.slow
@pytest.mark.parametrize("killed", ["client", "server"])
def test_killed_again_and_again_no_block_is_ever_blamed(tmp_path: Path, killed: str) -> None:
    path, journal = tmp_path / "own.dat", tmp_path / "journal"
    testfile.create(path, 9 * MIB)
    served = ("--file", path, "--writable", "--listen", "127.0.0.1:0")
    words = ("--journal", journal, "--runtime", "60s", "--threads", 2, "--flush-every", 50, "--write-share", 60)
    for turn in range(8):
        grown = (journal.stat().st_size if turn else 0) + 7_000 * (turn + 1)
        with target(*served) as (uri, server):
            run = started(uri, *words, *(("--resume",) if turn else ()))
            until_it_writes(journal, run, size=grown)
            (run if killed == "client" else server).kill()
            run.communicate(timeout=60)
            assert run.returncode == (-signal.SIGKILL if killed == "client" else 1)
        with target(*served) as (uri, _):
            for loss in ((), ("--power-loss",)):
                assert found(verified(uri, "--check", "--journal", journal, *loss, status=0)) == {}


def test_a_device_whose_name_was_typed_again_is_verified_and_checked(tmp_path: Path) -> None:
    need_root()
    journal = tmp_path / "journal"
    with loop(image(tmp_path / "disk.img", 8 * MIB)) as device:
        words = ("--bs", "64k", "--passes", 1, "--journal", journal)
        assert strata("verify", f"block:{device}", *words).returncode == 5
        assert not journal.exists()
        document = verified(f"block:{device}", *words, "--destructive", device, status=0)
        assert document["result"]["blocks"] == 128
        assert document["result"]["engine"]["direct"]
        assert strata("verify", "--resume", "--journal", journal).returncode == 5
        assert found(verified("--check", "--journal", journal, status=0)) == {}


@pytest.mark.parametrize("said", [b"", b"NBDMAGICIHAVEOPT\0\3"], ids=["nothing", "a greeting and no more"])
def test_a_listener_that_never_answers_is_given_up_before_anything_is_written(said: bytes) -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        taken: list[socket.socket] = []

        def greet() -> None:
            with contextlib.suppress(OSError):
                while True:
                    taken.append(listener.accept()[0])
                    taken[-1].sendall(said)

        threading.Thread(target=greet, daemon=True).start()
        uri = f"nbd://127.0.0.1:{listener.getsockname()[1]}/"
        done = strata("verify", uri, "--destructive", uri, "--stuck-after", "200ms")
    assert done.returncode == 1, done.stdout + done.stderr
    assert uri.rstrip("/") in done.stderr and "within 200ms" in done.stderr
