"""What fio's outputs have in common: the settings of a job, and its jobs that ran at the same time as one cell."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from strata.formats.fio_job import ONE_AT_A_TIME, section_of
from strata.formats.results._measured import merged
from strata.formats.results.source import Misread
from strata.model.figures import Dimension, Figure, exact
from strata.model.imported import ImportedCell

VERSION = re.compile(r"^(?:fio-)?(\d[\w.-]*)")

_ASIDE = frozenset(
    {
        "continue_on_error", "disable_bw_measurement", "disable_clat", "disable_lat", "disable_slat", "error_dump",
        "io_limit", "io_size", "log_hist_coarseness", "log_offset", "log_unix_epoch", "max_latency", "number_ios",
        "numa_cpu_nodes", "numa_mem_policy", "per_job_logs", "significant_figures", "ss", "ss_dur", "ss_ramp",
    }
)  # fmt: skip
"""Options of a run that was: when it ended, and what was written of it."""
_COUNTED = ("bs", "blocksize", "iodepth", "numjobs")
_TOO_LONG = re.compile(r"\d{20}")


def version_of(said: object) -> str:
    """``3.33`` from ``fio-3.33``; as it stands where it is built otherwise."""
    found = VERSION.match(str(said))
    return found[1] if found is not None else str(said)[:40]


def asked_of(name: str, options: Mapping[str, Any]) -> tuple[dict[str, Any], tuple[str, ...]]:
    """(the words of the workload, what cannot be carried) from the options that fio repeats."""
    told = {str(k): str(v) for k, v in options.items() if str(k) not in _ASIDE}
    for key in _COUNTED:
        if _TOO_LONG.search(told.get(key, "")):
            raise Misread(f"the {key} of a job has more digits than a number of 64 bits")
    _, words, complaints = section_of(name, told)
    refused = {one.partition("=")[0] for one in complaints}
    if not refused.intersection(("bs", "blocksize", "bssplit")):
        words.setdefault("bs", "4k")
    if "iodepth" in refused:
        # Not the default: fio ran with what it was told.
        words.pop("iodepth", None)
    if str(words["rw"]) in ("rw", "readwrite", "randrw"):
        words.setdefault("rwmixread", 50)
    if "uri" in words:
        words.pop("uri")
    return words, tuple(complaints)


def labels_of(options: Mapping[str, Any]) -> dict[str, str]:
    """What is known of a job beside its workload."""
    found = {}
    for label, key in (("target", "filename"), ("engine", "ioengine"), ("directory", "directory")):
        if options.get(key):
            found[label] = str(options[key])[:256]
    if "target" not in found and "directory" in found:
        found["target"] = found["directory"]
    found.pop("directory", None)
    # Without a name for the file each job makes one of its own.
    if not options.get("filename") or options.get("offset_increment"):
        found["ranges"] = "own"
    return found


def settings_of(options: Mapping[str, Any]) -> dict[str, float]:
    """``ramp_s``, ``runtime_s`` and ``file_bytes`` as far as the options say them plainly."""
    found: dict[str, float] = {}
    for key, name in (("ramp_time", "ramp_s"), ("runtime", "runtime_s"), ("timeout", "runtime_s")):
        if key in options and (seconds := _seconds(str(options[key]))) is not None:
            found[name] = seconds
    size = re.fullmatch(r"(\d{1,18})(?:([kmgt])(i?))?b?", str(options.get("size", "")).lower())
    if size is not None:
        # fio's default is kb_base=1024, under which G and GB are 2^30 and GiB is 10^9; kb_base=1000 swaps the two.
        binary = (str(options.get("kb_base", 1024)) != "1000") != bool(size[3])
        found["file_bytes"] = int(size[1]) * (1024 if binary else 1000) ** " kmgt".index(size[2] or " ")
    return found


def _seconds(text: str) -> float | None:
    found = re.fullmatch(r"(\d{1,9})(us|ms|s|m|h|d)?", text.strip().lower())
    scale = {"us": 1e-6, "ms": 1e-3, "s": 1.0, "m": 60.0, "h": 3600.0, "d": 86400.0}
    return None if found is None else int(found[1]) * scale[found[2] or "s"]


def one_at_a_time(options: Mapping[str, Any]) -> bool:
    """Whether its I/O engine keeps one I/O in flight whatever its depth."""
    return str(options.get("ioengine", "psync")).partition(":")[0] in ONE_AT_A_TIME


BUCKET = 1 / 64
"""Relative width of a bucket of fio's distributions; it prints the middle of one."""


LAST_BUCKET_NS = 16.7e9
"""From here on fio's distributions have one bucket for all that is longer."""


def of_bucket(ns: float, step_ns: float = 0.0, *, submit_ns: float = 0.0, most_ns: float | None = None) -> Figure:
    """A percentile as fio knows it: within its bucket, and printed in steps of ``step_ns``.

    Of completion beside a mean with the submission it is longer by some of it: ``submit_ns`` on average. In the last
    bucket it is anything up to the longest time, ``most_ns``.
    """
    around = ns * BUCKET + step_ns / 2
    high = ns + around + submit_ns
    if ns >= LAST_BUCKET_NS and most_ns is not None:
        high = max(high, most_ns)
    return exact(ns, Dimension.TIME, low=max(0.0, ns - around), high=high)


def grouped(jobs: Sequence[tuple[tuple[Any, ...], ImportedCell]]) -> tuple[ImportedCell, ...]:
    """Jobs with the same key, which ran at the same time with the same settings, as one cell each."""
    groups: dict[tuple[Any, ...], list[ImportedCell]] = {}
    for key, cell in jobs:
        groups.setdefault(key, []).append(cell)
    return tuple(merged(cells, cells[0].name) for cells in groups.values())
