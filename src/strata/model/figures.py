"""Figures as somebody printed them: with the unit, the step and the rounding known, or known to be unknown.

A `Table` is what the consistency laws are asked of, made from our own run and from others' results alike. A column
is named by a *key*: a kind and what it is of, as ``time.p99``, ``iops.read`` or ``busy.kernel`` (`KINDS`).
"""

from __future__ import annotations

from enum import StrEnum
from functools import lru_cache
from typing import Any

from pydantic import Field

from strata.model.base import Value
from strata.model.cause import Cause
from strata.model.experiment import Experiment
from strata.model.finding import Diagnosis
from strata.units import GIB, KIB, MIB, TIB


class Dimension(StrEnum):
    """What a kind is counted in; the base unit inside Strata."""

    PLAIN = "plain"
    BYTES = "B"
    RATE = "B/s"
    TIME = "ns"
    SHARE = "share"
    FREQUENCY = "Hz"


KINDS: dict[str, tuple[Dimension, str]] = {
    "iops": (Dimension.PLAIN, "I/Os per second"),
    "rate": (Dimension.RATE, "bytes per second"),
    "size": (Dimension.BYTES, "bytes of one I/O"),
    "depth": (Dimension.PLAIN, "I/Os that one thread keeps in flight"),
    "threads": (Dimension.PLAIN, "threads, or what else the load is scaled by"),
    "hosts": (Dimension.PLAIN, "hosts that each drive depth × threads"),
    "outstanding": (Dimension.PLAIN, "I/Os kept in flight over all threads"),
    "in_flight": (Dimension.PLAIN, "mean number in flight, counted"),
    "time": (Dimension.TIME, "time of one I/O: mean, p50, p99, max, service, or a part of it"),
    "ios": (Dimension.PLAIN, "I/Os counted"),
    "errors": (Dimension.PLAIN, "I/Os that failed"),
    "short": (Dimension.PLAIN, "I/Os that moved fewer bytes than asked"),
    "deviation": (Dimension.PLAIN, "standard deviation of the IOPS over the measurement"),
    "edge": (Dimension.SHARE, "time of the longest I/O, as a share of the length of one repetition"),
    "bytes": (Dimension.BYTES, "bytes counted"),
    "seconds": (Dimension.TIME, "length of the measurement"),
    "rounds": (Dimension.PLAIN, "number of repetitions that the row averages"),
    "percentile": (Dimension.PLAIN, "percentile (0..100) of the time in the row"),
    "beyond": (Dimension.PLAIN, "I/Os slower than the row's time"),
    "busy": (Dimension.SHARE, "share of time a resource is busy"),
    "idle": (Dimension.SHARE, "share of time a resource is idle"),
    "cores": (Dimension.PLAIN, "processors"),
    "clock": (Dimension.FREQUENCY, "clock of one CPU"),
    "cost": (Dimension.PLAIN, "CPU cycles per byte"),
    "cap": (Dimension.PLAIN, "requested rate in I/Os per second"),
    "link": (Dimension.RATE, "capacity of a connection in one direction"),
    "wire": (Dimension.RATE, "bytes per second on a connection: total of both directions, sent or received"),
    "device": (Dimension.RATE, "bytes per second at a device"),
    "reached": (Dimension.PLAIN, "bytes that the device read per byte requested"),
    "file": (Dimension.BYTES, "size of the test file"),
    "cache": (Dimension.BYTES, "size of a cache on the path"),
    "hits": (Dimension.SHARE, "share of look-ups that a cache answered: of data or of metadata"),
    "memory": (Dimension.BYTES, "memory of a storage controller, or of one NUMA node"),
    "unit": (Dimension.BYTES, "allocation unit or stripe"),
    "align": (Dimension.BYTES, "alignment of the offsets"),
    "pieces": (Dimension.PLAIN, "number of parts of one I/O or file"),
    "before": (Dimension.PLAIN, "a figure before a change"),
    "after": (Dimension.PLAIN, "the same figure after it"),
    "change": (Dimension.SHARE, "the relative change as reported"),
    "difference": (Dimension.PLAIN, "after minus before, as reported"),
    "whole": (Dimension.PLAIN, "a whole of equal parts"),
    "part": (Dimension.PLAIN, "one of its parts"),
    "count": (Dimension.PLAIN, "number of parts"),
    "ratio": (Dimension.PLAIN, "now ÷ then, or layer ÷ layer below"),
    "noise": (Dimension.SHARE, "relative difference of identical measurements"),
    "ref": (Dimension.PLAIN, "a reference to compare the IOPS of the row with"),
    "seed": (Dimension.PLAIN, "seed of the random offsets"),
    "rpm": (Dimension.PLAIN, "revolutions per minute of the disk"),
}
"""Every kind of figure that a table may hold."""

SETTINGS = frozenset({
    "size", "depth", "threads", "hosts", "rpm", "outstanding", "percentile", "cap", "unit", "align", "count", "cores",
    "seed", "rounds", "memory",
})  # fmt: skip
"""Kinds that are chosen and not read off: nothing was cut from them."""

_SIZES: dict[str, tuple[tuple[str, float], ...]] = {"B": (("B", 1),), "": (("B", 1),)}
for _letter, _binary, _decimal in (("K", KIB, 1e3), ("M", MIB, 1e6), ("G", GIB, 1e9), ("T", TIB, 1e12)):
    _SIZES[_letter] = _SIZES[f"{_letter}iB"] = ((f"{_letter}iB", _binary),)
    _SIZES[f"{_letter}B"] = ((f"{_letter}B", _decimal), *_SIZES[_letter])
_BITS = {"b/s": 1 / 8, "Kb/s": 1e3 / 8, "Mb/s": 1e6 / 8, "Gb/s": 1e9 / 8}
_TIMES = {"ns": 1.0, "us": 1e3, "µs": 1e3, "ms": 1e6, "s": 1e9, "min": 60e9, "h": 3600e9}
_CLOCKS = {"Hz": 1.0, "MHz": 1e6, "GHz": 1e9}


@lru_cache(maxsize=1000)
def readings(dimension: Dimension, unit: str) -> tuple[tuple[str, float], ...]:
    """What a printed unit may mean: (name, base units of one), the literal meaning first; empty for no such unit.

    ``MB`` is 10^6 bytes by the standard and 2^20 to many tools: it has both. A bare ``K`` is 2^10, as in fio.
    """
    word = unit.strip()
    if dimension is Dimension.TIME:
        return ((word, _TIMES[word]),) if word in _TIMES else ()
    if dimension is Dimension.FREQUENCY:
        return ((word, _CLOCKS[word]),) if word in _CLOCKS else ()
    if dimension is Dimension.SHARE:
        return {"%": (("%", 0.01),), "": (("", 1.0),)}.get(word, ())
    if dimension is Dimension.PLAIN:
        return (("", 1.0),) if word in ("", "IOPS", "I/O") else ()
    word = word.replace("Bytes", "B").replace("bytes", "B")
    if dimension is Dimension.BYTES:
        return _SIZES.get(word[:1].upper() + word[1:], ())
    if not word:
        # Nothing was said: whatever the rows agree with.
        return tuple((f"{name}/s", scale) for unit in ("B", "KB", "MB", "GB") for name, scale in _SIZES[unit])
    for tail in ("/sec", "ps", "/s"):
        if word.endswith(tail):
            word = word.removesuffix(tail)
            break
    else:
        return ()
    if f"{word}/s" in _BITS:
        return ((f"{word}/s", _BITS[f"{word}/s"]),)
    found = _SIZES.get(word[:1].upper() + word[1:], ()) if word.endswith("B") else ()
    return tuple((f"{name}/s", scale) for name, scale in found)


class Rounding(StrEnum):
    """What was done to a number before it was printed."""

    EXACT = "exact"
    NEAREST = "nearest"
    DOWN = "down"
    UNKNOWN = "unknown"
    ABOUT = "about"


LARGEST = 1e30
"""No figure is larger: in no unit, squared or added up, does it leave the numbers that a computer has."""


class Figure(Value):
    """One printed number.

    ``value`` and ``step`` (the worth of the last printed place, 0 where nothing was cut) are in ``unit`` as printed.
    ``low``/``high`` stand instead of the step where an interval is known.
    """

    dimension: Dimension = Dimension.PLAIN
    value: float = Field(ge=-LARGEST, le=LARGEST)
    unit: str = ""
    step: float = 0.0
    rounding: Rounding = Rounding.EXACT
    low: float | None = None
    high: float | None = None

    @property
    def readings(self) -> tuple[tuple[str, float], ...]:
        """(name, scale to the base unit) of everything the unit may mean, the literal meaning first."""
        return readings(self.dimension, self.unit)

    @property
    def base(self) -> float:
        """The value in the base unit, the unit taken literally."""
        return self.value * self.readings[0][1]

    def bounds(self, scale: float | None = None, rounding: Rounding | None = None) -> tuple[float, float]:
        """Between what the true value lies, in the base unit, under this reading of unit and rounding."""
        by = self.readings[0][1] if scale is None else scale
        if self.low is not None and self.high is not None:
            return self.low * by, self.high * by
        known = self.rounding if rounding is None or self.rounding is not Rounding.UNKNOWN else rounding
        below, above = _SPREAD[known]
        return (self.value - below * self.step) * by, (self.value + above * self.step) * by


_SPREAD = {
    Rounding.EXACT: (0.0, 0.0),
    Rounding.NEAREST: (0.5, 0.5),
    Rounding.DOWN: (0.0, 1.0),
    Rounding.UNKNOWN: (0.5, 1.0),
    Rounding.ABOUT: (1.0, 1.0),
}


class Role(StrEnum):
    """What a row is: measured, asked for beforehand, or said about the others in words."""

    MEASURED = "measured"
    PLANNED = "planned"
    SAID = "said"


class Row(Value):
    """One line: its name, its labels and its figures by key. What was not printed is absent."""

    name: str
    role: Role = Role.MEASURED
    words: dict[str, str] = {}
    figures: dict[str, Figure] = {}
    unread: dict[str, str] = {}
    """Numbers of columns that nobody understood: results, as it seems, that tell no two workloads apart."""

    def like(self, *leave_out: str) -> tuple[tuple[str, str], ...]:
        """The labels but these, to find the rows that differ in nothing else."""
        return tuple(sorted((k, v) for k, v in self.words.items() if k not in leave_out))


class Table(Value):
    """Rows that belong together, with what holds for all of them (``figures`` and ``words``)."""

    name: str
    rows: tuple[Row, ...]
    words: dict[str, str] = {}
    figures: dict[str, Figure] = {}

    def of(self, role: Role) -> tuple[Row, ...]:
        return tuple(r for r in self.rows if r.role is role)

    def word(self, row: Row, key: str) -> str | None:
        """A label of the row, else of the table."""
        return row.words.get(key, self.words.get(key))

    def figure(self, row: Row, key: str) -> Figure | None:
        """A figure of the row, else of the table."""
        return row.figures.get(key, self.figures.get(key))


class Flag(Value):
    """A law that a row does not obey; ``row`` empty: the whole table.

    ``broken``: figures or words contradict each other. Otherwise they may all be true and do not say what they seem to.
    ``numbers`` are those the reason rests on, in base units.
    """

    law: str
    row: str
    broken: bool
    reason: str
    next_step: str
    column: str = ""
    numbers: dict[str, float] = {}
    words: dict[str, str] = {}
    title: str = ""
    """The law's heading."""


class Standing(StrEnum):
    """How far figures carry what is concluded from them."""

    SHOWN = "shown"
    SUGGESTED = "suggested"
    OPEN = "open"


class Conclusion(Value):
    """What the rows of a table show together.

    ``asked`` is the question's key, ``at`` the node, resource or layer that is meant, ``rows`` what it rests on.
    ``cause`` is None where no cause is named. ``missing`` are figures that would tell more; ``numbers`` are in base
    units.
    """

    asked: str
    standing: Standing
    says: str
    because: str
    next_step: str
    cause: Cause | None = None
    at: str = ""
    rows: tuple[str, ...] = ()
    missing: tuple[str, ...] = ()
    numbers: dict[str, float] = {}


class Checked(Value):
    """What `strata check` says: which laws there are, which of them could be asked of how many rows, and what did not
    hold. A law that lacks a figure in every row is not ``asked``.

    ``figures`` are the keys that were understood and ``labels`` the columns that were not taken for figures. ``unread``
    are the labels that hold nothing but numbers: what they are was not understood, so that nothing was asked of them.
    """

    schema_version: str = Field(default="strata.check/1", alias="schema")
    source: str
    rows: int
    figures: tuple[str, ...] = ()
    labels: tuple[str, ...] = ()
    unread: tuple[str, ...] = ()
    laws: tuple[str, ...]
    asked: tuple[str, ...] = ()
    flags: tuple[Flag, ...]
    left_out: tuple[str, ...] = ()
    """Rows of the ladder that nothing could have given, each with its reason."""
    diagnosis: Diagnosis | None = None
    """What the rules say of a table that holds a ladder: layers with the same workloads."""
    experiment: Experiment | None = None
    """What they would measure next to tell it."""
    conclusions: tuple[Conclusion, ...] = ()
    """What the rows show that are no ladder: scaled, on several nodes, before and after, from a cache."""

    @property
    def broken(self) -> int:
        """How many contradictions."""
        return sum(f.broken for f in self.flags)


def exact(value: float, dimension: Dimension = Dimension.PLAIN, **more: Any) -> Figure:
    """A figure of our own, uncut, in the base unit."""
    unit = {Dimension.PLAIN: "", Dimension.SHARE: ""}.get(dimension, dimension.value)
    return Figure(dimension=dimension, value=value, unit=unit, **more)
