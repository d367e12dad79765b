"""The real engine against itself: the same thing measured in pairs, until it is precise."""

from __future__ import annotations

import math
import os
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from statistics import fmean, median
from typing import Any

from honesty.rows import Row
from strata.analyse.series.course import course_of
from strata.app.measure import measure_endpoint
from strata.app.safety_gate import opened
from strata.app.until import BIN_S
from strata.engine import Backing, Shaping, TargetConfig, TargetProcess, Timing
from strata.host import testfile
from strata.model.course import Aim, Course, Ending
from strata.model.endpoint import Endpoint, EndpointKind
from strata.model.rw import Rw
from strata.model.workload import ClosedLoop, Workload

SIZE = 128 << 20
AIM = Aim(mean=0.02, percentile=None, seconds_min=1, seconds_max=2)
TIMING = Timing(ramp_s=0.1, runtime_s=2, interval_s=BIN_S)
BEFORE = 10
"""Measurements before any counts: about 20 s, in which the store learns the noise floor of the endpoint."""


class Busy:
    """Share of all processors' time that others used meanwhile, of `/proc/stat` less what this process used."""

    others = 0.0

    def __enter__(self) -> Busy:
        self._begin = (time.monotonic(), _used_ticks(), os.times())
        return self

    def __exit__(self, *_: Any) -> None:
        then, ticks, own = self._begin
        now = os.times()
        seconds = (time.monotonic() - then) * (os.cpu_count() or 1)
        mine = now.user + now.system + now.children_user + now.children_system
        mine -= own.user + own.system + own.children_user + own.children_system
        busy = (_used_ticks() - ticks) / os.sysconf("SC_CLK_TCK")
        self.others = max(0.0, (busy - mine) / seconds) if seconds > 0 else 0.0


def _used_ticks() -> int:
    fields = [int(x) for x in Path("/proc/stat").read_text().split("\n", 1)[0].split()[1:9]]
    idle, iowait = fields[3], fields[4]
    return sum(fields) - idle - iowait


@contextmanager
def endpoint(kind: str, directory: Path) -> Iterator[tuple[str, Endpoint, Workload]]:
    """(name, endpoint, workload): ``cache``: pages in memory; ``target``: an NBD server of Strata's whose service time
    is the limit; ``disk``: the medium under ``directory``."""
    words = {"rw": Rw.RANDREAD, "bs": 4096}
    if kind == "target":
        shape = Shaping(service_threads=4, service_time_ns=500_000)
        backing = Backing(kind="memory", size_bytes=SIZE, read_only=False)
        with TargetProcess(TargetConfig(backing=backing, shape=shape)) as server:
            name = "target, 4 servers of 500 µs, 4 KiB, depth 8"
            yield name, Endpoint.parse(server.uri(1)), Workload(arrival=ClosedLoop(iodepth=8), **words)
        return
    file = Endpoint.parse(f"file:{directory / f'strata-honesty-{os.getpid()}.dat'}")
    if kind == "cache":
        yield "page cache, 4 KiB, depth 1", file, Workload(arrival=ClosedLoop(iodepth=1), direct=False, **words)
    else:
        yield "disk file, 4 KiB unbuffered, depth 8", file, Workload(arrival=ClosedLoop(iodepth=8), **words)


def repeated(one: tuple[str, Endpoint, Workload], pairs: int) -> list[Row]:
    """Pairs in a row, as a user has them measured with one store; the truth is taken to be the mean of all, which is
    not known better. Two rows: the intervals as stated, and those of each start alone, as without a store."""
    name, endpoint, workload = one
    told: list[Course] = []
    alone: list[Course] = []
    with _made(endpoint, workload), tempfile.TemporaryDirectory(prefix="strata-honesty-") as folder:
        store = f"sqlite:///{folder}/strata.db"
        for number in range(2 * pairs + BEFORE):
            result = measure_endpoint(
                [endpoint.uri], workload, TIMING, size=SIZE, keep=False, destructive=None,
                engine="native", aim=AIM, store=store,
            )  # fmt: skip
            own = course_of(result.result.intervals, aim=AIM, ended=None, percentiles=())
            assert result.course is not None and own is not None and result.unkept is None, result.unkept
            if number >= BEFORE:
                told.append(result.course)
                alone.append(own)
    truth = fmean(c.iops.value for c in told)
    title = f"{name}, {truth:,.0f} IOPS".replace(",", " ").replace("  ", ", ")
    return [_row(title, told, truth), _row(f"{title}; each start alone", alone, truth)]


@contextmanager
def _made(endpoint: Endpoint, workload: Workload) -> Iterator[None]:
    """A file is made once and let go, so that each measurement can take it in hand; and removed at the end."""
    with opened(endpoint, workload, SIZE, True, None):
        pass
    try:
        yield
    finally:
        if endpoint.kind is EndpointKind.FILE:
            with testfile.own(str(endpoint.path)) as held:
                held.remove()


def _row(name: str, courses: list[Course], truth: float) -> Row:
    half = [c.iops.half_width or 0.0 for c in courses]
    value = [c.iops.value for c in courses]
    apart = [abs(value[i] - value[i + 1]) > math.hypot(half[i], half[i + 1]) for i in range(0, len(value), 2)]
    return Row(
        name=name,
        coverage=fmean(abs(v - truth) <= h for v, h in zip(value, half, strict=True)),
        different=fmean(apart),
        seconds=median(c.regimes[-1].end_s for c in courses),
        precise=fmean(c.ended is Ending.PRECISION for c in courses) if courses[0].ended is not None else None,
        steady=fmean(c.steady for c in courses),
        times=len(courses),
    )
