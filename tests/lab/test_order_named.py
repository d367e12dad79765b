"""Sequential requests that lose their order on the way: a diagnosis with a trace names it, not on the healthy twin."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from tracing import with_tracefs

from strata_lab import inject
from strata_lab.up import up

pytestmark = pytest.mark.root
ATTEMPTS = 3
HERE, FAR = "direct, coordinator", "share, other node"
SHORT = ("--workloads", "write-8KiB-qd8-dsync", "--rounds", "3", "--runtime", "400ms", "--ramp-time", "100ms")


UNTRIED = """
from importlib import import_module
import_module("strata.diagnose").propose = lambda *_: None
import_module("strata.cli.main").main()
"""
"""The command line whose rules propose no experiment: what two threads tell, the trace has to."""


def diagnosed(name: str, store: Path, injected: str | None, *words: str, by_itself: bool = False) -> dict[str, Any]:
    """The report of the disk's own node and of the share, each cell traced; ``by_itself``: those that the diagnosis
    wants to see traced.

    Inconclusive is an honest answer on a machine that is busy, and is asked again where something was injected.
    """
    truth = inject.injection("reordering")
    lab = up("cluster-volume", name, {**truth.options, "data": "16m"})
    if injected is not None:
        inject.parse(injected).apply(lab)
    stack = lab.data / "stack.toml"
    argv = [sys.executable, *(("-c", UNTRIED) if by_itself else ("-m", "strata")), "diagnose", stack]
    argv += ["--json", "--progress", "none", *(() if by_itself else ("--trace", "--no-confirm"))]
    argv += ["--layers", f"{HERE},{FAR}", "--store", f"sqlite:///{store}/runs.sqlite", *words]
    for _ in range(ATTEMPTS):
        done = subprocess.run(with_tracefs(*argv), capture_output=True, text=True, timeout=600, check=False)
        assert done.returncode in (0, 4), done.stderr
        found: dict[str, Any] = json.loads(done.stdout)
        if injected is None or found["verdict"]["kind"] != "inconclusive":
            break
        assert done.returncode == 4, done.stderr
    return found


@pytest.mark.ci
@pytest.mark.alone
def test_the_lost_order_is_named_with_what_the_trace_saw(name: str, tmp_path: Path) -> None:
    found = diagnosed(name, tmp_path, "reordering:severe", *SHORT)
    first = found["findings"][0]
    assert (first["layer"], first["cause"]) == (FAR, "reordering"), found["verdict"]
    said = next(e["statement"] for e in first["evidence"] if "issued in sequence" in e["statement"])
    assert "follow the one before" in said and "arrive out of order" in said
    found_in = rf"at loop\d+ ([\d.]+) % .* ([\d.]+) % .* out of order.* \(from {HERE}: ([\d.]+) % and 0 %\)"
    shares = re.search(found_in, said)
    assert shares is not None, said
    follow, late, follow_here = (float(share) for share in shares.groups())
    assert follow < follow_here and late >= 10, said


@pytest.mark.slow
@pytest.mark.parametrize("injected", ["reordering:severe", None])
def test_the_order_is_looked_at_where_only_it_would_tell(name: str, tmp_path: Path, injected: str | None) -> None:
    words = ("--workloads", "write-8KiB-qd8-dsync,randwrite-8KiB-qd8-dsync", *SHORT[2:])
    found = diagnosed(name, tmp_path, injected, *words, by_itself=True)
    traced = {(c["layer"], c["workload"]["rw"]) for c in found["cells"] if c.get("traces")}
    if injected is None:
        assert "reordering" not in {f["cause"] for f in found["findings"]}
    else:
        assert (found["findings"][0]["layer"], found["findings"][0]["cause"]) == (FAR, "reordering"), found["verdict"]
        assert traced == {(HERE, "write"), (FAR, "write")}


@pytest.mark.slow
def test_nothing_is_said_of_the_order_on_the_healthy_twin(name: str, tmp_path: Path) -> None:
    found = diagnosed(name, tmp_path, None, *SHORT)
    assert "reordering" not in {f["cause"] for f in found["findings"]}
    traces = [c["traces"][0]["write"] for c in found["cells"]]
    assert len(traces) == 2 and all(t["reordered_share"] < 0.02 for t in traces)


@pytest.mark.slow
@pytest.mark.parametrize("injected", ["reordering:marked", "reordering:severe", None])
def test_among_all_the_workloads_of_a_diagnosis(name: str, tmp_path: Path, injected: str | None) -> None:
    verdict = diagnosed(name, tmp_path, injected)["verdict"]
    if injected is None:
        assert verdict["cause"] != "reordering"
    else:
        assert (verdict["kind"], verdict["layer"], verdict["cause"]) == ("layer", FAR, "reordering")
