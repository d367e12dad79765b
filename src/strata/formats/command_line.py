"""Command lines of load generators as people keep them: in scripts, in notes, at the head of a result."""

from __future__ import annotations

import re
from collections.abc import Iterator

PROGRAMS = ("fio", "diskspd")
_FIRST = 4
"""The program stands among the first words (after ``sudo``, ``&``, ``time``), or the line is no command."""
_WORD = re.compile(r"""(?:"[^"]*"|'[^']*'|[^\s"'])+""")
_QUOTED = re.compile(r"""["']([^"']*)["']""")
_RESULT = "command line:"
"""Begins the line of a diskspd result that repeats its command."""
_COMMENTS = ("#", ";", "::", "rem ")
_ENDS = (">", ">>", "2>", "2>&1", "|", "&&", ";")


def program_of(line: str) -> tuple[str, list[str]] | None:
    """``fio`` or ``diskspd`` and the words behind it; None where the line runs neither.

    Backslashes are kept, because they are part of Windows' paths. Redirections and what follows them are left out.
    """
    words = [_QUOTED.sub(r"\1", word) for word in _WORD.findall(line)]
    for at, word in enumerate(words[:_FIRST]):
        name = re.split(r"[/\\]", word)[-1].lower().removesuffix(".exe")
        if name in PROGRAMS:
            rest = words[at + 1 :]
            end = next((i for i, w in enumerate(rest) if w in _ENDS or w.startswith((">", "2>"))), len(rest))
            return name, rest[:end]
    return None


def commands_in(text: str) -> Iterator[str]:
    """The lines of a text that run one of the programs; those that end in ``\\``, ``^`` or a backtick go on."""
    whole = re.sub(r"[ \t]*[\\^`]\r?\n\s*", " ", text)
    for raw in whole.splitlines():
        line = raw.strip()
        if line.lower().startswith(_RESULT):
            line = line[len(_RESULT) :].strip()
        if not line.lower().startswith(_COMMENTS) and program_of(line) is not None:
            yield line
