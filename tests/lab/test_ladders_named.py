"""The ladders of the sources, live: what a diagnosis with its defaults says of whole stacks, with and without a limit.

Inconclusive is an honest answer on a machine that is busy, and is asked again; what it names has to be so.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from strata_lab import inject
from strata_lab.up import up

pytestmark = [pytest.mark.root, pytest.mark.slow]
ATTEMPTS = 2
CALM = {"model": "c=4 svc=2400 bw=250"}


@dataclass(frozen=True)
class Ladder:
    """A stack with its options, what is put in, and what is told: ``told`` is (layer, cause, a word of its title);
    ``confirmed``: by which experiment."""

    stack: str
    options: Mapping[str, str]
    injected: str | None
    told: tuple[str, str, str]
    confirmed: str = ""


LADDERS = {
    "the share's node is redirected, and its coordinator is named": Ladder(
        "cluster-volume",
        {"medium": "slow", "landing": "direct"},
        "redirected-path:severe",
        ("scale-out share", "redirected-path", "n2 has no direct path to the data: its requests go through n1"),
    ),
    "two threads on the disk confirm that the share loses the order": Ladder(
        "cluster-volume",
        {"medium": "hdd", "protocol": "nbd"},
        "reordering:severe",
        ("share, other node", "reordering", "out of order"),
        confirmed="two threads on direct, coordinator",
    ),
    "one queue of a virtual controller, where several give more": Ladder(
        "vm-disks", {"medium": "slow", "nodes": "3", "disks": "1"}, None, ("one queue", "few-queues", "connection")
    ),
    "the owner of a mirror sends a copy": Ladder(
        "mirrored",
        {"engine": "btrfs", "medium": "slow", "rate": "16m"},
        None,
        ("owner", "mirror-copies", "sent to 1 other node"),
    ),
    "a share behind a wire that is nearly closed": Ladder(
        "share",
        CALM | {"rate": "0", "journal": "apart"},
        "wire-bandwidth:severe",
        ("share", "wire-bandwidth", "is limited to"),
    ),
}


def diagnosed(ladder: Ladder, name: str, store: Path) -> dict[str, Any]:
    """The report of the whole stack."""
    lab = up(ladder.stack, name, dict(ladder.options))
    if ladder.injected is not None:
        inject.parse(ladder.injected).apply(lab)
    argv = [sys.executable, "-m", "strata", "diagnose", lab.data / "stack.toml", "--json", "--progress", "none"]
    for number in range(ATTEMPTS):
        words = [*argv, "--store", f"sqlite:///{store}/runs-{number}.sqlite"]
        done = subprocess.run(words, capture_output=True, text=True, timeout=900, check=False)
        assert done.returncode in (0, 4), done.stderr
        found: dict[str, Any] = json.loads(done.stdout)
        if found["verdict"]["kind"] != "inconclusive":
            break
    return found


@pytest.mark.parametrize("ladder", LADDERS.values(), ids=LADDERS)
def test_what_is_said_of_a_whole_ladder_is_so(ladder: Ladder, name: str, tmp_path: Path) -> None:
    found = diagnosed(ladder, name, tmp_path)
    verdict = found["verdict"]
    assert verdict["kind"] != "impossible", verdict
    told = found["findings"]
    layer, cause, word = ladder.told
    mine = [f for f in told if f["cause"] == cause and layer in f["layer"] and word in f["title"]]
    assert mine, [(f["layer"], f["cause"], f["title"]) for f in told]
    by = [f["outcome"]["statement"] for f in mine if f["outcome"]]
    assert not ladder.confirmed or any(ladder.confirmed in statement for statement in by), mine
