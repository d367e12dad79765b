#!/usr/bin/env python3
"""How large the tree is at a commit, and in how many places a concept is said there.

    scripts/places.py 18c08d03 HEAD        one column for each commit

The page has what it counts in the working tree (`scripts/architecture.py`).

A *place* is a file of `src`, `crates` or the lab, without tests, whose code (comments and docstrings left out) says the
name of an example that was there at both times, or a folder that has this name; with it the *lines* that do. Standard
library and git only.
"""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PARTS = ("src/", "crates/", "lab/", "tests/", "benches/", "scripts/")
TESTS = re.compile(r"(^|/)(tests?|benches|examples)(/|\.rs$)|_tests\.rs$")
# Which words of fio are switches is its grammar; others' formats and the counters of mounts are no endpoints.
NOT_ENDPOINTS = r"lab/|src/strata/(lab|discover|probes|model/counters|formats/results)/"
CONCEPTS: dict[str, tuple[str, str, str]] = {
    "workload option: `misalign`": (r"\bmisalign\b", r"\.(py|rs)$", r"src/strata/diagnose/"),
    "workload option: `rwmix_run`": (r"\brwmix_run\b", r"\.(py|rs)$", ""),
    "endpoint scheme: `nfs://`": (
        r'EndpointKind\.NFS|\bNFS = "|"nfs"(?!, "nfs4")|nfs://|\bNfs([A-Z]\w+)?\b|\bnfs::|\bnfs_\w+\b',
        r"\.(py|rs)$", NOT_ENDPOINTS,
    ),
    "endpoint scheme: `iscsi://`": (
        r'EndpointKind\.ISCSI|\bISCSI = "|"iscsi"|iscsi://|\bIscsi([A-Z]\w+)?\b|\biscsi::|\biscsi_\w+\b',
        r"\.(py|rs)$", NOT_ENDPOINTS,
    ),
    "carrying out a run: a cell is kept": (r"store\.save_cell\(", r"src/strata/.*\.py$", ""),
    "carrying out a run: a measured run is made": (
        r"\bRun\((?!Value|RunBrief)", r"src/strata/app/.*\.py$", r"src/strata/app/(imported_run|stages)\.py",
    ),
    "histogram codec": (r"\bfn (encode|decode|write|read)\w*\(", r"crates/strata-hist/src/(codec|varint)\.rs$", ""),
    "netlink: messages are packed": (r"IHHII", r"(src|lab)/.*\.py$", ""),
    "TOML: a text is escaped": (r"u007[fF]|= \{json\.dumps", r"(src|lab)/.*\.py$", ""),
    "OpenMetrics: labels are taken apart": (
        r"\bdef _labels\(|^_LABEL = ", r"src/.*/(openmetrics(_text\.py|/text\.py)|parsing/exposition\.py)$", "",
    ),
    "text tables: a cell is as wide as it prints": (r"\bcell_len\(", r"(src|lab)/.*\.py$", ""),
    "counter: `tcp_retransmitted_segments`": (r"\btcp\.RESENT\b|^RESENT\b", r"\.py$", ""),
    "law: Little's": (r"\blaws(\.| import .*)little\b", r"src/strata/.*\.py$", ""),
    "cause: `wire-loss`": (r"\bWIRE_LOSS\b", r"src/.*\.py$", ""),
    "injection: `wire-loss`": (r"\bwire[-_]loss\b", r"(src/strata/lab|lab)/.*\.py$", ""),
    "profile: `vdi`": (r"\bvdi\b", r"(src|lab)/.*\.(py|toml)$", ""),
}  # fmt: skip
"""(what says it, in which files, but not in these)."""
BEFORE = "18c08d03"
"""The last commit before concepts were declared once (2026-11-22)."""
WERE = {
    "workload option: `misalign`": (11, 20), "workload option: `rwmix_run`": (11, 19),
    "endpoint scheme: `nfs://`": (25, 81), "endpoint scheme: `iscsi://`": (23, 47),
    "carrying out a run: a cell is kept": (3, 3), "carrying out a run: a measured run is made": (3, 3),
    "histogram codec": (2, 4), "netlink: messages are packed": (1, 1), "TOML: a text is escaped": (3, 3),
    "OpenMetrics: labels are taken apart": (1, 2), "text tables: a cell is as wide as it prints": (3, 16),
    "counter: `tcp_retransmitted_segments`": (6, 7), "law: Little's": (1, 0), "cause: `wire-loss`": (6, 6),
    "injection: `wire-loss`": (1, 0), "profile: `vdi`": (1, 0),
}  # fmt: skip
"""What was counted there: a checkout may lack it."""
FOLDERS = re.compile(r"/(nfs|iscsi)/[^/]*$")
"""All files of such a folder are one place."""
OWN = {"law: Little's": "/little.py", "injection: `wire-loss`": "/wire_loss.py", "profile: `vdi`": "/vdi.toml"}
"""A file with this name is a place, whatever it says."""


def git(*words: str) -> str:
    done = subprocess.run(["git", *words], cwd=ROOT, capture_output=True, check=True)
    return done.stdout.decode("utf-8", "replace")


def files(commit: str | None) -> Iterator[tuple[str, str]]:
    """Every source file of the tree and its text; None: of the working tree."""
    if commit is None:
        for top in PARTS:
            for path in sorted((ROOT / top).rglob("*")):
                if path.suffix in (".py", ".rs", ".toml"):
                    yield str(path.relative_to(ROOT)), path.read_text(encoding="utf-8")
        return
    every = git("ls-tree", "-r", "--name-only", commit).splitlines()
    names = [n for n in every if n.startswith(PARTS) and n.endswith((".py", ".rs", ".toml"))]
    asked = "".join(f"{commit}:{name}\n" for name in names).encode()
    found = subprocess.run(
        ["git", "cat-file", "--batch"], cwd=ROOT, input=asked, capture_output=True, check=True
    ).stdout
    at = 0
    for name in names:
        end = found.index(b"\n", at)
        size = int(found[at:end].split()[2])
        yield name, found[end + 1 : end + 1 + size].decode("utf-8", "replace")
        at = end + size + 2


def code(name: str, text: str) -> str:
    """Without what is said about it."""
    if name.endswith(".rs"):
        return re.sub(r"(^|\s)//.*", "", re.split(r"^#\[cfg\(test\)\]\s*mod \w+ \{", text, flags=re.M)[0])
    return re.sub(r"^\s*#.*", "", re.sub(r'""".*?"""', "", text, flags=re.S), flags=re.M)


def found_in(pattern: str, text: str) -> Iterator[re.Match[str]]:
    """Where the text says it. Without its edges of words a pattern finds more, many times as fast: most files have
    none of it.
    """
    if re.search(pattern.replace(r"\b", ""), text, re.M):
        yield from re.finditer(pattern, text, re.M)


def part(name: str) -> str:
    """Of the tree, as the table has it."""
    if name.startswith(("src/strata/lab/", "lab/", "crates/strata-lab/")):
        return "the lab, Python" if name.endswith(".py") else "the lab, Rust"
    return name.split("/", maxsplit=1)[0]


def count(commit: str | None) -> dict[str, tuple[int, int]]:
    """Of each part (files, lines), of each concept (places, lines that say it)."""
    found: dict[str, tuple[int, int]] = {}
    places: dict[str, set[str]] = {}
    for name, text in files(commit):
        if name.endswith((".py", ".rs")):
            here = found.get(part(name), (0, 0))
            found[part(name)] = (here[0] + 1, here[1] + text.count("\n"))
        if TESTS.search(name) or not name.startswith(("src/", "crates/", "lab/")):
            continue
        said = code(name, text)
        for concept, (pattern, within, apart) in CONCEPTS.items():
            if not re.search(within, name) or (apart and re.match(apart, name)):
                continue
            lines = {said.count("\n", 0, match.start()) for match in found_in(pattern, said)}
            if lines or name.endswith(OWN.get(concept, "//")):
                there = places.setdefault(concept, set())
                there.add(FOLDERS.sub(r"/\1/", name))
                found[concept] = (len(there), found.get(concept, (0, 0))[1] + len(lines))
    return found


def table() -> str:
    """What the page has: places before and in the working tree."""
    now = count(None)
    rows = [f"| {row} | {_said(WERE[row])} | {_said(now.get(row, (0, 0)))} |" for row in CONCEPTS]
    return "\n".join([f"| concept: example | at {BEFORE} | now |", "|---|---|---|", *rows])


def _said(counted: tuple[int, int]) -> str:
    places, lines = counted
    return f"{places} ({lines})" if lines else f"{places}"


def main(commits: list[str]) -> int:
    """The table."""
    every = [count(commit) for commit in commits]
    rows = sorted({name for found in every for name in found} - set(CONCEPTS)) + list(CONCEPTS)
    print("| | " + " | ".join(commits) + " |\n|---|" + "---|" * len(commits))
    for row in rows:
        cells = [found.get(row, (0, 0)) for found in every]
        print(f"| {row} | " + " | ".join(f"{n:,} in {lines:,} lines" for n, lines in cells) + " |")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:] or ["HEAD"]))
