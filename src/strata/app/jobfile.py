"""Workloads from a file that another tool's users have already."""

from __future__ import annotations

from pathlib import Path

from strata.errors import UsageError
from strata.formats import workloads_of_fio_job
from strata.host.foreign import TEXT_MOST, read_text
from strata.model.workload import Workload
from strata.plan.words import workload_from_words


def read_jobs(path: Path) -> tuple[Workload, ...]:
    """The workloads of a fio job file, one for each section. Raises `UsageError` with all that cannot be used."""
    text = read_text(path, "cannot read the job file", TEXT_MOST, "name a fio job file")
    return tuple(workload for _, workload in jobs_of(text, str(path)))


def jobs_of(text: str, where: str) -> tuple[tuple[str, Workload], ...]:
    """Name and workload of each section of a job file's text. Raises as `read_jobs`; ``where`` it came from."""
    problems: list[str] = []
    found: list[tuple[str, Workload]] = []
    for section, words, complaints in workloads_of_fio_job(text):
        problems += [f"[{section}] {complaint}" for complaint in complaints]
        if complaints:
            continue
        try:
            found.append((section, workload_from_words(**words)))
        except UsageError as e:
            problems += [f"[{section}] {problem}" for problem in e.problems or (e.why,)]
    if not found and not problems:
        problems.append("there is no section")
    if problems:
        why = f"{len(problems)} problem(s)"
        raise UsageError("cannot use the job file", where, why, "remove what is named", tuple(problems))
    return tuple(found)
