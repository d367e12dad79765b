"""Workloads that a word names: of a profile (a file, one of the user's own, one of Strata's), or of a fio job file."""

from __future__ import annotations

from pathlib import Path

from strata.errors import UsageError
from strata.formats.fio_job import workloads_of_fio_job
from strata.host.untrusted import TEXT_MOST, WORDS_MOST, read_text
from strata.host.xdg import config_path
from strata.model.profile import Profile
from strata.model.workload import Workload
from strata.plan.profiles import own_profile, profile_of
from strata.plan.words import workload_from_words


def find_profile(word: str) -> Profile:
    """The profile in the file ``word``, else the user's own of that name, else Strata's.

    A user's own are ``NAME.toml`` in ``profiles`` beside the user's configuration (`strata.host.xdg.config_path`).
    Raises `UsageError`.
    """
    if word.endswith(".toml") or "/" in word:
        return _read(Path(word), Path(word).stem)
    of_user = config_path() / "profiles" / f"{word}.toml"
    return _read(of_user, word) if of_user.exists() else own_profile(word)


def _read(path: Path, name: str) -> Profile:
    text = read_text(path, "cannot read the profile", WORDS_MOST, "give a .toml file")
    return profile_of(text, name, str(path))


def read_jobs(path: Path) -> tuple[Workload, ...]:
    """The workloads of a fio job file, one for each section. Raises `UsageError` with all that cannot be used."""
    text = read_text(path, "cannot read the job file", TEXT_MOST, "give a fio job file")
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
        raise UsageError("cannot use the job file", where, "", "remove the listed options", tuple(problems))
    return tuple(found)
