"""A workload from the words of a command line, in fio's names."""

from __future__ import annotations

import math
from typing import Literal

from strata import units
from strata.errors import UsageError
from strata.model.workload import Cache, ClosedLoop, OpenLoop, Rw, Sync, Workload

_ALIASES = {"readwrite": "rw"}
_SYNC = {"none": Sync.NONE, "0": Sync.NONE, "dsync": Sync.DSYNC, "rwf_dsync": Sync.RWF_DSYNC}
_CLOSED_DEPTH, _OPEN_DEPTH = 1, 256
_BS_MAX = 64 * units.MIB


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
) -> Workload:
    """The workload these words ask for; ``bs`` in bytes or as ``8k``, ``rate_iops`` in total over all threads.

    ``iodepth`` defaults to 1 (fio's default); with a rate it is the bound on I/Os in flight of each thread and
    defaults to 256. ``rwmixread`` defaults to 50 where reads and writes are mixed. ``cache`` (cold or warm) means
    buffered I/O, whatever ``direct`` says.

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
    if problems or pattern is None or durability is None or size is None:
        raise UsageError(
            "cannot use the workload", f"rw={rw}", f"{len(problems)} problem(s)",
            "for example: --rw randread --bs 8k --iodepth 8", tuple(problems),
        )  # fmt: skip
    arrival = (
        ClosedLoop(iodepth=depth) if rate_iops is None else OpenLoop(iops=rate_iops, process=arriving, iodepth=depth)
    )
    return Workload(
        rw=pattern,
        bs=size,
        arrival=arrival,
        threads=threads,
        rwmixread=mix,
        direct=direct and state is Cache.AS_FOUND,
        sync=durability,
        cache=state,
        seed=seed,
    )


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
        problems.append(f"bs={bs} names several sizes; one workload has one, so measure each by itself")
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
