"""What IOR's text and JSON have in common: one access of one repetition as a cell, and the settings of a test.

Its bandwidth is of the time from open to close; the IOPS beside it are of the transfers alone. Figures of one cell are
of one clock: IOPS are made from the bandwidth and the size of a transfer, as in IOR's own summary. MiB are 2^20 bytes.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from strata import units
from strata.errors import UsageError
from strata.formats.results._measured import unix_ns
from strata.model.figures import Dimension, Figure, exact
from strata.model.imported import ImportedCell, Measured

NOTES = (
    "IOPS are bandwidth ÷ size of a transfer, from open to close, as in its summary; those of its table of results "
    "are of the transfers alone",
    "its times have no zone: taken for UTC",
)
LEFT_OUT = (
    "the summary: it is of the repetitions, which are read one by one",
    "the latency: it is the time of one task ÷ the transfers of its last round, not the mean time of an I/O",
)
_COUNT = re.compile(r"(\d{1,12})\b")


@dataclass
class IorTest:
    """``asked`` and ``words`` of its cells; ``moved``: bytes of one access, None where they are not known."""

    asked: dict[str, Any] = field(default_factory=dict)
    words: dict[str, str] = field(default_factory=dict)
    moved: int | None = None
    started_unix_ns: int | None = None


def test_of(options: Mapping[str, str], command: str, started: str) -> IorTest:
    """From the options that IOR repeats, by their names, and its command line."""
    made = IorTest(started_unix_ns=unix_ns(started.strip(), "%a %b %d %H:%M:%S %Y"))
    words = command.split()
    tasks = _whole(options.get("tasks") or options.get("clients"))
    made.asked = {"iodepth": 1, **({} if tasks is None else {"threads": tasks})}
    size = _size(options.get("xfersize"))
    if size is not None:
        made.asked["bs"] = size
    if words and "-f" not in words:
        made.asked["direct"] = any(w == "-B" or w.startswith("--posix.odirect") for w in words)
        if "-Y" in words:
            made.asked["fsync"] = 1
    made.words = {
        name: options[key][:256]
        for name, key in (("target", "test filename"), ("engine", "api"), ("files", "access"), ("order", "type"))
        if options.get(key)
    }
    block, segments = _size(options.get("blocksize")), _whole(options.get("segments"))
    ends_early = "-D" in words or _whole(options.get("stonewallingTime"))
    if block and segments and tasks and not ends_early:
        made.moved = block * segments * tasks
    # A file or a block for each task, which the laws of interleaved streams ask for.
    made.words["ranges"] = "own"
    ordering = options.get("ordering in a file", "")
    if ordering:
        made.words["ordering"] = ordering.split()[0][:40]
    return made


def cell_of(test: IorTest, access: str, rate: Figure, seconds: float | None, line: int) -> ImportedCell:
    """``rate`` in MiB/s; ``seconds`` from open to close, as they were printed."""
    asked = dict(test.asked)
    words = {key: value for key, value in test.words.items() if key != "ordering"}
    if "ordering" in test.words:
        asked["rw"] = ("rand" if test.words["ordering"] == "random" else "") + access
    figures = {"rate": rate}
    size = asked.get("bs")
    if size:
        low, high = (bound / size for bound in rate.bounds())
        figures["iops"] = exact(rate.base / size, low=low, high=high)
    if test.moved is not None and rate.base > 0:
        figures["bytes"] = exact(test.moved, Dimension.BYTES)
        if size:
            figures["ios"] = exact(test.moved // size)
        # Better known than from the digits that are printed of it.
        seconds = test.moved / rate.base
    return ImportedCell(
        name=f"{words.get('target') or 'a test'}", line=line, asked=asked, words=words, seconds=seconds or None,
        sides={access: Measured(figures=figures)}, started_unix_ns=test.started_unix_ns,
    )  # fmt: skip


def host_of(machine: str) -> tuple[str, str]:
    """(host, system) from ``Linux n1 5.14 …``."""
    system, _, host = machine.strip().partition(" ")
    return host.partition(" ")[0][:256], system[:100]


def _whole(said: str | None) -> int | None:
    found = _COUNT.match(said or "")
    return None if found is None else int(found[1])


def _size(said: str | None) -> int | None:
    """Of ``65536 bytes``, ``1 MiB``; None for what was rounded."""
    word = (said or "").removesuffix("bytes").strip()
    if not word or "." in word or len(word) > 20:
        return None
    try:
        return units.parse_size(word)
    except UsageError:
        return None
