#!/usr/bin/env python3
"""The next version: numbers, notes and a commit with a tag. Nothing leaves this machine.

    scripts/release.py 0.2.0          then: make packages, make test-packages, and hand out dist/ with dist/NOTES.md
    scripts/release.py --notes        writes dist/NOTES.md for the version that is checked out

The tree must be clean. The version is written wherever it is said (`PLACES`); towncrier puts `changelog.d/` into
CHANGELOG.md.
"""

from __future__ import annotations

import re
import subprocess
import sys
import tomllib
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PLACES = {
    "pyproject.toml": (r'^version = "{}"', r'strata-lab=={}"'),
    "lab/pyproject.toml": (r'^version = "{}"', r'"strata=={}"'),
    "src/strata/__init__.py": (r'^__version__ = "{}"',),
    "Cargo.toml": (r'^version = "{}"',),
}
"""Where the version is said, and in which words, once each."""
ORDER = r"(\d+)\.(\d+)\.(\d+)"
HOW = """\
## Install

{rows}

[How]({guide}) · check first: `sha256sum --check SHA256SUMS`

## Hashes

```
{sums}```
"""


def main(argv: list[str]) -> int:
    """One release, or the notes of one."""
    if argv == ["--notes"]:
        print(notes(ROOT / "dist", version()))
        return 0
    if len(argv) != 1 or not re.fullmatch(ORDER, argv[0]):
        print("error: a release needs its version, e.g. make release VERSION=0.2.0", file=sys.stderr)
        return 2
    new, old = argv[0], version()
    if problem := refused(old, new):
        print(f"error: cannot release {new}: {problem}", file=sys.stderr)
        return 1
    renumber(ROOT, old, new)
    # The lock has our own crates, too: only they change.
    run("cargo", "update", "--quiet", "--workspace", "--offline")
    run(str(Path(sys.executable).with_name("towncrier")), "build", "--yes", "--version", new)
    run("git", "add", "--all", "changelog.d", "CHANGELOG.md", "Cargo.lock", *PLACES)
    run("git", "commit", "--quiet", "--message", f"Strata {new}")
    run("git", "tag", "--annotate", f"v{new}", "--message", f"Strata {new}")
    print(f"v{new} is committed and tagged here; next: make packages test-packages")
    return 0


def version() -> str:
    """The one that is checked out."""
    return str(tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["version"])


def refused(old: str, new: str) -> str:
    """Why not; empty where nothing is in the way."""
    if tuple(map(int, new.split("."))) <= tuple(map(int, old.split("."))):
        return f"{old} is not older"
    if said("git", "status", "--porcelain", "--untracked-files=no"):
        return "there are changes that are not committed; commit or stash them"
    if said("git", "tag", "--list", f"v{new}"):
        return f"the tag v{new} is there"
    return ""


def renumber(root: Path, old: str, new: str) -> None:
    """The new version in every place; a place that does not say the old one once is an error."""
    for name, patterns in PLACES.items():
        text = (root / name).read_text()
        for pattern in patterns:
            found = re.compile(pattern.format(re.escape(old)), re.M)
            if len(found.findall(text)) != 1:
                raise SystemExit(f"error: {name} does not say {old} once, as {pattern}")
            text = found.sub(lambda match: match[0].replace(old, new), text)
        (root / name).write_text(text)


def notes(dist: Path, new: str) -> str:
    """What changed, what to install, and the hashes: `dist/NOTES.md`."""
    log = (ROOT / "CHANGELOG.md").read_text()
    changed = re.search(rf"^## Strata {re.escape(new)} .*?(?=^## |\Z)", log, re.M | re.S)
    text = changed[0].strip() if changed else f"## Strata {new}\n\nNot released: `make release` writes what changed."
    sums = (dist / "SHA256SUMS").read_text()
    files = [line.split()[1] for line in sums.splitlines()]
    kinds = {".whl": "pip", ".deb": "apt", ".rpm": "dnf", ".tar": "podman load", ".json": "list of parts (CycloneDX)"}
    rows = "\n".join(f"- `{name}`: {kinds[Path(name).suffix]}" for name in files if Path(name).suffix in kinds)
    path = dist / "NOTES.md"
    path.write_text(f"{text}\n\n{HOW.format(rows=rows, guide='docs/guide/install.md', sums=sums)}")
    return str(path)


def run(*words: str) -> None:
    """A program of the release, in the checkout."""
    subprocess.check_call(words, cwd=ROOT)


def said(*words: str) -> str:
    """What a program prints."""
    return subprocess.run(words, check=True, capture_output=True, text=True, cwd=ROOT).stdout.strip()


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
