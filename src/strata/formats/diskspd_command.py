"""A workload from a diskspd command line.

Options and defaults as diskspd 2.x documents and reads them (github.com/microsoft/diskspd, wiki "Command line and
parameters"): 64 KiB, two I/Os outstanding for each thread and target, reads, sequential, through the cache. Sizes are
binary (K, M, G, T) or in blocks (b). What is meant otherwise there:

* ``-g`` is a ceiling of each thread, in bytes per *millisecond* or, with ``i``, in IOPS; ours is of all threads.
* ``-i`` is shared out to the threads; the pause of ``-j`` begins when the burst is done, as ours does.
* Threads of a sequence all begin at the same place without ``-T``; ours each have a part of their own.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from strata import units
from strata.parsing import whole

BLOCK, OUTSTANDING = 64 * units.KIB, 2
_SIZE = re.compile(r"^(\d+)([kmgtb]?)$", re.IGNORECASE)
NOT_OF_THE_WORKLOAD = ":CDILPRWaceldnvxy"
"""How long, where and beside what diskspd itself runs."""


@dataclass
class DiskspdCommand:
    """``words`` are those of `strata.model.workload_options`; ``complaints`` cannot be carried; ``notes`` differ."""

    words: dict[str, Any] = field(default_factory=dict)
    complaints: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    targets: tuple[str, ...] = ()


@dataclass
class _Said:
    """What the options said, before they are put together."""

    block: int
    into: DiskspdCommand
    outstanding: int = OUTSTANDING
    per_thread: int | None = None
    threads: int = 1
    total: int | None = None
    write: int = 0
    random: bool = False
    align: int | None = None
    zones: str | None = None
    stride: int | None = None
    interlocked: bool = False
    apart: int | None = None
    base: int = 0
    length: int | None = None
    end: int | None = None
    ceiling: tuple[int, bool] | None = None
    burst: int | None = None
    pause_ms: int | None = None
    parallel: bool = False
    caching: str | None = None
    data: str | None = None
    ignored: list[str] = field(default_factory=list)

    def size(self, text: str) -> int:
        """Bytes. Raises `ValueError`."""
        match = _SIZE.match(text)
        if match is None:
            raise ValueError("is not a diskspd size (a whole number with K, M, G, T or b)")
        unit = match[2].lower()
        return whole(match[1]) * (self.block if unit == "b" else units.BY_LETTER[unit])


def workload_of_diskspd(arguments: Sequence[str]) -> DiskspdCommand:
    """The workload that the words behind ``diskspd`` ask of one of their targets."""
    made = DiskspdCommand()
    options = [a for a in arguments if _is_option(a)]
    made.targets = tuple(a for a in arguments if a not in options)
    said = _Said(block=BLOCK, into=made)
    # Sizes in blocks mean the block size wherever it stands.
    for option in sorted(options, key=lambda o: o[1] != "b"):
        letter, value = option[1], option[2:]
        if letter in NOT_OF_THE_WORKLOAD:
            said.ignored.append(option)
            continue
        taken = _KNOWN.get(letter)
        try:
            if taken is None:
                raise ValueError("is not known")
            taken(said, value)
        except ValueError as e:
            made.complaints.append(f"{option}: {e}")
    _together(said)
    return made


def _is_option(word: str) -> bool:
    """``-b8K``, or ``/b8K`` as on Windows; ``/mnt/t.dat`` is a target (zones alone have a slash of their own)."""
    return len(word) > 1 and (word[0] == "-" or (word[0] == "/" and ("/" not in word[1:] or word.startswith("/rd"))))


def _together(said: _Said) -> None:
    made = said.into
    threads = said.threads if said.total is None else said.total
    depth = said.outstanding if said.per_thread is None else said.per_thread
    made.words |= {"rw": _rw(said), "bs": said.block, "iodepth": depth, "threads": threads}
    if said.total is not None and said.threads > 1:
        made.complaints.append("-t: contradicts -F")
    if 0 < said.write < 100:
        made.words["rwmixread"] = 100 - said.write
    _caching(said)
    (_random if said.random else _sequential)(said, threads)
    _held_back(said, threads)
    if said.base or said.end is not None or said.length is not None:
        length = said.length if said.end is None else said.end - said.base
        made.words["range"] = str(said.base) if length is None else f"{said.base}:{length}"
        if length is not None and length <= 0:
            made.complaints.append(f"-f and -B: the range from {said.base} to {said.end} is empty")
    _data(said)
    if len(made.targets) > 1:
        if said.per_thread is not None:
            made.complaints.append(
                f"-O: is shared by {len(made.targets)} targets, which is not supported; give one target"
            )
        made.notes.append(f"{len(made.targets)} targets: this is the workload of each one")
    if said.ignored:
        made.notes.append(f"not part of the workload, ignored: {' '.join(said.ignored)}")


def _rw(said: _Said) -> str:
    kind = "read" if said.write == 0 else "write" if said.write == 100 else "rw"
    return f"rand{kind}" if said.random else kind


def _random(said: _Said, threads: int) -> None:
    made = said.into
    if said.align is not None and said.align != said.block:
        made.words["blockalign"] = said.align
    if said.zones is not None:
        made.words["random_distribution"] = said.zones
    if said.interlocked or said.apart is not None or said.parallel:
        made.complaints.append("-r: contradicts -si, -T and -p, which are for sequential I/O")


def _sequential(said: _Said, threads: int) -> None:
    made = said.into
    if said.zones is not None:
        made.complaints.append("-rd: is for random I/O; add -r")
    if said.parallel and said.outstanding > 1:
        made.complaints.append("-p: parallel I/Os at the same offset are not supported")
    stride = None if said.stride in (None, said.block) else said.stride
    if said.interlocked and threads > 1:
        made.words["interlocked"] = True
        if stride is not None:
            made.complaints.append(
                f"-si{stride}: an interlocked sequence with gaps is not supported; give the block size"
            )
        if said.apart is not None:
            made.complaints.append("-T: contradicts -si")
        return
    if stride is not None:
        made.words["stride"] = stride
    if said.apart is not None and threads > 1:
        made.words["offset_increment"] = said.apart
    elif threads > 1:
        made.notes.append(f"without -T all {threads} threads access the same blocks; in Strata each has its own part")


def _held_back(said: _Said, threads: int) -> None:
    made = said.into
    if said.ceiling is not None:
        value, iops = said.ceiling
        # Bytes per millisecond of each thread.
        made.words["limit_iops" if iops else "limit_bytes"] = value * threads * (1 if iops else 1000)
    if said.burst is not None and said.pause_ms is None:
        made.complaints.append(f"-i{said.burst}: needs -j")
    elif said.pause_ms is not None and said.ceiling is not None:
        made.notes.append(f"-j{said.pause_ms}: diskspd ignores it with -g")
    elif said.pause_ms is not None:
        made.words["thinktime"] = f"{said.pause_ms}ms"
        made.words["thinktime_blocks"] = max(1, (said.burst or 1) // threads)


def _caching(said: _Said) -> None:
    words, letters = said.into.words, said.caching or "b"
    if "m" in letters:
        said.into.complaints.append(f"-S{letters}: memory-mapped I/O is not supported")
    words["direct"] = any(x in letters for x in "hur")
    if "r" in letters:
        said.into.notes.append(f"-S{letters}: bypasses this machine's cache; caches of the server stay in use")
    if said.write and any(x in letters for x in "hw"):
        words["sync"] = "dsync"


def _data(said: _Said) -> None:
    words, notes, z = said.into.words, said.into.notes, said.data
    if not said.write:
        return
    if z == "r":
        words["refill"] = True
    elif z == "":
        words["compress_percent"] = 99
        notes.append("-Z: diskspd writes zeros; Strata writes data that compresses by 99 %")
    elif z is None:
        notes.append(
            "without -Z diskspd writes a pattern that repeats every 256 bytes; Strata writes incompressible data"
        )
    elif "," in z:
        notes.append(f"-Z{z}: the content of the file is unknown; Strata writes incompressible data")


def _count(low: int, high: int | None = None) -> Callable[[str], int]:
    def read(text: str) -> int:
        found = whole(text) if text.isdecimal() else -1
        if found < low or (high is not None and found > high):
            raise ValueError(f"needs a whole number from {low}" + ("" if high is None else f" to {high}"))
        return found

    return read


def _set(name: str, read: Callable[[str], Any] | None = None) -> Callable[[_Said, str], None]:
    """Keeps what the text means; without ``read`` it is a size."""

    def take(said: _Said, value: str) -> None:
        setattr(said, name, (read or said.size)(value))

    return take


def _outset(said: _Said, value: str) -> None:
    base, colon, length = value.partition(":")
    said.base = said.size(base)
    if colon:
        said.length = said.size(length)


def _until(said: _Said, value: str) -> None:
    if value[:1].isdigit():
        said.end = said.size(value)
    elif value and set(value) <= set("rst"):
        said.ignored.append(f"-f{value}")
    else:
        raise ValueError("is neither a size nor hints (r, s, t)")


def _throttle(said: _Said, value: str) -> None:
    said.ceiling = (_count(1)(value.removesuffix("i")), value.endswith("i"))


def _randomly(said: _Said, value: str) -> None:
    if value[:1] == "s":
        share = _count(1, 100)(value[1:])
        if share < 100:
            raise ValueError("random and sequential I/O in one workload is not supported; use two workloads")
        said.random = True
    elif value[:4] in ("dpct", "dabs"):
        said.zones = _zones(said, value[1:4], value[4:])
    elif value[:1] == "d":
        raise ValueError("is neither -rdpct nor -rdabs")
    else:
        said.random = True
        if value:
            said.align = said.size(value)


def _zones(said: _Said, kind: str, value: str) -> str:
    parts = [part.partition("/") for part in value.split(":")]
    if not all(share.isdecimal() and span for share, _, span in parts):
        raise ValueError("is not a list of IO%/target, such as 90/10:10/90")
    if kind == "pct":
        return "zoned:" + ":".join(f"{share}/{span}" for share, _, span in parts)
    return "zoned_abs:" + ":".join(f"{share}/{said.size(span)}" for share, _, span in parts)


def _in_turn(said: _Said, value: str) -> None:
    said.interlocked = value[:1] == "i"
    if rest := value.removeprefix("i"):
        said.stride = said.size(rest)


def _cached(said: _Said, value: str) -> None:
    letters = value or "u"
    if set(letters) - set("bhmruw"):
        raise ValueError("is not one of -S, -Sb, -Sh, -Sm, -Sr, -Su, -Sw")
    said.caching = (said.caching or "") + letters


def _seeded(said: _Said, value: str) -> None:
    if value:
        said.into.words["seed"] = _count(0)(value)


def _written(said: _Said, value: str) -> None:
    if value not in ("", "r") and "," not in value:
        said.size(value)
    said.data = value


def _cannot(why: str) -> Callable[[_Said, str], None]:
    def take(said: _Said, value: str) -> None:
        raise ValueError(why)

    return take


_KNOWN: dict[str, Callable[[_Said, str], None]] = {
    "b": _set("block"),
    "B": _outset,
    "f": _until,
    "F": _set("total", _count(1)),
    "g": _throttle,
    "h": lambda said, value: _cached(said, "h"),
    "i": _set("burst", _count(1)),
    "j": _set("pause_ms", _count(1)),
    "N": _cannot("flushes of memory-mapped I/O are not supported"),
    "o": _set("outstanding", _count(1)),
    "O": _set("per_thread", _count(1)),
    "p": _set("parallel", lambda text: True),
    "r": _randomly,
    "s": _in_turn,
    "S": _cached,
    "t": _set("threads", _count(1)),
    "T": _set("apart"),
    "w": _set("write", lambda text: _count(0, 100)(text or "0")),
    "X": _cannot("XML profiles are not supported; give the options"),
    "z": _seeded,
    "Z": _written,
}
