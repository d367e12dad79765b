#!/usr/bin/env python3
"""The packages of `dist/` a second time, from another clone in another folder: the same bytes, or an error.

    scripts/same_packages.py [OTHER/SHA256SUMS]

Compares with what was built elsewhere, where that is given, and builds nothing; else it builds for the architectures
that `dist/` has. The image is left out: it has what Debian's archive has that day. Each file that is there is hashed:
sums alone may be those of an earlier build.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import packages

ROOT = Path(__file__).resolve().parent.parent
COMPARED = "wheel,deb,rpm"
IMAGE = ".oci.tar"
PACKAGES = (".whl", ".deb", ".rpm")


def main(argv: list[str]) -> int:
    """0 where every file has the same hash twice, 1 where one does not."""
    dist = ROOT / "dist"
    if len(argv) > 1 or not (dist / "SHA256SUMS").is_file():
        print(__doc__, file=sys.stderr)
        print(f"error: {dist / 'SHA256SUMS'} is what is compared; make packages writes it", file=sys.stderr)
        return 2
    if argv:
        if not Path(argv[0]).is_file():
            print(f"error: {argv[0]} is not there\nhint: name the SHA256SUMS of the other build", file=sys.stderr)
            return 2
        return told(dist, Path(argv[0]).parent)
    folder = Path(tempfile.mkdtemp(prefix="strata-same-"))
    print(f"building in {folder}; it stays there where something differs or fails", file=sys.stderr)
    subprocess.check_call(["git", "clone", "--quiet", str(ROOT), str(folder / "elsewhere")])
    machines = ",".join(packages.architectures(sums(dist)) or [packages.HERE])
    words = ("--only", COMPARED, "--arch", machines, "--build", folder / "b", "--out", folder / "o")
    # What the first build compiled would be taken as it is.
    environment = {name: value for name, value in os.environ.items() if name != "CARGO_TARGET_DIR"}
    argv = [sys.executable, *map(str, (folder / "elsewhere" / "scripts" / "packages.py", *words))]
    subprocess.check_call(argv, env=environment, stdout=subprocess.DEVNULL)
    status = told(dist, folder / "o")
    if status == 0:
        shutil.rmtree(folder)
    return status


def told(dist: Path, other: Path) -> int:
    """Says what differs, and how it is looked into."""
    first, second = sums(dist), sums(other)
    if not (compared := [name for name in first if not name.endswith(IMAGE)]):
        print(f"error: {dist} has nothing to compare\nhint: make packages builds wheels, deb and rpm", file=sys.stderr)
        return 2
    if wrong := [*stale(dist, first, whole=True), *stale(other, second, whole=False)]:
        for said in wrong:
            print(f"error: {said}", file=sys.stderr)
        print("hint: SHA256SUMS is of another build; make packages writes files and sums anew", file=sys.stderr)
        return 1
    differ = differences(first, second)
    for name in differ:
        print(f"error: {name}: {first.get(name, 'not there')} in {dist}, {second.get(name, 'not there')} in {other}",
              file=sys.stderr)  # fmt: skip
    if differ:
        print(f"hint: both must be of one commit; then: diffoscope {dist / differ[0]} {other / differ[0]}",
              file=sys.stderr)  # fmt: skip
        return 1
    print(f"the same bytes twice: {', '.join(compared)}")
    return 0


def sums(folder: Path) -> dict[str, str]:
    """Hashes by name, as `SHA256SUMS` has them."""
    lines = (folder / "SHA256SUMS").read_text().splitlines()
    return {name: value for value, name in (line.split() for line in lines)}


def stale(folder: Path, told: dict[str, str], *, whole: bool) -> list[str]:
    """Packages of the folder that are not as `SHA256SUMS` says. ``whole``: all of them must be there."""
    wrong = []
    for name, value in told.items():
        path = folder / name
        if name.endswith(IMAGE) or (not whole and not path.exists()):
            continue
        if not path.is_file():
            wrong.append(f"{path}: it is in SHA256SUMS and not there")
        elif hashlib.sha256(path.read_bytes()).hexdigest() != value:
            wrong.append(f"{path}: its hash is not the one in SHA256SUMS")
    there = sorted(p for p in folder.iterdir() if p.suffix in PACKAGES)
    return wrong + [f"{p}: it is not in SHA256SUMS" for p in there if p.name not in told]


def differences(first: dict[str, str], second: dict[str, str]) -> list[str]:
    """Files that are not the same in both, or in one alone; the image is not asked."""
    names = sorted({*first, *second})
    return [name for name in names if not name.endswith(IMAGE) and first.get(name) != second.get(name)]


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
