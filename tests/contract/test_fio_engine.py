"""What is fio's own: what it refuses, what it falls back to, what it does to files, what never comes back."""

from __future__ import annotations

import os
import select
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from commands import measured, strata, target
from engine_cases import SIZE, data_file, engine, request
from test_refused_by_the_kernel import without_io_uring

from strata.engine.fio import drive, opened, program
from strata.errors import RunFailed, UsageError
from strata.host import programs
from strata.model.plan import Segment
from strata.model.result import Interval
from strata.run.judge import fault


@pytest.fixture(autouse=True)
def needs_fio() -> None:
    engine("fio")


def refused(*args: object, **words: object) -> str:
    asked = request(*args, **words)  # type: ignore[arg-type]
    reasons = engine("fio").refusals(asked.endpoint, asked.workload, asked.segments)
    assert len(reasons) == 1
    with pytest.raises(UsageError) as caught:
        engine("fio").run(asked)
    assert reasons[0] in caught.value.why
    return reasons[0]


def test_what_fio_cannot_be_told_is_refused() -> None:
    two = (Segment(start=0, length=4096, target=0), Segment(start=4096, length=4096, target=8192))
    assert "2 segments" in refused("null:", segments=two)
    assert "too few for 3 threads" in refused("null:", "read", threads=3, segments=two[:1])
    assert "write-through" in refused("nbd://127.0.0.1:1/x", "write", sync="dsync")
    assert "4 connections" in refused("nbd://127.0.0.1:1/x?connections=4", threads=2)
    assert "Poisson" in refused("null:", rate_iops=1000, process="poisson")
    assert "whole number of I/Os per second" in refused("null:", rate_iops=1000, threads=3)
    assert "whole number of I/Os per second" in refused("null:", "randrw", rate_iops=10, rwmixread=75)


@pytest.mark.parametrize(
    ("field", "rw", "words"),
    [
        ("order", "randread", {"random_distribution": "zipf:1.2"}),
        ("order", "randread", {"randommap": True}),
        ("order", "read", {"stride": "12k"}),
        ("bssplit", "randread", {"bssplit": "4k/50:16k/50"}),
        ("rwmix_run", "randrw", {"rwmix_run": 16}),
        ("align", "randread", {"blockalign": "8k"}),
        ("misalign", "randread", {"misalign": 512}),
        ("range", "randread", {"range": "0:8k"}),
        ("fsync", "write", {"fsync": 3}),
        ("fdatasync", "write", {"fdatasync": 3}),
        ("data", "write", {"compress_percent": 50}),
        ("zero_buffers", "write", {"zero_buffers": True}),
        ("limits", "randread", {"limit_iops": 2000}),
        ("shares", "randread", {"shares": (1, 1)}),
    ],
)
def test_patterns_are_refused_and_never_left_out(field: str, rw: str, words: dict[str, Any]) -> None:
    assert refused("null:", rw, **words).startswith(f"{field} is not supported with fio")


def test_bursts_and_flags_of_single_writes_are_refused() -> None:
    assert refused("null:", rate_iops=1000, burst=4).startswith("burst is not supported with fio")
    assert "RWF_DSYNC" in refused("file:/x", "write", sync="rwf_dsync", direct=True)


@pytest.mark.ci
def test_without_io_uring_another_carrier_is_used_and_said() -> None:
    with data_file() as path:
        words = (f"file:{path}", "--engine", "fio", "--iodepth", 4, "--runtime", "150ms")
        document = measured(*words, before=without_io_uring)
        assert document["result"]["engine"]["kind"] == "libaio"
        assert document["result"]["engine"]["fallback_reason"]
        # Through the page cache libaio would block: a depth is then refused, and not passed off.
        done = strata("measure", *words, "--buffered", "--progress", "none", before=without_io_uring)
    assert done.returncode == 1, done.stdout
    assert "fio failed at" in done.stderr


def test_connections_of_ours_are_not_told_to_fio() -> None:
    with target("--memory", SIZE, "--writable", "--listen", "127.0.0.1:0") as (uri, _):
        result = engine("fio").run(request(f"{uri}?connections=2", threads=2))
    assert result.ops > 0
    assert result.effective["connections"] == 2


def test_what_never_comes_back_is_stuck(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("STARTUP_S", "DRAIN_S", "GRACE_S"):
        monkeypatch.setattr(drive, name, 1.0)
    with target("--memory", SIZE, "--writable", "--listen", "127.0.0.1:0") as (uri, server):
        stopped: list[Interval] = []

        def hold(interval: Interval) -> None:
            if not stopped:
                server.send_signal(signal.SIGSTOP)
            stopped.append(interval)

        try:
            result = engine("fio").run(request(uri, iodepth=4, runtime_s=0.4), hold)
        finally:
            server.send_signal(signal.SIGCONT)
    assert result.stop_reason == "stuck"
    assert 1 <= result.stuck <= 4
    assert result.ops > 0
    assert result.issued == result.completed + result.errored + result.stuck
    assert "never came back" in str(fault(result))


def test_a_server_that_goes_ends_the_run() -> None:
    with target("--memory", SIZE, "--writable", "--listen", "127.0.0.1:0") as (uri, server):
        seen: list[Interval] = []

        def end(interval: Interval) -> None:
            if not seen:
                server.kill()
            seen.append(interval)

        result = engine("fio").run(request(uri, iodepth=4, runtime_s=60), end)
    assert result.ops > 0
    assert fault(result) is not None
    assert uri.partition("?")[0] in str(result.message)


def test_fio_is_never_given_a_name_it_could_remove(monkeypatch: pytest.MonkeyPatch) -> None:
    """A file shorter than the range: fio removes it by its name before it finds that it may not make a new one."""
    with data_file() as path:
        asked = request(f"file:{path}", "randwrite", segments=(Segment(start=0, length=2 * SIZE, target=0),))
        with pytest.raises(RunFailed, match="it ends at byte"):
            engine("fio").run(asked)
        # Without our look at the size it is fio that finds it too short, and removes what it was given.
        before = path.read_bytes()
        monkeypatch.setattr(opened, "last_byte", lambda _: 0)
        with pytest.raises(RunFailed, match="func=unlink"):
            engine("fio").run(asked)
        assert path.read_bytes() == before
        monkeypatch.undo()
        command = engine("fio").run(request(f"file:{path}")).engine["command"]
    # What is kept of it is for people, with the name as fio would have to be told it.
    assert f"--filename={str(path).replace(':', chr(92) + ':')}" in command


def test_fio_dies_with_us() -> None:
    code = (
        "import os, signal\n"
        "from engine_cases import request\n"
        "from strata.engine import engine_of\n"
        "def die(_):\n"
        "    print(open('/proc/thread-self/children').read(), flush=True)\n"
        "    os.kill(os.getpid(), signal.SIGKILL)\n"
        "engine_of('fio').run(request('null:', runtime_s=60), die)\n"
    )
    path = os.pathsep.join(sys.path)
    done = subprocess.run(
        [sys.executable, "-c", code],
        env={**os.environ, "PYTHONPATH": path},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == -signal.SIGKILL, done.stderr
    (pid,) = done.stdout.split()
    try:
        fd = os.pidfd_open(int(pid))
    except ProcessLookupError:
        return
    with os.fdopen(fd):
        assert select.select([fd], [], [], 30)[0]


@pytest.mark.parametrize(
    ("script", "why"),
    [
        ("echo fio-3.1", "at least 3.18"),
        ("echo flexible", "not one of fio"),
        ("echo broken >&2; exit 3", "exited with 3"),
    ],
)
def test_a_fio_that_cannot_be_used_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, script: str, why: str
) -> None:
    fake = tmp_path / "fio"
    fake.write_text(f"#!/bin/sh\n{script}\n")
    fake.chmod(0o755)
    monkeypatch.setattr(programs, "ROOTS_DIRECTORIES", (str(tmp_path), *programs.ROOTS_DIRECTORIES))
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(RunFailed, match=why):
        program.installed()


def test_no_fio_is_told(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(programs, "ROOTS_DIRECTORIES", ())
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(RunFailed, match="not installed") as caught:
        program.installed()
    assert "--engine native" in caught.value.hint
