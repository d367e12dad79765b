"""A hop that delays and loses: `python -m strata_lab.parts.hop A B --ctl FILE --model "delay=1000 loss=5000"`.

Frames that come in at interface A go out at B, and back, later or not at all. Both are interfaces of the process's
network namespace (`nsenter --net=… python -m …`). FILE is a unix socket for changes and counts while it runs.
"""

from __future__ import annotations

import argparse
import json
import socket
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from strata.errors import RunFailed, UsageError
from strata_lab import compiled
from strata_lab.parts.program import status_of

POLL_S = 0.01
PATIENCE_S = 5.0
MISSING = "check that the process of the hop is running"


@dataclass(frozen=True)
class HopDirection:
    """One direction since the last reset. A frame is what the interface hands over: up to 64 KiB with offloads.

    ``lost`` by chance, ``full`` at the bounded queue, ``refused`` by the other interface, ``missed`` before the hop saw
    them; ``late_ns`` is how much later than due the ``sent`` frames went out, in all.
    """

    frames: int
    bytes: int
    lost: int
    full: int
    overtook: int
    waiting_bytes: int
    waiting_max_bytes: int
    sent: int
    refused: int
    missed: int
    late_ns: int
    late_max_ns: int


@dataclass(frozen=True)
class HopTruth:
    """What the hop did, from A to B and back; ``model`` are the words in force."""

    pid: int
    model: str
    elapsed_ns: int
    ab: HopDirection
    ba: HopDirection


class HopControl:
    """The socket of a hop at ``path``."""

    def __init__(self, path: Path | str) -> None:
        self.path = Path(path)

    def set(self, words: str = "", **params: object) -> None:
        """Change parameters now, all or none: ``set(delay=1000, loss_ab=500)``.

        Raises `UsageError` for a parameter or value that is refused, `RunFailed` without a hop.
        """
        text = " ".join([words, *(f"{key}={value}" for key, value in params.items())]).strip()
        refused = self._ask(text)["refused"]
        if refused is not None:
            raise UsageError("the hop rejects", repr(text), refused, "see the parameters of the hop")

    def reset(self) -> None:
        """Count anew from now."""
        self.set(reset=1)

    def truth(self) -> HopTruth:
        """Everything that was counted. Raises `RunFailed` without a hop."""
        seen = self._ask("")
        return HopTruth(
            seen["pid"], seen["model"], seen["elapsed_ns"], HopDirection(**seen["ab"]), HopDirection(**seen["ba"])
        )

    def wait(self, timeout_s: float = 10.0, alive: Callable[[], bool] = lambda: True) -> None:
        """Until the hop is there. Raises `RunFailed` after ``timeout_s``, or when ``alive`` says its process ended."""
        deadline = time.monotonic() + timeout_s
        while True:
            try:
                self._ask("")
                return
            except RunFailed:
                if time.monotonic() > deadline or not alive():
                    raise
                time.sleep(POLL_S)

    def _ask(self, line: str) -> dict[str, Any]:
        try:
            with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as client:
                client.settimeout(PATIENCE_S)
                client.connect(str(self.path))
                client.sendall(line.encode() + b"\n")
                with client.makefile("rb") as answer:
                    seen: dict[str, Any] = json.loads(answer.read())
        except (OSError, ValueError) as e:
            raise RunFailed("no answer from the hop at", str(self.path), str(e), MISSING) from e
        return seen


def serve(a: str, b: str, ctl: Path | str, model: str = "") -> None:
    """Be the hop until SIGTERM; blocks. Raises `UsageError` for bad words, `RunFailed` for the system."""
    try:
        compiled.lab_hop(json.dumps({"a": a, "b": b, "ctl": str(ctl), "model": model}))
    except ValueError as e:
        raise UsageError("not a hop:", model, str(e), "see the parameters of the hop") from e
    except OSError as e:
        hint = "check that both interfaces are in this network namespace, and run as root"
        raise RunFailed("cannot serve a hop between", f"{a} and {b}", str(e), hint) from e


def main(argv: list[str] | None = None) -> int:
    """The program; its exit status."""
    about = (__doc__ or "").splitlines()[0]
    parser = argparse.ArgumentParser(prog="python -m strata_lab.parts.hop", description=about)
    parser.add_argument("a", help="an interface of this network namespace")
    parser.add_argument("b", help="the other one")
    parser.add_argument("--ctl", required=True, help="where its unix socket is made")
    parser.add_argument("--model", default="", help='words such as "delay=1000 loss=5000"')
    words = parser.parse_args(argv)
    return status_of(lambda: serve(words.a, words.b, words.ctl, words.model))


if __name__ == "__main__":
    sys.exit(main())
