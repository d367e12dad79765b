"""A fio command line: the options of a job file, with ``--name`` where a section begins."""

from __future__ import annotations

from collections.abc import Sequence

from strata.formats.fio_job import ONE_AT_A_TIME

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


def _one_at_a_time(name: str, options: Sequence[str]) -> str:
    said = dict(option.partition("=")[::2] for option in options)
    engine = said.get("ioengine", "").partition(":")[0]
    if (engine or "psync") not in ONE_AT_A_TIME or said.get("iodepth", "1") == "1":
        return ""
    which = f"ioengine={engine}" if engine else "fio's default ioengine"
    return f"{name}: iodepth={said['iodepth']} has the effect of 1: {which} keeps one I/O in flight"
