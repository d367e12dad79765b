"""diskspd command lines for cmd.exe: one line a measurement."""

from __future__ import annotations

from strata.errors import UsageError
from strata.formats.diskspd import diskspd_words, timed
from strata.formats.scripts import Script, refuse

NAME, TITLE = "diskspd", "diskspd command lines, for cmd.exe"
_REFUSED = set('"%^&|<>!')
"""cmd.exe replaces or ends a word at these, also within quotes; what is not ASCII depends on its code page."""


def write(script: Script) -> str:
    if set(script.target) & _REFUSED or not script.target.isascii():
        why = "cmd.exe has no safe way to write this name"
        raise UsageError("cannot be written for", "cmd.exe", why, "give another path, or write for powershell")
    lines = [f"rem {line}" for line in script.head]
    if not script.device:
        lines.append(f"rem diskspd creates the file where it is not there, and OVERWRITES it if it is: {script.target}")
    target = f'"{script.target}"'
    lines += [] if script.device else [" ".join(["diskspd", *creating(script), target, "> nul"])]
    lines += [" ".join(["diskspd", *words, target, ">> results.txt"]) for words in options(script)]
    return "\n".join([*lines, ""])


def creating(script: Script) -> list[str]:
    """Options that make the file, written whole, and read it for a second."""
    return [f"-c{script.size}", "-b1048576", "-d1"]


def options(script: Script) -> list[list[str]]:
    """The options of each measurement. Raises `UsageError`."""
    made = {m.name: diskspd_words(m.workload, script.size) for m in script.measurements}
    keys = {m.name: m.workload.key for m in script.measurements}
    refuse("diskspd", {keys[name]: found.complaints for name, found in made.items()})
    return [[*found.words, "-L", "-D", *timed(script.ramp_s, script.runtime_s)] for found in made.values()]
