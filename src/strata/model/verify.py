"""What a verification of data found: faults by name and place, and what follows from them."""

from __future__ import annotations

from enum import StrEnum
from typing import Any

from pydantic import Field

from strata.model.base import Value


class FaultKind(StrEnum):
    """What can be wrong with a block; the definitions are in docs/design/verify.md."""

    LOST = "lost"
    STALE = "stale"
    TORN = "torn"
    MISDIRECTED = "misdirected"
    CORRUPTED = "corrupted"
    FOREIGN = "foreign"
    UNREADABLE = "unreadable"


class Integrity(StrEnum):
    """What follows."""

    SOUND = "sound"
    FAULTS = "faults"
    INCONCLUSIVE = "inconclusive"
    FAILED = "failed"
    STOPPED = "stopped"


class Fault(Value):
    """One fault at one block; ``offset`` is the block's first byte at the target.

    Generations count the writes of a block from 1. Which fields are there depends on ``kind``: ``expected``,
    ``found``, ``seen`` (lost, stale), ``oldest``, ``newest``, ``old_sectors`` (torn), ``from`` and ``generation``
    (misdirected), ``bytes`` and ``first`` (corrupted: how many differ, and where the first one is), ``what``
    (foreign: zeroes, unstamped, other_run, never_written), ``errno`` (unreadable; 0 where the read ended early).
    """

    kind: FaultKind
    offset: int
    expected: int | None = None
    found: int | None = None
    seen: int | None = None
    oldest: int | None = None
    newest: int | None = None
    old_sectors: int | None = None
    origin: int | None = Field(default=None, alias="from")
    generation: int | None = None
    sectors: int | None = None
    bytes: int | None = None
    first: int | None = None
    what: str | None = None
    run: int | None = None
    errno: int | None = None


class WriteFailure(Value):
    """Writes that the target refused, by errno (0: done in part); nothing was promised of them."""

    errno: int
    count: int
    first_offset: int


class Stuck(Value):
    """A request that did not complete in time: ``op`` is read, write, flush, or submit for a hanging thread."""

    op: str
    offset: int | None
    age_ns: int


class InFlight(Value):
    """Blocks whose last write had no known outcome, and what was found there. None of it is a fault."""

    new: int
    old: int
    torn: int
    torn_offsets: tuple[int, ...]


class JournalState(Value):
    """The blocks a journal speaks of, before anything else was done."""

    acknowledged: int
    in_flight: int
    unflushed: int
    cut_short: bool


class Verified(Value):
    """What the engine did and found; times in ns, sizes in bytes."""

    schema_version: int = Field(alias="schema")
    mode: str
    run: str
    end: dict[str, str]
    engine: dict[str, Any]
    first_byte: int
    blocks: int
    block_bytes: int
    sector_bytes: int
    elapsed_ns: int
    passes: int
    reads: int
    writes: int
    read_bytes: int
    write_bytes: int
    flushes: int
    flush_failures: int
    flush_unsupported: bool
    verified_blocks: int
    write_failures: tuple[WriteFailure, ...]
    stuck: tuple[Stuck, ...]
    counts: dict[FaultKind, int]
    faults: tuple[Fault, ...]
    faults_beyond: int
    in_flight: InFlight
    journal: JournalState | None

    @property
    def faulty(self) -> int:
        """How many faults there are, listed or not."""
        return sum(self.counts.values()) + self.faults_beyond


class VerifyResult(Value):
    """A verification with its verdict, as it is printed."""

    schema_version: str = Field(default="strata.verify/1", alias="schema")
    endpoint: str
    verdict: Integrity
    why: str
    result: Verified
    stopped_by: int | None = None
    """The signal that stopped it."""


def judge(result: Verified) -> tuple[Integrity, str]:
    """What follows, and the sentence that says why. Faults outweigh everything else."""
    end = result.end["kind"]
    if result.faulty:
        return Integrity.FAULTS, "the target does not hold what it acknowledged"
    if end in ("carrier_lost", "journal_failed"):
        what = "the connection to the target was lost" if end == "carrier_lost" else "the journal cannot be written"
        return Integrity.FAILED, f"{what}: {result.end.get('why', '')}"
    if result.stuck:
        return Integrity.INCONCLUSIVE, "requests did not complete; their effect is unknown"
    if end == "stopped":
        return Integrity.STOPPED, "it was stopped before it was complete"
    if result.write_failures:
        return Integrity.FAILED, "the target rejected writes; all acknowledged data is present"
    if result.flush_failures:
        return Integrity.FAILED, "the target rejected flushes; all acknowledged data is present"
    if result.verified_blocks < result.blocks:
        missing = result.blocks - result.verified_blocks
        return Integrity.INCONCLUSIVE, f"{missing} of {result.blocks} blocks were not read back"
    return Integrity.SOUND, "every block holds what was acknowledged"
