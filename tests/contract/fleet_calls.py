"""What the tests have nodes do: functions that a node finds by their names."""

from __future__ import annotations

import os
import signal
import threading
import time
from pathlib import Path

from strata.errors import SafetyRefusal
from strata.fleet.node import here, tell


def add(a: int, b: int) -> int:
    """A sum."""
    return a + b


def load(seconds: float) -> tuple[str, float]:
    """Works for so long, as a measurement does: it ends once nobody waits for it. Its node, and how long it took."""
    state, began, told = here(), time.monotonic(), 0
    while (spent := time.monotonic() - began) < seconds and state.scheduler_alive() and not state.cancelled():
        if spent >= told:
            tell({"second": told})
            told += 1
        time.sleep(0.05)
    (state.folder / "ended").write_text(f"{time.monotonic() - began:.3f} {state.scheduler_alive()} {state.cancelled()}")
    return state.name, time.monotonic() - began


def deaf(seconds: float) -> None:
    """Works for so long, whoever waits."""
    (here().folder / "deaf").touch()
    time.sleep(seconds)


def flood(messages: int) -> tuple[int, float]:
    """How many of so many messages, as fast as it goes, were sent, and how long it took."""
    began = time.monotonic()
    return sum(tell({"n": n}) for n in range(messages)), time.monotonic() - began


def big(size: int) -> bytes:
    """So many bytes."""
    return bytes(size)


def refuses() -> None:
    """As the safety gate does."""
    raise SafetyRefusal("will not write to", "/dev/sda", "it is not Strata's", "choose another")


def breaks() -> None:
    """As a mistake of ours does."""
    raise ZeroDivisionError("here")


def dies() -> None:
    """As the kernel ends what took too much memory."""
    os.kill(os.getpid(), signal.SIGKILL)


def network() -> str:
    """The network namespace in which the node is."""
    return str(Path("/proc/self/ns/net").readlink())


def threads() -> int:
    """Threads of the node."""
    return threading.active_count()
