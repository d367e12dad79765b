"""SIGINT and SIGTERM as a request to stop, so that what was measured until then is kept."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

from strata.host.shutdown import is_waiting, request_shutdown

SIGNALS = (signal.SIGINT, signal.SIGTERM)


class _Last:
    number: int | None = None


def raise_on_signals() -> None:
    """From here on SIGINT, SIGTERM, and SIGHUP of a lost terminal end a command as a `KeyboardInterrupt`.

    They are remembered as well (`caught`): raised inside a finalizer or a callback of a library the exception would
    be printed and lost, and the command would go on.
    """
    _Last.number = None
    request_shutdown(False)
    for number in (*SIGNALS, signal.SIGHUP):
        # nohup has SIGHUP ignored, and that is the user's word.
        if signal.getsignal(number) is not signal.SIG_IGN:
            signal.signal(number, _raise)


def caught() -> int | None:
    """The number of the last signal since `raise_on_signals`, or None."""
    return _Last.number


def _raise(number: int, _frame: FrameType | None) -> None:
    _Last.number = number
    request_shutdown()
    raise KeyboardInterrupt


class Stop:
    """Whether somebody asked to stop; ``signal`` is the number of the first signal, or None."""

    def __init__(self) -> None:
        self.signal: int | None = None

    def __call__(self) -> bool:
        return self.signal is not None


@contextmanager
def stop_on_signals() -> Iterator[Stop]:
    """The first signal is a request; a second one does what it did before. In a side thread signals are left alone.

    While a server is only waited for there is nothing to end in good order: then the first one is raised.
    """
    stop = Stop()
    if threading.current_thread() is not threading.main_thread():
        yield stop
        return
    before = {number: signal.getsignal(number) for number in SIGNALS}

    def restore() -> None:
        for number, handler in before.items():
            signal.signal(number, handler)

    def asked(number: int, frame: FrameType | None) -> None:
        stop.signal = number
        request_shutdown()
        restore()
        if is_waiting():
            _raise(number, frame)

    for number in SIGNALS:
        signal.signal(number, asked)
    try:
        yield stop
    finally:
        restore()
