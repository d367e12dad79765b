"""Where the programs are: our own, built here, and the peers this machine has."""

from __future__ import annotations

import os
import resource
import shutil
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path

from .sample import NotHere

ROOT = Path(__file__).resolve().parents[3]


@dataclass(frozen=True)
class Done:
    """A finished process: its words, wall time in s, and its own processor time (children included) in ns."""

    stdout: str
    wall_s: float
    user_ns: float
    cpu_ns: float


def build() -> Path:
    """Build the benchmark's own programs (release); the directory they are in."""
    # The words of scripts/house.py: with the engine, whose dependencies then serve both.
    words = ["cargo", "build", "--locked", "--release", "--quiet", "-p", "strata-py", "-p", "strata-bench"]
    words += ["--features", "strata-py/extension-module"]
    subprocess.run(words, cwd=ROOT, check=True, env=os.environ | {"PYO3_PYTHON": sys.executable})
    return Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target")) / "release"


def peer(name: str, variable: str, *others: str) -> str:
    """Path of a peer: what the environment variable says, else the first name on PATH."""
    asked = os.environ.get(variable)
    for word in [asked] if asked else [name, *others]:
        if found := shutil.which(word):
            return found
    raise NotHere(f"{name} is not on this machine ({variable}=path names one)")


def fio() -> str:
    """fio."""
    return peer("fio", "FIO")


def t_io_uring() -> str:
    """fio's minimal engine, built from its source as `t/io_uring`."""
    return peer("t/io_uring", "T_IO_URING", "t_io_uring", "io_uring")


def run(words: list[str], cpus: set[int] | None = None, stdin: str | None = None) -> Done:
    """Run to the end, held to `cpus`. NotHere with its last words when it fails."""
    before, begun = resource.getrusage(resource.RUSAGE_CHILDREN), time.monotonic()
    done = subprocess.run(
        words,
        input=stdin,
        capture_output=True,
        text=True,
        check=False,
        timeout=600,
        preexec_fn=(lambda: os.sched_setaffinity(0, cpus)) if cpus else None,
    )
    wall, after = time.monotonic() - begun, resource.getrusage(resource.RUSAGE_CHILDREN)
    if done.returncode:
        last = (done.stderr or done.stdout).strip().splitlines()[-1:]
        raise NotHere(f"{Path(words[0]).name} ended with {done.returncode}: {' '.join(last)}")
    user, system = (getattr(after, k) - getattr(before, k) for k in ("ru_utime", "ru_stime"))
    return Done(done.stdout, wall, user * 1e9, (user + system) * 1e9)
