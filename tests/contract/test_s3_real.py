"""Objects on an S3 server that nobody here wrote: what is made there, what is measured, and what is left alone."""

from __future__ import annotations

import json
import os
import signal
import threading
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from commands import QUICK, strata, working_disk
from engine_cases import MIB, request
from s3_peer import KEY, LOGIN, SECRET, S3Server, s3_server

from strata import _core
from strata.engine import engine_of, probe_remote, read_remote, remote_file
from strata.errors import RunFailed, SafetyRefusal
from strata.host import registry
from strata.host.mark import read_mark
from strata.model.endpoint import Endpoint
from strata.model.plan import HEAD
from strata.model.result import Interval

PATIENCE_NS = 30_000_000_000


@pytest.fixture(scope="module")
def server() -> Iterator[S3Server]:
    with working_disk() as disk, TemporaryDirectory(dir=disk) as folder, s3_server(Path(folder)) as made:
        yield made


@pytest.fixture(autouse=True)
def _login(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in LOGIN.items():
        monkeypatch.setenv(name, value)


def measured(server: S3Server, key: str, *words: object) -> dict[str, object]:
    done = strata("measure", server.uri(key), "--runtime", "1s", *QUICK, *words, "--json")
    assert done.returncode == 0, done.stderr
    assert SECRET not in done.stdout + done.stderr
    found: dict[str, object] = json.loads(done.stdout)["result"]
    return found


def left(server: S3Server) -> list[str]:
    return sorted(str(path.relative_to(server.data)) for path in server.data.rglob("*") if path.is_file())


@pytest.mark.parametrize(("rw", "depth", "threads"), [("randread", 8, 1), ("read", 1, 1), ("randread", 3, 2)])
def test_an_object_is_made_filled_measured_and_removed(server: S3Server, rw: str, depth: int, threads: int) -> None:
    words = ("--rw", rw, "--bs", "64k", "--iodepth", depth, "--threads", threads, "--size", "8m")
    result = measured(server, "folder/new%20one.dat", *words)
    assert result["engine"]["kind"] == "s3"  # type: ignore[index]
    assert result["read"]["errors"] == [] and result["read"]["ops"] > 0  # type: ignore[index]
    assert result["effective"]["connections"] == depth * threads  # type: ignore[index]
    assert left(server) == [] and registry.entries() == ()


def test_an_address_may_say_how_many_connections(server: S3Server) -> None:
    result = measured(server, "few.dat?connections=2", "--iodepth", 16, "--bs", "4k", "--size", "8m")
    assert result["effective"]["connections"] == 2  # type: ignore[index]


@pytest.mark.parametrize("query", ["", "?part=5242880"], ids=["one request", "parts"])
def test_a_kept_object_is_filled_marked_and_removed_by_its_mark(server: S3Server, query: str) -> None:
    endpoint = server.endpoint("kept.dat", query)
    mark = remote_file.create(endpoint, 16 * MIB)
    data = (server.data / "kept.dat").read_bytes()
    assert len(data) == 16 * MIB and read_mark(server.data / "kept.dat") == mark
    behind = data[HEAD:]
    assert len({behind[at : at + 512] for at in range(0, len(behind), 512)}) == len(behind) // 512, "nothing is twice"
    remote_file.fill(endpoint, mark, 1)
    assert (server.data / "kept.dat").read_bytes() == data
    assert read_remote(endpoint, 12_345, 3 * MIB + 1) == data[12_345 : 12_346 + 3 * MIB]
    with pytest.raises(SafetyRefusal, match="a file of this name exists"):
        remote_file.create(endpoint, 8 * MIB)
    with pytest.raises(OSError, match="does not carry this run's mark") as said:
        _core.remote_remove(endpoint.uri, b"another" * 512, PATIENCE_NS)
    assert isinstance(said.value, PermissionError)
    assert (server.data / "kept.dat").read_bytes() == data
    remote_file.remove(endpoint, mark)
    assert left(server) == []


def test_what_is_not_ours_is_read_and_never_changed(server: S3Server) -> None:
    path, content = server.data / "foreign.dat", os.urandom(MIB)
    path.write_bytes(content)
    assert measured(server, path.name, "--bs", "4k")["read"]["errors"] == []  # type: ignore[index]
    endpoint = server.endpoint(path.name)
    with pytest.raises(SafetyRefusal, match="a file of this name exists"):
        remote_file.create(endpoint, 8 * MIB)
    with pytest.raises(SafetyRefusal, match="does not carry Strata's mark"):
        remote_file.check_own(endpoint)
    with pytest.raises(PermissionError, match="does not carry this run's mark"):
        # Also where it begins as one of ours would: the metadata says who made it.
        _core.remote_remove(endpoint.uri, content[:4096], PATIENCE_NS)
    assert path.read_bytes() == content
    path.unlink()


@pytest.mark.parametrize("rw", ["randwrite", "trim"])
def test_a_workload_that_writes_is_refused_before_anything_is_made(server: S3Server, rw: str) -> None:
    done = strata("measure", server.uri("no.dat"), "--rw", rw, "--size", "8m", *QUICK)
    assert done.returncode == 2, done.stderr
    assert f"cannot measure with rw={rw} at {server.uri('no.dat')}" in done.stderr
    assert "made as a whole" in done.stderr and "--rw randread" in done.stderr
    assert left(server) == []


def test_what_a_crash_left_behind_is_cleaned(server: S3Server, monkeypatch: pytest.MonkeyPatch) -> None:
    endpoint, path = server.endpoint("left.dat"), server.data / "left.dat"
    remote_file.create(endpoint, 8 * MIB)
    assert remote_file.clean() == ((), ()), "its maker lives"
    monkeypatch.setattr(registry.Entry, "abandoned", property(lambda _: True))
    assert remote_file.clean() == ((endpoint.uri,), ())
    assert not path.exists() and registry.entries() == ()
    remote_file.create(endpoint, 8 * MIB)
    path.write_bytes(b"somebody else's by now")
    assert remote_file.clean() == ((), ())
    assert path.exists() and registry.entries() == ()
    path.unlink()


def test_what_is_not_there_is_named(server: S3Server, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(RunFailed, match=r"the server answers 404; check bucket and key"):
        probe_remote("object", server.endpoint("gone.dat"))
    with pytest.raises(RunFailed, match=r"cannot connect, check host and port.*refused"):
        probe_remote("object", Endpoint.parse("s3://127.0.0.1:1/b/k"))
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "wrong-" + SECRET)
    with pytest.raises(RunFailed, match="answers 403; check AWS_ACCESS_KEY_ID") as said:
        probe_remote("object", server.endpoint("gone.dat"))
    assert SECRET not in str(said.value) and "Signature" not in str(said.value)
    monkeypatch.delenv("AWS_SECRET_ACCESS_KEY")
    with pytest.raises(RunFailed, match="AWS_ACCESS_KEY_ID is set and AWS_SECRET_ACCESS_KEY is not"):
        probe_remote("object", server.endpoint("gone.dat"))


def test_no_secret_is_kept_or_printed(server: S3Server, tmp_path: Path) -> None:
    store = tmp_path / "store.db"
    words = ("--size", "8m", "--runtime", "100ms", *QUICK, "--store", store, "--verbose")
    done = strata("measure", server.uri("kept-run.dat"), *words)
    assert done.returncode == 0, done.stderr
    kept = b"".join(path.read_bytes() for path in tmp_path.iterdir())
    for text in (done.stdout.encode(), done.stderr.encode(), kept):
        assert SECRET.encode() not in text and KEY.encode() not in text and b"X-Amz-Signature" not in text


def test_reads_beyond_the_end_are_short(server: S3Server) -> None:
    path = server.data / "short.dat"
    path.write_bytes(os.urandom(MIB))
    endpoint = server.endpoint(path.name)
    with pytest.raises(RunFailed, match="it ends at byte 1048576"):
        read_remote(endpoint, MIB - 10, 11)
    remote = probe_remote("object", endpoint)
    assert 0 < remote.min_rtt_ns <= remote.rtt_ns.value and remote.multi_conn
    path.unlink()


def test_a_server_that_dies_ends_the_run_with_what_was_measured(tmp_path: Path) -> None:
    with s3_server(tmp_path) as server:
        endpoint = server.endpoint("data.dat")
        mark = remote_file.create(endpoint, 8 * MIB)
        asked = request(endpoint.uri, "randread", "64k", iodepth=4, runtime_s=60, ramp_s=0)

        def kill(interval: Interval) -> None:
            if interval.read.ops:
                server.process.send_signal(signal.SIGKILL)

        result = engine_of("native").run(asked, kill)
        assert result.read.ops > 0 and result.stop_reason == "error"
        assert "connection lost" in (result.message or "")
        registry.forget(mark.uuid)


def test_an_upload_that_a_server_breaks_off_leaves_nothing(tmp_path: Path) -> None:
    with s3_server(tmp_path) as server:
        endpoint = server.endpoint("half.dat")
        killer = threading.Timer(0.3, server.process.send_signal, [signal.SIGKILL])
        killer.start()
        with pytest.raises((RunFailed, AssertionError)):
            remote_file.create(endpoint, 2048 * MIB)
            raise AssertionError("the server was faster than its end")
        killer.join()
        assert not (server.data / "half.dat").exists()
