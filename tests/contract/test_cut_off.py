"""A run that does not reach its end: a full disk, a signal, a server that goes. What was measured is kept."""

from __future__ import annotations

import contextlib
import errno
import json
import os
import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from commands import STRATA, measured, target, working_disk
from loops import MIB, image, loop, mounted, need, need_root, run
from tiers import rest_in_ci

from strata.host.mark import Mark, header_bytes


def adds_up(result: dict[str, Any]) -> None:
    """Totals are the sum of the intervals, and nothing is missing."""
    for direction in ("read", "write"):
        for key in ("ops", "bytes", "service_sum_ns"):
            assert sum(i[direction][key] for i in result["intervals"]) == result[direction][key]
    assert result["issued"] == result["completed"] + result["errored"] + result["stuck"]


@pytest.fixture
def small(tmp_path: Path) -> Iterator[Path]:
    """An ext4 of 24 MiB."""
    need_root()
    disk = image(tmp_path / "small.img", 24 * MIB)
    run(need("mkfs.ext4"), "-q", "-F", str(disk))
    with loop(disk) as device, mounted(device, tmp_path / "small") as at:
        yield at


def test_a_disk_that_fills_up_in_mid_write(small: Path) -> None:
    # A sparse file of our own that promises more than the disk has.
    path, size = small / "own.dat", 64 * MIB
    mark = Mark.new(size)
    with path.open("wb") as f:
        f.write(header_bytes(mark))
        f.truncate(size)
    # As every file of ours at rest.
    os.utime(path, ns=(mark.date_ns, mark.date_ns))
    words = (f"file:{path}", "--rw", "write", "--bs", "64k", "--iodepth", 4, "--interval", "10ms", "--runtime", "30s")
    document = measured(*words, "--ramp-time", "0s", status=1)
    result = document["result"]
    assert result["stop_reason"] == "error"
    assert result["write"]["ops"] > 0
    errors = {e["name"]: e for e in result["write"]["errors"]}
    assert set(errors) == {"ENOSPC"}
    assert errors["ENOSPC"]["errno"] == errno.ENOSPC
    assert 1 <= errors["ENOSPC"]["count"] <= result["errored"]
    assert errors["ENOSPC"]["first_offset"] % (64 * 1024) == 0
    assert "ENOSPC" in document["trouble"]
    assert result["measured_ns"] < 30e9
    adds_up(result)


@pytest.mark.parametrize(("sent", "code"), rest_in_ci([(signal.SIGINT, 130), (signal.SIGTERM, 143)], every_day=1))
def test_a_signal_ends_a_measurement_with_what_it_has(sent: signal.Signals, code: int) -> None:
    with working_disk() as disk:
        words = ("measure", f"file:{disk}/x.dat", "--size", "8m", "--runtime", "20s", "--ramp-time", "10ms")
        argv = [*STRATA, *words, "--interval", "50ms", "--json", "--progress", "plain"]
        running = subprocess.Popen(argv, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        assert running.stderr is not None
        while not (line := running.stderr.readline()).startswith("measuring"):
            assert line, running.wait()
        running.send_signal(sent)
        out, said = running.communicate(timeout=60)
        assert running.returncode == code, said
        assert list(disk.iterdir()) == []
    assert "Traceback" not in said
    document = json.loads(out)
    assert document["stopped_by"] == sent
    result = document["result"]
    assert result["stop_reason"] == "stopped"
    assert result["read"]["ops"] > 0
    assert result["measured_ns"] < 20e9
    assert result["message"] is None
    adds_up(result)


def test_a_signal_before_anything_was_measured_is_no_traceback() -> None:
    argv = [*STRATA, "measure", "null:", "--ramp-time", "20s", "--json", "--progress", "none"]
    running = subprocess.Popen(argv, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    # Its load thread exists: the ramp has begun (the generator's own measurement comes first and is short).
    task = Path(f"/proc/{running.pid}")
    seen = 0
    while seen < 20:
        assert running.poll() is None
        names = []
        for thread in (task / "task").iterdir():
            with contextlib.suppress(OSError):  # it has ended meanwhile
                names.append((thread / "comm").read_text().strip())
        seen = seen + 1 if "strata-0" in names else 0
        os.sched_yield()
        signal.sigtimedwait((), 0.02)
    running.send_signal(signal.SIGINT)
    out, said = running.communicate(timeout=60)
    assert (running.returncode, out) == (130, ""), said
    assert "Traceback" not in said


def test_a_server_that_goes_in_mid_run(tmp_path: Path) -> None:
    with target("--memory", "16m", "--writable", "--socket", tmp_path / "s") as (uri, server):
        argv = [*STRATA, "measure", uri, "--runtime", "20s", "--iodepth", "4", "--interval", "50ms"]
        argv += ["--ramp-time", "10ms", "--json", "--progress", "plain"]
        running = subprocess.Popen(argv, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        assert running.stderr is not None
        while not (line := running.stderr.readline()).startswith("measuring"):
            assert line, running.wait()
        server.kill()
        out, said = running.communicate(timeout=60)
    assert running.returncode == 1, said
    assert uri in said
    assert "Traceback" not in said
    result = json.loads(out)["result"]
    assert result["stop_reason"] == "error"
    assert str(tmp_path / "s") in result["message"]
    assert "connection lost" in result["message"]
    assert result["read"]["ops"] > 0
    assert [e["name"] for e in result["read"]["errors"]] == ["ENOTCONN"]
    assert sum(e["count"] for e in result["read"]["errors"]) == result["errored"] <= 4
    adds_up(result)
