"""Traces made up as text of blkparse, so that the tests of what is shown need no device."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from strata.host.untrusted import opened
from strata.model.trace import Losses, Recorder, TraceFigures, TraceRecording
from strata.probes.trace import TRACE_MOST, read_trace

SECTORS = 16
Io = tuple[str, int]
"""(letters, block of 8 KiB)."""


def text(
    ios: Sequence[Io], service_us: int = 100, pids: Sequence[int] = (7,), lengths: Sequence[int] = (SECTORS,)
) -> str:
    """Each entered, issued and done before the next, 1 ms apart; threads and lengths (sectors) take turns."""
    lines = []
    for n, (letters, block) in enumerate(ios):
        begin, sector, pid = n * 1_000_000, block * SECTORS, pids[n % len(pids)]
        for after, action, who in ((0, "Q", pid), (2000, "D", pid), (2000 + service_us * 1000, "C", 0)):
            at, tail = begin + after, "[0]" if action == "C" else f"[job{pid}]"
            place = f"{sector} + {lengths[n % len(lengths)]}"
            stamp = f"{at // 10**9}.{at % 10**9:09}"
            lines.append(f"8,0 0 {len(lines) + 1} {stamp} {who} {action} {letters} {place} {tail}")
    return "\n".join(lines)


def figures(folder: Path, ios: Sequence[Io], **more: object) -> TraceFigures:
    """What the engine makes of it."""
    path = folder / "recorded.txt"
    path.write_text(text(ios, **more))  # type: ignore[arg-type]
    with opened(path, "cannot read", TRACE_MOST) as fd:
        found = read_trace(fd, path)
    assert (found.form, found.recording) == ("blkparse", None)
    return found.figures


def recording(lost: int = 0, records: int = 300, wall_ns: int = 10**9, cpu_ns: int = 10**6) -> TraceRecording:
    """How it may have been recorded."""
    losses = Losses(overrun=lost, commit_overrun=0, dropped=0, missed=0, gaps=int(lost > 0), broken_pages=0, cut=0)
    recorder = Recorder(cpu_ns=cpu_ns, wall_ns=wall_ns, pages=9, records=records, foreign=0)
    return TraceRecording(ended_by="time", began_ns=0, whole=lost == 0, losses=losses, recorder=recorder)
