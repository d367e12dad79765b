"""Truth by construction: each demo injects a known limit; the diagnosis must name it and must not name others."""

from __future__ import annotations

import functools
import json
import subprocess
import sys
from typing import Any

import pytest
from tiers import rest_in_ci

from strata.app.demos import Truth, scenario
from strata.host import shipped

pytestmark = pytest.mark.alone

ATTEMPTS = 3
SHORT = ("--workloads", "*read-*", "--rounds", "3", "--runtime", "150ms", "--ramp-time", "30ms")
LONGER = ("--rounds", "3", "--runtime", "300ms", "--ramp-time", "50ms")
"""That nothing is lost takes narrower intervals than that something is."""
AS_SHIPPED = "far-wire"
"""One of them as a user calls it: brief first, then further rounds and experiments within the budget."""
EVERY_DAY = ("capped-target", "healthy")


def diagnose(*words: str) -> tuple[int, dict[str, Any]]:
    argv = [sys.executable, "-m", "strata", "diagnose", "--json", "--progress", "none", *words]
    done = subprocess.run(argv, capture_output=True, text=True, timeout=300, check=False)
    assert done.stdout, done.stderr
    report: dict[str, Any] = json.loads(done.stdout)
    return done.returncode, report


@functools.cache
def told(name: str) -> tuple[int, dict[str, Any]]:
    """Inconclusive is an honest answer on a machine that is busy, and is asked again."""
    lengths = () if name == AS_SHIPPED else SHORT if scenario(name).truth.layer else LONGER
    for _ in range(ATTEMPTS):
        code, report = diagnose("--demo", name, *lengths)
        assert wrongly_blamed(report, scenario(name).truth) == set(), report["findings"]
        if report["verdict"]["kind"] != "inconclusive":
            break
        assert code == 4
    return code, report


def wrongly_blamed(report: dict[str, Any], truth: Truth) -> set[str]:
    """What never is the cause, and is named with confidence."""
    return {f["cause"] for f in report["findings"] if f["confidence"] > 0.5} & {c.value for c in truth.never}


def named(report: dict[str, Any], truth: Truth) -> bool:
    """Whether the verdict is the truth."""
    verdict = report["verdict"]
    if verdict["kind"] not in [k.value for k in truth.kinds]:
        return False
    cause = truth.cause.value if truth.cause else None
    return verdict["kind"] != "layer" or (verdict["layer"], verdict["cause"]) == (truth.layer, cause)


@pytest.mark.parametrize(
    "name",
    [
        *rest_in_ci([x for x in shipped.demos() if x != AS_SHIPPED], EVERY_DAY),
        pytest.param(AS_SHIPPED, marks=(pytest.mark.first, pytest.mark.ci)),
    ],
)
def test_demo_names_its_truth(name: str) -> None:
    code, report = told(name)
    said = json.dumps({key: report[key] for key in ("verdict", "findings")})
    assert code == 0, said
    assert named(report, scenario(name).truth), said


def test_the_canary_fails() -> None:
    """A demo that is told the truth of another must be noticed: the checks above are able to fail."""
    _, report = told("capped-target")
    others = [scenario(name).truth for name in shipped.demos() if name != "capped-target"]
    assert others and not any(named(report, truth) for truth in others)
    assert any(wrongly_blamed(report, truth) for truth in others)
