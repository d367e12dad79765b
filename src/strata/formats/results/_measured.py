"""What several readers need: printed numbers as figures, and measurements that ran together as one."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

from strata.formats.results.source import Misread
from strata.model import histogram
from strata.model.figures import LARGEST, Dimension, Figure, Rounding, exact
from strata.model.imported import SIDES, ImportedCell, Measured
from strata.units import NS_PER_S

NUMBER = re.compile(r"[+-]?\d+(?:[.,]\d+)?(?:[eE][+-]?\d{1,2})?")
_SUMS = ("ios", "bytes", "iops", "rate")
APART = 0.05
"""How much shorter than the longest one a measurement may be that ran beside it."""
_ENDS = {"time.min": min, "time.max": max}


def number(found: Mapping[str, Any], key: str) -> float | None:
    """The number of that key, None where there is none. Raises `Misread` for what is no number of ours."""
    value = found.get(key)
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not math.isfinite(value):
        raise Misread(f"{key} is {str(value)[:40]!r}, which is not a number")
    return value


def printed(text: str, unit: str = "", dimension: Dimension = Dimension.PLAIN) -> Figure | None:
    """A number as it was printed, rounded to its last place; None for ``N/A``, ``nan``, blanks and what is no number.

    A decimal comma is one.
    """
    word = text.strip()
    if not NUMBER.fullmatch(word):
        return None
    plain = word.replace(",", ".")
    value = float(plain)
    if abs(value) > LARGEST:
        return None
    fraction = plain.partition("e")[0].partition("E")[0].partition(".")[2]
    return Figure(
        dimension=dimension, value=value, unit=unit, step=float(f"1e-{min(len(fraction), 20)}"),
        rounding=Rounding.NEAREST,
    )  # fmt: skip


def cut(value: float, unit: str = "", dimension: Dimension = Dimension.PLAIN) -> Figure:
    """A whole number whose fraction was cut off."""
    return Figure(dimension=dimension, value=value, unit=unit, step=1.0, rounding=Rounding.DOWN)


def finely(value: float, unit: str, dimension: Dimension) -> Figure:
    """A number of six places."""
    return Figure(dimension=dimension, value=value, unit=unit, step=1e-6, rounding=Rounding.NEAREST)


def unix_ns(text: str, form: str) -> int | None:
    """A moment of UTC in that form of `datetime.strptime`; None where it is written otherwise."""
    try:
        moment = datetime.strptime(text, form).replace(tzinfo=UTC)
    except ValueError:
        return None
    return max(0, round(moment.timestamp())) * NS_PER_S


def count(text: str) -> int:
    """A whole number as it was printed. Raises `Misread`."""
    word = text.strip()
    if not word.isdecimal() or len(word) > 19:
        raise Misread(f"{word[:40]!r} is not a count")
    return int(word)


def counted(ios: float | None, moved: float | None, seconds: float | None) -> dict[str, Figure]:
    """I/Os and bytes that were counted, and their rates over the time that was measured; what is not known is left."""
    found: dict[str, Figure] = {}
    if ios is not None:
        found["ios"] = exact(ios)
        if seconds:
            found["iops"] = exact(ios / seconds)
    if moved is not None:
        found["bytes"] = exact(moved, Dimension.BYTES)
        if seconds:
            found["rate"] = exact(moved / seconds, Dimension.RATE)
    return found


def together(several: Sequence[Measured]) -> tuple[Measured, tuple[str, ...]]:
    """Measurements that ran at the same time as one, and what of them could not be merged: (the sum, those keys).

    Counts and rates add up, times are weighted by I/Os, histograms are merged exactly; percentiles without histograms
    are left out.
    """
    if len(several) == 1:
        return several[0], ()
    figures: dict[str, Figure] = {}
    for key in _SUMS:
        parts = [m.figures.get(key) for m in several]
        if all(p is not None and p.readings for p in parts):
            figures[key] = _sum([p for p in parts if p is not None])
    for key, pick in _ENDS.items():
        ends = [b for m in several if (b := m.base(key)) is not None]
        if len(ends) == len(several):
            figures[key] = exact(pick(ends), Dimension.TIME)
    weights = [m.base("ios") or m.base("iops") for m in several]
    means = [m.base("time.mean") for m in several]
    if all(weights) and all(m is not None for m in means):
        whole = math.fsum(w or 0.0 for w in weights)
        mean = math.fsum((w or 0.0) * (m or 0.0) for w, m in zip(weights, means, strict=True)) / whole
        figures["time.mean"] = exact(mean, Dimension.TIME)
    payloads = [m.histogram for m in several]
    lost = sorted({key for m in several for key in m.figures} - set(figures))
    merged = histogram.merge(payloads) if all(p is not None for p in payloads) else None
    if merged is not None:
        names = [key for key in lost if key.startswith("time.p")]
        times = histogram.quantiles(merged, [min(1.0, float(key.removeprefix("time.p")) / 100) for key in names])
        figures |= {key: exact(ns, Dimension.TIME) for key, ns in zip(names, times, strict=True)}
        lost = [key for key in lost if key not in names]
    made = Measured(
        figures=figures,
        histogram=merged,
        errors=_all([m.errors for m in several]),
        short=_all([m.short for m in several]),
        clock=next((m.clock for m in several if m.clock), ""),
    )
    return made, tuple(lost)


def _sum(parts: Sequence[Figure]) -> Figure:
    """Of figures in their base units; what each was rounded by adds up."""
    bounds = [p.bounds() for p in parts]
    low, high = math.fsum(b[0] for b in bounds), math.fsum(b[1] for b in bounds)
    value = math.fsum(p.base for p in parts)
    return exact(value, parts[0].dimension, **({} if low == high else {"low": low, "high": high}))


def _all(values: Sequence[int | None]) -> int | None:
    """The sum of those that are known, None where none is."""
    known = [v for v in values if v is not None]
    return sum(known) if known else None


def merged(cells: Sequence[ImportedCell], name: str, **own: Any) -> ImportedCell:
    """Cells that ran at the same time as one, with them as its parts. ``own``: its further fields."""
    if len(cells) == 1:
        return cells[0].model_copy(update=own)
    sides: dict[str, Measured] = {}
    lost: set[str] = set()
    for side in SIDES:
        there = [c.sides[side] for c in cells if side in c.sides]
        if there:
            sides[side], gone = together(there)
            lost |= {f"{side} {key}" for key in gone}
    seconds = [c.seconds for c in cells if c.seconds is not None]
    if seconds and min(seconds) < max(seconds) * (1 - APART):
        # They did not run together all the time: the sum of their rates was never reached by all.
        lost |= {f"{side} {key}" for side, of in sides.items() for key in ("iops", "rate") if key in of.figures}
    first = cells[0]
    made: dict[str, Any] = {
        "name": name, "line": first.line, "asked": first.asked, "workload": first.workload,
        "incomplete": first.incomplete, "words": _same([c.words for c in cells]), "sides": sides,
        "seconds": max(seconds, default=None), "parts": tuple(cells), "approximate": tuple(sorted(lost)),
        "errors": _all([c.errors for c in cells]),
        "started_unix_ns": begun(cells),
    }  # fmt: skip
    return ImportedCell(**{**made, **own})


def _same(words: Iterable[Mapping[str, str]]) -> dict[str, str]:
    """The labels that are equal in all."""
    first, *others = words
    return {k: v for k, v in first.items() if all(o.get(k) == v for o in others)}


def begun(cells: Iterable[ImportedCell]) -> int | None:
    """When the first of them began (ns since the epoch); None where none says."""
    return min((c.started_unix_ns for c in cells if c.started_unix_ns is not None), default=None)


def whole(sides: Mapping[str, Measured]) -> Measured | None:
    """All directions that move data as one; None without any."""
    there = [sides[name] for name in ("read", "write", "trim") if name in sides]
    return together(there)[0] if there else None
