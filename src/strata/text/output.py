"""The one door through which text leaves for a terminal, a file that stands for one, or a pipe.

Characters that a terminal obeys are shown (`controls`); what the stream's encoding lacks is said in its words
(`plain`). Colours of our own are sealed until then: no name that came from outside can hold one.
"""

from __future__ import annotations

import os
import re
import sys
import threading
from types import TracebackType
from typing import TextIO

from strata.text import controls, plain, secrets

_SEAL = os.urandom(8).hex()
_SEALED = re.compile(f"\x1b{_SEAL}\\[([0-9;]*)m")


def style(codes: str) -> str:
    """A colour of our own, sealed; ``0`` ends it. It becomes an ANSI sequence as it leaves."""
    return f"\x1b{_SEAL}[{codes}m"


def shown(text: str) -> str:
    """``text`` as a terminal gets it: nothing in it is obeyed but line ends, tabs and colours of our own."""
    parts = _SEALED.split(text)
    return "".join(f"\x1b[{part}m" if i % 2 else controls.lines(part) for i, part in enumerate(parts))


def out(text: str, exact: bool = False) -> None:
    """A result on stdout. ``exact``: it is a JSON document, which keeps its meaning in every encoding."""
    ended = text if text.endswith("\n") else text + "\n"
    sys.stdout.write(plain.exact(shown(ended), plain.encoding()) if exact else shown(ended))
    sys.stdout.flush()


def note(text: str) -> None:
    """A remark on stderr."""
    say(text, sys.stderr)


def say(text: str, stream: TextIO) -> None:
    """A line of text on a stream of the caller's."""
    print(shown(text), file=stream, flush=True)


def asked(prompt: str) -> str | None:
    """A secret that the user types unseen; None where nobody sits at a terminal."""
    if sys.stdin is None or sys.stderr is None or not (sys.stdin.isatty() and sys.stderr.isatty()):
        return None
    from getpass import getpass

    secret = getpass(shown(prompt))
    secrets.know_secret(secret)
    return secret


def open_() -> None:
    """For the beginning of a process: no stream of it fails at a character, no traceback goes past this door.

    The secrets it was started with are known from here on.
    """
    secrets.know_process(sys.argv, os.environ)
    for stream in (sys.stdout, sys.stderr):
        if (reconfigure := getattr(stream, "reconfigure", None)) is not None:
            reconfigure(errors=plain.ERRORS)
    sys.excepthook = _fallen
    threading.excepthook = lambda fallen: _fallen(fallen.exc_type, fallen.exc_value, fallen.exc_traceback)


def _fallen(kind: type[BaseException], error: BaseException | None, trace: TracebackType | None) -> None:
    """A mistake of our own: the traceback, through the door."""
    if sys.stderr is not None:
        import traceback

        note(secrets.redacted("".join(traceback.format_exception(kind, error, trace)).rstrip("\n")))
