"""A workload from the words of a command line, in fio's names."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, Literal

from pydantic import ValidationError

from strata import units
from strata.errors import UsageError
from strata.model.access import Interlocked
from strata.model.base import Value
from strata.model.workload import Cache, ClosedLoop, Limits, OpenLoop, Rw, Sync, Workload
from strata.plan.pattern_words import bssplit_of, order_of, range_of, size_of

_ALIASES = {"readwrite": "rw"}
_SYNC = {"none": Sync.NONE, "0": Sync.NONE, "dsync": Sync.DSYNC, "rwf_dsync": Sync.RWF_DSYNC}
_CLOSED_DEPTH, _OPEN_DEPTH = 1, 256
_BS_MAX = 64 * units.MIB


class PatternWords(Value):
    """What a workload asks beyond direction, size and depth, in the words of the command line.

    Sizes as ``8k``, times as ``10ms``; ``stride`` is the distance between the beginnings of two I/Os of a sequence,
    ``gap`` what is left out between them (fio's ``rw=read:8k``). Ceilings are totals over all threads.
    """

    random_distribution: str | None = None
    randommap: bool = False
    interlocked: bool = False
    stride: str | int | None = None
    gap: str | int | None = None
    offset_increment: str | int | None = None
    bssplit: str | None = None
    rwmix_run: int = 1
    blockalign: str | int | None = None
    misalign: str | int | None = None
    range: str | None = None
    fsync: int = 0
    fdatasync: int = 0
    compress_percent: int | None = None
    dedupe_percent: int | None = None
    refill: bool = False
    burst: int = 1
    limit_iops: float | None = None
    limit_bytes: str | int | None = None
    thinktime: str | None = None
    thinktime_blocks: int = 1
    shares: tuple[int, ...] = ()
    deal: str = "share"


PLAIN = PatternWords()


def workload_from_words(
    rw: str,
    bs: str | int = "4k",
    *,
    iodepth: int | None = None,
    threads: int = 1,
    rate_iops: float | None = None,
    rwmixread: int | None = None,
    direct: bool = True,
    sync: str = "none",
    cache: str | None = None,
    seed: int = 1,
    process: str = "constant",
    more: PatternWords = PLAIN,
) -> Workload:
    """The workload these words ask for; ``bs`` in bytes or as ``8k``, ``rate_iops`` in total over all threads.

    ``iodepth`` defaults to 1 (fio's default); with a rate it is the bound on I/Os in flight of each thread and
    defaults to 256. ``rwmixread`` defaults to 50 where reads and writes are mixed. ``cache`` (cold or warm) means
    buffered I/O, whatever ``direct`` says. With ``more.bssplit`` the block size is the longest of it.

    Raises `UsageError` that lists every word that cannot be used.
    """
    problems: list[str] = []
    pattern = _pattern(rw, problems)
    size = _block_size(bs, problems)
    durability = _sync(sync, pattern, problems)
    state = _cache(cache, problems)
    mix = _mix(rwmixread, pattern, problems)
    depth = iodepth if iodepth is not None else _CLOSED_DEPTH if rate_iops is None else _OPEN_DEPTH
    if not 1 <= depth <= 4096:
        problems.append(f"iodepth={depth} is not 1..4096")
    if not 1 <= threads <= 256:
        problems.append(f"threads={threads} is not 1..256")
    if rate_iops is not None and not (rate_iops > 0 and math.isfinite(rate_iops)):
        problems.append(f"rate_iops={rate_iops:g} is not a rate: I/Os per second, above 0")
    arriving = _process(process, problems)
    if not 0 <= seed < 1 << 63:
        problems.append(f"seed={seed} is not 0..2^63-1")
    limits = _limits(more, rate_iops, problems)
    special = {} if pattern is None or size is None else _special(more, pattern, size, problems)
    size = special.pop("bs", size)
    where = f"rw={rw}"
    if problems or pattern is None or durability is None or size is None:
        raise _unusable(where, problems)
    arrival = (
        ClosedLoop(iodepth=depth, limits=limits)
        if rate_iops is None
        else OpenLoop(iops=rate_iops, process=arriving, iodepth=depth, burst=more.burst)
    )
    try:
        return Workload(
            rw=pattern, bs=size, arrival=arrival, threads=threads, rwmixread=mix,
            direct=direct and state is Cache.AS_FOUND, sync=durability, cache=state, seed=seed, **special,
        )  # fmt: skip
    except ValidationError as e:
        raise _unusable(where, [_said(p) for p in e.errors()]) from e


def dealt(workload: Workload, shares: tuple[int, ...], deal: str) -> Workload:
    """The workload over several targets. Raises `UsageError` where its threads cannot be dealt so."""
    try:
        return Workload.model_validate(workload.model_dump() | {"shares": shares, "deal": deal})
    except ValidationError as e:
        raise _unusable(f"rw={workload.rw.value}", [_said(p) for p in e.errors()]) from e


def _unusable(where: str, problems: list[str]) -> UsageError:
    example = "for example: --rw randread --bs 8k --iodepth 8"
    return UsageError("cannot use the workload", where, f"{len(problems)} problem(s)", example, tuple(problems))


def _said(problem: Mapping[str, Any]) -> str:
    """Pydantic's problem with the word it is about."""
    name = ".".join(str(part) for part in problem["loc"])
    text = str(problem["msg"]).removeprefix("Value error, ")
    return f"{name}={problem['input']}: {text}" if name else text


def _limits(words: PatternWords, rate_iops: float | None, problems: list[str]) -> Limits | None:
    ceiling = None if words.limit_bytes is None else size_of("limit_bytes", words.limit_bytes, problems)
    pause = 0
    if words.thinktime is not None:
        try:
            pause = units.parse_duration_ns(words.thinktime)
        except UsageError as e:
            problems.append(f"thinktime={words.thinktime}: {e.why}")
            return None
    if words.burst != 1 and (rate_iops is None or words.burst < 1):
        problems.append(f"burst={words.burst} is a number of I/Os above 0 and goes with a rate")
    if words.thinktime_blocks != 1 and not pause:
        problems.append("thinktime_blocks goes with thinktime")
    if words.limit_iops is None and ceiling is None and not pause:
        return None
    if rate_iops is not None:
        problems.append("an open loop starts I/Os by its rate alone: ceilings and think time go with a closed loop")
    try:
        return Limits(iops=words.limit_iops, bytes_per_s=ceiling, think_ns=pause, think_every=words.thinktime_blocks)
    except ValidationError as e:
        problems += [_said(p) for p in e.errors()]
        return None


def _special(words: PatternWords, rw: Rw, bs: int, problems: list[str]) -> dict[str, Any]:
    """The fields of a workload that few ask for."""
    sizes = {
        name: None if text is None else size_of(name, text, problems)
        for name, text in (
            ("stride", words.stride),
            ("gap", words.gap),
            ("offset_increment", words.offset_increment),
            ("blockalign", words.blockalign),
            ("misalign", words.misalign),
        )
    }
    split = None if words.bssplit is None else bssplit_of(words.bssplit, rw, problems)
    stride = sizes["stride"] if sizes["gap"] is None else bs + sizes["gap"]
    order = order_of(
        rw,
        problems,
        distribution=words.random_distribution,
        once=words.randommap,
        interlocked=Interlocked() if words.interlocked else None,
        stride=stride,
        thread_offset=sizes["offset_increment"],
    )
    data = None
    if words.refill or words.compress_percent is not None or words.dedupe_percent is not None:
        data = {"compress_percent": words.compress_percent or 0, "dedupe_percent": words.dedupe_percent or 0}
    return {
        "bs": bs if split is None else split.longest,
        "order": order,
        "bssplit": split,
        "rwmix_run": words.rwmix_run,
        "align": sizes["blockalign"],
        "misalign": sizes["misalign"] or 0,
        "range": None if words.range is None else range_of(words.range, problems),
        "fsync": words.fsync,
        "fdatasync": words.fdatasync,
        "data": data,
        "shares": words.shares,
        "deal": words.deal,
    }


def _process(process: str, problems: list[str]) -> Literal["constant", "poisson"]:
    word = process.strip().lower()
    if word == "poisson":
        return "poisson"
    if word not in ("constant", "linear"):
        problems.append(f"process={process} is none of constant, poisson")
    return "constant"


def _pattern(rw: str, problems: list[str]) -> Rw | None:
    word = _ALIASES.get(rw.strip().lower(), rw.strip().lower())
    try:
        return Rw(word)
    except ValueError:
        why = "discards data and is never issued" if "trim" in word else f"is none of {', '.join(Rw)}"
        problems.append(f"rw={rw} {why}")
        return None


def _block_size(bs: str | int, problems: list[str]) -> int | None:
    if isinstance(bs, str) and ("," in bs or "-" in bs):
        problems.append(f"bs={bs} names several sizes; give their shares with bssplit, or measure each by itself")
        return None
    try:
        value = units.parse_size(bs)
    except UsageError as e:
        problems.append(f"bs={bs}: {e.why}" + (f" ({e.hint})" if e.hint else ""))
        return None
    if not 512 <= value <= _BS_MAX:
        problems.append(f"bs={bs} is not 512 B..{units.size(_BS_MAX)}")
    elif value % 512:
        problems.append(f"bs={bs} is not a multiple of 512 bytes")
    return value


def _sync(sync: str, pattern: Rw | None, problems: list[str]) -> Sync | None:
    word = sync.strip().lower()
    if word not in _SYNC:
        why = "is not offered: dsync makes each write durable without the time stamps" if word in ("sync", "1") else ""
        problems.append(f"sync={sync} {why or 'is none of none, dsync, rwf_dsync'}")
        return None
    if _SYNC[word] is not Sync.NONE and pattern is not None and not pattern.writes:
        problems.append(f"sync={sync} is about writes, and rw={pattern.value} has none")
    return _SYNC[word]


def _cache(cache: str | None, problems: list[str]) -> Cache:
    try:
        return Cache.AS_FOUND if cache is None else Cache(cache.strip().lower())
    except ValueError:
        problems.append(f"cache={cache} is none of cold, warm")
        return Cache.AS_FOUND


def _mix(rwmixread: int | None, pattern: Rw | None, problems: list[str]) -> int | None:
    mixed = pattern in (Rw.RW, Rw.RANDRW)
    if rwmixread is None:
        return 50 if mixed else None
    if not 0 <= rwmixread <= 100:
        problems.append(f"rwmixread={rwmixread} is not 0..100 (percent of reads)")
    if pattern is not None and not mixed:
        problems.append(f"rwmixread={rwmixread} goes with rw=rw and rw=randrw, not with rw={pattern.value}")
    return rwmixread
