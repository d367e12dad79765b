"""A sweep over threads of a share, live: the columns that a published test of a file server's clients has.

smbd tells its times as a sum, so that it has means; a target of Strata's own has P90s of client, server and wire. The
form is what is held, not the figures: those times, IOPS, cycles per byte of the client's machine and of the server's
process, and what is full first.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from strata.app.stacks import read_stack
from strata_lab.lab import Lab
from strata_lab.up import up

pytestmark = [pytest.mark.root, pytest.mark.slow]


def swept(lab: Lab, home: Path, *words: str) -> dict[str, Any]:
    line = [sys.executable, "-m", "strata", "scale", str(lab.data / "stack.toml"), *words, "--no-open-loop"]
    line += ["--budget", "20s", "--progress", "none", "--json", "--store", str(home / "store")]
    done = subprocess.run(line, capture_output=True, text=True, env=os.environ | lab.environment, check=False)
    assert done.returncode == 0, done.stderr
    found: dict[str, Any] = json.loads(done.stdout)
    return found


@pytest.mark.parametrize(
    ("words", "rate"),
    [
        (("--rw", "randread", "--bs", "8k"), "0"),
        (("--rw", "randrw", "--rwmixread", "60", "--bs", "8k"), "0"),
        (("--rw", "read", "--bs", "512k"), "25m"),
    ],
)
def test_a_sweep_over_threads_has_the_columns_of_both_ends(
    name: str, tmp_path: Path, words: tuple[str, ...], rate: str
) -> None:
    lab = up("share", name, {"file": "16m", "model": "c=8 svc=2000", "rate": rate})
    found = swept(lab, tmp_path, "--over", "threads", "--points", "1,2,4,8,16", *words)
    points = [p for p in found["points"] if p["layer"] == "SMB share"]
    assert [p["value"] for p in points][:2] == [1, 2]
    for p in points:
        times = p["latency_ns"]
        sides = ("",) if "rwmixread" not in " ".join(words) else ("read.", "write.")
        assert "90" in times or p["ios"] < 1000
        assert all(times[f"mean.{side}server"]["value"] > 0 for side in sides)
        assert {c["end"].partition(" ")[0] for c in p["cycles"]} >= {"machine", "server"}
        assert all(c["kernel_per_byte"]["value"] > 0 for c in p["cycles"] if c["end"] == "machine")
    first, last = points[0], points[-1]
    assert last["iops"]["value"] > 2 * first["iops"]["value"]
    curve = next(c for c in found["curves"] if c["layer"] == "SMB share")
    assert curve["saturated"] is None or curve["saturated"]["says"]
    if rate != "0":
        # The card is what is full first, and it is named.
        assert curve["saturated"]["name"] in ("card@eth0-of-n1", "card@eth0-of-n2"), curve


@pytest.mark.parametrize(
    ("stack", "options", "layers"),
    [
        ("block-share", {"rate": "0"}, {"NBD export": "n1"}),
        ("block-cluster", {"nodes": "2"}, {"through n1": "n1", "through n2": "n2"}),
    ],
)
def test_over_a_target_of_strata_s_own_the_p90_of_client_server_and_wire_is_there(
    name: str, tmp_path: Path, stack: str, options: dict[str, str], layers: dict[str, str]
) -> None:
    lab = up(stack, name, options | {"server": "strata", "file": "16m", "model": "c=8 svc=2000"})
    written = {x.name: x for x in read_stack(lab.data / "stack.toml").layers}
    assert {x: written[x].server for x in layers} == layers and all(written[x].stats for x in layers)
    words = ("--over", "threads", "--points", "1,4,8", "--rw", "randread", "--bs", "8k")
    points = [p for p in swept(lab, tmp_path, *words)["points"] if p["layer"] in layers]
    # A P90 of a few I/Os is none: one thread makes hundreds here, eight make thousands.
    told = [p for p in points if {"90", "90.server", "90.wire"} <= set(p["latency_ns"])]
    assert {p["layer"] for p in told} == set(layers), points
    for p in told:
        times = {word: p["latency_ns"][word]["value"] for word in ("90", "90.server", "90.wire", "mean.server")}
        assert times["mean.server"] > 1.5e6 and times["90.server"] > 1.5e6 and times["90"] > times["90.wire"] > 0
        assert {c["end"].partition(" ")[0] for c in p["cycles"]} >= {"machine", "server"}
