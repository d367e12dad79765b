"""A signal is not lost, wherever it falls."""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Iterator

import pytest

from strata.app.signals import caught, raise_on_signals


@pytest.fixture
def handlers() -> Iterator[None]:
    numbers = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
    before = {number: signal.getsignal(number) for number in numbers}
    raise_on_signals()
    yield
    # What is remembered would stop whatever this process measures next.
    raise_on_signals()
    for number, handler in before.items():
        signal.signal(number, handler)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_a_signal_ends_a_command_and_is_remembered(handlers: None, number: signal.Signals) -> None:
    assert caught() is None
    with pytest.raises(KeyboardInterrupt):
        os.kill(os.getpid(), number)
        signal.pause()
    assert caught() == number


def test_one_that_falls_into_a_finalizer_is_remembered_though_its_exception_is_lost(
    handlers: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    lost: list[object] = []
    monkeypatch.setattr(sys, "unraisablehook", lambda raised: lost.append(raised.exc_type))

    class Final:
        def __del__(self) -> None:
            os.kill(os.getpid(), signal.SIGINT)
            for _ in range(1000):
                pass

    final = Final()
    del final
    assert lost == [KeyboardInterrupt]
    assert caught() == signal.SIGINT
