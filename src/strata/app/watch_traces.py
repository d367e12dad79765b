"""Short traces while a load is watched: what reaches each device, whose it is, and some single requests of it."""

from __future__ import annotations

import tempfile
import threading
import time
from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from strata.errors import StrataError
from strata.model.trace import DeviceTrace, TraceFigures, TraceTarget, summary_of
from strata.model.watch import Arrival, Requests, Sharer
from strata.probes.issuers import process_of_thread
from strata.probes.trace import recording
from strata.probes.trace.requests import TracedRequests, requests_of

FIRST_S, WINDOW_S, APART_S = 2.5, 1.5, 10.0
WINDOWS_MOST = 5
EVENTS_MOST = 120_000
REQUESTS_FIRST, REQUESTS_MOST = 500, 1000
SHARERS_MOST = 8
DEVICES_MOST = 4
BIN_S = 0.02
_READY_S = 3.0


class Traces:
    """One short trace at the beginning, and others later, in a thread of its own. ``began``: monotonic seconds.

    ``figures``: those of the trace with the most requests. ``absent``: why there are none, or no more.
    """

    def __init__(self, targets: Sequence[TraceTarget], began: float, apart_s: float = APART_S) -> None:
        self._targets, self._began, self._apart_s = tuple(targets)[:DEVICES_MOST], began, apart_s
        self._stop, self._ready = threading.Event(), threading.Event()
        self._thread = threading.Thread(target=self._go, name="strata-watch-traces", daemon=True)
        self.arrivals: list[Arrival] = []
        self.figures: TraceFigures | None = None
        self.whole = True
        self.absent: str | None = None

    def start(self) -> None:
        """Returns when the first one records: what is started afterwards is in it from its first request."""
        self._thread.start()
        self._ready.wait(_READY_S)

    def stop(self) -> None:
        """Ends the one that is under way."""
        self._stop.set()
        self._thread.join()

    def _go(self) -> None:
        try:
            for number in range(WINDOWS_MOST):
                if number and self._stop.wait(self._apart_s if number > 1 else self._apart_s / 2):
                    return
                self._one(FIRST_S if number == 0 else WINDOW_S, first=number == 0)
                if self._stop.is_set():
                    return
        except (StrataError, OSError, ValueError) as e:
            self.absent = e.headline if isinstance(e, StrataError) else str(e)
        finally:
            self._ready.set()

    def _one(self, seconds: float, *, first: bool) -> None:
        with tempfile.TemporaryDirectory(prefix="strata-watch-") as folder:
            path = Path(folder) / "trace"
            with recording(self._targets, seconds, EVENTS_MOST, path) as window:
                from_s = time.monotonic() - self._began
                self._ready.set()
                while (done := window.wait(0.1)) is None:
                    if self._stop.is_set():
                        window.stop()
                figures, told = done
            self.whole = self.whole and told.whole
            for device in figures.devices:
                if device.requests:
                    self.arrivals.append(_arrival(device, figures, path, from_s, first, told.whole))
            if self.figures is None or _requests(figures) > _requests(self.figures):
                self.figures = figures


def _requests(figures: TraceFigures) -> int:
    return sum(d.requests for d in figures.devices)


def _arrival(
    device: DeviceTrace, figures: TraceFigures, path: Path, from_s: float, first: bool, whole: bool
) -> Arrival:
    target = device.target
    each = requests_of(path, target.dev, entrance=target.entrance, by_bio=target.by_bio)
    seconds = figures.window_ns / 1e9
    lengths: dict[int, int] = defaultdict(int)
    for half in (device.read, device.write):
        for size, n in (half.entered if half.entered.ios else half.issued).lengths:
            lengths[size] += n
    ranges = [r for half in (device.read, device.write) if (r := half.issued.range) is not None]
    done, in_flight = _bins(each)
    return Arrival(
        device=target.name,
        from_s=round(from_s, 3),
        seconds=round(seconds, 3),
        summary=summary_of(device, seconds, whole),
        lengths=tuple(sorted(lengths.items(), key=lambda one: -one[1])[:8]),
        range_bytes=(min(a for a, _ in ranges), max(b for _, b in ranges)) if ranges else None,
        depths=device.depth,
        sharers=_sharers(each),
        bin_s=BIN_S,
        done=done,
        flying=in_flight,
        requests=_stretch(target.name, each, from_s, first, fresh=device.began_before == 0),
    )


def _bins(each: TracedRequests) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Completions in each bin from the first issue to the last one, and what was in flight at the end of each."""
    if not each.issued_ns.size:
        return (), ()
    step = int(BIN_S * 1e9)
    start, end = int(each.issued_ns[0]), int(each.issued_ns.max())
    edges = np.arange(start, end + 1, step)
    if edges.size < 2:
        return (), ()
    done = np.histogram(each.done_ns, edges)[0]
    ended = np.sort(each.issued_ns + each.took_ns)
    at = edges[1:]
    in_flight = np.searchsorted(np.sort(each.issued_ns), at, side="right") - np.searchsorted(ended, at, side="right")
    return tuple(done.tolist()), tuple(np.maximum(in_flight, 0).tolist())


def _stretch(device: str, each: TracedRequests, from_s: float, first: bool, *, fresh: bool) -> Requests | None:
    count = min(each.issued_ns.size, REQUESTS_FIRST if first else REQUESTS_MOST)
    if count < 2:
        return None
    # Of the first trace its beginning, with the first requests; of the others the middle, where all is under way.
    at = 0 if first else (each.issued_ns.size - count) // 2
    mine = slice(at, at + count)
    issued = each.issued_ns[mine]
    return Requests(
        device=device,
        from_s=round(from_s, 3),
        fresh=fresh and at == 0,
        issued_us=tuple(((issued - issued[0]) // 1000).tolist()),
        took_us=tuple((each.took_ns[mine] // 1000).tolist()),
        bytes=tuple(each.bytes[mine].tolist()),
        writes=tuple(each.writes[mine].tolist()),
    )


def _sharers(each: TracedRequests) -> tuple[Sharer, ...]:
    """The threads' processes, as long as they are there to be asked."""
    total = sum(n for *_, n in each.who) or 1
    found: dict[int, Sharer] = {}
    for tid, name, n in each.who[: 4 * SHARERS_MOST]:
        pid, kernel = process_of_thread(tid)
        before = found.get(pid)
        share = n / total + (before.share if before else 0.0)
        found[pid] = Sharer(pid=pid, name=before.name if before else name, share=round(share, 4), kernel=kernel)
    return tuple(sorted(found.values(), key=lambda s: -s.share)[:SHARERS_MOST])
