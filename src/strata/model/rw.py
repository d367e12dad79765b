"""The modes of a workload: the one table of what each ``rw`` does, and what follows from it.

A mode is a member with its row here and, in the engine, a row of `crates/strata-engine/src/job/rw.rs`; whoever needs to
know more of a mode than its name asks one of these. Loaded for every ``--help``: it imports nothing that takes time.
"""

from __future__ import annotations

from enum import StrEnum
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from strata.model.endpoint import EndpointKind

TRIMMED = ("file", "block")
"""Kinds of endpoints whose blocks can be discarded here."""

READ_ONLY = "the layer is read-only: Strata does not write to what it did not create"


class Rw(StrEnum):
    """fio's ``rw``: direction and order. A row is the word, what it is called for people, and what its I/Os do.

    ``moves``: directions in which data moves. ``writes``: whether any I/O changes what is at the target; every gate
    that protects data asks this. ``fio``: whether fio measures the same under this word.
    """

    _value_: str
    kind: str
    moves: tuple[str, ...]
    writes: bool
    fio: bool

    def __new__(cls, word: str, kind: str, moves: tuple[str, ...], writes: bool, fio: bool = True) -> Rw:
        """A row of the table."""
        made = str.__new__(cls, word)
        made._value_, made.kind, made.moves, made.writes, made.fio = word, kind, moves, writes, fio
        return made

    READ = "read", "read", ("read",), False
    WRITE = "write", "write", ("write",), True
    RANDREAD = "randread", "read", ("read",), False
    RANDWRITE = "randwrite", "write", ("write",), True
    RW = "rw", "mixed", ("read", "write"), True
    RANDRW = "randrw", "mixed", ("read", "write"), True
    # fio discards blocks of devices only.
    TRIM = "trim", "trim", (), True, False
    RANDTRIM = "randtrim", "trim", (), True, False

    @classmethod
    def of(cls, word: str) -> Rw:
        """The mode of a word as a user writes it. Raises `ValueError` with the reason."""
        word = word.strip().lower()
        word = {"readwrite": "rw"}.get(word, word)
        found = next((mode for mode in cls if mode.value == word), None)
        if found is None:
            raise ValueError(f"is not one of {', '.join(cls)}")
        return found

    @classmethod
    def help(cls) -> str:
        """All of them, in the words of the option's help."""
        *others, last = [f"{word} (default)" if word is cls.RANDREAD else word.value for word in cls]
        return f"I/O pattern: {', '.join(others)} or {last}."

    @property
    def random(self) -> bool:
        """Whether offsets are drawn at random (uniform, with replacement)."""
        return self.value.startswith("rand")

    @property
    def reads(self) -> bool:
        """Whether any I/O of it reads."""
        return "read" in self.moves

    @property
    def carries(self) -> bool:
        """Whether any I/O of it brings data that is to be kept."""
        return "write" in self.moves

    @property
    def mixed(self) -> bool:
        """Whether its I/Os have two directions, so that a percentage of reads goes with it."""
        return len(self.moves) > 1

    @property
    def words(self) -> str:
        """``sequential read``, ``random 70/30`` style words without the mix."""
        return f"{'random' if self.random else 'sequential'} {self.kind}"

    @property
    def discards(self) -> bool:
        """Whether its I/Os leave nothing to read: their blocks have to be written before they are read as data."""
        return not self.moves

    def refusal(self, kind: EndpointKind, *, read_only: bool = False) -> str | None:
        """Why it cannot be asked of an endpoint of this kind, or of a layer that is only read; None where it can."""
        if self.discards and kind not in TRIMMED:
            return f"Strata trims files and block devices of this machine, not {kind}; trim what is mounted or attached"
        return READ_ONLY if read_only and self.writes else None

    @property
    def alone(self) -> str | None:
        """Why it cannot be one of several cells that share a file; None where it can."""
        if not self.discards:
            return None
        alone = f"strata measure file:/mnt/new.dat --rw {self.value}"
        return f"rw={self.value} leaves no data for other cells and rounds; measure it by itself: {alone}"
