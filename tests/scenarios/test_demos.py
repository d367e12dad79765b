"""Truth by construction: each demo injects a known limit; the diagnosis must name it and must not name others."""

from __future__ import annotations

import json
import subprocess
import sys
from typing import Any

import pytest

from strata.app.demos import scenario
from strata.host import shipped

pytestmark = pytest.mark.alone

ATTEMPTS = 3
SHORT = ("--rounds", "3", "--runtime", "150ms", "--ramp-time", "30ms")
LONGER = ("--rounds", "3", "--runtime", "300ms", "--ramp-time", "50ms")
"""That nothing is lost takes narrower intervals than that something is."""
AS_SHIPPED = "far-wire"
"""One of them as a user calls it: brief first, then further rounds and experiments within the budget."""


def diagnose(*words: str) -> tuple[int, dict[str, Any]]:
    argv = [sys.executable, "-m", "strata", "diagnose", "--json", "--progress", "none", *words]
    done = subprocess.run(argv, capture_output=True, text=True, timeout=300, check=False)
    assert done.stdout, done.stderr
    report: dict[str, Any] = json.loads(done.stdout)
    return done.returncode, report


@pytest.mark.parametrize("name", shipped.demos())
def test_demo_names_its_truth(name: str) -> None:
    """Inconclusive is an honest answer on a machine that is busy, and is asked again; a wrong one never is."""
    truth = scenario(name).truth
    lengths = () if name == AS_SHIPPED else SHORT if truth.layer else LONGER
    for _ in range(ATTEMPTS):
        code, report = diagnose("--demo", name, *lengths)
        verdict = report["verdict"]
        blamed = {f["cause"] for f in report["findings"] if f["confidence"] > 0.5}
        assert blamed.isdisjoint({c.value for c in truth.never}), report["findings"]
        if verdict["kind"] != "inconclusive":
            break
        assert code == 4
    assert code == 0, verdict
    assert verdict["kind"] in [k.value for k in truth.kinds], verdict
    if verdict["kind"] == "layer":
        assert verdict["layer"] == truth.layer
        assert verdict["cause"] == (truth.cause.value if truth.cause else None)


def test_the_canary_fails() -> None:
    """A scenario that is told the wrong truth must be noticed: the check above is able to fail."""
    _, report = diagnose("--demo", "capped-target", *SHORT, "--workloads", "randread-8KiB-*")
    assert report["verdict"]["kind"] not in [k.value for k in scenario("healthy").truth.kinds]
