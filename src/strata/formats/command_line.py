"""Command lines of load generators as people keep them: in scripts, in notes, at the head of a result."""

from __future__ import annotations

import re
from collections.abc import Iterator

from strata.parsing import LINE_MOST

PROGRAMS = ("fio", "diskspd")
_BEFORE = frozenset(
    {"&", "$", ">", "call", "cmd", "exec", "ionice", "nice", "numactl", "start", "sudo", "taskset", "time"}
)
"""What stands before the program in a command, beside options and ``NAME=value``; other words are prose."""
_WORD = re.compile(r"""(?:"[^"]*"|'[^']*'|[^\s"'])+""")
_QUOTED = re.compile(r"""["']([^"']*)["']""")
_RESULT = "command line:"
"""Begins the line of a diskspd result that repeats its command."""
_COMMENTS = ("#", ";", "::", "rem ")
LINES_MOST = 1000
"""Lines of one command; more, or a line that is longer than a command, are something else."""
_GOES_ON = ("\\", "^", "`")
"""Ends a line that the next one goes on with."""
_ENDS = (">", ">>", "2>", "2>&1", "|", "&&", ";")


def program_of(line: str) -> tuple[str, list[str]] | None:
    """``fio`` or ``diskspd`` and the words behind it; None where the line runs neither.

    Backslashes are kept, because they are part of Windows' paths. Redirections and what follows them are left out.
    """
    words = [_QUOTED.sub(r"\1", word) for word in _WORD.findall(line)]
    for at, word in enumerate(words):
        name = re.split(r"[/\\]", word)[-1].lower().removesuffix(".exe")
        if name in PROGRAMS:
            rest = words[at + 1 :]
            end = next((i for i, w in enumerate(rest) if w in _ENDS or w.startswith((">", "2>"))), len(rest))
            return name, rest[:end]
        if word.lower() not in _BEFORE and not word.isdecimal() and "=" not in word and not word.startswith(("-", "/")):
            return None
    return None


def commands_in(text: str) -> Iterator[str]:
    """The lines of a text that run one of the programs; those that end in ``\\``, ``^`` or a backtick go on."""
    for whole in _whole_lines(text):
        line = whole
        if line.lower().startswith(_RESULT):
            line = line[len(_RESULT) :].strip()
        found = None if line.lower().startswith(_COMMENTS) else program_of(line)
        # Options are what tells a command from a sentence that begins with its name.
        if found is not None and any(len(word) > 1 and word[0] in "-/" for word in found[1]):
            yield line


def _whole_lines(text: str) -> Iterator[str]:
    begun: list[str] = []
    for raw in text.splitlines():
        line = raw.strip()
        if begun and not line:
            continue
        if raw.endswith(_GOES_ON):
            begun.append(line[:-1].rstrip())
            continue
        if len(line) <= LINE_MOST and len(begun) <= LINES_MOST:
            yield " ".join([*begun, line])
        begun = []
    if 0 < len(begun) <= LINES_MOST:
        yield " ".join(begun)
