"""After a signal nobody is waited for as long as they like: what a command still asks of servers gets a short wait.

A command that ends takes its test file away again, and the server that has it may be the one that never answers.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from strata import units

LEAVING_NS = units.NS_PER_S // 2
"""How long an answer is waited for by a command that was told to end."""


class _State:
    asked = False
    waiting = False


def request_shutdown(asked: bool = True) -> None:
    """A signal came; or, with ``asked`` False, a new command begins."""
    _State.asked = asked


def shutdown_requested() -> bool:
    """Whether a signal came."""
    return _State.asked


def at_most(patience_ns: int) -> int:
    """The patience there is now for one answer."""
    return min(patience_ns, LEAVING_NS) if _State.asked else patience_ns


@contextmanager
def waiting() -> Iterator[None]:
    """While a server is waited for and nothing has begun that a signal could end in good order."""
    before, _State.waiting = _State.waiting, True
    try:
        yield
    finally:
        _State.waiting = before


def is_waiting() -> bool:
    """Whether a signal has to be raised to be heard."""
    return _State.waiting
