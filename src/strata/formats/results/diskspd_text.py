"""diskspd's text, of Windows (2.0.15 to 2.2) and of its port to Linux.

It does not print its version. Older ones print ``MB/s`` and mean 2^20 bytes: bytes ÷ time says so. Sizes are plain
bytes before 2.1 and ``64KiB`` since. The columns depend on ``-L`` and ``-D``, the head of the CPUs' table on the
machine, the head of the percentiles on the version. A time span that nobody waited for has no results, and is said.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field

from strata import units
from strata.formats.results._diskspd import SPANS_MOST, WHEN, DiskspdTarget, asked_of
from strata.formats.results._measured import count, printed, unix_ns
from strata.formats.results.source import Misread, Source, begins, room
from strata.model.figures import Dimension, Figure, exact
from strata.model.imported import Imported, ImportedCell, Measured

NAME, TITLE, ORDER = "diskspd-text", "diskspd's text", 30

_RESULTS = re.compile(r"^\s*Results for (?:timespan|job) +(\d+):")
_SPAN = re.compile(r"^\s*(?:timespan|job):\s+(\d+)\s*$")
_SECTION = re.compile(r"^(Total|Read|Write) IO\s*$", re.IGNORECASE)
_PERCENTILES = re.compile(r"^\s*%-ile\s*\|", re.IGNORECASE)
_PERCENTILE = re.compile(r"^\s*(min|max|[\d.]+(?:st|nd|rd|th)|\d{1,2}-nines)\s*\|(.*)$", re.IGNORECASE)
_AVERAGE = re.compile(r"^\s*avg[.:]\s*\|?(.*)$")
_SIDES = {"total": "total", "read": "read", "write": "write"}
ROWS_MOST = 20_000


def recognise(head: str) -> bool:
    if begins(head, r"^[ \t]*Results for (timespan|job) +\d+:"):
        return True
    return begins(head, r"^[ \t]*(Total|Read|Write) IO\s*$") and begins(head, r"^[ \t]*thread\s*\|\s*bytes\s*\|")


@dataclass
class _Asked:
    """A time span as it was asked for."""

    targets: list[DiskspdTarget] = field(default_factory=list)
    threads: int | None = None
    depth: int | None = None
    seconds: float | None = None
    ramp: float | None = None


@dataclass
class _Row:
    line: int
    thread: str
    side: Measured
    path: str
    size: float | None


@dataclass
class _Found:
    """The results of a time span."""

    number: int
    line: int
    seconds: float | None = None
    threads: int | None = None
    depth: int | None = None
    totals: dict[str, Measured] = field(default_factory=dict)
    rows: dict[str, list[_Row]] = field(default_factory=dict)
    percentiles: dict[str, dict[str, Figure]] = field(default_factory=dict)
    busy: dict[str, Figure] = field(default_factory=dict)
    why: str = ""


class _Reader:
    """Goes through the lines once."""

    def __init__(self) -> None:
        self.asked: dict[int, _Asked] = {}
        self.found: list[_Found] = []
        self.command = self.host = ""
        self.notes: list[str] = []
        self.left: list[str] = []
        self.started: int | None = None
        self._span: _Asked | None = None
        self._columns: list[str] = []
        self._section = ""
        self._chart: list[str] = []
        self._of_target = False
        self._before = ""
        self._rows = 0
        self._cpu: list[str] = []

    def take(self, number: int, line: str) -> None:
        if (found := _RESULTS.match(line)) is not None:
            room(self.found, SPANS_MOST, "time spans", number)
            self.found.append(_Found(int(found[1]), number))
            self._section, self._chart, self._span = "", [], None
        elif self.found:
            self._result(number, line)
        else:
            self._input(number, line)
        if line.strip():
            self._before = line.strip()

    def _input(self, number: int, line: str) -> None:
        said = line.strip()
        low = said.lower()
        if low.startswith("command line:"):
            self.command = said[13:].strip()[:4000]
        elif low.startswith("computer name:"):
            self.host = said[14:].strip()[:256]
        elif low.startswith("start time:"):
            self.started = unix_ns(said[11:].strip(), WHEN)
        elif low.startswith(("warning", "error")):
            self.notes.append(said[:300])
        elif (found := _SPAN.match(line)) is not None:
            room(self.asked, SPANS_MOST, "time spans", number)
            self._span = self.asked.setdefault(int(found[1]), _Asked())
        elif (own := re.match(r"path: '(.*)'$", said)) is not None:
            self._of_span().targets.append(DiskspdTarget(path=own[1][:256]))
        else:
            self._setting(said, low)

    def _of_span(self) -> _Asked:
        if self._span is None:
            self._span = self.asked.setdefault(1, _Asked())
        return self._span

    def _setting(self, said: str, low: str) -> None:
        key, colon, value = (part.strip() for part in said.partition(":"))
        if not (self._span or colon):
            return
        plain = re.match(r"\d{1,9}", value)
        if plain is not None and key.lower() in _OF_SPAN:
            setattr(self._of_span(), _OF_SPAN[key.lower()], int(plain[0]))
        if self._span is not None and self._span.targets:
            _set_target(self._span.targets[-1], key.lower(), value, low)

    def _result(self, number: int, line: str) -> None:
        now = self.found[-1]
        said = line.strip()
        low = said.lower()
        if low.startswith(("actual test time:", "test time:")):
            now.seconds = _seconds(said.partition(":")[2], number)
            # Of the port to Linux: the whole seconds that were asked for.
        elif low.startswith("thread count:"):
            now.threads = count(said.partition(":")[2])
        elif low.startswith("request count:"):
            now.depth = count(said.partition(":")[2])
        elif low.startswith("the test was interrupted"):
            now.why = said
        elif (section := _SECTION.match(said)) is not None:
            self._section, self._chart, self._columns = section[1].lower(), [], []
        elif re.match(r"(?:.*\|)?\s*cpu\s*\|", low) and "idle" in low:
            self._cpu = [c.strip().lower() for c in said.split("|")]
        elif (average := _AVERAGE.match(said)) is not None and self._cpu:
            self._busy(now, average[1])
        elif re.match(r"thread\s*\|", low):
            self._columns = [_column(c) for c in said.split("|")]
        elif _PERCENTILES.match(said):
            self._chart = [c.strip().lower().partition(" ")[0] for c in said.split("|")[1:]]
            self._of_target = not (
                self._before.lower().startswith("total") or _is_row(self._before) or not self._before
            )
            self._section = ""
        elif self._section and self._columns and (_is_row(said) or (low.startswith("total:") and low != "total:")):
            self._table(now, number, said)
        elif self._chart and (row := _PERCENTILE.match(said)) is not None:
            self._percentile(now, row[1], row[2])
        elif low.startswith(("warning", "error")):
            self.notes.append(said[:300])

    def _busy(self, now: _Found, text: str) -> None:
        heads = self._cpu[-len(text.split("|")) :]
        for head, cell in zip(heads, text.split("|"), strict=False):
            found = printed(cell.strip().rstrip("%"), "%", Dimension.SHARE)
            if found is not None and head in ("usage", "user", "kernel", "idle"):
                now.busy[{"usage": "busy", "kernel": "system"}.get(head, head)] = found
        self._cpu = []

    def _table(self, now: _Found, number: int, said: str) -> None:
        self._rows += 1
        if self._rows > ROWS_MOST:
            raise Misread(f"more than {ROWS_MOST} rows", number)
        head, colon, rest = said.partition(":")
        is_total = head.lower() == "total" and bool(colon)
        cells = rest.split("|") if is_total else said.split("|")[1:]
        columns = self._columns[1:]
        if len(cells) < 4:
            raise Misread(f"a row of {len(cells)} columns where there are {len(columns)}", number)
        by = dict(zip(columns, (c.strip() for c in cells), strict=False))
        side = _measured(by, number)
        if is_total:
            now.totals[self._section] = side
            return
        path, _, size = by.get("file", "").rpartition(" (")
        rows = now.rows.setdefault(self._section, [])
        rows.append(
            _Row(number, said.partition("|")[0].strip(), side, path or by.get("file", ""), _size(size.rstrip(")")))
        )

    def _percentile(self, now: _Found, name: str, text: str) -> None:
        if self._of_target:
            return
        for side, cell in zip(self._chart, text.split("|"), strict=False):
            found = printed(cell, "ms", Dimension.TIME)
            if found is not None and side in _SIDES:
                now.percentiles.setdefault(side, {})[_percentile_key(name)] = found


_OF_SPAN = {"duration": "seconds", "warm up time": "ramp", "request count": "depth", "thread count": "threads"}
_SIZES = {
    "block size": "block",
    "size": "size",
    "number of outstanding i/o operations": "depth",
    "threads per file": "threads",
    "thread stride size": "apart",
}
_MIX = re.compile(r"performing (read|write|mix) test(?: \(read/write ratio: (\d{1,3})/(\d{1,3})\))?")
_ORDER = re.compile(r"using (random|interlocked sequential|sequential) i/o \((?:alignment|stride): (\S+)\)")


def _set_target(target: DiskspdTarget, name: str, value: str, low: str) -> None:
    """What a line of a target says."""
    # "per thread" is of 2.2.
    name = name.removesuffix(" per thread")
    if name in _SIZES:
        setattr(target, _SIZES[name], _size(value.rstrip(")")))
    elif name == "using o_direct" or "software cache disabled" in low:
        target.direct = True
    elif low == "using software cache":
        target.direct = False
    target.through |= name == "using o_sync" or "writethrough on" in low
    target.mapped |= name.startswith("memory mapped")
    if (mix := _MIX.match(low)) is not None:
        target.write = {"read": 0, "write": 100}.get(mix[1], int(mix[3] or 0))
    if (order := _ORDER.match(low)) is not None:
        target.random = order[1] == "random"
        target.interlocked = order[1].startswith("interlocked")
        target.align = _size(order[2])
    target.spread |= re.match(r"using mixed random|.*distribution", low) is not None
    rate = re.match(r"(?:max )?throughput(?: rate)?[^:]*:\s*(\d{1,15})\s*(\S*)", low)
    if rate is not None and int(rate[1]):
        if "iops" in rate[2] or "io/s" in rate[2]:
            target.ceiling = float(rate[1])
        else:
            target.ceiling_bytes = float(rate[1]) * (1000 if "ms" in rate[2] else 1)


def read(source: Source) -> Imported:
    """One cell for each time span that has results; a file may hold the results of several commands."""
    readers = [_Reader()]
    for number, line in enumerate(source.text().split("\n"), 1):
        if readers[-1].found and line.lower().startswith("command line:"):
            room(readers, SPANS_MOST, "results", number)
            readers.append(_Reader())
        readers[-1].take(number, line)
    reader, several = readers[0], len(readers) > 1
    cells = [
        cell.model_copy(update={"name": f"result {n}, {cell.name}"} if several else {})
        for n, one in enumerate(readers, 1) for found in one.found if (cell := _cell(one, found)) is not None
    ]  # fmt: skip
    settings: dict[str, float] = {}
    first = reader.asked.get(reader.found[0].number if reader.found else 1)
    if first is not None:
        settings |= {} if first.ramp is None else {"ramp_s": first.ramp}
        settings |= {} if first.seconds is None else {"runtime_s": first.seconds}
    sizes = {r.size for one in readers for f in one.found for rows in f.rows.values() for r in rows if r.size}
    if len(sizes) == 1:
        settings["file_bytes"] = sizes.pop()
    notes = [note for one in readers for note in one.notes]
    old = any(re.search(r"\bMB/s\b", line) for line in source.head.split("\n") if line.lower().startswith("thread"))
    if old:
        notes.append("MB/s is 2^20 bytes a second here: bytes ÷ time says so")
    return Imported(
        format=NAME,
        tool="diskspd",
        host=reader.host,
        command=reader.command,
        cells=tuple(cells),
        started_unix_ns=reader.started,
        settings=settings,
        notes=tuple(dict.fromkeys(notes)),
        left_out=tuple(dict.fromkeys(why for one in readers for why in one.left)),
    )


def _cell(reader: _Reader, found: _Found) -> ImportedCell | None:
    asked = reader.asked.get(found.number, _Asked())
    name = f"timespan {found.number}"
    if found.why or not found.totals:
        reader.left.append(f"{name}: {found.why or 'no results found'}")
        return None
    words, wrong, labels = asked_of(asked.targets, asked.threads or found.threads, found.depth or asked.depth)
    sides = {
        side: measured for side in ("read", "write")
        if (measured := _with_times(found, side)) is not None and measured.base("ios")
    }  # fmt: skip
    for side, rows in found.rows.items():
        _check_sums(reader, name, side, rows, found.totals.get(side))
    total = _with_times(found, "total")
    return ImportedCell(
        name=name,
        line=found.line,
        asked=words,
        incomplete=wrong,
        words={k: v for k, v in labels.items() if v},
        seconds=found.seconds,
        sides=sides,
        total=total if len(sides) != 1 else None,
        cpu=found.busy,
        parts=tuple(_parts(found)),
        started_unix_ns=reader.started,
    )


def _with_times(found: _Found, side: str) -> Measured | None:
    own = found.totals.get(side)
    if own is None:
        return None
    return own.model_copy(update={"figures": {**own.figures, **found.percentiles.get(side, {})}})


def _parts(found: _Found) -> Iterator[ImportedCell]:
    """Each thread with each target, where there are several."""
    rows = found.rows.get("total", [])
    if len(rows) < 2:
        return
    for n, row in enumerate(rows):
        sides = {s: there[n].side for s in ("read", "write") if len(there := found.rows.get(s, [])) == len(rows)}
        yield ImportedCell(
            name=f"thread {row.thread}", line=row.line, words={"target": row.path[:256]} if row.path else {},
            seconds=found.seconds, sides={s: m for s, m in sides.items() if m.base("ios")},
        )  # fmt: skip


def _check_sums(reader: _Reader, name: str, side: str, rows: list[_Row], total: Measured | None) -> None:
    if total is None or not rows:
        return
    for key in ("ios", "bytes"):
        parts = sum(r.side.base(key) or 0.0 for r in rows)
        if parts != total.base(key):
            reader.notes.append(
                f"{name}: the {side} {key} of its rows add up to {parts:.0f}, its total says {total.base(key):.0f}"
            )


def _measured(by: dict[str, str], number: int) -> Measured:
    try:
        figures = {"ios": exact(count(by["ios"])), "bytes": exact(count(by["bytes"]), Dimension.BYTES)}
    except Misread as e:
        raise Misread(e.why, number) from e
    deviation: dict[str, Figure] = {}
    for column, key, unit, dimension in (
        ("iops", "iops", "", Dimension.PLAIN), ("rate", "rate", "MiB/s", Dimension.RATE),
        ("mean", "time.mean", "ms", Dimension.TIME), ("iops_sd", "iops", "", Dimension.PLAIN),
        ("time_sd", "time", "ms", Dimension.TIME),
    ):  # fmt: skip
        found = printed(by.get(column, ""), unit, dimension)
        # Without an I/O it prints a mean of 0.
        if found is not None and figures["ios"].value:
            (deviation if column.endswith("_sd") else figures)[key] = found
    return Measured(figures=figures, deviation=deviation)


def _column(head: str) -> str:
    word = re.sub(r"\(.*?\)", "", head).strip().lower()
    return {
        "i/os": "ios", "mb/s": "rate", "mib/s": "rate", "i/o per s": "iops", "iopsstddev": "iops_sd", "avglat": "mean",
        "latstddev": "time_sd",
    }.get(word, word)  # fmt: skip


def _is_row(text: str) -> bool:
    return re.match(r"\d+\s*\|", text) is not None


def _percentile_key(name: str) -> str:
    word = name.lower()
    if word in ("min", "max"):
        return f"time.{word}"
    if word.endswith("-nines"):
        nines = int(word.partition("-")[0])
        return "time.p99." + "9" * max(1, nines - 2)
    return f"time.p{float(word[:-2]):.10g}"


def _size(text: str) -> int | None:
    """``4096``, ``64KiB``, ``16777216B``, ``10GiB``; None for what is no size."""
    found = re.match(r"(\d{1,19})\s*([KMGT]?)(?:I?B)?\b", text.strip().upper())
    scale = {"": 1, "K": units.KIB, "M": units.MIB, "G": units.GIB, "T": units.TIB}
    return None if found is None else int(found[1]) * scale[found[2]]


def _seconds(text: str, number: int) -> float:
    found = re.match(r"\s*(\d{1,9}(?:[.,]\d+)?)\s*s", text)
    if found is None:
        raise Misread(f"{text.strip()[:40]!r} is not a time", number)
    return float(found[1].replace(",", "."))
