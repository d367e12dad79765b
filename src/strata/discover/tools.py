"""Programs of the system that know what no file of the kernel says: dmsetup, smartctl, nvme, zfs, zpool.

None is needed. What a program would have said and did not is collected, so that the survey tells it.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from strata import units
from strata.host import process, programs
from strata.host.proc import Sys
from strata.parsing import Malformed, json_of

TIMEOUT_S = 5.0
"""A disk that is failing may take long to answer, and the survey is not to wait for it."""
_BYTES_MOST = units.MIB

Run = Callable[[Sequence[str]], str]
"""The words of a program -> its standard output. Raises `OSError`, which a program that is not installed is too."""


def run(words: Sequence[str]) -> str:
    """Runs it, at most `TIMEOUT_S`. Its exit code says no more than its output (smartctl's is a set of bits)."""
    done = process.run(words, TIMEOUT_S)
    if not done.out.strip() and done.code:
        raise OSError(done.code, (done.err.strip().splitlines() or ["it failed"])[-1][:200])
    return done.out[:_BYTES_MOST]


def absent(words: Sequence[str]) -> str:
    """For a recorded tree: the programs of this machine know nothing of it."""
    raise FileNotFoundError(2, "it is not installed", words[0])


@dataclass(frozen=True)
class Tools:
    """``missed``: what was to be learnt from a program -> why it was not."""

    run: Run
    root: bool = True
    missed: dict[str, str] = field(default_factory=dict)

    @classmethod
    def of(cls, sys: Sys) -> Tools:
        """Of this machine, or of a recorded one, which has none."""
        return cls(run if sys.live else absent, os.geteuid() == 0)

    def has(self, program: str) -> bool:
        """Whether it is installed; what is recorded is asked instead."""
        return self.run is not run or programs.find(program) is not None

    def text(self, wanted: str, *words: str) -> str | None:
        """What the program says; None, and noted as missed, where it says nothing. ``wanted`` names the fact."""
        try:
            return self.run(words)
        except FileNotFoundError:
            self.missed[wanted] = f"{words[0]} is not installed"
        except OSError as e:
            why = (e.strerror or str(e)).rstrip(".")
            self.missed[wanted] = f"{words[0]}: {why}" if self.root else f"{words[0]} needs root"
        return None

    def json(self, wanted: str, *words: str) -> dict[str, Any]:
        """The document that the program prints; empty where it prints none."""
        text = self.text(wanted, *words)
        if text is None:
            return {}
        try:
            found = json_of(text)
        except Malformed as e:
            self.missed[wanted] = f"{words[0]}: {e}"
            return {}
        return found if isinstance(found, dict) else {}
