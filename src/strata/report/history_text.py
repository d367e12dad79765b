"""Histories and baselines for the terminal."""

from __future__ import annotations

from collections.abc import Sequence

from strata import units
from strata.model.groups import grouped
from strata.model.history import CellHistory, ChangePoint, History
from strata.model.remembered import Baseline
from strata.report import figures
from strata.report.compare_lines import change, recorded
from strata.report.text_layout import BARS, Paint, bars, field, table, wrap

HEIGHT = 8
LISTED = 40


def history_text(history: History, width: int, color: bool = False) -> str:
    """One cell whole, with its chart and its runs; of several one line each, and every change under them."""
    paint = Paint(color)
    if len(history.cells) == 1:
        return "\n".join(_one(history.cells[0], width, paint))
    return "\n".join(_many(history.cells, width, paint))


def baselines_text(baselines: Sequence[Baseline], width: int, color: bool = False) -> str:
    """One line a version, the one in force first."""
    if not baselines:
        return "no baselines yet; `strata baseline save NAME` saves the newest run as the first"
    seen: set[str] = set()
    rows = []
    for b in baselines:
        force = "active" if b.name not in seen else ""
        seen.add(b.name)
        when = figures.utc(b.created_unix_ns).removesuffix(" UTC")
        rows.append((b.name, str(b.version), force, when, str(len(b.runs)), b.runs[-1], b.note))
    head = ("name", "version", "", "saved (UTC)", "runs", "newest run", "note")
    lines = table(head, rows, width, numeric=frozenset({1, 4}), elastic=frozenset({0, 6}))
    return "\n".join([Paint(color)(lines[0], "bold"), *lines[1:]])


def sparkline(values: Sequence[float], width: int) -> str:
    """The newest ``width`` values between their least and their largest, one bar each."""
    shown = list(values[-width:])
    return bars(shown, min(shown), max(shown))


def chart(cell: CellHistory, width: int) -> list[str]:
    """The newest runs as columns of bars, the scale at the left, ``^`` under the first run of each new level."""
    values = [p.iops for p in cell.points]
    low, high = min(values), max(values)
    # Not from zero: a change of a tenth has to be seen. The scale says so.
    low, high = (low * 0.98, high * 1.02) if high > low else (low * 0.9, high * 1.1)
    marks = [units.count(v) for v in (high, (low + high) / 2, low)]
    left = max(map(len, marks)) + 2
    room = max(8, width - left - 2)
    first = max(0, len(values) - room)
    levels = [(v - low) / (high - low) * HEIGHT for v in values[first:]]
    lines = []
    for row in range(HEIGHT, 0, -1):
        drawn = "".join(BARS[7] if v >= row else BARS[int((v - row + 1) * 8)] if v > row - 1 else " " for v in levels)
        label = {HEIGHT: marks[0], HEIGHT // 2 + 1: marks[1], 1: marks[2]}.get(row, "")
        lines.append(f"  {label:>{left - 2}} │{drawn}".rstrip())
    under = "".join("^" if i in {c.index for c in cell.changes} else " " for i in range(first, len(values)))
    return [*lines, f"  {'':>{left - 2}}  {under}".rstrip()] if under.strip() else lines


def _one(cell: CellHistory, width: int, paint: Paint) -> list[str]:
    out = paint.lines(wrap(f"{cell.layer} · {cell.workload_key}", width), "bold")
    out += wrap(sums(cell), width, "  ")
    out += wrap(cell.identity, width, "  ")
    out += ["", *chart(cell, width), ""]
    for one in cell.changes:
        out += [paint(x, "yellow") for x in _change(one, width)]
    if not cell.changes:
        out += wrap(unchanged(cell), width)
    listed = rows(cell)[-LISTED:]
    made = table(HEAD, listed, width, numeric=NUMERIC, elastic=frozenset({0}))
    out += ["", paint(made[0], "bold"), *made[1:]]
    if len(cell.points) > LISTED:
        out.append(f"  and {len(cell.points) - LISTED} older; --json has all")
    return out


def _many(cells: Sequence[CellHistory], width: int, paint: Paint) -> list[str]:
    """A heading for each layer at each place: cells of the same name elsewhere are other cells."""
    places = grouped((f"{c.layer} · {c.identity}", c) for c in cells)
    spark = 16 if width < 120 else 40
    rows = [
        (
            c.workload_key,
            str(len(c.points)),
            sparkline([p.iops for p in c.points], spark) if c.points else "",
            units.count(c.points[-1].iops) if c.points else "–",
            "–" if c.noise is None else figures.percent(c.noise),
            str(len(c.changes) or ""),
        )
        for one in places.values()
        for c in one
    ]
    head = ("workload", "runs", "IOPS by run", "last", "noise", "changes")
    made = table(head, rows, width, numeric=frozenset({1, 3, 4, 5}), elastic=frozenset({0}))
    out, lines = [paint(made[0], "bold")], iter(made[1:])
    for place, one in places.items():
        out += paint.lines(wrap(place, width), "bold")
        out += [next(lines) for _ in one]
    for place, one in places.items():
        for c in one:
            for change_point in c.changes:
                out += ["", *wrap(f"{place} · {c.workload_key}", width)]
                out += [paint(x, "yellow") for x in _change(change_point, width)]
    if not any(c.changes for c in cells):
        out += ["", *wrap("no change of level in any cell", width)]
    return out


def _change(one: ChangePoint, width: int) -> list[str]:
    head = f"{change(one.ratio)} since {figures.utc(one.created_unix_ns)} (run {one.run}, p = {one.p:.1g})"
    out = wrap(head, width)
    if not one.environment:
        return [*out, *wrap("no recorded field of the environment changed at the same time", width, "  ")]
    for f in one.environment:
        name, before, after = recorded(f)
        out += field(name, f"{before} → {after}", width)
    return out


HEAD = ("run", "made (UTC)", "IOPS", "step", "p50", "p99", "")
NUMERIC = frozenset({2, 3, 4, 5})
ENOUGH = 6
"""Fewer runs and no change of level could be seen."""


def rows(cell: CellHistory) -> list[tuple[str, ...]]:
    """One for each run as `HEAD` heads them, the oldest first. No two runs of different moments have one date."""
    starts = {c.index for c in cell.changes}
    made = figures.moments([p.created_unix_ns for p in cell.points])
    found: list[tuple[str, ...]] = []
    for i, p in enumerate(cell.points):
        step = figures.signed_percent(p.iops / cell.points[i - 1].iops - 1) if i else ""
        p50, p99 = ("–" if x is None else units.duration(x) for x in (p.p50_ns, p.p99_ns))
        found.append((p.run, made[i], units.count(p.iops), step, p50, p99, "new level" if i in starts else ""))
    return found


def sums(cell: CellHistory) -> str:
    """How many runs, and what those of one level differ by."""
    noise = "" if cell.noise is None else f", runs at one level vary by {figures.percent(cell.noise)}"
    return f"{figures.plural(len(cell.points), 'run')}{noise}"


def unchanged(cell: CellHistory) -> str:
    """What is said of a cell without a change."""
    if len(cell.points) >= ENOUGH:
        return "no change of level"
    return "a change can be detected from six runs on"
