"""Truth by construction: each demo injects a known limit; the diagnosis must name it and must not name others."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

from strata.lab import scenario, scenario_names


@pytest.mark.parametrize("name", scenario_names())
def test_demo_names_its_truth(name: str) -> None:
    truth = scenario(name).truth
    words = [sys.executable, "-m", "strata", "diagnose", "--demo", name, "--json", "--progress", "none"]
    done = subprocess.run(words, capture_output=True, text=True, timeout=240, check=False)
    assert done.returncode == 0, done.stderr
    report = json.loads(done.stdout)
    verdict = report["verdict"]
    assert verdict["kind"] in [k.value for k in truth.kinds], verdict
    if verdict["kind"] == "layer":
        assert verdict["layer"] == truth.layer
        assert verdict["cause"] == (truth.cause.value if truth.cause else None)
    blamed = {f["cause"] for f in report["findings"] if f["confidence"] > 0.5}
    assert blamed.isdisjoint({c.value for c in truth.never})


def test_the_canary_fails() -> None:
    """A scenario that is told the wrong truth must be noticed: the check above is able to fail."""
    words = [sys.executable, "-m", "strata", "diagnose", "--demo", "capped-target", "--json", "--progress", "none"]
    words += ["--rounds", "3", "--workloads", "randread-8KiB-*"]
    done = subprocess.run(words, capture_output=True, text=True, timeout=240, check=False)
    verdict = json.loads(done.stdout)["verdict"]
    assert verdict["kind"] not in [k.value for k in scenario("healthy").truth.kinds]
