"""The options of a workload, each said once: name, kind, bounds, default, help, fio's word, what it goes with.

From this table come the command line, the keys of a profile, the reading of fio's job files, the bounds of `Workload`
and those that the engine and ``strata verify`` check: `crates/strata-io/src/bounds.rs` is written by
``python -m strata.model.workload_options``. Of an option that has a field of `Workload` to itself (`PLAIN`) the rest
comes from it too: the way from the words to the field and back, the job, the part of the key and of the label, fio's
word in both directions, and what diskspd is said to lack. The table is loaded for every ``--help``, and so imports
nothing that takes time.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from enum import Enum, StrEnum
from typing import Any, Literal, get_args

from strata import units
from strata.model.rw import Rw

CLOSED_DEPTH, OPEN_DEPTH = 1, 256
"""Depth where none is given; of an open loop its bound."""
MIX_READS = 50
"""Percent of reads of a mixed workload where none is given; fio's own default too."""
COUNT_MOST = (1 << 32) - 1
"""Of what the engine counts in 32 bits."""
RATE_MOST = 1_000_000_000
"""One I/O each ns."""
TIME_MOST_NS = 366 * 86_400 * units.NS_PER_S
"""A year: beyond it a time is a mistake, and sums of ns stay far from their end."""
INTERVAL_LEAST_NS = 1_000_000
"""Of the intervals that a result is cut into."""
THETA_MOST = 20
"""Of a zipf distribution: beyond it one block gets nearly every I/O."""
CONNECTIONS_MOST = 64
"""Of one endpoint, over all threads."""
CPU_HIGHEST = 1023
"""CPUs and NUMA nodes are numbered up to here (the kernel's cpu_set_t)."""
BUFFERS_MOST = 16 * units.GIB
"""Bytes of one client: block size × iodepth × threads."""
NEW_FILE_BYTES = 256 * units.MIB
"""Size of the test file that is made for one endpoint, where none is asked for."""

PATTERN = "What to measure"
BLOCKS = "Access pattern and data"
PACE = "Rate"
DURABILITY = "Caches and durability"


Process = Literal["constant", "poisson"]
"""How the starts of an open loop are spaced."""
Distribution = Literal["share", "thread", "client"]
"""How I/Os go to several targets: every thread to all of them by their shares, or one to each thread or client."""


class Sync(StrEnum):
    """How a write is made durable: not at all by the workload, or write-through on each I/O.

    ``dsync`` opens the target with O_DSYNC, ``rwf_dsync`` asks it of each write (RWF_DSYNC); over NBD both are FUA.
    """

    NONE = "none"
    DSYNC = "dsync"
    RWF_DSYNC = "rwf_dsync"


def one_of(words: Iterable[str]) -> str:
    """``none, dsync or rwf_dsync``; for help."""
    *first, last = words
    return f"{', '.join(first)} or {last}"


class Kind(Enum):
    """What the text of an option is."""

    SIZE = "size"
    COUNT = "whole number"
    NUMBER = "number"
    TIME = "time"
    FLAG = "flag"
    WORD = "word"


@dataclass(frozen=True)
class WorkloadOption:
    """One option.

    ``name``: the key in a profile. ``spelled``: how the command line says it, `--name` by default; empty: not there.
    ``low``, ``high``: bounds, both included; of a `Kind.NUMBER` ``low`` itself is left out. ``step``: whole multiples
    of it. ``choices``: of a word, where it is one of few. ``fio``: the word of a fio job that has the same meaning;
    empty: the words of others say it too; None: it has none, or it is read together with others. ``means``: a flag that
    is short for another option's value. ``needs``: another option that has to be there; ``apart``: one that must not.

    ``field``: that of `Workload` which holds the value as it is; None: it is put together with others there.
    ``engine``: the engine's job has it, under the name of the field. ``key``, ``label``: its part of a workload's name
    and of what people read, where it asks for something, with the value for ``{}`` (``label_of_one``: of the value 1);
    without a key it makes no other workload. ``diskspd``: its command line says it; where it does not, ``asks`` is what
    it lacks.
    """

    name: str
    kind: Kind
    group: str
    help: str = ""
    default: Any = None
    low: int | None = None
    high: int | None = None
    step: int = 1
    choices: tuple[str, ...] = ()
    spelled: tuple[str, ...] | None = None
    fio: str | None = None
    means: tuple[str, Any] | None = None
    needs: str | None = None
    apart: str | None = None
    field: str | None = None
    engine: bool = False
    key: str = ""
    label: str = ""
    label_of_one: str = ""
    diskspd: bool = False
    asks: str = ""

    @property
    def spellings(self) -> tuple[str, ...]:
        """On the command line: ``--rate-iops``."""
        return (f"--{self.name.replace('_', '-')}",) if self.spelled is None else self.spelled

    @property
    def parameter(self) -> str:
        """What the command line calls the value: ``rate_iops``."""
        return self.spellings[0].removeprefix("--").replace("-", "_")

    @property
    def within(self) -> str:
        """``1..4096``, ``512 B..64 MiB``; for people."""
        said = {Kind.SIZE: units.size, Kind.TIME: units.duration}.get(self.kind, str)
        if self.low is None:
            return f"up to {said(self.high)}" if self.high is not None else "a value"
        return f"{said(self.low)}.." + ("" if self.high is None else said(self.high))

    @property
    def bounds(self) -> dict[str, Any]:
        """As pydantic's fields take them."""
        least = "gt" if self.kind is Kind.NUMBER else "ge"
        return {key: bound for key, bound in ((least, self.low), ("le", self.high)) if bound is not None}

    def named(self, value: Any) -> tuple[str, str]:
        """The parts of a workload's key and label that tell this value."""
        exactly, said = (units.exact_size(value), units.size(value)) if self.kind is Kind.SIZE else (value, value)
        label = self.label_of_one if self.label_of_one and value == 1 else self.label
        return self.key.format(exactly), label.format(said)

    @property
    def steps(self) -> str:
        """``a multiple of 512 bytes``; for people."""
        return f"a multiple of {self.step} bytes"

    def in_step(self, value: float) -> bool:
        """Whether it is a whole multiple of the step."""
        return value % self.step == 0

    def holds(self, value: float) -> bool:
        """Whether it is within the bounds."""
        low, high = -math.inf if self.low is None else self.low, math.inf if self.high is None else self.high
        above = value > low if self.kind is Kind.NUMBER else value >= low
        return above and value <= high and math.isfinite(value)


_CLOSED, _OPEN = "Closed loop: ", "Open loop: "
_FLUSHES = "flushes between writes (fsync, fdatasync)"
_ROWS = (
    WorkloadOption("rw", Kind.WORD, PATTERN, Rw.help()),
    WorkloadOption(
        "bs", Kind.SIZE, PATTERN, "Block size of each I/O, e.g. 4k.", "4k", low=512, high=64 * units.MIB,
        step=512,
    ),
    WorkloadOption(
        "iodepth", Kind.COUNT, PATTERN,
        f"I/Os in flight per thread (default {CLOSED_DEPTH}); with --rate-iops their upper limit "
        f"(default {OPEN_DEPTH}).",
        low=1, high=4096, fio="iodepth",
    ),
    WorkloadOption(
        "threads", Kind.COUNT, PATTERN, "Number of threads.", 1, low=1, high=256, spelled=("--numjobs", "--threads"),
        fio="numjobs", field="threads", engine=True, key="t{}", label="{} threads", diskspd=True,
    ),
    WorkloadOption(
        "clients", Kind.COUNT, PATTERN,
        "Number of clients: processes that start at the same instant, each with --numjobs threads and its own part of "
        "the data.",
        1, low=1, high=1024, field="clients", key="c{}", label="{} clients", asks="several clients (clients)",
    ),
    WorkloadOption(
        "rwmixread", Kind.COUNT, PATTERN, f"Percentage of reads, for rw and randrw (default {MIX_READS}).",
        low=0, high=100, fio="rwmixread",
    ),
    WorkloadOption(
        "rate_iops", Kind.NUMBER, PACE,
        f"{_OPEN}start this many I/Os per second, whether or not earlier ones are complete.", low=0,
        high=RATE_MOST,
    ),
    WorkloadOption(
        "process", Kind.WORD, PACE, f"{_OPEN}arrival process, {one_of(get_args(Process))}.", "constant",
        choices=get_args(Process), spelled=("--rate-process",), needs="rate_iops",
    ),
    WorkloadOption(
        "burst", Kind.COUNT, PACE, f"{_OPEN}number of I/Os that a thread starts at the same time.", 1, low=1,
        high=COUNT_MOST, spelled=("--rate-burst",), needs="rate_iops",
    ),
    WorkloadOption(
        "limit_iops", Kind.NUMBER, PACE, f"{_CLOSED}limit on I/Os per second, over all threads.", low=0,
        high=10**15,
    ),
    WorkloadOption(
        "limit_bytes", Kind.SIZE, PACE, f"{_CLOSED}limit on bytes per second, over all threads, e.g. 100m.", low=1
    ),
    WorkloadOption(
        "thinktime", Kind.TIME, PACE, f"{_CLOSED}pause of a thread after its I/Os complete, e.g. 10ms.", low=0,
        high=TIME_MOST_NS,
    ),
    WorkloadOption(
        "thinktime_blocks", Kind.COUNT, PACE, "Number of I/Os of a thread before each pause.", 1, low=1,
        high=COUNT_MOST,
        fio="thinktime_blocks", needs="thinktime",
    ),
    WorkloadOption(
        "random_distribution", Kind.WORD, BLOCKS,
        "Distribution of random offsets: random (uniform, the default), zipf:THETA, zoned:90/10:10/90 (% of I/Os / % "
        "of the range) or zoned_abs:90/1g:10/9g (% of I/Os / bytes).",
    ),
    WorkloadOption(
        "randommap", Kind.FLAG, BLOCKS, "Random: access every block once before any block is repeated.", default=False
    ),
    WorkloadOption(
        "interlocked", Kind.FLAG, BLOCKS, "Sequential: all threads share one sequence of offsets (diskspd -si).", False
    ),
    WorkloadOption(
        "stride", Kind.SIZE, BLOCKS, "Sequential: distance from the start of one I/O to that of the next, e.g. 64k.",
        low=1,
    ),
    WorkloadOption("gap", Kind.SIZE, BLOCKS, "Sequential: bytes skipped between two I/Os.", low=0, spelled=()),
    WorkloadOption(
        "offset_increment", Kind.SIZE, BLOCKS,
        "Sequential: distance between the start offsets of consecutive threads, e.g. 1g.", low=1,
        fio="offset_increment",
    ),
    WorkloadOption(
        "bssplit", Kind.WORD, BLOCKS,
        "Several block sizes with shares in percent, e.g. 4k/60:64k/40; the split of writes, if different, after a "
        "comma.", apart="bs",
    ),
    WorkloadOption(
        "rwmix_run", Kind.COUNT, BLOCKS, "Mixed workloads: number of consecutive I/Os of a thread in one direction.", 1,
        low=1, high=COUNT_MOST, field="rwmix_run", engine=True, key="run{}", asks="runs of one direction (rwmix_run)",
    ),
    WorkloadOption(
        "blockalign", Kind.SIZE, BLOCKS, "Alignment of the start of each I/O, e.g. 64k (default: the block size).",
        low=1, high=units.GIB, fio="blockalign", field="align", engine=True, key="align{}", label="aligned to {}",
        diskspd=True,
    ),
    WorkloadOption(
        "misalign", Kind.SIZE, BLOCKS, "Offset added to each aligned start, in bytes.", low=0, high=units.GIB,
        fio="", field="misalign", engine=True, key="off{}", label="misaligned by {}", asks="misaligned I/O (misalign)",
    ),
    WorkloadOption(
        "range", Kind.WORD, BLOCKS, "Use only this part of the data: START or START:LENGTH, e.g. 1g:512m.",
    ),
    WorkloadOption(
        "compress_percent", Kind.COUNT, BLOCKS,
        "Percentage by which written data can be compressed, 0 to 99 (default 0).",
        low=0, high=99, spelled=("--buffer-compress-percentage",), fio="buffer_compress_percentage",
    ),
    WorkloadOption(
        "dedupe_percent", Kind.COUNT, BLOCKS,
        "Percentage of written 4 KiB units that repeat an earlier one, 0 to 99 (default 0).",
        low=0, high=99, spelled=("--dedupe-percentage",), fio="dedupe_percentage",
    ),
    WorkloadOption(
        "refill", Kind.FLAG, BLOCKS, "Generate new data for every write; costs CPU time.", False,
        spelled=("--refill-buffers",), fio="refill_buffers",
    ),
    WorkloadOption(
        "zero_buffers", Kind.FLAG, BLOCKS, "Write zeros instead of random data.", False, fio="zero_buffers",
        field="zero_buffers", engine=True, key="zeros", label="writes zeros", asks="writes of zeros (zero_buffers)",
    ),
    WorkloadOption("direct", Kind.FLAG, DURABILITY, "O_DIRECT.", True, spelled=(), fio="direct"),
    WorkloadOption(
        "buffered", Kind.FLAG, DURABILITY, "Use the page cache instead of O_DIRECT.", False, means=("direct", False)
    ),
    WorkloadOption(
        "cache", Kind.WORD, DURABILITY,
        "Use the page cache, with the file's pages evicted (cold) or loaded (warm) and verified before the start.",
        choices=("cold", "warm"),
    ),
    WorkloadOption(
        "dsync", Kind.FLAG, DURABILITY, "Write-through: every write is durable (O_DSYNC).", False,
        means=("sync", "dsync"), apart="sync",
    ),
    WorkloadOption(
        "sync", Kind.WORD, DURABILITY,
        f"Durability of writes: {Sync.NONE}, {Sync.DSYNC} (as --dsync) or {Sync.RWF_DSYNC} (RWF_DSYNC on each write).",
    ),
    WorkloadOption(
        "fsync", Kind.COUNT, DURABILITY, "Call fsync after this many writes of a thread; 0: never.", 0, low=0,
        high=COUNT_MOST, fio="fsync", field="fsync", engine=True, key="fsync{}", label="fsync after {} writes",
        label_of_one="fsync after each write", asks=_FLUSHES,
    ),
    WorkloadOption(
        "fdatasync", Kind.COUNT, DURABILITY, "Call fdatasync after this many writes of a thread; 0: never.", 0, low=0,
        high=COUNT_MOST, fio="fdatasync", field="fdatasync", engine=True, key="fdatasync{}",
        label="fdatasync after {} writes", label_of_one="fdatasync after each write", asks=_FLUSHES,
    ),
    WorkloadOption(
        "seed", Kind.COUNT, BLOCKS, default=1, low=0, high=units.MOST - 1, spelled=(), fio="randseed", field="seed"
    ),
    WorkloadOption("shares", Kind.WORD, PATTERN, default=(), spelled=()),
    WorkloadOption(
        "deal", Kind.WORD, PATTERN,
        "Targets of a thread: share (every thread uses all), thread (each uses one, round-robin) or client (each "
        "client uses one).",
        "share", choices=get_args(Distribution), spelled=(), fio="", field="deal", engine=True,
    ),
)  # fmt: skip
OPTIONS = {row.name: row for row in _ROWS}
"""By name. A row without spellings is said in another way on the command line, or not there."""
PLAIN = {row.field: row for row in _ROWS if row.field is not None}
"""Those that have a field of `Workload` to themselves, by its name: all that passes them on goes through this."""
WORDS = tuple(row.name for row in _ROWS if row.means is None)
"""The keys of a profile, and what a workload is made of."""


def bounds(name: str) -> dict[str, Any]:
    """Of an option, as pydantic's fields take them."""
    return OPTIONS[name].bounds


_IN_RUST = {
    "BS_MOST": ("Bytes of one I/O.", OPTIONS["bs"].high),
    "IODEPTH_MOST": ("I/Os that one thread keeps in flight.", OPTIONS["iodepth"].high),
    "THREADS_MOST": ("Threads of one workload.", OPTIONS["threads"].high),
    "BUFFERS_MOST": ("Bytes for buffers of all threads.", BUFFERS_MOST),
    "CONNECTIONS_MOST": ("Connections to one endpoint, over all threads.", CONNECTIONS_MOST),
    "CPU_HIGHEST": ("Number of a CPU or NUMA node.", CPU_HIGHEST),
    "RATE_MOST": ("I/Os per second of an open loop.", RATE_MOST),
    "TIME_MOST_NS": ("A year in ns, of any time of a job.", TIME_MOST_NS),
    "INTERVAL_LEAST_NS": ("The shortest interval of a result, in ns.", INTERVAL_LEAST_NS),
    "THETA_MOST": ("Exponent of a zipf distribution.", THETA_MOST),
    "CONTENT_PERCENT_MOST": (
        "Percent of written data that compress, or that repeat.",
        OPTIONS["compress_percent"].high,
    ),
}


def connections_problem(text: str) -> str | None:
    """What is wrong with the number of connections that an address asks for; None where it can be used."""
    if text.isascii() and text.isdigit() and 1 <= int(text[:9]) <= CONNECTIONS_MOST:
        return None
    return f"connections={text} is not in 1..{CONNECTIONS_MOST}"


def in_rust() -> str:
    """The bounds as the engine checks them."""
    head = "//! Bounds of a workload. Written by `python -m strata.model.workload_options`: change the table there.\n"
    kinds = {
        name: "u64" if (most or 0) > COUNT_MOST or name.endswith("_NS") else "u32"
        for name, (_, most) in _IN_RUST.items()
    }
    lines = [f"/// {what}\npub const {name}: {kinds[name]} = {most:_};\n" for name, (what, most) in _IN_RUST.items()]
    return "\n".join([head, *lines]).rstrip("\n")


if __name__ == "__main__":
    from strata.text.output import out

    out(in_rust(), exact=True)
