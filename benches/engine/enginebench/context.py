"""What all measures work with: programs, processors, files, and how long and how often."""

from __future__ import annotations

import os
import random
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from . import tools
from .sample import NotHere, Sample

MIB = 1 << 20
Leg = Callable[[], Sample]


@dataclass(frozen=True)
class Context:
    """`cpu` carries the load, `other` servers; `seconds` is one run's length."""

    programs: Path
    directory: Path
    file: Path
    file_bytes: int
    cpu: int
    other: int
    rounds: int
    seconds: float
    smoke: bool

    def rounds_of(
        self, legs: dict[str, Leg], rounds: int | None = None
    ) -> tuple[dict[str, list[Sample]], dict[str, str]]:
        """Every leg once a round, in an order that changes; samples by leg, and why a leg has none."""
        samples: dict[str, list[Sample]] = {name: [] for name in legs}
        absent: dict[str, str] = {}
        for turn in range(rounds or self.rounds):
            names = [name for name in legs if name not in absent]
            random.Random(turn).shuffle(names)
            for name in names:
                try:
                    samples[name].append(legs[name]())
                except NotHere as e:
                    absent[name] = str(e)
                    samples.pop(name, None)
        return samples, absent


@contextmanager
def context(rounds: int, seconds: float, smoke: bool, directory: Path | None) -> Iterator[Context]:
    """Builds the programs, writes the file (all of it, incompressible), and removes it at the end."""
    programs = tools.build()
    place = directory or programs
    cpus = sorted(os.sched_getaffinity(0))
    size = (64 if smoke else 256) * MIB
    with tempfile.TemporaryDirectory(prefix="bench-engine-", dir=place) as name:
        file = Path(name) / "file"
        with file.open("wb") as out:
            for _ in range(size // (8 * MIB)):
                out.write(os.urandom(8 * MIB))
            out.flush()
            os.fsync(out.fileno())
        # What is measured here is no run of the user's.
        os.environ["STRATA_STORE"] = f"sqlite:///{name}/strata.db"
        yield Context(programs, Path(name), file, size, cpus[-1], cpus[0], rounds, seconds, smoke)


def say(what: str) -> None:
    """Progress goes to stderr: stdout is the table."""
    print(f"· {time.strftime('%H:%M:%S')} {what}", file=sys.stderr, flush=True)
