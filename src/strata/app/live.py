"""What a run tells while it is measured, kept where another process of the same user can follow it.

`recorded` wraps what a use case emits: each moment goes to who watches here, and into a file of the state directory,
which is gone when the run is over. Samples of a rate go there at most each `EVERY_S`, so a run of hours stays within
the bound of `strata.host.livefile`; when that is reached every second sample is left out.
"""

from __future__ import annotations

import os
import re
import threading
import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path

from pydantic import TypeAdapter, ValidationError

from strata.app.live_run import Cell, RunSoFar, cell_of
from strata.app.runner import Emit
from strata.errors import StrataError
from strata.host import livefile
from strata.host.clock import now_unix_ns
from strata.host.ownership import folder
from strata.host.xdg import ELSEWHERE, state_dir, state_dir_if_there
from strata.model.finding import Diagnosis
from strata.model.live import LiveHead, LiveLayer, LivePoint, LiveRun
from strata.model.progress import Progress, StandingCause
from strata.model.stack import Layer, Stack
from strata.model.survey import Survey
from strata.parsing import RUN_ID

EVERY_S = 0.5
STANDING_MOST = 8
_SUFFIX = ".live"
_POINTS = TypeAdapter(list[LivePoint])
_HOLDS = r"\.?.*\.live.*"


@contextmanager
def recorded(
    run_id: str, stack: Stack, emit: Emit, goal: float | None = None, survey: Survey | None = None
) -> Iterator[Emit]:
    """``emit``, and everything it is told kept for others until the block ends. What cannot be kept costs nothing."""
    began = now_unix_ns()
    head = LiveHead(
        run=run_id, stack=stack.name, layers=tuple(map(_layer, stack.layers)), began_unix_ns=began,
        pid=os.getpid(), goal=goal, here=None if survey is None else stack.here(survey.hostname),
        cards=() if survey is None else tuple(one for one in survey.interfaces if one.card),
        devices=() if survey is None else tuple(one.name for one in survey.devices),
    )  # fmt: skip
    try:
        path = folder(state_dir() / "live", ELSEWHERE, _HOLDS) / f"{run_id}{_SUFFIX}"
    except StrataError:
        yield emit
        return
    livefile.living(path.parent, _SUFFIX)
    with livefile.written(path, _shorter) as file:
        if file is None:
            yield emit
            return
        recorder = _Recorder(file)
        recorder.put(head.model_dump_json(exclude_defaults=True))

        def told(progress: Progress) -> None:
            recorder.take(progress)
            emit(progress)

        yield told


def _layer(layer: Layer) -> LiveLayer:
    return LiveLayer(name=layer.name, endpoint=layer.endpoint, node=layer.node, on=layer.on)


class _Recorder:
    """Which moments are kept."""

    def __init__(self, file: livefile.LiveFile) -> None:
        self._file: livefile.LiveFile | None = file
        self._number, self._sampled = 0, -EVERY_S
        self._of: Cell | None = None

    def take(self, p: Progress) -> None:
        if _is_sample(p):
            now, of = time.monotonic(), cell_of(p)
            if now - self._sampled < EVERY_S and of == self._of:
                return
            self._sampled, self._of = now, of
        self._number += 1
        point = LivePoint(number=self._number, at_unix_ns=now_unix_ns(), progress=p)
        self.put(point.model_dump_json(exclude_defaults=True))

    def put(self, line: str) -> None:
        if self._file is None:
            return
        try:
            self._file.add(line.encode("utf-8", "replace"))
        except OSError:
            self._file = None


def _is_sample(p: Progress) -> bool:
    return p.iops is not None and not p.finished and p.error is None


def _shorter(lines: Sequence[bytes]) -> Sequence[bytes]:
    """The head, every second sample, and the rest; of that the newest half where it is still too long."""
    head, *rest = lines
    kept, odd = [], False
    for line in rest:
        sample = b'"finished"' not in line and b'"iops"' in line
        odd = odd != sample
        if not sample or odd:
            kept.append(line)
    if sum(map(len, kept)) > livefile.MOST_BYTES * 3 // 4:
        kept = kept[len(kept) // 2 :]
    return [head, *kept]


def standing_of(diagnosis: Diagnosis) -> tuple[StandingCause, ...]:
    """The causes that a diagnosis names, as who watches is told of them."""
    return tuple(
        StandingCause(
            layer=f.layer, cause=f.cause.words, title=f.title, confidence=f.confidence,
            holds=None if f.outcome is None else f.outcome.holds,
        )
        for f in diagnosis.findings[:STANDING_MOST]
    )  # fmt: skip


@dataclass
class LiveFeed:
    """The reader's side of one run; several may ask at once."""

    path: Path
    at: livefile.Position = field(default_factory=livefile.Position)
    so_far: RunSoFar | None = None
    _lock: threading.Lock = field(default_factory=threading.Lock)
    _made: LiveRun | None = None

    def look(self) -> LiveRun | None:
        """The run at this moment; None where nobody measures it (any more)."""
        with self._lock:
            found = livefile.news(self.path, self.at)
            if found is None or not found.written:
                return None
            if found.anew:
                self.so_far = None
            if found.lines:
                self._take(found.lines)
                self._made = None
            if self.so_far is not None and self._made is None:
                self._made = self.so_far.run()
            return self._made

    def _take(self, lines: Sequence[bytes]) -> None:
        begin = 0
        while self.so_far is None and begin < len(lines):
            with suppress(ValidationError):
                self.so_far = RunSoFar(LiveHead.model_validate_json(lines[begin]))
            begin += 1
        if self.so_far is not None:
            for point in _points(lines[begin:]):
                self.so_far.take(point)


def _points(lines: Sequence[bytes]) -> Iterable[LivePoint]:
    """What the lines tell; those that tell nothing are left out."""
    try:
        # A record of hours has thousands: as one list they are read in half the time.
        return _POINTS.validate_json(b"[" + b",".join(lines) + b"]")
    except ValidationError:
        return list(_each(lines))


def _each(lines: Iterable[bytes]) -> Iterator[LivePoint]:
    for line in lines:
        with suppress(ValidationError):
            yield LivePoint.model_validate_json(line)


def feed_of(run_id: str) -> LiveFeed | None:
    """The feed of a run that is measured now by a process with this state directory; None where there is none."""
    place = state_dir_if_there()
    if place is None or re.fullmatch(RUN_ID, run_id) is None:
        return None
    path = place / "live" / f"{run_id}{_SUFFIX}"
    return LiveFeed(path) if path.exists() else None


def measured_now() -> tuple[LiveHead, ...]:
    """The runs that are measured now, the newest first."""
    place = state_dir_if_there()
    found = []
    for path in livefile.living(place / "live", _SUFFIX) if place is not None else ():
        lines = livefile.news(path, livefile.Position())
        if lines is not None and lines.lines:
            with suppress(ValidationError):
                found.append(LiveHead.model_validate_json(lines.lines[0]))
    return tuple(found)
