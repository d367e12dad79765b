"""A waterfall in the terminal: a bar for each part of each layer, behind the one before it."""

from __future__ import annotations

from strata import units
from strata.model.waterfall import SampledRequest, Waterfall
from strata.report import figures
from strata.report.text_layout import Paint, clean, field, fit, left, right, wrap
from strata.report.waterfall_lines import (
    PathRow,
    clock_lines,
    group_name,
    layer_name,
    missing_lines,
    rows_of,
    total_words,
)

_BAR, _LABEL, _WIDE = "█", 13, 120
_NAME, _PART, _TIME, _SHARE = 26, 8, 9, 7
_SEGMENTS_TOLD = 24


def waterfall_lines(waterfall: Waterfall, width: int, paint: Paint) -> list[str]:
    """Every group, one request of each, and what could not be followed, in at most ``width`` columns."""
    out: list[str] = []
    if not waterfall.groups:
        out += field("waterfall", "no request was followed from its system call to a device", width, column=_LABEL)
    for number, group in enumerate(waterfall.groups):
        out += paint.lines(wrap(f"waterfall · {group_name(group)} · {total_words(group)}", width), "bold")
        rows = rows_of(waterfall, group)
        whole, two = group.total.mean_ns, waterfall.clock is not None
        out.append(_head(width, two))
        out += [_row(row, whole, width, two) for row in rows]
        if (one := waterfall.typical(number)) is not None:
            out += ["", *_sample(waterfall, one, width)]
        out.append("")
    for number, line in enumerate(clock_lines(waterfall)):
        out += field("" if number else "clocks", clean(line), width, column=_LABEL)
    for line in missing_lines(waterfall.missing):
        out += field("not followed", clean(line), width, column=_LABEL)
    return out


def _columns(width: int, two: bool) -> int:
    """What is left for bars; ``two``: clocks, which leave something open."""
    return max(8, min(100, width - 4 - _NAME - _PART - _columns_before(width, two)))


def _head(width: int, two: bool) -> str:
    more = right("p50", _TIME) + right("p99", _TIME) if width >= _WIDE else ""
    open_ = right("±", _TIME) if two else ""
    told = right("mean", _TIME) + open_ + right("share", _SHARE) + more
    return fit("  " + left("layer", _NAME) + left("part", _PART) + told, width)


def _row(row: PathRow, whole: float, width: int, two: bool) -> str:
    more = ""
    if width >= _WIDE:
        p99 = "–" if row.p99_ns is None else units.duration(row.p99_ns)
        more = right(units.duration(row.p50_ns), _TIME) + right(p99, _TIME)
    open_ = right(units.duration(row.unknown_ns), _TIME) if two else ""
    told = right(units.duration(row.mean_ns), _TIME) + open_ + right(figures.percent(row.share), _SHARE) + more
    name = left(fit(clean(row.name), _NAME - 1), _NAME)
    bar = _bar(row.start_ns, row.mean_ns, whole, _columns(width, two))
    return f"  {name}{left(row.part.value, _PART)}{told}  {bar}".rstrip()


def _bar(start: float, length: float, whole: float, room: int) -> str:
    if whole <= 0:
        return ""
    begin = min(room - 1, round(start / whole * room))
    end = min(room, max(begin + 1, round((start + length) / whole * room)))
    return " " * begin + _BAR * (end - begin)


def _sample(waterfall: Waterfall, one: SampledRequest, width: int) -> list[str]:
    """One request as it went, in time."""
    who = f"{clean(one.comm) or '?'}/{one.tid}"
    said = f"one of {units.duration(one.ns)}, {units.duration(one.at_ns)} after the start, by {who}"
    out = wrap(said, width, "  ")
    for layer, part, begin, ns in one.segments[:_SEGMENTS_TOLD]:
        name = left(fit(clean(layer_name(waterfall.layers[layer])), _NAME - 1), _NAME)
        # The bars begin where those of the table do.
        two = waterfall.clock is not None
        told = left(right(units.duration(ns), _TIME), _columns_before(width, two))
        out.append(f"  {name}{left(part.value, _PART)}{told}  {_bar(begin, ns, one.ns, _columns(width, two))}".rstrip())
    if len(one.segments) > _SEGMENTS_TOLD:
        out.append(f"  and {len(one.segments) - _SEGMENTS_TOLD} more segments")
    return out


def _columns_before(width: int, two: bool) -> int:
    return _TIME + _SHARE + (_TIME if two else 0) + (2 * _TIME if width >= _WIDE else 0)
