"""What a run tells while it is measured, kept where another process of the same user can follow it.

`recorded` wraps what a use case emits: each moment goes to who watches here, and into a file of the state directory,
which is gone when the run is over. Samples of a rate go there at most each `EVERY_S`, so a run of hours stays within
the bound of `strata.host.livefile`; when that is reached every second sample is left out.
"""

from __future__ import annotations

import math
import os
import re
import statistics
import threading
import time
from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path

from pydantic import ValidationError

from strata import units
from strata.app.runner import Emit
from strata.errors import StrataError
from strata.host import livefile
from strata.host.clock import now_unix_ns
from strata.host.ownership import folder
from strata.host.xdg import state_dir, state_dir_if_there
from strata.model.estimate import Estimate
from strata.model.finding import Diagnosis
from strata.model.live import LiveCell, LiveHead, LiveLayer, LivePoint, LiveRate, LiveRun
from strata.model.progress import Phase, Progress, StandingCause
from strata.model.stack import Layer, Stack
from strata.model.survey import Survey
from strata.parsing import RUN_ID

EVERY_S = 0.5
SHOWN_RATES = 240
"""Points of a chart: a point for each pixel and a half. More would take a tenth of a CPU to draw twice a second."""
STANDING_MOST = 8
POOLED_LEAST = 3
"""Degrees of freedom from which on what cells differ by is known together."""
_SUFFIX = ".live"
_HINT = "set STRATA_STATE_DIR to a directory of your own"
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
        path = folder(state_dir() / "live", _HINT, _HOLDS) / f"{run_id}{_SUFFIX}"
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
            now, of = time.monotonic(), _cell(p)
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


Cell = tuple[Phase, int | None, str | None, str | None]


def _cell(p: Progress) -> Cell:
    """What is measured: the rates of one are no rates of the next."""
    return p.phase, p.step, p.layer, p.label


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
    head: LiveHead | None = None
    points: deque[LivePoint] = field(default_factory=lambda: deque(maxlen=20_000))
    _lock: threading.Lock = field(default_factory=threading.Lock)
    _made: LiveRun | None = None

    def look(self) -> LiveRun | None:
        """The run at this moment; None where nobody measures it (any more)."""
        with self._lock:
            found = livefile.news(self.path, self.at)
            if found is None or not found.written:
                return None
            if found.anew:
                self.head = None
                self.points.clear()
            if found.lines:
                self._take(found.lines)
                self._made = None
            if self.head is not None and self._made is None:
                self._made = run_at(self.head, self.points)
            return self._made

    def _take(self, lines: Iterable[bytes]) -> None:
        for line in lines:
            with suppress(ValidationError):
                if self.head is None:
                    self.head = LiveHead.model_validate_json(line)
                else:
                    self.points.append(LivePoint.model_validate_json(line))


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


def run_at(head: LiveHead, points: Sequence[LivePoint]) -> LiveRun:
    """What stands of a run after these points. Pure."""
    began = head.began_unix_ns
    measured: list[tuple[LivePoint, int]] = []
    finished: dict[tuple[str, str], list[float]] = {}
    failed: list[str] = []
    cell = 0
    of: Cell | None = None
    standing: tuple[StandingCause, ...] = ()
    experiment = None
    for point in points:
        p = point.progress
        if p.standing:
            standing, experiment = p.standing, p.message
        if p.error:
            failed.append(" · ".join(filter(None, (p.layer, p.label, p.error))))
        if p.layer is None or p.label is None:
            continue
        if (now := _cell(p)) != of:
            cell, of = cell + 1, now
        if p.finished and p.iops is not None and p.error is None and p.phase is not Phase.CONFIRM:
            finished.setdefault((p.layer, p.label), []).append(p.iops)
        if p.iops is not None and p.error is None:
            measured.append((point, cell))
    last = points[-1] if points else None
    spread = _pooled(finished.values())
    return LiveRun(
        head=head,
        last=last.number if last else 0,
        now=last.progress if last else None,
        seconds=(last.at_unix_ns - began) / units.NS_PER_S if last else 0.0,
        failed=tuple(dict.fromkeys(failed))[-5:],
        cells=tuple(LiveCell(layer=a, label=b, iops=_estimate(v, spread)) for (a, b), v in finished.items()),
        rates=tuple(_rate(point, of_cell, began) for point, of_cell in _thinned(measured)),
        standing=standing,
        experiment=experiment,
    )


def _pooled(cells: Iterable[Sequence[float]]) -> float | None:
    """What rounds of one cell differ by, on logarithms, over all cells; None with too few. Two rounds alone say next to
    nothing of it."""
    logs = [[math.log(v) for v in cell] for cell in cells if len(cell) > 1 and min(cell) > 0]
    freedom = sum(len(cell) - 1 for cell in logs)
    if freedom < POOLED_LEAST:
        return None
    return math.sqrt(sum(statistics.variance(cell) * (len(cell) - 1) for cell in logs) / freedom)


def _estimate(values: Sequence[float], spread: float | None) -> Estimate:
    # The numerical libraries are loaded by who watches, not by who measures.
    from strata.analyse.stats import estimate

    return estimate(values, "IOPS", spread)


def _rate(point: LivePoint, cell: int, began: int) -> LiveRate:
    p = point.progress
    assert p.layer is not None and p.iops is not None
    second = (point.at_unix_ns - began) / units.NS_PER_S
    return LiveRate(second=second, layer=p.layer, cell=cell, iops=p.iops,
                    bytes_per_second=p.bytes_per_second, p50_ns=p.p50_ns, p99_ns=p.p99_ns)  # fmt: skip


def _thinned(measured: Sequence[tuple[LivePoint, int]]) -> Sequence[tuple[LivePoint, int]]:
    """About `SHOWN_RATES`. Those with times and those without come in turn where cells are brief: each kind is thinned
    by itself, so that neither is gone."""
    step = -(-len(measured) // SHOWN_RATES) or 1
    kinds: tuple[list[tuple[LivePoint, int]], ...] = ([], [])
    for one in measured:
        kinds[one[0].progress.p50_ns is None].append(one)
    kept = (one for kind in kinds for one in kind[(len(kind) - 1) % step :: step])
    return sorted(kept, key=lambda one: one[0].number)
