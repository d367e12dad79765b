"""What one run of one load generator gave."""

from __future__ import annotations

from dataclasses import dataclass


class NotHere(Exception):
    """A tool is not on this machine, or cannot do this; the text says which and why."""


@dataclass(frozen=True)
class Sample:
    """One run. Times are for one I/O, in ns; what a tool does not tell is None."""

    ios: int
    iops: float
    user_ns: float | None = None
    cpu_ns: float | None = None
    mean_ns: float | None = None
