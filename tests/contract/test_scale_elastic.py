"""``strata scale --under-load``: changes of known effect beneath a real load, and data that is lost meanwhile."""

from __future__ import annotations

import json
import signal
import time
from pathlib import Path
from typing import Any

import pytest
from commands import started, strata, target

LOAD = ("--rw", "randread", "--bs", "8k", "--iodepth", "4", "--progress", "none", "--json")
OVER = ("--over", "storage-nodes", "--now", "2", "--points", "3", "--budget", "12s")
STOPPED_S = 1.5


def script(folder: Path, name: str, text: str) -> Path:
    made = folder / name
    made.write_text(f"#!/bin/sh\n{text}\n")
    made.chmod(0o755)
    return made


def known(change: dict[str, Any]) -> bool:
    """Whether it was back soon after the server went on, and where it had been."""
    back = change["recovered_s"]
    return back is not None and STOPPED_S - 0.6 < back < STOPPED_S + 1 and 0.8 < change["gain"] < 1.25


def under_load(uri: object, make: Path, *words: object, code: int = 0) -> dict[str, Any]:
    done = strata("scale", uri, "--under-load", *OVER, "--make", f"{make} {{}}", *LOAD, *words)
    assert done.returncode == code, done.stderr
    found: dict[str, Any] = json.loads(done.stdout)
    return found


@pytest.mark.ci
@pytest.mark.calm
def test_dip_recovery_and_data_of_a_change_are_told_and_nothing_is_lost(tmp_path: Path) -> None:
    """While the number changes the server stands still for `STOPPED_S`."""
    shape = ("--service-time", "20ms", "--service-threads", "4")
    with (
        target("--null", "1g", "--socket", tmp_path / "a", *shape) as (uri, server),
        target("--memory", "4m", "--writable", "--socket", tmp_path / "b") as (other, _),
    ):
        told = tmp_path / "told"
        make = script(
            tmp_path, "make",
            f"echo $1 >> {told}; kill -STOP {server.pid}; sleep {STOPPED_S}; kill -CONT {server.pid}",
        )  # fmt: skip
        spread = script(tmp_path, "spread", f"echo n1 $(wc -l < {told} 2>/dev/null || echo 0)k; echo n2 1m")
        for _ in range(3):
            told.write_text("")
            beside = ("--verify", other, "--destructive", other, "--spread", spread)
            found = under_load(uri, make, *beside)
            joined, left = found["changes"]
            # Where the machine stood still beside it, it is asked again.
            if all(known(one) for one in (joined, left)):
                break
    assert told.read_text().split() == ["3", "2"] and [joined["value"], left["value"]] == [3, 2]
    for one in (joined, left):
        assert one["dip"] > 0.9 and one["ended_s"] - one["began_s"] >= STOPPED_S
        assert known(one), one
    assert joined["data_before"] == {"n1": 0, "n2": 1 << 20} and joined["data_after"] == {"n1": 1 << 10, "n2": 1 << 20}
    verified = found["verified"]
    assert verified["verdict"] == "sound" and verified["writes"] > 512 and verified["acknowledged"] > 500
    assert len(found["series"]) > 100


@pytest.mark.calm
def test_a_write_that_is_lost_meanwhile_is_found_and_is_the_exit_code(tmp_path: Path) -> None:
    with (
        target("--null", "1g", "--socket", tmp_path / "a", "--service-time", "4ms") as (uri, _),
        target("--memory", "4m", "--writable", "--socket", tmp_path / "b", "--fault", "lost:every=100") as (other, _),
    ):
        found = under_load(uri, script(tmp_path, "make", "exit 0"), "--verify", other, "--destructive", other, code=3)
    assert found["verified"]["verdict"] == "faults" and found["verified"]["faulty"] > 0


@pytest.mark.ci
def test_a_change_that_fails_or_a_load_that_dies_ends_it_and_the_number_is_put_back(tmp_path: Path) -> None:
    told = tmp_path / "told"
    words = ("scale", "--under-load", *OVER, *LOAD)
    with target("--null", "1g", "--socket", tmp_path / "a", "--service-time", "4ms") as (uri, _):
        make = script(tmp_path, "make", f"echo $1 >> {told}; test $1 = 2")
        done = strata(*words, uri, "--make", f"{make} {{}}")
        assert done.returncode == 1 and "cannot set storage-nodes=3 with" in done.stderr, done.stderr
    assert told.read_text().split() == ["3", "2"], "nobody knows how many there are, so it is made again"
    with target("--null", "1g", "--socket", tmp_path / "b", "--service-time", "4ms") as (uri, server):
        make = script(tmp_path, "make", f"echo $1 >> {told}; test $1 = 2 || kill -KILL {server.pid}; sleep 2")
        done = strata(*words, uri, "--make", f"{make} {{}}")
        assert done.returncode == 1 and "the load ended before its time at" in done.stderr, done.stderr
    assert told.read_text().split() == ["3", "2", "3", "2"]


def test_ctrl_c_ends_load_and_verification_and_puts_the_number_back(tmp_path: Path) -> None:
    told, check = tmp_path / "told", tmp_path / "check.dat"
    make = script(tmp_path, "make", f"echo $1 >> {told}")
    with target("--null", "1g", "--socket", tmp_path / "a", "--service-time", "4ms") as (uri, _):
        words = ("scale", uri, "--under-load", *OVER[:-1], "60s", *LOAD, "--make", f"{make} {{}}")
        running = started(*words, "--verify", f"file:{check}")
        until = time.monotonic() + 60
        while not check.exists() and time.monotonic() < until:
            time.sleep(0.05)
        time.sleep(1)
        begun = children(running.pid)
        running.send_signal(signal.SIGINT)
        running.communicate(timeout=30)
    assert running.returncode == 130 and begun
    assert not check.exists() and not told.exists(), "its own file is gone, and nothing was changed"
    assert not any(Path(f"/proc/{pid}").exists() for pid in begun)


@pytest.mark.ci
def test_ctrl_c_while_the_number_changes_is_no_failure_of_the_command_that_it_ends(tmp_path: Path) -> None:
    told = tmp_path / "told"
    make = script(tmp_path, "make", f"echo $1 >> {told}; test $1 = 2 || {{ kill -INT $PPID; exit 1; }}")
    with target("--null", "1g", "--socket", tmp_path / "a", "--service-time", "4ms") as (uri, _):
        done = strata("scale", uri, "--under-load", *OVER, *LOAD, "--make", f"{make} {{}}")
    assert done.returncode == 130 and "stopped; the rate under load is not stored" in done.stderr, done.stderr
    assert told.read_text().split() == ["3", "2"]


def test_ctrl_c_leaves_no_file_of_the_load(tmp_path: Path) -> None:
    data = tmp_path / "load.dat"
    words = (*OVER[:-1], "60s", *LOAD, "--size", "16m", "--make", "true {}")
    running = started("scale", f"file:{data}", "--under-load", *words)
    until = time.monotonic() + 60
    while not data.exists() and time.monotonic() < until:
        time.sleep(0.05)
    time.sleep(2)
    running.send_signal(signal.SIGINT)
    running.communicate(timeout=30)
    assert running.returncode == 130 and not data.exists()


@pytest.mark.ci
def test_a_file_that_is_no_longer_ours_hides_neither_the_failure_nor_itself(tmp_path: Path) -> None:
    check = tmp_path / "check.dat"
    make = script(tmp_path, "make", f"rm -f {check}; echo mine > {check}; test $1 = 2")
    with target("--null", "1g", "--socket", tmp_path / "a", "--service-time", "4ms") as (uri, _):
        done = strata("scale", uri, "--under-load", *OVER, *LOAD, "--make", f"{make} {{}}", "--verify", f"file:{check}")
    assert done.returncode == 1 and "cannot set storage-nodes=3 with" in done.stderr, done.stderr
    assert "does not carry Strata's mark" in done.stderr and check.read_text() == "mine\n"


def children(pid: int) -> list[int]:
    return [int(p) for p in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]


@pytest.mark.parametrize(
    ("words", "why"),
    [
        (("null:", "--over", "iodepth"), "does not change while it runs"),
        (("null:", "--over", "disks"), "does not change while it runs"),
        (("null:", "--over", "queues", "--points", "2"), "Strata cannot set its values"),
        (("null:", *OVER[:-1], "5s", "--make", "true {}"), "its level needs 3 s"),
        (("null:", *OVER[:2], "--now", "2", "--points", "2", "--make", "true {}"), "there are 2 now"),
        (("null:", *OVER, "--make", "true {}", "--layer", "x"), "it is one endpoint"),
        (("/tmp", *OVER, "--make", "true {}"), "neither an endpoint nor a stack file"),
        (("null:", *OVER, "--make", "true {}", "--spread", "echo a lot"), "not NAME SIZE"),
    ],
)
def test_what_cannot_be_done_under_load_is_said(words: tuple[str, ...], why: str) -> None:
    done = strata("scale", "--under-load", *words)
    assert done.returncode in (1, 2) and why in done.stderr, done.stderr
