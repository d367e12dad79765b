"""Others' figures as an analysis: a ladder that somebody printed, so that the same rules can judge it.

A table has no rounds. The interval of a figure is what its rounding leaves open and the noise that the table states
(5 % where it states none), so a verdict on it is worth no more than that. Rows that break a law are left out, and said.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable

from strata.analyse.compare import equivalence, expected_overhead
from strata.analyse.laws import check_table
from strata.analyse.laws.base import noise
from strata.model.analysis import Analysis, CellSummary, Check, Comparison, NoiseFloor
from strata.model.estimate import Estimate
from strata.model.figures import Figure, Flag, Role, Row, Table
from strata.model.stack import Layer, Stack
from strata.model.workload import ClosedLoop, Rw, Workload

PATTERNS = {
    "sequential read": Rw.READ,
    "sequential write": Rw.WRITE,
    "random read": Rw.RANDREAD,
    "random write": Rw.RANDWRITE,
}
PROTOCOLS = ("smb", "nfs", "nbd", "iscsi")


def ladder_of(table: Table) -> tuple[Stack, Analysis] | None:
    """The layers of a table and what it says of them; None where it holds no two layers with one workload in common.

    ``layer`` and ``below`` (joined by `` + ``) name the layers, ``protocol`` what leads to one that is remote; each row
    needs a pattern, a size, a depth and IOPS.
    """
    flags = check_table(table)
    broken = {f.row for f in flags if f.broken}
    rows = [r for r in table.of(Role.MEASURED) if _complete(table, r)]
    kept = [r for r in rows if r.name not in broken]
    stack = _stack(table, kept)
    if stack is None:
        return None
    spread = noise(table)
    cells = {(r.words["layer"], workload_of(table, r).key): _cell(table, r, spread) for r in kept}
    comparisons = tuple(_comparisons(stack, cells, spread))
    if not comparisons:
        return None
    floor = NoiseFloor(between_rounds=spread / 2, within_bins=spread / 2, tolerance=spread, rounds=1, cells=len(cells))
    checks = tuple(_left_out(f, r) for f in flags if f.broken for r in rows if r.name == f.row)
    return stack, Analysis(noise=floor, cells=tuple(cells.values()), comparisons=comparisons, checks=checks)


def _complete(table: Table, row: Row) -> bool:
    named = "layer" in row.words and table.word(row, "pattern") in PATTERNS and "iops" in row.figures
    return named and all(table.figure(row, key) is not None for key in ("size", "depth"))


def workload_of(table: Table, row: Row) -> Workload:
    """What the row measured."""
    size, depth, threads = (table.figure(row, key) for key in ("size", "depth", "threads"))
    assert size is not None and depth is not None
    return Workload(
        rw=PATTERNS[table.word(row, "pattern") or ""],
        bs=round(size.base),
        arrival=ClosedLoop(iodepth=round(depth.base)),
        threads=1 if threads is None else max(1, round(threads.base)),
        direct=table.word(row, "caching") != "on",
    )


def _stack(table: Table, rows: Iterable[Row]) -> Stack | None:
    layers: dict[str, Layer] = {}
    for row in rows:
        name = row.words["layer"]
        below = tuple(b for b in row.words.get("below", "").split(" + ") if b in layers)
        if name not in layers:
            protocol = table.word(row, "protocol")
            slug = re.sub(r"[^a-z0-9]+", "-", name.lower()).strip("-") or "layer"
            remote = protocol in PROTOCOLS
            layers[name] = Layer(
                name=name,
                endpoint=f"{protocol}://{slug}.invalid/figures/data" if remote else f"file:/figures/{slug}",
                node=None,
                on=below[:1],
                against=below,
            )
    return Stack(name=table.name, layers=tuple(layers.values())) if len(layers) > 1 else None


def _around(figure: Figure, spread: float, unit: str) -> Estimate:
    low, high = figure.bounds()
    value = figure.base
    return Estimate(
        value=value,
        low=min(value, max(low, 0.0) * math.exp(-spread)),
        high=max(value, high * math.exp(spread)),
        n=1,
        unit=unit,
    )


def _cell(table: Table, row: Row, spread: float) -> CellSummary:
    workload = workload_of(table, row)
    iops = _around(row.figures["iops"], spread, "IOPS")
    size = workload.bs_moments[0]
    n = workload.outstanding
    mean = Estimate(value=n / iops.value * 1e9, low=None, high=None, n=1, unit="ns")
    return CellSummary(
        layer=row.words["layer"],
        workload=workload,
        rounds=1,
        ios=round(iops.value * 60),
        iops=iops,
        bytes_per_second=Estimate(value=iops.value * size, low=None, high=None, n=1, unit="B/s"),
        mean_ns=mean,
        latency_ns={},
        curve=(),
        outstanding=float(n),
    )


def _comparisons(stack: Stack, cells: dict[tuple[str, str], CellSummary], spread: float) -> Iterable[Comparison]:
    for layer, below in stack.pairs:
        for (name, key), cell in cells.items():
            lower = cells.get((below.name, key))
            if name != layer.name or lower is None:
                continue
            value = cell.iops.value / lower.iops.value
            wide = math.exp(math.sqrt(2) * spread)
            ratio = Estimate(value=value, low=value / wide, high=value * wide, n=1, unit="ratio")
            stated = expected_overhead(layer, below)
            added = (cell.mean_ns.value or 0.0) - (lower.mean_ns.value or 0.0)
            yield Comparison(
                layer=layer.name,
                below=below.name,
                workload_key=key,
                iops=ratio,
                latency={},
                added_ns=Estimate(value=added, low=None, high=None, n=1, unit="ns"),
                expected_overhead=stated,
                allowance=stated,
                verdict=equivalence(ratio, stated),
            )


def _left_out(flag: Flag, row: Row) -> Check:
    return Check(
        kind=flag.law,
        title=flag.title,
        layer=row.words["layer"],
        workload_key=None,
        impossible=False,
        message=f"{flag.row} is left out: {flag.reason}",
        next_step=flag.next_step,
    )
