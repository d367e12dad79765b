"""``strata scale`` against targets whose limit and knee are known, and its predictions against what then happens."""

from __future__ import annotations

import json
import signal
import subprocess
import time
from pathlib import Path
from typing import Any

import pytest
from commands import STRATA, strata, target

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


@pytest.mark.alone
@pytest.mark.parametrize("name", SHAPES)
@pytest.mark.parametrize("axis", ["iodepth", pytest.param("threads", marks=pytest.mark.slow)])
def test_limit_and_knee_of_a_known_target_are_found(name: str, axis: str, tmp_path: Path) -> None:
    shape, limit, knee = SHAPES[name]
    points = "1,2,4,8,16,32"
    with target("--null", "1g", "--socket", tmp_path / "s", *shape) as (uri, _):
        found = scaled(uri, "--over", axis, "--points", points, "--budget", "15s")
    (curve,) = found["curves"]
    assert found["schema"] == "strata.scale/1" and curve["form"] is not None, curve
    assert curve["limit"]["value"] == pytest.approx(limit, rel=0.10)
    assert curve["knee"]["value"] == pytest.approx(knee, rel=0.10)
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


def test_a_killed_sweep_goes_on_where_it_was(tmp_path: Path) -> None:
    with target("--null", "1g", "--socket", tmp_path / "s", "--service-time", "2ms") as (uri, _):
        words = ("scale", uri, "--points", "1,2,4,8,16", "--budget", "12s", "--progress", "plain", "--no-open-loop")
        running = subprocess.Popen([*STRATA, *map(str, words)], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        try:
            time.sleep(4)
        finally:
            running.send_signal(signal.SIGKILL)
            running.wait()
        done = strata("scale", "--resume", "--progress", "none", "--json")
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert {p["value"] for p in found["points"]} >= {1, 2, 4, 8, 16}
    assert all(p["rounds"] >= 3 for p in found["points"])


@pytest.mark.parametrize(
    ("words", "why"),
    [
        (("null:", "--over", "nodes"), "it is not an axis"),
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


def test_a_sweep_over_a_server_of_its_own_has_the_p90_of_client_server_and_wire(tmp_path: Path) -> None:
    """The columns of a published test of a file server's clients: smbd tells means alone, `strata target` more."""
    words = tmp_path / "stack.toml"
    words.write_text(OWN_SERVER.format(path=tmp_path / "strata.dat"))
    reads = ("--rw", "randread", "--bs", "8k", "--buffered", "--size", "32m")
    found = scaled(words, "--over", "threads", "--points", "1,2,4", *reads, "--budget", "8s", "--no-open-loop")
    points = [p for p in found["points"] if p["layer"] == "share"]
    assert [p["value"] for p in points] == [1, 2, 4]
    for p in points:
        times = {name: e["value"] for name, e in p["latency_ns"].items()}
        # The server's times are of the ramp, too: its part is no exact one.
        assert 0 < times["90.server"] < 2 * times["90"]
        assert "90.wire" in times and times["mean.server"] > 0
    # Of the file below there is no other end.
    below = [name for p in found["points"] if p["layer"] != "share" for name in p["latency_ns"]]
    assert not any(name.endswith("server") for name in below)
    again = strata("scale", "--run", found["run"])
    assert again.returncode == 0, again.stderr
    assert "p90 server" in again.stdout and "p90 wire" in again.stdout
