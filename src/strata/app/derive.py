"""A profile from what somebody recorded or ran already: a block trace, a fio job, a command line of fio or diskspd."""

from __future__ import annotations

import codecs
import os
import re
from pathlib import Path

from strata import units
from strata.app.outputs import Seal, write_output
from strata.app.profiles import jobs_of
from strata.app.trace import read_open
from strata.errors import UsageError
from strata.formats.command_line import commands_in, program_of
from strata.formats.diskspd_command import workload_of_diskspd
from strata.formats.fio_job import job_of_fio_line
from strata.host import untrusted
from strata.model.base import Value
from strata.model.profile import Profile, ProfileWorkload
from strata.model.workload import Workload
from strata.plan.from_trace import workload_of, workload_of_trace
from strata.plan.profiles.emit import toml_of
from strata.plan.words import workload_from_words
from strata.probes.trace import TRACE_MOST

NAME = "from-trace"
_STAMP = "Derived by strata plan --from-trace; Strata does not overwrite this file once you change it."
_HINT = (
    "give a file of strata trace --save, the text of blkparse, a fio job file, or a command line: "
    "'fio --rw=randread …', 'diskspd -b8K …'"
)
_SECTION = re.compile(r"\s*\[[^\s\[\]-][^\[\]]*\]\s*$")
_WHAT = "cannot derive from"


class Derived(Value):
    """The profile, without goals, and what is not known of it or differs."""

    profile: Profile
    notes: tuple[str, ...] = ()


def derive(asked: str, name: str = NAME) -> Derived:
    """The profile of a file, or of a command line where no file is called so. Raises `UsageError`."""
    path = Path(asked)
    try:
        there = path.exists()
    except (OSError, ValueError):
        there = False
    if not there:
        if program_of(asked) is None:
            raise UsageError(
                "cannot derive from", repr(asked), "it is neither a file nor a fio or diskspd command line", _HINT
            )
        return _of_commands(list(commands_in(asked)) or [asked], name, "a command line")
    with untrusted.opened(path, _WHAT, TRACE_MOST, _HINT) as fd:
        text = _text_of(fd)
        if text is not None:
            if any(map(_SECTION.match, text.splitlines())):
                made = jobs_of(text, str(path))
                return _profile(name, f"the fio jobs in {path}", [(n, w, f"[{n}] of {path.name}") for n, w in made], [])
            if lines := list(commands_in(text)):
                return _of_commands(lines, name, f"the command lines in {path}")
        return _of_trace(fd, path, name)


def write_profile(path: Path, derived: Derived) -> None:
    """The profile as a file that ``--profile`` reads. Raises as `write_output`, and for a name it does not read."""
    if path.suffix != ".toml":
        why = "--profile reads a file only if its name ends in .toml"
        raise UsageError("cannot write the profile to", str(path), why, f"--write-profile {path}.toml")
    head = [_STAMP, "It has no goals yet; docs/guide/profiles.md shows how to write them.", *derived.notes]
    write_output(path, toml_of(derived.profile, head), Seal.TOML)


def _text_of(fd: int) -> str | None:
    """None: it is no text, or too long for commands; then it is a trace."""
    if os.fstat(fd).st_size > untrusted.TEXT_MOST:
        return None
    content = os.pread(fd, untrusted.TEXT_MOST, 0)
    # A shell of Windows writes UTF-16.
    wide = content.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE))
    try:
        return content.decode("utf-16" if wide else "utf-8-sig")
    except UnicodeDecodeError:
        return None


def _of_trace(fd: int, path: Path, name: str) -> Derived:
    try:
        result = read_open(fd, path)
    except UsageError as e:
        raise UsageError("cannot derive from", str(path), e.why, _HINT) from e
    traced = workload_of(result.figures, result.whole)
    if traced is None:
        why = "the trace holds no reads and no writes"
        raise UsageError(
            "cannot derive from", str(path), why, "record a trace while the application is busy: strata trace --save"
        )
    try:
        workload, notes = workload_of_trace(traced)
    except UsageError as e:
        raise UsageError("cannot derive from", str(path), e.why, "", e.problems) from e
    window = units.duration(result.figures.window_ns)
    why = f"{units.count(traced.iops)} IOPS at {traced.device} for {window}"
    made = [(f"{traced.device}: {workload.label}", workload, why)]
    return _profile(name, f"a block trace of {traced.device} in {path}, {window} long", made, [*notes, *result.notes])


def _of_commands(lines: list[str], name: str, where: str) -> Derived:
    problems: list[str] = []
    notes: list[str] = []
    made: list[tuple[str, Workload, str]] = []
    for line in lines:
        program, arguments = program_of(line) or ("", [])
        taken = _fio if program == "fio" else _diskspd
        try:
            workloads, said = taken(arguments)
        except UsageError as e:
            problems += [f"{program}: {problem}" for problem in e.problems or (e.why,)]
            continue
        made += [(f"{label}: {w.label}", w, line) for label, w in workloads]
        notes += [note for note in said if note not in notes]
    if problems:
        raise UsageError("cannot derive from", where, "", "leave out the listed options", tuple(problems))
    return _profile(name, where, made, notes)


def _fio(arguments: list[str]) -> tuple[list[tuple[str, Workload]], list[str]]:
    text, complaints, notes = job_of_fio_line(arguments)
    if complaints:
        raise UsageError("cannot use", "fio", "", "", complaints)
    return list(jobs_of(text, "fio")), list(notes)


def _diskspd(arguments: list[str]) -> tuple[list[tuple[str, Workload]], list[str]]:
    made = workload_of_diskspd(arguments)
    problems = list(made.complaints)
    workload = None
    try:
        workload = workload_from_words(**made.words)
    except UsageError as e:
        problems += e.problems or (e.why,)
    if problems or workload is None:
        raise UsageError("cannot use", "diskspd", "", "", tuple(problems))
    return [("diskspd", workload)], made.notes


def _profile(name: str, source: str, made: list[tuple[str, Workload, str]], notes: list[str]) -> Derived:
    """Workloads that are the same are one; names that are the same are numbered."""
    found: dict[str, ProfileWorkload] = {}
    names: set[str] = set()
    again = 0
    for asked, workload, why in made:
        if workload.key in found:
            again += 1
            continue
        own, number = asked, 1
        while own in names:
            number += 1
            own = f"{asked} ({number})"
        names.add(own)
        found[workload.key] = ProfileWorkload(name=own, workload=workload, why=why)
    if again:
        notes = [*notes, f"{again} of {len(made)} workloads are duplicates and are measured once"]
    profile = Profile(
        name=name,
        title=f"Derived from {source}",
        source="the load that was requested or recorded there; no goals are known",
        workloads=tuple(found.values()),
    )
    return Derived(profile=profile, notes=tuple(notes))
