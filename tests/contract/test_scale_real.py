"""``strata scale`` against targets whose limit and knee are known, and its predictions against what then happens."""

from __future__ import annotations

import json
import os
import shlex
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest
from commands import started, strata, target
from fleetbench import nodes as fleet
from tiers import rest_in_ci

SHAPES = {
    "cap": (("--latency", "4ms", "--iops", 2000), 2000.0, 8.0),
    "servers": (("--service-time", "4ms", "--service-threads", 4), 1000.0, 4.0),
}
"""A budget of 2,000 I/Os per second over 4 ms, and four servers of 4 ms: their limit, and limit × time."""


def scaled(*words: object) -> dict[str, Any]:
    done = strata("scale", *words, "--progress", "none", "--json")
    assert done.returncode == 0, done.stderr
    document: dict[str, Any] = json.loads(done.stdout)
    return document


@pytest.mark.calm
@pytest.mark.parametrize("name", rest_in_ci(SHAPES, ["cap"]))
@pytest.mark.parametrize("axis", ["iodepth", pytest.param("threads", marks=pytest.mark.slow)])
def test_limit_and_knee_of_a_known_target_are_found(name: str, axis: str, tmp_path: Path) -> None:
    shape, limit, knee = SHAPES[name]
    points = "1,2,4,8,16,32"
    with target("--null", "1g", "--socket", tmp_path / "s", *shape) as (uri, _):
        for _ in range(3):
            found = scaled(uri, "--over", axis, "--points", points, "--budget", "15s")
            (curve,) = found["curves"]
            # What one I/O took here: a busy machine adds its own time to the target's.
            alone_s = found["points"][0]["mean_ns"]["value"] / 1e9
            # Points of a machine that stood still lie on no curve, which is said, or on another one.
            if curve["form"] is not None and curve["knee"]["value"] == pytest.approx(limit * alone_s, rel=0.10):
                break
    assert found["schema"] == "strata.scale/1" and curve["form"] is not None, curve
    assert curve["limit"]["value"] == pytest.approx(limit, rel=0.10)
    assert found["points"][0]["value"] == 1 and knee / limit <= alone_s < 2 * knee / limit
    assert curve["knee"]["value"] == pytest.approx(limit * alone_s, rel=0.10)
    assert curve["saturated"]["name"] is None, "no counter of this machine is full at such rates"
    assert len(found["points"]) > 6, "points were added where it bends"
    slow, fast = found["open_points"][0], found["open_points"][-1]
    assert slow["kept_up"] and not fast["kept_up"]
    again = json.loads(strata("report", found["run"], "--json").stdout)
    assert again == found


CHANGES = (
    # (target before, what is asked, target after, the axis and value at which it is then measured)
    (("--latency", "4ms", "--iops", 1500), "limit=2x", ("--latency", "4ms", "--iops", 3000), 64),
    (("--latency", "4ms", "--iops", 1500), "iodepth=64", ("--latency", "4ms", "--iops", 1500), 64),
    (("--latency", "8ms", "--iops", 3000), "delay=0.5x@4", ("--latency", "4ms", "--iops", 3000), 4),
    (
        ("--service-time", "4ms", "--service-threads", 2),
        "limit=2x",
        ("--service-time", "4ms", "--service-threads", 4),
        32,
    ),
    (
        ("--service-time", "4ms", "--service-threads", 8),
        "limit=0.5x",
        ("--service-time", "4ms", "--service-threads", 4),
        32,
    ),
)


@pytest.mark.alone
@pytest.mark.slow
def test_predictions_hold_when_the_change_is_made(tmp_path: Path) -> None:
    """Each change is predicted from one target and then made: the error of each is printed."""
    errors, inside = [], 0
    for number, (before, asked, after, depth) in enumerate(CHANGES):
        with target("--null", "1g", "--socket", tmp_path / f"b{number}", *before) as (uri, _):
            words = ("--points", "1,2,4,8,16,32", "--budget", "8s", "--no-open-loop")
            (told,) = scaled(
                uri, *words, "--what-if", asked if "@" in asked or "iodepth" in asked else f"{asked}@{depth}"
            )["what_if"]
        with target("--null", "1g", "--socket", tmp_path / f"a{number}", *after) as (uri, _):
            done = strata("measure", uri, "--iodepth", depth, "--runtime", "2s", "--progress", "none", "--json")
        real = json.loads(done.stdout)["summary"]["iops"]["value"]
        rate = told["rate"]
        errors.append(rate["value"] / real - 1)
        inside += rate["low"] <= real <= rate["high"]
        told_as = f"{rate['value']:.0f} ({rate['low']:.0f} to {rate['high']:.0f})"
        print(f"{' '.join(map(str, before))} · {asked}: {told_as}, then {real:.0f}, error {errors[-1]:+.1%}")
    assert inside >= 4, errors
    assert sorted(map(abs, errors))[len(errors) // 2] <= 0.05 and max(map(abs, errors)) <= 0.40, errors


@pytest.mark.ci
def test_a_killed_sweep_goes_on_where_it_was(tmp_path: Path) -> None:
    with target("--null", "1g", "--socket", tmp_path / "s", "--service-time", "2ms") as (uri, _):
        words = ("scale", uri, "--points", "1,2,4,8,16", "--budget", "12s", "--progress", "plain", "--no-open-loop")
        running = started(*words)
        try:
            until = time.monotonic() + 60
            while '"running"' not in strata("runs", "--json").stdout and time.monotonic() < until:
                time.sleep(0.1)
            time.sleep(2)
        finally:
            running.kill()
            running.communicate()
        done = strata("scale", "--resume", "--progress", "none", "--json")
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert {p["value"] for p in found["points"]} >= {1, 2, 4, 8, 16}
    assert all(p["rounds"] >= 3 for p in found["points"])


@pytest.mark.parametrize(
    ("words", "why"),
    [
        (("null:", "--over", "moons"), "it is not an axis"),
        (("null:", "--over", "nodes", "--points", "1,2"), "no scheduler is named"),
        (("null:", "--over", "queues", "--points", "1,2"), "Strata cannot set its values"),
        (("null:", "--over", "queues"), "its largest value is not known"),
        (("null:", "--over", "disks", "--make", "true {}", "--now", "1"), "Strata sets its values itself"),
        (("null:", "--over", "queues", "--make", "true {}"), "could not be put back"),
        (("nbd://a/b", "--target", "nbd://a/c", "--over", "disks", "--points", "1,4"), "disks must be in 1..2"),
        (("nbd://a/b", "--target", "nbd://a/c", "--over", "disks", "--iodepth", "3"), "be divided among 2 disks"),
        (("null:", "--over", "disks", "--points", "1,2"), "hint: name each further disk with --target URI"),
        (("null:", "--points", "0,1"), "iodepth must be in 1..4096"),
        (("null:", "--rate-iops", "100"), "it has a fixed rate"),
        (("null:", "--limit-iops", "100"), "limits and pauses"),
        (("null:", "--what-if", "limit"), "it is not NAME=VALUE"),
        (("null:", "--worth", "0"), "it is not a gain"),
        (("null:", "--over", "bs", "--bssplit", "4k/50:8k/50"), "--bssplit fixes the sizes"),
    ],
)
def test_what_cannot_be_swept_is_refused_before_anything_is_measured(words: tuple[str, ...], why: str) -> None:
    done = strata("scale", *words)
    assert done.returncode == 2 and why in done.stderr, done.stderr


def rates(found: dict[str, Any]) -> dict[int, float]:
    return {p["value"]: p["iops"]["value"] for p in found["points"]}


@pytest.mark.ci
@pytest.mark.calm
def test_each_disk_adds_what_its_own_server_gives(tmp_path: Path) -> None:
    one = ("--null", "1g", "--service-time", "4ms", "--service-threads", 1)
    with ExitStack() as held:
        uris = [held.enter_context(target(*one, "--socket", tmp_path / f"d{n}"))[0] for n in range(4)]
        more = [word for uri in uris[1:] for word in ("--target", uri)]
        for _ in range(3):
            found = scaled(uris[0], *more, "--over", "disks", "--points", "1,2,4", "--iodepth", 8, "--budget", "8s")
            assert found["ask"]["targets"] == uris and found["where"] == " + ".join(uris)
            assert {p["outstanding"] for p in found["points"]} == {8}
            # More than they give is never told; a machine that stood still tells less.
            assert all(rate < 275 * disks for disks, rate in rates(found).items()), rates(found)
            if all(rate > 225 * disks for disks, rate in rates(found).items()):
                break
        else:
            pytest.fail(f"{rates(found)}")
    assert json.loads(strata("report", found["run"], "--json").stdout) == found


MAKE = """
import os, signal, subprocess, sys, time
folder, many = sys.argv[1], sys.argv[2]
open(f"{folder}/made", "a").write(many + "\\n")
pid, socket = f"{folder}/pid", f"{folder}/s"
def running(number):
    try:
        return open(f"/proc/{number}/stat").read().rpartition(")")[2].split()[0] not in "ZX"
    except OSError:
        return False
if os.path.exists(pid):
    number = int(open(pid).read())
    os.kill(number, signal.SIGTERM)
    while running(number):
        time.sleep(0.01)
if os.path.exists(socket):
    os.unlink(socket)
if int(many):
    words = [sys.executable, "-m", "strata", "target", "--null", "1g", "--socket", socket]
    child = subprocess.Popen([*words, "--service-time", "4ms", "--service-threads", many])
    open(pid, "w").write(str(child.pid))
    while not os.path.exists(socket):
        time.sleep(0.01)
"""
"""Ends the server that is there, and starts one with so many servers inside. It stays when this ends."""


@pytest.fixture
def served(tmp_path: Path) -> Iterator[list[str]]:
    """The command that makes so many servers; two are there, and none is left."""
    (tmp_path / "make.py").write_text(MAKE)
    words = [sys.executable, str(tmp_path / "make.py"), str(tmp_path)]
    subprocess.run([*words, "2"], check=True)
    yield words
    subprocess.run([*words, "0"], check=True)


@pytest.mark.calm
def test_a_command_makes_the_points_and_what_was_there_is_there_again(tmp_path: Path, served: list[str]) -> None:
    make = ("--make", shlex.join([*served, "{}"]), "--now", 2)
    words = ("--over", "queues", "--points", "1,2,4", *make, "--iodepth", 8, "--budget", "6s")
    found = scaled(f"nbd+unix:///?socket={tmp_path}/s", *words)
    for queues, rate in rates(found).items():
        assert rate == pytest.approx(250 * queues, rel=0.10)
    made = (tmp_path / "made").read_text().split()
    assert made[0] == made[-1] == "2", "before, and again at the end"
    assert found["ask"]["make"] == make[1]


def test_a_point_that_cannot_be_made_is_left_out_and_said(tmp_path: Path) -> None:
    make = tmp_path / "make"
    make.write_text("#!/bin/sh\ntest $1 != 4 || { echo no room >&2; exit 1; }\n")
    make.chmod(0o755)
    words = ("--over", "queues", "--points", "1,2,4", "--make", f"{make} {{}}", "--now", 1, "--budget", "1s")
    found = scaled("null:", *words)
    assert set(rates(found)) == {1, 2}
    assert any("cannot set queues=4" in one and "no room" in one for one in found["remarks"]), found["remarks"]


@pytest.mark.ci
@pytest.mark.first
@pytest.mark.calm
def test_each_node_adds_its_own_load(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([str(Path(fleet.__file__).parents[1]), *sys.path]))
    (tmp_path / "fleet").mkdir()
    with (
        target("--null", "1g", "--latency", "20ms", "--iops", 120) as (uri, _),
        fleet.nodes(3, tmp_path / "fleet") as (address, _),
    ):
        words = ("--over", "nodes", "--nodes", address, "--no-open-loop", "--budget", "15s")
        found = scaled(uri, *words, "--points", "1,2,3")
        refused = strata("scale", uri, *words, "--points", "1,4")
    assert {p["value"]: p["outstanding"] for p in found["points"]} == {1: 1, 2: 2, 3: 3}
    assert rates(found)[1] == pytest.approx(50, rel=0.10)
    assert rates(found)[2] == pytest.approx(100, rel=0.10)
    assert rates(found)[3] == pytest.approx(120, rel=0.10), "the third meets the limit"
    assert refused.returncode == 2 and "nodes must be in 1..3" in refused.stderr


@pytest.mark.ci
@pytest.mark.first
def test_an_interrupted_sweep_puts_back_what_it_made_and_goes_on_with_the_same_command(tmp_path: Path) -> None:
    make = tmp_path / "make"
    make.write_text(f"#!/bin/sh\necho $1 >> '{tmp_path}/made'\n")
    make.chmod(0o755)
    by = ("--make", f"{make} {{}}", "--now", "3")
    words = ("--over", "queues", "--points", "1,2,4", *by, "--budget", "10s", "--progress", "none")
    # Whose requests take a while: a load of nothing would use a CPU all the time.
    with target("--null", "1g", "--socket", tmp_path / "s", "--service-time", "2ms") as (uri, _):
        running = started("scale", uri, *words)
        until = time.monotonic() + 30
        while not (tmp_path / "made").exists() and time.monotonic() < until:
            time.sleep(0.05)
        time.sleep(1)
        running.send_signal(signal.SIGTERM)
        _, said = running.communicate()
        assert running.returncode in (130, 143) and f"--make '{make} {{}}' --now 3" in said, said
        assert (tmp_path / "made").read_text().split()[-1] == "3"
        refused = strata("scale", "--resume", "--progress", "none")
        assert refused.returncode == 2 and "Strata cannot set its values" in refused.stderr, refused.stderr
        done = strata("scale", "--resume", *by, "--progress", "none", "--json")
    assert done.returncode == 0, done.stderr
    assert {p["value"] for p in json.loads(done.stdout)["points"]} == {1, 2, 4}


OWN_SERVER = """
[stack]
name = "served"

[[layer]]
name = "file system"
endpoint = "file:{path}"

[[layer]]
name = "share"
on = ["file system"]
endpoint = "nbd://127.0.0.1:0/own?connections=4"
"""


@pytest.mark.ci
def test_a_sweep_over_a_server_of_its_own_has_the_p90_of_client_server_and_wire(tmp_path: Path) -> None:
    """The columns of a published test of a file server's clients: smbd tells means alone, `strata target` more."""
    words = tmp_path / "stack.toml"
    words.write_text(OWN_SERVER.format(path=tmp_path / "strata.dat"))
    reads = ("--rw", "randread", "--bs", "8k", "--buffered", "--size", "32m")
    for _ in range(3):
        found = scaled(words, "--over", "threads", "--points", "1,2,4", *reads, "--budget", "4s", "--no-open-loop")
        points = [p for p in found["points"] if p["layer"] == "share"]
        assert [p["value"] for p in points] == [1, 2, 4]
        every = [{name: e["value"] for name, e in p["latency_ns"].items()} for p in points]
        # The server's times are of the ramp, too: no exact part of these, less so where the machine stood still in it.
        # Where it stood still for a whole round, the server was not asked twice in it, and none are told.
        told = all("90.wire" in times and times["mean.server"] > 0 for times in every)
        if told and all(0 < times["90.server"] < 2 * times["90"] for times in every):
            break
    else:
        pytest.fail(f"{every}")
    # Of the file below there is no other end.
    below = [name for p in found["points"] if p["layer"] != "share" for name in p["latency_ns"]]
    assert not any(name.endswith("server") for name in below)
    again = strata("scale", "--run", found["run"])
    assert again.returncode == 0, again.stderr
    assert "p90 server" in again.stdout and "p90 wire" in again.stdout
