"""A command of the user's that is run from its start to its end while something is recorded beside it."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Sequence

from strata.app.signals import stop_on_signals
from strata.errors import UsageError
from strata.host import process

LOOK_S = 0.1
GRACE_S = 5.0


def beside(
    command: Sequence[str],
    *,
    started: Callable[[int], None] = lambda _: None,
    limit_s: float | None = None,
) -> int:
    """Run it without a shell; its exit status, negative for a signal. Its output goes to stderr.

    It is ended with SIGTERM on a signal to us and after ``limit_s``, and killed where that does not help; it is reaped
    when this returns. Raises `UsageError` where it cannot be started.
    """
    try:
        child = process.begin_users(command, stdout=sys.stderr.fileno())
    except OSError as e:
        raise UsageError("cannot start", command[0], (e.strerror or str(e)).lower()) from e
    try:
        started(child.pid)
        begun, asked = time.monotonic(), None
        with stop_on_signals() as stop:
            while child.poll() is None:
                try:
                    child.wait(LOOK_S)
                except process.TookTooLong:
                    now = time.monotonic()
                    if asked is None and (stop() or (limit_s is not None and now - begun >= limit_s)):
                        child.terminate()
                        asked = now
                    elif asked is not None and now - asked >= GRACE_S:
                        child.kill()
    finally:
        if child.poll() is None:
            child.kill()
        status = child.wait()
    return status
