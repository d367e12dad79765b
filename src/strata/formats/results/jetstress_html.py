"""Jetstress' report (Performance_*.html): the transactional I/O of each database and of its log.

Times are ms. All instances ran at once: the cell of the databases and that of the logs are sums of theirs. What was
asked of the storage is that of a mail database, with the threads that Jetstress chose: nothing else could ask the same.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime

from strata.formats.results._html import rows_of
from strata.formats.results._measured import merged, printed, whole
from strata.formats.results.source import Misread, Source, begins
from strata.model.figures import Dimension, Figure, exact
from strata.model.imported import Imported, ImportedCell, Measured

NAME, TITLE, ORDER = "jetstress-html", "Jetstress' report (HTML)", 39

_TRANSACTIONAL = "Transactional I/O Performance"
_HOST = "Host System Performance"
_LEFT = ("Background Database Maintenance I/O Performance", "Log Replication I/O Performance", "Total I/O Performance")
_TABLES = (_TRANSACTIONAL, _HOST, *_LEFT)
_ACHIEVED = "Achieved Transactional I/O per Second"
_FACTS = (
    "Overall Test Result", "Machine Name", "Test Description", "Collection Start Time", "Collection End Time",
    "Jetstress Version", "ESE Version", "Operating System", _ACHIEVED, "Target Transactional I/O per Second",
    "Thread Count",
)  # fmt: skip
_WHEN = ("%m/%d/%Y %I:%M:%S %p", "%d.%m.%Y %H:%M:%S", "%d/%m/%Y %H:%M:%S", "%Y-%m-%d %H:%M:%S")
_WHY = "what a mail database asks is not stated: sizes and patterns are Exchange's"
INSTANCES_MOST = 1000


def recognise(head: str) -> bool:
    """A page of Jetstress, with the row of its verdict."""
    return begins(head, r"<(?:html|!DOCTYPE|table|body)") and "Jetstress" in head and "Overall Test Result" in head


@dataclass
class _Report:
    facts: dict[str, str] = field(default_factory=dict)
    instances: list[tuple[int, dict[str, str]]] = field(default_factory=list)
    busy: Figure | None = None
    passed_over: list[str] = field(default_factory=list)


def read(source: Source) -> Imported:
    """Two cells: all databases, and all logs; each instance is a part of them."""
    found = _taken(source.text())
    databases = [c for c in (_cell(n, row, "Database") for n, row in found.instances) if c is not None]
    logs = [c for c in (_cell(n, row, "Log") for n, row in found.instances) if c is not None]
    facts = found.facts
    own = {
        "seconds": _seconds(facts), "words": {"verdict": facts["Overall Test Result"][:256]}
        if "Overall Test Result" in facts else {}, "cpu": {} if found.busy is None else {"busy": found.busy},
    }  # fmt: skip
    cells = tuple(
        _summed(some, name, **own) for some, name in ((databases, "databases"), (logs, "logs")) if some
    )  # fmt: skip
    return Imported(
        format=NAME, tool="jetstress", version=facts.get("Jetstress Version", "")[:40],
        host=facts.get("Machine Name", "")[:256], system=facts.get("Operating System", "")[:256], cells=cells,
        notes=tuple(_notes(facts, databases)), left_out=tuple(_left_out(found)),
    )  # fmt: skip


def _taken(text: str) -> _Report:
    """Facts wherever they stand; tables by the heading before them."""
    found, table = _Report(), ""
    heads: tuple[str, ...] = ()
    for n, row in rows_of(text):
        title = next((name for name in _TABLES if row[0].startswith(name)), None) if len(row) == 1 else None
        if title is not None:
            table, heads = title, ()
            found.passed_over += [title] * (title in _LEFT)
        elif len(row) == 1:
            # The heading of another table, or a word between two rows.
            table = "" if heads else table
        elif len(row) == 2 and row[0] in _FACTS:
            found.facts.setdefault(row[0], row[1])
        elif table == _TRANSACTIONAL and not heads:
            heads = row
        elif table == _TRANSACTIONAL:
            if len(row) != len(heads):
                raise Misread(f"{len(row)} values for {len(heads)} columns", n)
            if len(found.instances) >= INSTANCES_MOST:
                raise Misread(f"more than {INSTANCES_MOST} instances", n)
            found.instances.append((n, dict(zip(heads, row, strict=True))))
        elif table == _HOST and row[0] == "% Processor Time" and found.busy is None:
            found.busy = printed(row[1], "%", Dimension.SHARE)
    return found


def _cell(n: int, row: Mapping[str, str], of: str) -> ImportedCell | None:
    """Of one instance; None where nothing was done."""
    sides = {
        side: measured
        for side, word in (("read", "Reads"), ("write", "Writes"))
        if (measured := _side(row, f"I/O {of} {word}", n)) is not None
    }
    instance = next(iter(row.values()))[:200]
    if not sides:
        return None
    return ImportedCell(
        name=f"{instance}: {of.lower()}", line=n, incomplete=(_WHY,), words={"target": instance}, sides=sides,
        total=whole(sides) if len(sides) > 1 else None,
    )  # fmt: skip


def _side(row: Mapping[str, str], words: str, n: int) -> Measured | None:
    iops = _figure(row, f"{words}/sec", "", Dimension.PLAIN, n)
    if iops is None or not iops.value:
        return None
    size = _figure(row, f"{words} Average Bytes", "B", Dimension.BYTES, n)
    mean = _figure(row, f"{words} Average Latency (msec)", "ms", Dimension.TIME, n)
    figures = {"iops": iops}
    if size is not None and size.value:
        (low, high), (least, most) = iops.bounds(), size.bounds()
        figures["rate"] = exact(iops.base * size.base, Dimension.RATE, low=max(0.0, low * least), high=high * most)
    if mean is not None:
        figures["time.mean"] = mean
    return Measured(figures=figures)


def _figure(row: Mapping[str, str], head: str, unit: str, dimension: Dimension, n: int) -> Figure | None:
    text = row.get(head, "")
    found = printed(text, unit, dimension)
    if found is None and text.strip() not in ("", "N/A", "NaN", "-"):
        raise Misread(f"{head} is {text[:40]!r}, which is not a number", n)
    return found


def _summed(cells: Sequence[ImportedCell], name: str, **own: object) -> ImportedCell:
    made = merged(cells, name, **own)
    return made.model_copy(update={"name": name, "total": whole(made.sides) if len(made.sides) > 1 else None})


def _seconds(facts: Mapping[str, str]) -> float | None:
    """Between the begin and the end of what was collected."""
    times = [_when(facts.get(f"Collection {end} Time", "")) for end in ("Start", "End")]
    if times[0] is None or times[1] is None or times[1] <= times[0]:
        return None
    return (times[1] - times[0]).total_seconds()


def _when(text: str) -> datetime | None:
    for form in _WHEN:
        try:
            return datetime.strptime(text, form)
        except ValueError:
            continue
    return None


def _notes(facts: Mapping[str, str], databases: Sequence[ImportedCell]) -> Iterator[str]:
    yield "latencies are ms; bytes per second are I/Os × their mean size"
    yield "its clock has no zone: when it began is not taken from it"
    if "Overall Test Result" in facts:
        yield f"Jetstress' own verdict: {facts['Overall Test Result'][:80]}"
    achieved = printed(facts.get(_ACHIEVED, ""))
    sides = [m.base("iops") or 0.0 for c in databases for m in c.sides.values()]
    if achieved is not None and sides and abs(sum(sides) - achieved.value) > 0.01 * achieved.value + 0.01:
        yield f"its databases add up to {sum(sides):.3f} I/Os per second, and {_ACHIEVED} is {achieved.value:.3f}"


def _left_out(found: _Report) -> Iterator[str]:
    for name in dict.fromkeys(found.passed_over):
        yield f"{name}: it is no part of the transactions"
