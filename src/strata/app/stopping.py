"""SIGINT and SIGTERM as a request to stop, so that what was measured until then is kept."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

SIGNALS = (signal.SIGINT, signal.SIGTERM)


class Stop:
    """Whether somebody asked to stop; ``signal`` is the number of the first signal, or None."""

    def __init__(self) -> None:
        self.signal: int | None = None

    def __call__(self) -> bool:
        return self.signal is not None


@contextmanager
def stop_on_signals() -> Iterator[Stop]:
    """The first signal is a request; a second one does what it did before. In a side thread signals are left alone."""
    stop = Stop()
    if threading.current_thread() is not threading.main_thread():
        yield stop
        return
    before = {number: signal.getsignal(number) for number in SIGNALS}

    def restore() -> None:
        for number, handler in before.items():
            signal.signal(number, handler)

    def asked(number: int, _frame: FrameType | None) -> None:
        stop.signal = number
        restore()

    for number in SIGNALS:
        signal.signal(number, asked)
    try:
        yield stop
    finally:
        restore()
