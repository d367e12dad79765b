"""A fio job file: one section a measurement, one after the other."""

from __future__ import annotations

from collections.abc import Iterator

from strata.errors import UsageError
from strata.formats.fio import job_options
from strata.formats.scripts import Measurement, Script, refuse
from strata.model.endpoint import Endpoint
from strata.model.plan import Segment

NAME, TITLE = "fio", "a fio job file"
_REFUSED = set("$\"'#;\\")
"""fio takes these for variables, quotes and comments, and has no way to write them in a job file."""


def write(script: Script) -> str:
    lines = [f"; {line}" for line in script.head]
    lines += ["; Run it with: fio --output-format=json --output=results.json JOBFILE"]
    if not script.device:
        lines.append(f"; fio creates {script.target} where it is not there, and OVERWRITES it if it is.")
    return "\n".join([*lines, *job(script), ""])


def job(script: Script) -> Iterator[str]:
    """The lines of the job file itself. Raises `UsageError`."""
    if set(script.target) & _REFUSED or script.target != script.target.strip():
        why = "fio's job files have no way to write this name"
        raise UsageError("cannot be written for", "fio", why, f"give a path without {' '.join(sorted(_REFUSED))}")
    sections = {m.name: _section(script, m) for m in script.measurements}
    keys = {m.name: m.workload.key for m in script.measurements}
    refuse("fio", {keys[name]: ["fio has no words for it"] for name, found in sections.items() if found is None})
    yield from ("[global]", "stonewall", "overwrite=1", "")
    for name, words in sections.items():
        yield from (f"[{name}]", *(f"{key}={value}" for key, value in (words or {}).items()), "")


def _section(script: Script, one: Measurement) -> dict[str, str] | None:
    """The options; None where fio has no words for the workload."""
    kind = "block" if script.device else "file"
    endpoint = Endpoint.parse(f"{kind}:/target").model_copy(update={"path": script.target})
    whole = (Segment(start=0, length=script.size, target=0),)
    words = job_options(endpoint, one.workload, whole, script.ramp_s, script.runtime_s)
    return None if words is None else words | {"randseed": str(one.workload.seed)}
