"""The fragments of the changelog: what a reader will see of the next release can be read."""

from __future__ import annotations

import re
import subprocess
import sys
from datetime import date
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
BESIDE = {"README.md", "template.md"}
FRAGMENTS = sorted(p for p in (ROOT / "changelog.d").iterdir() if p.name not in BESIDE)


@pytest.mark.parametrize("fragment", FRAGMENTS, ids=lambda p: p.stem)
def test_a_fragment_says_when_and_what_in_a_paragraph_or_a_list(fragment: Path) -> None:
    named = re.fullmatch(r"(\d{4}-\d\d-\d\d)-[a-z0-9]+(-[a-z0-9]+)*\.md", fragment.name)
    assert named, "YYYY-MM-DD-short-name.md"
    date.fromisoformat(named[1])
    lines = fragment.read_text(encoding="utf-8").splitlines()
    assert lines and len(lines[0]) > 20, "one sentence at least"
    assert [line for line in lines if line.startswith(("#", "```"))] == [], "no headings"
    assert fragment.read_text(encoding="utf-8").endswith("\n")


def test_towncrier_reads_every_fragment() -> None:
    words = [sys.executable, "-m", "towncrier", "build", "--draft", "--version", "1.2.3", "--date", "2026-01-02"]
    done = subprocess.run(words, cwd=ROOT, capture_output=True, text=True, check=True)
    said = " ".join(done.stdout.split())
    assert said.startswith("## Strata 1.2.3 (2026-01-02) - ")
    firsts = {p.name: " ".join(p.read_text(encoding="utf-8").splitlines()[0].split()).lstrip("-* ") for p in FRAGMENTS}
    assert [name for name, first in firsts.items() if first not in said] == []
