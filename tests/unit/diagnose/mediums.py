"""A simulated medium with a known fault, measured as the engine and the probes do: by events, on a clock of its own.

Requests of a closed loop pass the way to the device (a constant time), a budget of requests and bytes, and one of
the members, of ``servers`` each, whose work stands still or slows down by the clock. What comes out are the values
of real cells: intervals of 20 ms, distributions, counters of the block device.
"""

from __future__ import annotations

import heapq
import math
import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache

from strata.analyse import analyse
from strata.diagnose import diagnose
from strata.model import histogram
from strata.model.analysis import Analysis, Generator
from strata.model.expect import Expect
from strata.model.experiment import Experiment, Tried
from strata.model.finding import Diagnosis
from strata.model.plan import Cell
from strata.model.result import CellResult, Direction, EngineResult, Interval, IntervalDirection
from strata.model.series import Series, SeriesKind
from strata.model.stack import Layer, Stack
from strata.model.workload import Sync, Workload
from strata.plan.workloads import DIAGNOSE

from .scenes import plan_of

RAMP, SPAN, BIN = 0.1, 0.5, 0.02


@dataclass(frozen=True)
class Medium:
    """Times in seconds, rates per second, 0: not there. ``stall``, ``phase``: (every, for), of ``factor`` times slower.

    ``strangers`` are I/Os that somebody else keeps in flight; ``hiccup`` how often a second the machine under test
    holds everything up, for up to 20 ms.
    """

    servers: int = 4
    service: float = 2.4e-3
    bytes_per_s: float = 250e6
    way: float = 4e-5
    members: int = 1
    lame: float = 1.0
    iops: float = 0.0
    mbps: float = 0.0
    stall: tuple[float, float] | None = None
    phase: tuple[float, float] | None = None
    factor: float = 8.0
    flush: float = 0.0
    cache: float = 0.0
    """Share of the reads that a cache answers, in 20 µs."""
    write_cache: float = 0.0
    drain: float = 0.0
    strangers: int = 0
    hiccup: float = 0.0
    noise: float = 0.02

    def work(self, size: int) -> float:
        """Of one request, alone."""
        return self.service + size / self.bytes_per_s


CALM = Medium()
SPECIFIED = Expect(iops=1644, latency="2.47ms", bandwidth="179MB/s")


@dataclass
class _Seen:
    """One I/O: when it began and ended, and how long its flush took."""

    start: float
    end: float
    flush: float


def _slowed(m: Medium, t: float, work: float) -> float:
    """When ``work`` that begins at ``t`` is done."""
    while True:
        speed, change = 1.0, math.inf
        for wave, its in ((m.stall, 0.0), (m.phase, 1 / m.factor)):
            if wave is not None:
                into = t % wave[0]
                slow = into < wave[1] - 1e-12
                speed *= its if slow else 1.0
                change = min(change, t + (wave[1] if slow else wave[0]) - into)
        if speed > 0 and t + work / speed <= change:
            return t + work / speed
        work -= (change - t) * speed
        t = change + 1e-12


class _Device:
    """State over one cell."""

    def __init__(self, m: Medium, rng: random.Random) -> None:
        self.m, self.rng = m, rng
        self.free = [[0.0] * m.servers for _ in range(m.members)]
        self.budget = [0.0, 0.0]
        self.drained = 0.0
        self.factor = math.exp(rng.gauss(0, m.noise))
        self.held_until, self.next_hiccup = 0.0, self._hiccup(0.0)

    def _hiccup(self, t: float) -> float:
        return t + self.rng.expovariate(self.m.hiccup) if self.m.hiccup else math.inf

    def serve(self, t: float, size: int, writes: bool, durable: bool) -> tuple[float, float]:
        """(when it is done, what the flush behind it took)."""
        m = self.m
        while t >= self.next_hiccup:
            self.held_until = self.next_hiccup + self.rng.uniform(0, 0.02)
            self.next_hiccup = self._hiccup(self.held_until)
        at = max(t, self.held_until)
        for i, each in enumerate((1 / m.iops if m.iops else 0, size / m.mbps if m.mbps else 0)):
            at = max(at, self.budget[i])
            self.budget[i] = max(t, self.budget[i]) + each
        if writes and m.write_cache:
            begun = max(at, self.drained - m.write_cache / m.drain)
            self.drained = max(self.drained, begun) + size / m.drain
            done = begun + 5e-5
        elif not writes and self.rng.random() < m.cache:
            done = _slowed(m, at, 2e-5)
        else:
            one = self.rng.randrange(m.members)
            free = heapq.heappop(self.free[one])
            slow = m.lame if one == 0 and m.members > 1 else 1.0
            work = m.work(size) * slow * self.factor * math.exp(self.rng.gauss(0, 0.01))
            done = _slowed(m, max(at, free), work)
            heapq.heappush(self.free[one], done)
        flush = _slowed(m, max(done, self.drained), m.flush) - done if writes and durable else 0.0
        return done + flush, flush


def _run(m: Medium, w: Workload, begin: float, rng: random.Random) -> tuple[list[_Seen], list[_Seen]]:
    """Our I/Os and the strangers', from the beginning of the ramp."""
    device, end = _Device(m, rng), begin + RAMP + SPAN
    queue = [(begin + i * 1e-6, i, True) for i in range(w.outstanding)]
    queue += [(begin - 0.1 + i * 1e-6, w.outstanding + i, False) for i in range(m.strangers)]
    heapq.heapify(queue)
    ours: list[_Seen] = []
    others: list[_Seen] = []
    while queue[0][0] < end:
        t, who, mine = heapq.heappop(queue)
        arrived = t + m.way * math.exp(rng.gauss(0, 0.2))
        size, writes = (round(w.bs_moments[0]), w.rw.writes) if mine else (8192, False)
        done, flush = device.serve(arrived, size, writes, mine and w.sync is Sync.DSYNC)
        (ours if mine else others).append(_Seen(t, done, flush))
        heapq.heappush(queue, (done, who, mine))
    return ours, others


def _direction(w: Workload, seen: Sequence[_Seen]) -> Direction:
    times: dict[int, int] = {}
    for one in seen:
        ns = round((one.end - one.start) * 1e9)
        times[ns] = times.get(ns, 0) + 1
    size = round(w.bs_moments[0])
    spent = sum(ns * n for ns, n in times.items())
    return Direction(
        ops=len(seen),
        bytes=len(seen) * size,
        service_sum_ns=spent,
        service_time=histogram.from_bins(times) if times else None,
    )


def _intervals(w: Workload, seen: Sequence[_Seen], start: float) -> tuple[Interval, ...]:
    bins = [0] * round(SPAN / BIN)
    for one in seen:
        bins[min(len(bins) - 1, int((one.end - start) / BIN))] += 1
    none = IntervalDirection(ops=0, bytes=0, errors=0)
    found = []
    for i, n in enumerate(bins):
        one = IntervalDirection(ops=n, bytes=n * round(w.bs_moments[0]), errors=0)
        read, write = (none, one) if w.rw.writes else (one, none)
        found.append(Interval(start_ns=round(i * BIN * 1e9), end_ns=round((i + 1) * BIN * 1e9), read=read, write=write))
    return tuple(found)


def _counters(
    w: Workload, ours: Sequence[_Seen], others: Sequence[_Seen], span: tuple[float, float]
) -> tuple[Series, ...]:
    start, end = span
    size = round(w.bs_moments[0])
    both = [*ours, *others]
    edges = sorted((max(s.start, start), min(s.end, end)) for s in both if s.end > start and s.start < end)
    busy, reached = 0.0, start
    for a, b in edges:
        busy += max(0.0, b - max(a, reached))
        reached = max(reached, b)
    inside = [s for s in ours if start <= s.end < end]
    foreign = [s for s in others if start <= s.end < end]
    flushes = [s.flush for s in inside if w.sync is Sync.DSYNC]
    mine = "write" if w.rw.writes else "read"
    values = {f"{kind}{what}": 0.0 for kind in ("read", "write") for what in ("s", "_bytes", "_seconds")}
    values["reads"] += len(foreign)
    values["read_bytes"] += 8192 * len(foreign)
    values[f"{mine}s"] += len(inside)
    values[f"{mine}_bytes"] += size * len(inside)
    values[f"{mine}_seconds"] += sum(s.end - s.start - s.flush for s in inside)
    values |= {"flushes": len(flushes), "flush_seconds": sum(flushes)}
    values |= {"io_seconds": busy, "weighted_seconds": sum(b - a for a, b in edges)}
    at = (round(start * 1e9), round(end * 1e9))
    disk = [("blockdev_" + k, {"device": "sim0"}, v) for k, v in values.items()]
    cpu = [
        ("cpu_seconds", {"cpu": c, "mode": m}, v) for c in ("all", "0", "1") for m, v in (("user", 0.3), ("idle", 0.7))
    ]
    return tuple(
        Series(metric=name, unit="", kind=SeriesKind.COUNTER, labels=labels, t_ns=at, values=(0.0, value))
        for name, labels, value in (*disk, *cpu)
    )


def measured(cell: Cell, m: Medium, *, order: int, number: int, rng: random.Random) -> CellResult:
    """One measurement that begins where the one before has ended."""
    begin = 1000 + order * (RAMP + SPAN + 0.07)
    ours, others = _run(m, cell.workload, begin, rng)
    start = begin + RAMP
    inside = [s for s in ours if start <= s.end < start + SPAN]
    one, none = _direction(cell.workload, inside), Direction(ops=0, bytes=0)
    writes = cell.workload.rw.writes
    result = EngineResult(
        engine={"build": {"profile": "release"}},
        effective={},
        started_unix_ns=round(begin * 1e9),
        ramp_ns=round(RAMP * 1e9),
        measured_ns=round(SPAN * 1e9),
        stop_reason="time",
        issued=one.ops,
        completed=one.ops,
        errored=0,
        stuck=0,
        read=none if writes else one,
        write=one if writes else none,
        intervals=_intervals(cell.workload, inside, start),
    )
    return CellResult(
        order=order,
        round=number,
        cell=cell.key,
        kind="measure",
        layer=cell.layer,
        workload_key=cell.workload.key,
        result=result,
        counters=_counters(cell.workload, ours, others, (start, start + SPAN)),
        devices=("sim0",),
        carriers=("sim0",),
    )


def local_stack(expect: Expect = SPECIFIED) -> Stack:
    """A disk and its file system."""
    return Stack(
        name="local",
        layers=(
            Layer(name="disk", endpoint="block:/dev/sim0", expect=expect),
            Layer(
                name="file system",
                endpoint="file:/srv/strata.dat",
                on=("disk",),
                expect=Expect(overhead_max=0.05, source="test"),
            ),
        ),
    )


def simulate(
    stack: Stack,
    m: Medium,
    *,
    seed: int = 1,
    rounds: int = 2,
    above: Mapping[str, Medium] | None = None,
    workloads: Sequence[Workload] = DIAGNOSE,
) -> Analysis:
    """The analysis of one screening: every layer reaches the same medium, raw devices are only read."""
    plan = plan_of(stack, workloads, rounds, seed)
    rng = random.Random(seed)
    raw = {layer.name for layer in stack.layers if layer.endpoint.startswith("block:")}
    steps = [s for s in plan.steps if not (plan.cell(s.cell).workload.rw.writes and plan.cell(s.cell).layer in raw)]
    results = [
        measured(plan.cell(s.cell), (above or {}).get(plan.cell(s.cell).layer, m), order=n, number=s.round, rng=rng)
        for n, s in enumerate(steps)
    ]
    generator = Generator(iops={w.key: 400_000 for w in workloads}, ns_per_io={w.key: 2500 for w in workloads})
    return analyse(plan, results, generator=generator)


def faulty(**fault: object) -> Medium:
    """A calm one with this fault."""
    return replace(CALM, **fault)  # type: ignore[arg-type]


PROMISED, SILENT = local_stack(SPECIFIED), local_stack(Expect())


@lru_cache(maxsize=64)
def run(fault: tuple[tuple[str, object], ...] = (), promised: bool = True, seed: int = 1) -> Analysis:
    """A local stack at such a medium, simulated once for all that ask; ``promised``: its specification is stated."""
    return simulate(PROMISED if promised else SILENT, faulty(**dict(fault)), seed=seed)


def analysed(fault: dict[str, object], promised: bool = True, seed: int = 1) -> Analysis:
    return run(tuple(fault.items()), promised, seed)


def said(fault: dict[str, object], promised: bool = True, seed: int = 1) -> Diagnosis:
    return diagnose(PROMISED if promised else SILENT, analysed(fault, promised, seed))


def carried_out(experiment: Experiment, medium: Medium, seed: int = 7) -> Tried:
    """Both of its cells at a medium of this kind."""
    asked = next(w for w in run().cells if w.workload.key == experiment.reference).workload
    cells = simulate(PROMISED, medium, seed=seed, workloads=(asked, experiment.workload)).cells
    here = {c.workload.key: c for c in cells if c.layer == experiment.layer}
    return Tried(experiment=experiment, reference=here[asked.key], changed=here[experiment.workload.key])
