"""Workloads from a fio job file, or from a command line, which has the same options.

Each section is one workload, measured by itself (as with fio's ``stonewall``). What says where, how long and how fio
itself is run is left aside; what changes the workload and cannot be said here is named. Differences in meaning:

* fio's ``rate`` and ``rate_iops`` are ceilings of each job, Strata's of all threads together; with
  ``rate_process=poisson`` they are an open loop.
* A random job without ``norandommap`` touches each block once before any comes again.
* ``thinktime`` is in microseconds, and sizes are binary (``k``, ``kb``, ``m``, …).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from strata import units
from strata.model.workload_options import OPTIONS, Kind
from strata.parsing import whole

SECTIONS_MOST = 1000
"""Of a job file: each becomes workloads to measure."""
Taker = Callable[[str, dict[str, Any]], None]
Section = tuple[str, dict[str, Any], list[str]]
"""Its name, the words of the workload, and what cannot be used."""

ALIASES = {"blocksize": "bs", "readwrite": "rw", "ba": "blockalign", "iodepth_total": "iodepth", "sync_io": "sync"}
NOT_OF_THE_WORKLOAD = frozenset(
    {
        "allow_file_create", "allow_mounted_write", "bwavgtime", "clat_percentiles", "clocksource", "cpus_allowed",
        "cpus_allowed_policy", "create_fsync", "create_on_open", "create_only", "create_serialize", "description",
        "directory", "disk_util", "end_fsync", "eta", "eta-newline", "exec_postrun", "exec_prerun", "exitall",
        "fallocate", "filename", "filename_format", "filesize", "fixedbufs", "gtod_cpu", "gtod_reduce",
        "group_reporting", "hipri", "invalidate", "ioengine", "iodepth_batch", "iodepth_batch_complete",
        "iodepth_batch_complete_max", "iodepth_batch_complete_min", "iodepth_batch_submit", "iodepth_low",
        "iopsavgtime", "lat_percentiles", "log_avg_msec", "log_hist_msec", "log_max_value", "loops", "mem", "name",
        "new_group", "nice", "output", "output-format", "overwrite", "percentile_list", "pre_read", "prio", "prioclass",
        "randrepeat", "ramp_time", "registerfiles", "rate_cycle", "runtime", "slat_percentiles", "sqthread_poll",
        "startdelay", "status-interval", "stonewall", "thread", "time_based", "timeout", "unified_rw_reporting",
        "unlink", "uri", "wait_for", "write_bw_log", "write_hist_log", "write_iops_log", "write_lat_log",
    }
)  # fmt: skip
"""What says where, how long and how fio itself is run."""
ONE_AT_A_TIME = frozenset(["mmap", "null", "psync", "pvsync", "pvsync2", "sync", "vsync"])
"""I/O engines of fio that have one I/O in flight whatever ``iodepth`` says."""
_SIZE = re.compile(r"^(\d+)\s*([kmgt]?)b?$")


def workloads_of_fio_job(text: str) -> Iterator[Section]:
    """The sections in order, with the options of ``[global]`` before each taken over."""
    shared: dict[str, str] = {}
    named: list[tuple[str, dict[str, str]]] = []
    stray: list[str] = []
    into: dict[str, str] | None = None
    for raw in text.splitlines():
        line = raw.strip()
        if not line or line[0] in "#;":
            continue
        if line.startswith("[") and line.endswith("]"):
            name = line[1:-1].strip()
            into = shared if name == "global" else dict(shared)
            if name != "global":
                named.append((name, into))
            continue
        key, _, value = line.partition("=")
        if into is None:
            stray.append(line)
            continue
        into[ALIASES.get(key.strip(), key.strip())] = value.strip()
    if len(named) > SECTIONS_MOST:
        why = f"{len(named)} sections, at most {SECTIONS_MOST} are read: keep only those to measure"
        yield named[SECTIONS_MOST][0], {}, [why]
        return
    if stray:
        yield "before the first section", {}, [f"{line}: is outside of any section" for line in stray]
    for name, options in named:
        yield _section(name, options)


def section_of(name: str, options: Mapping[str, str]) -> Section:
    """One section with these options, as fio's JSON repeats them."""
    return _section(name, {ALIASES.get(key, key): value for key, value in options.items()})


def _section(name: str, options: dict[str, str]) -> Section:
    complaints: list[str] = []
    left = {key: value for key, value in options.items() if key not in NOT_OF_THE_WORKLOAD}
    words: dict[str, Any] = {"rw": "read", "direct": False}
    for key in list(left):
        taken = _KNOWN.get(key)
        if taken is not None:
            try:
                taken(left.pop(key), words)
            except ValueError as e:
                complaints.append(f"{key}={options[key]}: {e}")
    _together(options, left, words, complaints)
    complaints += [f"{key}={value}: is not supported" for key, value in left.items()]
    return name, words, complaints


def _together(options: dict[str, str], left: dict[str, str], words: dict[str, Any], complaints: list[str]) -> None:
    """What several options say together."""
    threads, random = words.get("threads", 1), str(words["rw"]).startswith("rand")
    # fio's default, also under a rate, where ours would be more.
    words.setdefault("iodepth", 1)
    if options.get("ioengine", "psync").partition(":")[0] in ONE_AT_A_TIME:
        words["iodepth"] = 1
    if random and not words.pop("norandommap", False) and "random_distribution" not in words:
        words["randommap"] = "bssplit" not in words
    words.pop("norandommap", None)
    if (rates := words.pop("rate_iops", None)) is not None:
        rate = _of_direction(rates, words["rw"])
        if left.pop("rate_process", "linear") == "poisson":
            words |= {"rate_iops": rate * threads, "process": "poisson"}
        else:
            words["limit_iops"] = rate * threads
    left.pop("rate_process", None)
    if (rate := words.pop("rate", None)) is not None:
        words["limit_bytes"] = rate * threads
    size, offset = left.pop("size", None), words.pop("offset", None)
    apart = words.get("offset_increment")
    if not random and threads > 1 and apart is not None and size is not None and apart == _bytes_or_none(size):
        # Each job has a part of its own, next to the one before: what threads have where nothing else is said.
        del words["offset_increment"]
    if offset:
        try:
            words["range"] = str(offset) if size is None else f"{offset}:{_size(size)}"
        except ValueError as e:
            complaints.append(f"size={size}: {e}")
    if not random:
        words.pop("randommap", None)


def _size(text: str) -> int:
    match = _SIZE.match(text.lower())
    if match is None:
        raise ValueError("is not a plain size (k, m, g, t are binary; percent and Ki are not supported)")
    return whole(match[1]) * units.BY_LETTER[match[2]]


def _bytes_or_none(text: str) -> int | None:
    try:
        return _size(text)
    except ValueError:
        return None


def _flag(text: str) -> bool:
    if text not in ("", "0", "1"):
        raise ValueError("is neither 0 nor 1")
    return text != "0"


def _whole(text: str) -> int:
    if not text.isdecimal():
        raise ValueError("is not a whole number")
    return whole(text)


def _number(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        raise ValueError("is not a number") from None


def _rates(text: str) -> tuple[int, ...]:
    """Of reads, writes and trims, where they are told apart."""
    return tuple(map(_whole, text.split(",", 2)))


def _of_direction(rates: tuple[int, ...], rw: str) -> int:
    """The sum over the directions that there are; one rate alone is taken as it stands."""
    kind = rw.removeprefix("rand")
    if len(rates) == 1 or kind == "read":
        return rates[0]
    return rates[1] if kind == "write" else sum(rates[:2])


def _rw(text: str, words: dict[str, Any]) -> None:
    kind, _, rest = text.partition(":")
    words["rw"] = kind
    if rest and kind.startswith("rand"):
        raise ValueError("several I/Os at one random offset are not supported")
    if rest:
        words["gap"] = _size(rest)


def _bs(text: str, words: dict[str, Any]) -> None:
    sizes = [_size(part) for part in text.split(",") if part]
    if len(sizes) > 1 and len(set(sizes)) > 1:
        words["bssplit"] = ",".join(f"{size}/100" for size in sizes[:2])
    words["bs"] = max(sizes)


def _bssplit(text: str, words: dict[str, Any]) -> None:
    sides = text.split(",")
    parts = [[part.partition("/") for part in side.split(":")] for side in sides]
    words["bssplit"] = ",".join(":".join(f"{_size(s)}{slash}{p}" for s, slash, p in side) for side in parts[:2])


def _sync(text: str, words: dict[str, Any]) -> None:
    words["sync"] = text or "1"


def _buffered(text: str, words: dict[str, Any]) -> None:
    words["direct"] = not _flag(text)


def _rwmixwrite(text: str, words: dict[str, Any]) -> None:
    words["rwmixread"] = 100 - _whole(text)


def _thinktime(text: str, words: dict[str, Any]) -> None:
    words["thinktime"] = f"{text}us" if text.isdecimal() else text


def _distribution(text: str, words: dict[str, Any]) -> None:
    if text != "random":
        words["random_distribution"] = text


def _word(name: str, read: Callable[[str], Any]) -> Taker:
    def take(text: str, words: dict[str, Any]) -> None:
        words[name] = read(text)

    return take


_READ: dict[Kind, Callable[[str], Any]] = {
    Kind.COUNT: _whole, Kind.SIZE: _size, Kind.FLAG: _flag, Kind.NUMBER: _number, Kind.WORD: str,
}  # fmt: skip
_KNOWN: dict[str, Taker] = {row.fio: _word(row.name, _READ[row.kind]) for row in OPTIONS.values() if row.fio} | {
    "rw": _rw,
    "bs": _bs,
    "bssplit": _bssplit,
    "buffered": _buffered,
    "sync": _sync,
    "rwmixwrite": _rwmixwrite,
    "random_distribution": _distribution,
    "thinktime": _thinktime,
    # Not words of ours; `_together` makes some of them.
    "norandommap": _word("norandommap", _flag),
    "offset": _word("offset", _size),
    "rate": _word("rate", _size),
    "rate_iops": _word("rate_iops", _rates),
}


FLAGS = frozenset(
    {
        "exitall", "fill_device", "fixedbufs", "group_reporting", "hipri", "minimal", "new_group", "norandommap",
        "readonly", "refill_buffers", "registerfiles", "sqthread_poll", "stonewall", "thread", "time_based",
        "zero_buffers",
    }
)  # fmt: skip
"""Options whose value, if any, is joined with ``=``: the word behind is not theirs."""
OF_THE_PROGRAM = frozenset({"aux-path", "debug", "max-jobs", "minimal", "readonly", "terse-version", "warnings-fatal"})
"""Not of any job, and unknown to job files."""


def job_of_fio_line(words: Sequence[str]) -> tuple[str, tuple[str, ...], tuple[str, ...]]:
    """(job file, complaints, notes) of the words behind ``fio``.

    Options before the first ``--name`` hold for all jobs. A line without one, which fio refuses, is one job.
    """
    complaints: list[str] = []
    shared: list[str] = []
    jobs: list[tuple[str, list[str]]] = []
    into = shared
    left = list(words)
    while left:
        word = left.pop(0)
        if not word.startswith("-") or word == "-":
            complaints.append(f"{word}: a job file cannot be combined with options; give it alone")
            continue
        key, joined, value = word.lstrip("-").partition("=")
        if not joined and key not in FLAGS and left and not left[0].startswith("-"):
            value, joined = left.pop(0), "="
        if key == "name":
            into = shared if value == "global" else []
            if value != "global":
                jobs.append((value or f"job {len(jobs) + 1}", into))
        elif key == "section":
            complaints.append(f"{word}: selects a section of a job file; give the job file alone")
        elif key not in OF_THE_PROGRAM:
            into.append(f"{key}{joined}{value}")
    if not jobs:
        jobs.append(("fio", []))
    sections = [("global", shared), *jobs]
    text = "".join(f"[{name}]\n" + "".join(f"{option}\n" for option in options) for name, options in sections)
    notes = tuple(note for name, options in jobs if (note := _one_at_a_time(name, [*shared, *options])))
    return text, tuple(complaints), notes


def outstanding_of_fio_line(words: Sequence[str]) -> int | None:
    """I/Os that a command line of fio keeps outstanding at the most, all its jobs together, whatever else it asks for.

    None where it names a job file, or says it in another way than with plain numbers.
    """
    text, complaints, _ = job_of_fio_line(words)
    if complaints:
        return None
    shared: dict[str, str] = {}
    total = 0
    for part in text.split("[")[1:]:
        name, _, body = part.partition("]\n")
        own = {ALIASES.get(k, k): v for k, v in (line.partition("=")[::2] for line in body.splitlines())}
        if name == "global":
            shared = own
            continue
        said = {**shared, **own}
        depth, jobs = said.get("iodepth", "1"), said.get("numjobs", said.get("threads", "1"))
        if not depth.isdecimal() or not jobs.isdecimal():
            return None
        alone = said.get("ioengine", "psync").partition(":")[0] in ONE_AT_A_TIME
        total += int(jobs) * (1 if alone else int(depth))
    return total or None


def _one_at_a_time(name: str, options: Sequence[str]) -> str:
    said = dict(option.partition("=")[::2] for option in options)
    engine = said.get("ioengine", "").partition(":")[0]
    if (engine or "psync") not in ONE_AT_A_TIME or said.get("iodepth", "1") == "1":
        return ""
    which = f"ioengine={engine}" if engine else "fio's default ioengine"
    return f"{name}: iodepth={said['iodepth']} has the effect of 1: {which} keeps one I/O in flight"
