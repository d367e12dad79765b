"""What a run shows while it runs where stderr is no terminal: lines. It never ends a run: it falls silent with its
stream.
"""

from __future__ import annotations

import sys
from typing import TextIO

from strata import units
from strata.model.progress import Phase, Progress
from strata.report.text_layout import clean
from strata.text.output import say

PHASE = {
    Phase.SURVEY: "surveying",
    Phase.PREPARE: "preparing",
    Phase.GENERATOR: "measuring the load generator",
    Phase.PRECONDITION: "preconditioning",
    Phase.MEASURE: "measuring",
    Phase.CONFIRM: "confirming",
    Phase.REPORT: "reporting",
    Phase.VERIFY: "verifying",
}


def place(p: Progress) -> str:
    """``share · random read · 4 KiB · depth 32``, or the message where no cell is running."""
    return clean(" · ".join(x for x in (p.layer, p.label) if x) or p.message)


def rates(p: Progress) -> list[str]:
    """IOPS, bandwidth and p99, those that are known."""
    parts = []
    if p.iops is not None:
        parts.append(f"{units.count(p.iops)} IOPS")
    if p.bytes_per_second is not None:
        parts.append(units.rate(p.bytes_per_second))
    if p.p99_ns is not None:
        parts.append(f"p99 {units.duration(p.p99_ns)}")
    return parts


def time_left(p: Progress) -> str:
    """``2 min 5 s left``, whole seconds; empty where it is not known."""
    if p.seconds_left is None:
        return ""
    seconds = round(max(p.seconds_left, 0))
    return f"{seconds // 60} min {seconds % 60} s left" if seconds >= 60 else f"{seconds} s left"


class PlainView:
    """A line when the phase changes, and one for each finished or failed step. Nothing in between."""

    def __init__(self, stream: TextIO | None = None) -> None:
        self._stream = sys.stderr if stream is None else stream
        self._phase: Phase | None = None
        self._closed = False

    def update(self, progress: Progress) -> None:
        """Prints at most one line."""
        p = progress
        new, self._phase = p.phase is not self._phase, p.phase
        if p.error:
            self._print(f"{self._where(p)}failed: {place(p)}: {clean(p.error)}")
        elif p.finished:
            told = ", ".join([*rates(p), *([time_left(p)] if p.seconds_left else [])])
            self._print(f"{self._where(p)}{place(p)}{': ' if told else ''}{told}")
        elif new:
            said = "" if p.layer else clean(p.message)
            self._print(f"{PHASE[p.phase]}{': ' if said else ''}{said}")

    def close(self) -> None:
        """Nothing more is printed."""
        self._closed = True

    @staticmethod
    def _where(p: Progress) -> str:
        step = f"[{p.step}/{p.steps}] " if p.step is not None and p.steps is not None else ""
        round_ = f"round {p.round}/{p.rounds} " if p.round is not None and p.rounds is not None else ""
        return step + round_

    def _print(self, line: str) -> None:
        if self._closed:
            return
        try:
            say(line, self._stream)
        except (OSError, ValueError):
            self._closed = True
