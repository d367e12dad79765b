"""A plan as commands of other tools, to be run where Strata is not: one module a form, found because it lies here.

A module says of itself:

``NAME``, ``TITLE``   its key on the command line, and what it writes, for people
``write(script)``     the text. Raises `UsageError` that lists every workload it has no words for

What is written creates its own file and takes it away again, or says at its head what it would overwrite. Sizes are
plain bytes. Every measurement has its own seed, so that no round reads what an earlier one left in a cache.
"""

from __future__ import annotations

import functools
import re
import sys
from collections.abc import Callable
from dataclasses import dataclass

from strata.errors import UsageError, choices
from strata.model.plugins import modules
from strata.model.workload import Workload
from strata.text import controls
from strata.units import plural

_DEVICE = re.compile(r"(/dev/.*|\\\\[.?]\\.*|[A-Za-z]:\\?|#\d+)", re.DOTALL)
"""A device or a whole volume, as Linux, Windows or diskspd name it."""


@dataclass(frozen=True)
class Measurement:
    """One workload in one round, which counts from 0. ``name`` is unique in a script."""

    name: str
    round: int
    workload: Workload


@dataclass(frozen=True)
class Script:
    """What is to be run: ``target`` is a path of the machine that will run it, ``size`` of its file in bytes.

    ``order`` says how the measurements were ordered, ``counters`` whether the system's are collected beside them.
    """

    target: str
    size: int
    measurements: tuple[Measurement, ...]
    ramp_s: float
    runtime_s: float
    order: str
    counters: bool = True

    @property
    def device(self) -> bool:
        """Whether the target is no file: then nothing is created or removed."""
        return _DEVICE.fullmatch(self.target) is not None

    @property
    def workloads(self) -> tuple[Workload, ...]:
        """Each once."""
        return tuple({m.workload.key: m.workload for m in self.measurements}.values())

    @property
    def head(self) -> tuple[str, ...]:
        """What stands at the beginning of every form."""
        rounds = 1 + max(m.round for m in self.measurements)
        what = f"{plural(len(self.workloads), 'workload')}, {plural(rounds, 'round')}, {self.order}"
        return f"Written by strata emit: {what}.", "Read the results with: strata import PATH"


@dataclass(frozen=True)
class ScriptForm:
    """``name`` is its key."""

    name: str
    title: str
    write: Callable[[Script], str]


@functools.cache
def forms() -> tuple[ScriptForm, ...]:
    """Every form, by its name."""
    return tuple(ScriptForm(m.NAME, m.TITLE, m.write) for m in modules(sys.modules[__name__], "NAME"))


def written(form: str, script: Script) -> str:
    """The script in one of the forms. Raises `UsageError`."""
    made = next((one for one in forms() if one.name == form), None)
    if made is None:
        names = [one.name for one in forms()]
        raise UsageError("cannot write commands for", form, "there is no such form", choices(form, names))
    wrong = {
        "the target is empty": not script.target,
        "the name holds control characters": controls.line(script.target) != script.target,
        "every tool takes it for an option": script.target.startswith("-"),
    }
    for why in (why for why, is_so in wrong.items() if is_so):
        raise UsageError("cannot write commands for", controls.line(script.target), why, "give another path")
    return made.write(script)


def refuse(tool: str, problems: dict[str, list[str]]) -> None:
    """Raises `UsageError` where some workloads have problems, by their keys."""
    said = tuple(f"{key}: {why}" for key, found in problems.items() for why in found)
    if said:
        advice = "leave them out (--workloads), or run them with strata measure"
        raise UsageError("cannot be written for", tool, "", advice, said)
