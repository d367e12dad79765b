"""Tables of figures as CSV or TSV, with the units and the rounding they were printed in.

A heading names a key, its unit and its rounding: ``iops`` · ``rate [MB/s]`` · ``time.p99 [us]`` ·
``rate [GiB/s, exact]`` (`strata.model.figures.KINDS` lists the kinds). Headings of common tools are known (`HEADINGS`);
others are mapped by the caller (``mapping``). What is mapped to nothing is a label. ``role`` (measured, planned, said)
and ``name`` say what a row is; lines that begin with ``# key = value`` hold for all rows.

In a cell ``~`` means about, ``8K`` and ``1 MiB`` bring their own unit, nothing and ``N/A`` are absent. What is no
number where one is expected (``>1000``, ``almost 2x``) becomes a label: it can be read and not be calculated with.
"""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Mapping
from dataclasses import dataclass

from strata.errors import UsageError
from strata.model.figures import KINDS, LARGEST, SETTINGS, Dimension, Figure, Role, Rounding, Row, Table, readings
from strata.model.groups import grouped

_HEADING = re.compile(r"^(?P<key>[a-z_]+(?:\.[a-z0-9_.]+)?)\s*(?:\[(?P<unit>[^\],]*)(?:,\s*(?P<rounding>\w+))?\])?$")
_NUMBER = re.compile(
    r"^(?P<about>[~≈])?\s*"
    r"(?P<number>[+-]?(?:\d{1,3}(?:,\d{3})+|\d[\d \u202f_]*)(?:\.\d+)?(?:[eE][+-]?\d{1,2})?)\s*"
    r"(?P<unit>[A-Za-zµ%/]*)$"
)
CELL_MOST = 1000
"""Characters of a cell or a heading that are looked at as a number or a kind; what is longer is a remark."""
ROWS_MOST = 20_000
"""Rows of a table: the laws compare each with others."""
CELLS_MOST = 300_000
LABEL = 40
"""A label that is longer is a remark, and no part of a row's name."""
_ABSENT = frozenset({"", "-", "–", "n/a", "na", "null", "none"})


def _spellings(known: Mapping[str, tuple[str, ...]]) -> dict[str, str]:
    """What each heading means, from the headings of each meaning."""
    return {heading: meaning for meaning, headings in known.items() for heading in headings}


HEADINGS = _spellings(
    {
        "iops": ("i/o per s", "iops", "iops (total)"),
        "iops.read": ("read iops",),
        "iops.write": ("write iops",),
        "rate [MB/s]": ("mb/s", "mb_s", "mb/sec", "mbs/sec", "mbps", "mb_per_s"),
        "rate [MiB/s]": ("mib/s", "mib_s"),
        "rate [GB/s]": ("gb/s", "gbytes/s", "gbytes_s"),
        "bytes [B]": ("bytes",),
        "ios": ("i/os", "ios"),
        "time.mean [ms]": ("avglat", "avglat_ms"),
        "size [B]": ("block", "block_bytes", "block size", "bs", "block_size", "blocksize", "io size", "io_size"),
        "depth": ("queue_depth", "iodepth", "qd"),
        "threads": ("threads", "numjobs"),
        "hosts": ("hosts",),
        "errors": ("errors", "io errors"),
        "short": ("short", "short i/os"),
        "deviation": ("iopsstddev", "iops stddev", "iops_stddev"),
        "rpm": ("rpm",),
        "outstanding": ("outstanding",),
        "time.p90.read [us]": ("p90_r_us",),
        "time.p90.write [us]": ("p90_w_us",),
        "busy [%]": ("usage", "cpu_pct", "client_cpu_pct"),
        "busy.server [%]": ("server_cpu_pct",),
        "idle [%]": ("idle",),
        "cost": ("cycles_per_byte",),
        "cap": ("rate_iops",),
    }
)
"""What headings of common tools mean, in lower case. ``MB`` stays as it is printed: what it means is inferred."""

STEMS = _spellings(
    {
        "rate": ("bw", "bandwidth", "throughput"),
        "rate.read": ("read bw", "read throughput"),
        "rate.write": ("write bw", "write throughput"),
        "time.mean.read": ("read lat", "read latency"),
        "time.mean.write": ("write lat", "write latency"),
        "time.mean": (
            "mean",
            "avg",
            "latency",
            "lat",
            "lat avg",
            "avg lat",
            "mean lat",
            "avg latency",
            "mean latency",
            "average latency",
        ),
        "time.max": ("max", "max lat", "max latency", "maximum latency"),
        "time.min": ("min",),
        "busy": ("cpu",),
        "size": ("block size",),
    }
)
"""Headings that bring their unit: ``BW (MB/s)``, ``Lat avg [us]``, ``p99_ms``, ``Latency ms``, ``Throughput, MB/s``."""
_WITH_UNIT = re.compile(
    r"^(?P<stem>.+?)(?:\s*[(\[]\s*(?P<in>[A-Za-zµ%/]+)\s*[)\]]|(?:_|\s*[,/:-]\s*|\s+)(?P<after>[A-Za-zµ%]+(?:/s)?))$"
)
_END = re.compile(r"^(?P<end>client|server|wire|device|queue|host) (?P<rest>.+)$")
"""Whose part of a time it is."""
_PERCENTILE = re.compile(r"^(?:lat(?:ency)? )?p?(?P<p>\d+(?:\.\d+)?)(?:th)?$")


@dataclass(frozen=True)
class _Column:
    key: str
    unit: str
    rounding: Rounding

    @property
    def dimension(self) -> Dimension:
        return KINDS[self.key.partition(".")[0]][0]


def read_table(text: str, name: str, mapping: Mapping[str, str] | None = None) -> Table:
    """The table in ``text``. ``mapping``: heading → ``key [unit, rounding]``, or empty to keep the column as a label.

    Raises `UsageError` with every problem found: no heading, an unknown kind or unit, a row that is too long, or no
    column with figures.
    """
    facts, lines = _facts(text)
    if not lines:
        raise UsageError("cannot read the table", name, "it is empty")
    delimiter = "\t" if lines[0].count("\t") > lines[0].count(",") else ","
    cells = sum(line.count(delimiter) + 1 for line in lines)
    if len(lines) > ROWS_MOST or cells > CELLS_MOST:
        why = f"it has {len(lines)} rows and {cells} cells, at most {ROWS_MOST} and {CELLS_MOST} are read"
        raise UsageError("cannot read the table", name, why, "keep only the rows to check")
    try:
        rows = list(csv.reader(io.StringIO("\n".join(lines)), delimiter=delimiter, skipinitialspace=True))
    except csv.Error as e:
        raise UsageError("cannot read the table", name, str(e), "give a CSV or TSV table") from e
    head = [h.strip() for h in rows[0]]
    problems: list[str] = []
    chosen = {k.strip().lower(): v for k, v in (mapping or {}).items()}
    problems += [f"there is no column {k!r}" for k in chosen if k not in {h.lower() for h in head}]
    columns = [_column(h, chosen, problems) for h in head]
    if not any(columns):
        problems.append(f"no column of figures is recognised in {', '.join(head)}")
    problems += [
        f"line {n}: {len(r)} cells for {len(head)} headings" for n, r in enumerate(rows[1:], 2) if len(r) > len(head)
    ]
    words, figures = _whole(facts, problems)
    made = [_row(n, head, columns, r, problems) for n, r in enumerate(rows[1:], 2) if any(c.strip() for c in r)]
    if problems:
        hint = "name the columns: --column 'HEADING=rate [MB/s]' (docs/guide/laws.md lists the kinds)"
        raise UsageError("cannot read the table", name, "", hint, tuple(problems))
    aside = _results_not_read(made, chosen)
    return Table(name=name, rows=tuple(_unique([_without(r, aside) for r in made])), words=words, figures=figures)


LABELS = frozenset({
    "layer", "below", "pattern", "caching", "engine", "loop", "owner", "disk", "test", "ranges", "pinned", "constant",
    "order", "of", "scaled", "limit", "round", "target", "file", "device", "endpoint", "workload", "job", "host",
    "node", "protocol", "claim",
})  # fmt: skip
"""What tells rows apart, also where it is a number."""


def _results_not_read(rows: list[Row], chosen: Mapping[str, str]) -> set[str]:
    """Columns of numbers that are neither figures nor labels, and more of them than not different from row to row: a
    setting comes again."""
    cells = grouped(told for row in rows for told in row.words.items())
    return {
        heading
        for heading, found in cells.items()
        if heading.lower() not in LABELS
        and heading.lower() not in chosen
        and len(found) > 2
        and 2 * len(set(found)) > len(found)
        and all(map(_number, found))
    }


def _without(row: Row, aside: set[str]) -> Row:
    """The row whose labels tell workloads apart; a name of several labels keeps its own."""
    if not aside & set(row.words):
        return row
    words = {k: v for k, v in row.words.items() if k not in aside}
    return row.model_copy(update={"words": words, "unread": {k: v for k, v in row.words.items() if k in aside}})


def numbers_not_read(table: Table) -> tuple[str, ...]:
    """The columns of which every cell is a number and that were taken for labels: no law was asked of them."""
    cells = grouped(told for row in table.rows for told in (*row.words.items(), *row.unread.items()))
    return tuple(h for h, words in cells.items() if all(map(_number, words)))


def _facts(text: str) -> tuple[dict[str, str], list[str]]:
    facts, lines = {}, []
    for line in text.removeprefix("\ufeff").splitlines():
        if line.startswith("#"):
            key, equals, value = (part.strip() for part in line[1:].partition("="))
            if key and equals:
                facts[key] = value
        elif line.strip():
            lines.append(line)
    return facts, lines


def _whole(facts: Mapping[str, str], problems: list[str]) -> tuple[dict[str, str], dict[str, Figure]]:
    words, figures = {}, {}
    for heading, value in facts.items():
        column = _parse(heading, [])
        found = _figure(column, value) if column is not None else None
        if column is None or found is None:
            words[heading] = value
        elif not found.readings:
            problems.append(f"{heading} = {value}: {found.unit!r} is not a unit of {column.key}")
        else:
            figures[column.key] = found
    return words, figures


def _column(heading: str, chosen: Mapping[str, str], problems: list[str]) -> _Column | None:
    if len(heading) > CELL_MOST:
        return None
    low = heading.lower()
    if low in chosen:
        return _parse(chosen[low], problems, asked=True) if chosen[low] else None
    if low in ("name", "role"):
        return None
    low = low.removesuffix("_as_printed")
    return _parse(HEADINGS.get(low) or _spelled(low, heading) or heading, problems)


def _spelled(low: str, heading: str) -> str | None:
    """The key of a heading that is no key and brings its unit; None where either is not known."""
    found = _WITH_UNIT.match(heading)
    if found is None or ((own := _HEADING.match(low)) is not None and own["key"].partition(".")[0] in KINDS):
        return None
    stem, unit = found["stem"].lower().replace("_", " "), found["in"] or found["after"]
    part = ""
    if (end := _END.match(stem)) is not None:
        stem, part = end["rest"], f".{end['end']}"
    number = _PERCENTILE.match(stem)
    is_percentile = number is not None and (stem.startswith(("p", "lat")) or stem.endswith("th"))
    key = STEMS.get(stem) or (f"time.p{number['p']}" if number is not None and is_percentile else None)
    if key is None or (part and not key.startswith("time.")):
        return None
    key += part
    dimension = KINDS[key.partition(".")[0]][0]
    # Of a time there is no M that means mega: capitals are a matter of style.
    spellings = (unit, unit.lower()) if dimension is Dimension.TIME else (unit,)
    return next((f"{key} [{u}]" for u in spellings if readings(dimension, u)), None)


def _parse(text: str, problems: list[str], *, asked: bool = False) -> _Column | None:
    """The column that a heading describes; None where it is a label. What was ``asked`` for has to be one."""
    found = _HEADING.match(text.strip())
    if found is None or found["key"].partition(".")[0] not in KINDS:
        if asked:
            problems.append(f"{text!r} is not a known kind of figure")
        return None
    unit = (found["unit"] or "").strip()
    dimension = KINDS[found["key"].partition(".")[0]][0]
    rounding = found["rounding"] or "unknown"
    if unit and not readings(dimension, unit):
        problems.append(f"{text!r}: {unit!r} is not a unit of {found['key']}")
        return None
    if rounding not in {r.value for r in Rounding}:
        problems.append(f"{text!r}: {rounding!r} is not a rounding (exact, nearest, down, about, unknown)")
        return None
    return _Column(found["key"], unit, Rounding(rounding))


def _row(number: int, head: list[str], columns: list[_Column | None], cells: list[str], problems: list[str]) -> Row:
    words: dict[str, str] = {}
    figures: dict[str, Figure] = {}
    for heading, column, raw in zip(head, columns, cells, strict=False):
        cell = raw.strip()
        if cell.lower() in _ABSENT:
            continue
        found = _figure(column, cell) if column is not None else None
        if column is None or found is None:
            words[heading] = cell
        elif not found.readings:
            problems.append(f"line {number}: {cell!r} in column {heading!r} has no unit of {column.key}")
        else:
            figures[column.key] = found
    role = words.pop("role", Role.MEASURED.value)
    if role not in {r.value for r in Role}:
        problems.append(f"line {number}: {role!r} is not a role (measured, planned, said)")
        role = Role.MEASURED.value
    if pattern := _pattern(words):
        words["pattern"] = pattern
        words.pop("op", None)
    return Row(name=words.pop("name", f"line {number}"), role=Role(role), words=words, figures=figures)


def _pattern(words: Mapping[str, str]) -> str:
    """One spelling: ``sequential read`` for ``seq read``, for ``seq`` beside a column ``op``, and for fio's ``rw``."""
    if "pattern" not in words and "rw" not in words:
        return ""
    text = f"{words.get('pattern', words.get('rw', ''))} {words.get('op', '')}".lower().strip()
    if text in ("read", "write") and "pattern" not in words:
        # fio's word for one after the other.
        return f"sequential {text}"
    spelled = re.sub(r"\bseq(?:uential)?(?=\b|read|write)\s*", "sequential ", text)
    return re.sub(r"\brand(?:om)?(?=\b|read|write|rw)\s*", "random ", spelled).strip()


def _figure(column: _Column, text: str) -> Figure | None:
    """The number with its unit, its step and its rounding; None where the cell holds no number."""
    found = _number(_percentile(text) if column.key == "percentile" else text)
    if found is None:
        return None
    number = _plain(found["number"])
    known = Rounding.EXACT if column.key.partition(".")[0] in SETTINGS else column.rounding
    rounding = Rounding.ABOUT if found["about"] else known
    return Figure(
        dimension=column.dimension,
        value=float(number),
        unit=found["unit"] or column.unit,
        step=0.0 if rounding is Rounding.EXACT else _step(number, about=rounding is Rounding.ABOUT),
        rounding=rounding,
    )


def _number(text: str) -> re.Match[str] | None:
    """The parts of a cell that is a number. The pattern takes the square of a cell's length."""
    found = _NUMBER.match(text) if len(text) <= CELL_MOST else None
    return found if found is not None and abs(float(_plain(found["number"]))) <= LARGEST else None


def _plain(number: str) -> str:
    """Without what sets thousands apart."""
    return re.sub(r"[ \u202f_,]", "", number)


def _percentile(text: str) -> str:
    """``99`` for ``99th``, ``99.99`` for ``4-nines``, 0 and 100 for min and max."""
    word = text.lower()
    if nines := re.fullmatch(r"(\d)-nines", word):
        return "99." + "9" * (int(nines[1]) - 2)
    if word in ("min", "max"):
        return "0" if word == "min" else "100"
    return re.sub(r"^p?([\d.]+)(?:st|nd|rd|th|%)?$", r"\1", word)


def _step(number: str, *, about: bool) -> float:
    """The worth of the last printed place; of an "about" number that of its last digit that is not 0."""
    mantissa, _, exponent = number.lower().partition("e")
    scale = float(f"1e{exponent or 0}")
    whole, _, fraction = mantissa.lstrip("+-").partition(".")
    if fraction:
        return float(f"1e-{len(fraction)}") * scale
    zeros = len(whole) - len(whole.rstrip("0")) if about and whole.strip("0") else 0
    return 10.0**zeros * scale


def _unique(rows: list[Row]) -> list[Row]:
    """Names tell rows apart: without one a row is called by the labels in which rows differ; twins get a number."""
    values: dict[str, set[str]] = {}
    for row in rows:
        for key, word in row.words.items():
            values.setdefault(key, set()).add(word)
    seen: dict[str, int] = {}
    taken: set[str] = set()
    made = []
    for given in rows:
        row = given
        if re.fullmatch(r"line \d+", row.name):
            own = [w for k, w in row.words.items() if len(values[k]) > 1 and len(w) <= LABEL]
            row = row.model_copy(update={"name": " · ".join(own) or row.name})
        name = row.name
        while name in taken:
            seen[row.name] = seen.get(row.name, 1) + 1
            name = f"{row.name} ({seen[row.name]})"
        taken.add(name)
        made.append(row if name == row.name else row.model_copy(update={"name": name}))
    return made
