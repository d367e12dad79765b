"""Nothing is lost and nothing grows, however long it runs: ten seconds every day, half an hour by ``make soak``."""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from commands import ROOT, working_disk

from strata import units

SHORT_S = 10
LONG_S = 60 * float(os.environ.get("STRATA_SOAK_MINUTES", "30"))
SOAK = Path(__file__).with_name("soak.py")
ROOM = 4 * units.MIB
"""Between the first and the last third after the warm-up, whatever the length: what an allocator moves about."""


def soaked(seconds: float) -> dict[str, Any]:
    with working_disk() as disk:
        words = [sys.executable, str(SOAK), str(seconds), str(disk)]
        environment = os.environ | {"PYTHONPATH": str(ROOT / "src")}
        done = subprocess.run(words, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    found: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return found


@pytest.mark.ci
@pytest.mark.parametrize(
    "seconds",
    [SHORT_S, pytest.param(LONG_S, marks=[pytest.mark.slow, pytest.mark.timeout(LONG_S + 600)], id="long")],
)
def test_nothing_is_lost_and_nothing_grows(seconds: float) -> None:
    found = soaked(seconds)
    for name, total in found["totals"].items():
        assert total["issued"] == total["completed"] + total["errored"] + total["stuck"], (name, total)
        assert total["measured"] == total["in_intervals"] > 0, (name, total)
        assert total["errored"] == total["stuck"] == total["lost"] == 0, (name, total)
    assert set(found["totals"]) == {"file", "nbd", "null"}
    rounds = found["rounds"]
    assert len(rounds) >= 4, "too short to tell growth from the start"
    for process in ("driver", "server"):
        seen = [r[process] for r in rounds]
        # The first quarter fills caches and pools.
        warm = seen[len(seen) // 4 :]
        for what in ("fds", "threads"):
            assert len({s[what] for s in warm}) == 1, (process, what, [s[what] for s in seen])
        rss = [s["rss"] for s in warm]
        third = max(1, len(rss) // 3)
        grown = statistics.median(rss[-third:]) - statistics.median(rss[:third])
        assert grown <= ROOM, f"{process} grew by {units.size(round(grown))}: {rss}"
    print(json.dumps(found["rounds"][-1]), json.dumps(found["totals"]))
