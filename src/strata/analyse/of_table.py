"""Others' figures as an analysis: a ladder that somebody printed, so that the same rules can judge it.

A table has no rounds. The interval of a figure is what its rounding leaves open and the noise that the table states
(5 % where it states none), so a verdict on it is worth no more than that. Rows that break a law are left out, and said.
"""

from __future__ import annotations

import math
import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from itertools import islice

from strata.analyse.compare import equivalence, expected_overhead
from strata.analyse.laws import check_table
from strata.analyse.laws.base import noise
from strata.errors import UsageError
from strata.model.analysis import Analysis, CellSummary, Check, Comparison, NoiseFloor
from strata.model.endpoint import SCHEMES
from strata.model.estimate import Estimate
from strata.model.figures import Figure, Flag, Role, Row, Table
from strata.model.groups import grouped
from strata.model.rw import Rw
from strata.model.stack import LAYERS_MOST, NAME_MOST, Layer, Stack
from strata.model.workload import ClosedLoop, Workload

PATTERNS = {
    "sequential read": Rw.READ,
    "sequential write": Rw.WRITE,
    "random read": Rw.RANDREAD,
    "random write": Rw.RANDWRITE,
}
PROTOCOLS = {scheme.name: scheme.figure for scheme in SCHEMES.values() if scheme.figure is not None}
"""At a server that nobody has: what an address of that protocol names behind it."""
IOPS_LEAST, IOPS_MOST = 1e-3, 1e12
"""What lies beyond is a slip of whoever wrote it: no ratio is made of it."""
COMPARISONS_MOST = 200
"""Of layers with each other, in all: a ladder of the field has fewer than a hundred. The rules take 5 s for so many,
and 20 s for twice as many."""
NOISE_MOST = 1.0
"""Where equal measurements differ by more, no comparison tells anything."""


def ladder_of(table: Table) -> tuple[Stack, Analysis] | None:
    """The layers of a table and what it says of them; None where it holds no two layers with one workload in common.

    ``layer`` and ``below`` (joined by `` + ``) name the layers, ``protocol`` what leads to one that is remote; each row
    needs a pattern, a size, a depth and IOPS that something could have. Rows of one layer with one workload are its
    repetitions, whatever else they differ in: the interval of their mean spans them all. Raises `UsageError` where
    there are too many layers.
    """
    flags = check_table(table)
    broken = {f.row for f in flags if f.broken}
    spread = noise(table)
    if not 0 <= spread <= NOISE_MOST:
        return None
    rows = {r.name: r for r in table.of(Role.MEASURED) if _complete(table, r)}
    asked = {name: _workload(table, r) for name, r in rows.items()}
    kept = [(r, w) for name, r in rows.items() if name not in broken and (w := asked[name]) is not None]
    stack = _stack(table, [r for r, _ in kept])
    if stack is None:
        return None
    several = grouped(((row.words["layer"], workload.key), (row, workload)) for row, workload in kept)
    cells = {key: _cell([r for r, _ in found], found[0][1], spread) for key, found in several.items()}
    comparisons = tuple(islice(_comparisons(stack, cells, spread), COMPARISONS_MOST + 1))
    if not comparisons:
        return None
    if len(comparisons) > COMPARISONS_MOST:
        raise _too_much(table, f"its rows need more than {COMPARISONS_MOST} comparisons")
    floor = NoiseFloor(between_rounds=spread / 2, within_bins=spread / 2, tolerance=spread, rounds=1, cells=len(cells))
    checks = [_left_out(f, rows[f.row]) for f in flags if f.broken and f.row in rows]
    checks += [_no_cell(rows[name]) for name, workload in asked.items() if workload is None and name not in broken]
    return stack, Analysis(noise=floor, cells=tuple(cells.values()), comparisons=comparisons, checks=tuple(checks))


def _complete(table: Table, row: Row) -> bool:
    named = "layer" in row.words and table.word(row, "pattern") in PATTERNS and "iops" in row.figures
    return named and all(table.figure(row, key) is not None for key in ("size", "depth"))


def _workload(table: Table, row: Row) -> Workload | None:
    """What the row measured; None where nothing can: it keeps no I/O outstanding, or a size is none."""
    if not IOPS_LEAST <= row.figures["iops"].base <= IOPS_MOST or len(row.words["layer"]) > NAME_MOST:
        return None
    try:
        return workload_of(table, row)
    except (ValueError, OverflowError):
        return None


def workload_of(table: Table, row: Row) -> Workload:
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
        if name in layers:
            continue
        if len(layers) == LAYERS_MOST:
            raise _too_much(table, f"its rows have more than {LAYERS_MOST} layers")
        protocol = table.word(row, "protocol")
        slug = re.sub(r"[^a-z0-9]+", "-", name.lower()).strip("-") or "layer"
        below, place = _below(row, layers), PROTOCOLS.get(protocol or "")
        layers[name] = Layer(
            name=name,
            endpoint=f"{protocol}://{slug}.invalid/{place}" if place else f"file:/figures/{slug}",
            node=None,
            on=below[:1],
            against=below,
        )
    return Stack(name=table.name, layers=tuple(layers.values())) if len(layers) > 1 else None


def _below(row: Row, before: Collection[str]) -> tuple[str, ...]:
    """Layers of rows before this one, each once; a name may itself hold what joins several."""
    named = row.words.get("below", "")
    return (named,) if named in before else tuple(dict.fromkeys(b for b in named.split(" + ") if b in before))


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


def _cell(rows: Sequence[Row], workload: Workload, spread: float) -> CellSummary:
    iops = _together([_around(row.figures["iops"], spread, "IOPS") for row in rows])
    size = workload.bs_moments[0]
    n = workload.outstanding
    mean = Estimate(value=n / iops.value * 1e9, low=None, high=None, n=1, unit="ns")
    return CellSummary(
        layer=rows[0].words["layer"],
        workload=workload,
        rounds=len(rows),
        ios=round(iops.value * 60),
        iops=iops,
        bytes_per_second=Estimate(value=iops.value * size, low=None, high=None, n=1, unit="B/s"),
        mean_ns=mean,
        latency_ns={},
        curve=(),
        outstanding=float(n),
    )


def _together(several: Sequence[Estimate]) -> Estimate:
    """The mean of repetitions, between the least and the greatest that any of them may be."""
    if len(several) == 1:
        return several[0]
    return several[0].model_copy(
        update={
            "value": math.fsum(e.value for e in several) / len(several),
            "low": min(e.low or 0.0 for e in several),
            "high": max(e.high or e.value for e in several),
            "n": len(several),
        }
    )


def _comparisons(stack: Stack, cells: Mapping[tuple[str, str], CellSummary], spread: float) -> Iterable[Comparison]:
    of_layer: dict[str, dict[str, CellSummary]] = {}
    for (name, key), cell in cells.items():
        of_layer.setdefault(name, {})[key] = cell
    for layer, below in stack.pairs:
        for key, cell in of_layer[layer.name].items():
            lower = of_layer[below.name].get(key)
            if lower is None:
                continue
            ratio = _ratio(cell, lower, spread)
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


def _ratio(cell: CellSummary, lower: CellSummary, spread: float) -> Estimate:
    """Of the IOPS; where one of the two was measured several times, everything that the figures may give."""
    value = cell.iops.value / lower.iops.value
    wide = math.exp(math.sqrt(2) * spread)
    low, high = value / wide, value * wide
    if max(cell.rounds, lower.rounds) > 1 and lower.iops.low:
        low = min(low, (cell.iops.low or 0.0) / (lower.iops.high or lower.iops.value))
        high = max(high, (cell.iops.high or cell.iops.value) / lower.iops.low)
    return Estimate(value=value, low=low, high=high, n=1, unit="ratio")


def _too_much(table: Table, why: str) -> UsageError:
    return UsageError("cannot compare the layers of", table.name, why, "keep only the rows to check")


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


def _no_cell(row: Row) -> Check:
    return Check(
        kind="figures",
        layer=row.words["layer"],
        workload_key=None,
        impossible=False,
        message=f"{row.name} is left out: no measurement can have its size, depth, threads and IOPS",
    )
