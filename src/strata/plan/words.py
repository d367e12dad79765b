"""A workload from the words of a command line, a profile or a job file, in fio's names."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pydantic import ValidationError

from strata import units
from strata.errors import UsageError
from strata.model.access import Interlocked
from strata.model.rw import Rw
from strata.model.workload import Cache, ClosedLoop, Limits, OpenLoop, Sync, Workload
from strata.model.workload_options import CLOSED_DEPTH, MIX_READS, OPEN_DEPTH, OPTIONS, PLAIN, Kind, WorkloadOption
from strata.plan.pattern_words import bssplit_of, order_of, range_of, size_of

_SYNC = {"0": Sync.NONE} | {sync.value: sync for sync in Sync}
_LIKE = {"linear": "constant"}
"""fio's word for what we call otherwise."""


def workload_from_words(rw: str = "randread", bs: str | int = OPTIONS["bs"].default, **words: Any) -> Workload:
    """The workload these words ask for; ``words`` by their names in `strata.model.workload_options`.

    Sizes in bytes or as ``8k``, times as ``10ms``; rates and ceilings are totals over all threads. ``iodepth`` defaults
    to 1 (fio's default); with a rate it is the bound on I/Os in flight of each thread and defaults to 256.
    ``rwmixread`` defaults to 50 where reads and writes are mixed. ``cache`` (cold or warm) means buffered I/O, whatever
    ``direct`` says. With ``bssplit`` the block size is the longest of it. ``stride`` is the distance between the
    beginnings of two I/Os of a sequence, ``gap`` what is left out between them (fio's ``rw=read:8k``).

    Raises `UsageError` that lists every word that cannot be used.
    """
    problems = [f"{name}: unknown key" for name in words if name not in OPTIONS]
    asked = {"rw": rw, "bs": bs} | {name: value for name, value in words.items() if value is not None}
    had = {name: _read(row, asked.get(name, row.default), problems) for name, row in OPTIONS.items()}
    alone = [r for r in OPTIONS.values() if r.needs is not None and had[r.needs] is None and had[r.name] != r.default]
    problems += [f"{row.name}={had[row.name]} needs {row.needs}" for row in alone]
    pattern = _pattern(rw, problems)
    durability = _sync(str(had["sync"] or "none"), pattern, problems)
    if isinstance(had["bs"], int) and not OPTIONS["bs"].in_step(had["bs"]):
        problems.append(f"bs={bs} is not {OPTIONS['bs'].steps}")
    mix = _mix(had["rwmixread"], pattern, problems)
    limits = _limits(had, problems)
    special = {} if pattern is None or had["bs"] is None else _special(had, pattern, problems)
    if problems or pattern is None or durability is None:
        raise _unusable(f"rw={rw}", problems)
    state = Cache.AS_FOUND if had["cache"] is None else Cache(had["cache"])
    try:
        return Workload(
            rw=pattern, arrival=_arrival(had, limits), rwmixread=mix, sync=durability, cache=state,
            direct=had["direct"] and state is Cache.AS_FOUND, **_plain(had), **special,
        )  # fmt: skip
    except ValidationError as e:
        raise _unusable(f"rw={rw}", [_said(p) for p in e.errors()]) from e


def dealt(workload: Workload, shares: tuple[int, ...], deal: str) -> Workload:
    """The workload over several targets. Raises `UsageError` where its threads cannot be dealt so."""
    try:
        return Workload.model_validate(workload.model_dump() | {"shares": shares, "deal": deal})
    except ValidationError as e:
        raise _unusable(f"rw={workload.rw.value}", [_said(p) for p in e.errors()]) from e


def _unusable(where: str, problems: list[str]) -> UsageError:
    example = "for example: --rw randread --bs 8k --iodepth 8"
    return UsageError("cannot use the workload", where, "", example, tuple(problems))


def _said(problem: Mapping[str, Any]) -> str:
    """Pydantic's problem with the word it is about."""
    name = ".".join(str(part) for part in problem["loc"])
    text = str(problem["msg"]).removeprefix("Value error, ")
    return f"{name}={problem['input']}: {text}" if name else text


def _read(row: WorkloadOption, value: Any, problems: list[str]) -> Any:
    """The value of an option as its kind says; None, with a problem, for what is of another kind or out of bounds."""
    if value is None or row.name in ("rw", "shares"):
        return value
    if row.name == "bs" and isinstance(value, str) and ("," in value or "-" in value):
        problems.append(f"bs={value} gives several sizes; use bssplit for a mix, or measure each size separately")
        return None
    found = _of_kind(row, value, problems)
    if found is None or not isinstance(found, (int, float)) or row.kind is Kind.FLAG:
        return found
    if not row.holds(found):
        problems.append(f"{row.name}={value} is not in {row.within}")
        return None
    return found


def _of_kind(row: WorkloadOption, value: Any, problems: list[str]) -> Any:
    """What the text means, whatever its bounds."""
    name, wrong = row.name, ""
    match row.kind:
        case Kind.SIZE if isinstance(value, (int, str)) and not isinstance(value, bool):
            return size_of(name, value, problems)
        case Kind.TIME if isinstance(value, (int, float, str)) and not isinstance(value, bool):
            try:
                return units.parse_duration_ns(value)
            except UsageError as e:
                wrong = f": {e.why}"
        case Kind.FLAG if isinstance(value, bool):
            return value
        case Kind.COUNT if isinstance(value, int) and not isinstance(value, bool):
            return value
        case Kind.NUMBER if isinstance(value, (int, float)) and not isinstance(value, bool):
            return float(value)
        case Kind.WORD if isinstance(value, str):
            word = value.strip().lower()
            found = _LIKE.get(word, word)
            if not row.choices:
                return value
            if found in row.choices:
                return found
            wrong = f" is not one of {', '.join(row.choices)}"
    problems.append(f"{name}={value}{wrong or f' is not a {row.kind.value}'}")
    return None


def _arrival(had: Mapping[str, Any], limits: Limits | None) -> ClosedLoop | OpenLoop:
    rate, depth = had["rate_iops"], had["iodepth"]
    if rate is None:
        return ClosedLoop(iodepth=CLOSED_DEPTH if depth is None else depth, limits=limits)
    depth = OPEN_DEPTH if depth is None else depth
    return OpenLoop(iops=rate, process=had["process"], iodepth=depth, burst=had["burst"])


def _limits(had: Mapping[str, Any], problems: list[str]) -> Limits | None:
    rate, pause = had["rate_iops"], had["thinktime"]
    if had["limit_iops"] is None and had["limit_bytes"] is None and not pause:
        return None
    if rate is not None:
        problems.append("limits and think time apply to a closed loop only: they cannot be combined with rate_iops")
    return Limits(
        iops=had["limit_iops"], bytes_per_s=had["limit_bytes"], think_ns=pause or 0,
        think_every=had["thinktime_blocks"] or 1,
    )  # fmt: skip


def _plain(had: Mapping[str, Any]) -> dict[str, Any]:
    """The fields that hold the value of one word as it is; the model says what holds without it."""
    return {name: had[row.name] for name, row in PLAIN.items() if had[row.name] is not None}


def _special(had: Mapping[str, Any], rw: Rw, problems: list[str]) -> dict[str, Any]:
    """The fields of a workload that are made of several words, or of a word with parts."""
    split = None if had["bssplit"] is None else bssplit_of(had["bssplit"], rw, problems)
    order = order_of(
        rw,
        problems,
        distribution=had["random_distribution"],
        once=bool(had["randommap"]),
        interlocked=Interlocked() if had["interlocked"] else None,
        stride=had["stride"] if had["gap"] is None else had["bs"] + had["gap"],
        thread_offset=had["offset_increment"],
    )
    compress, dedupe = had["compress_percent"], had["dedupe_percent"]
    anew = had["refill"] or compress is not None or dedupe is not None
    return {
        "bs": had["bs"] if split is None else split.longest,
        "order": order,
        "bssplit": split,
        "range": None if had["range"] is None else range_of(had["range"], problems),
        "data": {"compress_percent": compress or 0, "dedupe_percent": dedupe or 0} if anew else None,
        "shares": had["shares"],
    }


def _pattern(rw: str, problems: list[str]) -> Rw | None:
    try:
        return Rw.of(rw)
    except ValueError as e:
        problems.append(f"rw={rw} {e}")
        return None


def _sync(sync: str, pattern: Rw | None, problems: list[str]) -> Sync | None:
    word = sync.strip().lower()
    if word not in _SYNC:
        why = f"is not one of {', '.join(Sync)}"
        if word in ("sync", "1"):
            why = "is not supported: dsync also makes each write durable, without the time stamps"
        problems.append(f"sync={sync} {why}")
        return None
    if _SYNC[word] is not Sync.NONE and pattern is not None and not pattern.carries:
        problems.append(f"sync={sync} applies to writes, and rw={pattern.value} has none")
    return _SYNC[word]


def _mix(rwmixread: int | None, pattern: Rw | None, problems: list[str]) -> int | None:
    mixed = pattern is not None and pattern.mixed
    if rwmixread is None:
        return MIX_READS if mixed else None
    if pattern is not None and not mixed:
        problems.append(f"rwmixread={rwmixread} applies to rw=rw and rw=randrw, not to rw={pattern.value}")
    return rwmixread
