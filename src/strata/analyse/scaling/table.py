"""One layer under growing load: where it stops to grow, and which printed resource is full there.

A closed loop gives X(N) ≤ min(N ÷ R₀, X_max), R₀ being the time of a request that meets no other. Beyond the knee
N* = X_max · R₀ each further request only waits: X stays and R grows in proportion (Little's law). What the figures show
of a resource is its share in use at the last row, and that X ÷ U predicts what it gives when it is full (the
utilisation law). The shape alone names nothing.

Source: Denning and Buzen, The operational analysis of queueing network models, ACM Computing Surveys 10 (1978);
Gunther, Guerrilla Capacity Planning, 2007 (the universal scalability law, `strata.analyse.scaling.usl`).
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum
from itertools import pairwise

import numpy as np

from strata import units
from strata.analyse.laws.base import Interval, groups, measured, noise, throughput, value
from strata.analyse.scaling.busy import FULL
from strata.analyse.scaling.usl import Usl, fit_usl
from strata.model.figures import Row, Table

CLIENT, SERVER, WIRE, DEVICE = "client", "server", "wire", "device"
PARTS = frozenset({"user", "kernel", "idle"})
NAMES = {"": CLIENT, "cpu": CLIENT, "client": CLIENT, "server": SERVER, "network": WIRE, "link": WIRE, "disk": DEVICE}
"""What a busy share of the row is of: alone it is the generator's own machine."""
LEAST_POINTS, USL_POINTS, USL_RMS = 3, 5, 0.03


class LoadResponse(StrEnum):
    """How the rate followed the load from the last row but one to the last."""

    GROWS = "grows"
    BENDS = "bends"
    FLAT = "flat"


@dataclass(frozen=True)
class ScalingPoint:
    """``load`` in threads or requests outstanding, ``rate`` in IOPS or bytes/s; ``used``: resource → share 0..1."""

    row: Row
    load: float
    rate: float
    used: Mapping[str, float]


@dataclass(frozen=True)
class LoadSeries:
    """Rows that differ in nothing but the load, in its order. ``spread``: what equal measurements differ by."""

    name: str
    load_in: str
    points: tuple[ScalingPoint, ...]
    spread: float

    @property
    def last(self) -> tuple[ScalingPoint, ScalingPoint]:
        """The last row but one, and the last."""
        return self.points[-2], self.points[-1]

    @property
    def grew(self) -> tuple[float, float]:
        """How many times the load and the rate grew in the last step; their ratio is what the time grew."""
        before, after = self.last
        return after.load / before.load, after.rate / before.rate

    @property
    def shape(self) -> LoadResponse:
        """Flat where the last step gained no more than noise, bent where it gained less than half of its load."""
        load, rate = self.grew
        if rate - 1 <= max(math.sqrt(2) * self.spread, 0.02):
            return LoadResponse.FLAT
        return LoadResponse.BENDS if (rate - 1) / (load - 1) < 0.5 else LoadResponse.GROWS

    @property
    def knee(self) -> float:
        """N*: the load from which on requests wait, by the asymptotic bounds."""
        return max(p.rate for p in self.points) * min(p.load / p.rate for p in self.points)

    @property
    def full(self) -> tuple[str, ...]:
        """Resources that are full in the last row, the fullest first."""
        used = self.points[-1].used
        return tuple(sorted((r for r, share in used.items() if share >= FULL), key=lambda r: -used[r]))

    def predicted(self, resource: str) -> float | None:
        """What the last row but one says the resource gives when it is as full as in the last: X · U′ ÷ U."""
        before, after = self.last
        share = before.used.get(resource)
        return before.rate * after.used[resource] / share if share else None

    def cost_grew(self, resource: str) -> float | None:
        """How many times one request's use of the resource grew from the first row to the last."""
        first, last = self.points[0], self.points[-1]
        share = first.used.get(resource)
        return (last.used[resource] / last.rate) / (share / first.rate) if share else None


def usl(course: LoadSeries) -> Usl | None:
    """The universal scalability law, where five rows or more lie on it within 3 %."""
    n, x = np.array([p.load for p in course.points]), np.array([p.rate for p in course.points])
    if len(n) < USL_POINTS:
        return None
    found = fit_usl(n, x, x)
    return found if float(np.sqrt(np.mean((found.rates(n) / x - 1) ** 2))) <= USL_RMS else None


def courses(table: Table) -> Iterator[LoadSeries]:
    """Every series of three rows or more whose load at least doubles over it."""
    for rows in groups(measured(table, "threads"), "workload").values():
        for name, series in series_of(table, rows):
            rates = [(row, rate(table, row)) for row in series]
            points = tuple(_point(table, row, sum(x) / 2) for row, x in rates if x is not None and x[0] > 0)
            grows = all(a.load < b.load for a, b in pairwise(points))
            if len(points) >= LEAST_POINTS and grows and points[-1].load >= 2 * points[0].load > 0:
                yield LoadSeries(name, "threads", points, noise(table))


def series_of(table: Table, rows: list[Row]) -> Iterator[tuple[str, list[Row]]]:
    """Rows of one size that keep alike many outstanding per thread, by threads; and their name."""
    found: dict[tuple[float | None, ...], list[Row]] = {}
    for row in rows:
        threads, n = value(table, row, "threads"), value(table, row, "outstanding")
        per_thread = value(table, row, "depth") if n is None or not threads else n / threads
        found.setdefault((value(table, row, "size"), per_thread), []).append(row)
    for some in found.values():
        if len(some) > 1:
            yield _named(table, some[0]), sorted(some, key=lambda r: r.figures["threads"].base)


def rate(table: Table, row: Row) -> Interval | None:
    """The rate that was printed, else what follows from size and bytes; in one unit over a series."""
    printed = row.figures.get("rate")
    return throughput(table, row) if printed is None or "iops" in row.figures else printed.bounds()


def _point(table: Table, row: Row, found: float) -> ScalingPoint:
    used: dict[str, float] = {}
    for key, figure in row.figures.items():
        kind, _, of = key.partition(".")
        if kind == "busy" and of not in PARTS and figure.readings:
            used[NAMES.get(of, of)] = figure.base
    wire = _wire(table, row)
    if wire is not None:
        used.setdefault(WIRE, wire)
    return ScalingPoint(row, row.figures["threads"].base, found, used)


def _wire(table: Table, row: Row) -> float | None:
    """What the data takes of the links in one direction; None where the pattern goes both ways, or no link is known."""
    link, size = value(table, row, "link"), value(table, row, "size")
    counted = [v for key in ("wire.sent", "wire.received") if (v := value(table, row, key)) is not None]
    if not link:
        return None
    links = value(table, row, "count.links") or 1.0
    if counted:
        return max(counted) / (link * links)
    span, printed = throughput(table, row), value(table, row, "rate")
    moved = printed if printed is not None else sum(span) / 2 * size if span is not None and size else None
    one_way = (table.word(row, "pattern") or "").endswith(("read", "write"))
    return moved / (link * links) if one_way and moved is not None else None


def _named(table: Table, row: Row) -> str:
    size, pattern = value(table, row, "size"), table.word(row, "pattern")
    return ", ".join(filter(None, (pattern, units.size(size) if size else None))) or row.name
