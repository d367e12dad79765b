"""A hop that delays and loses: `python -m strata_lab.parts.hop A B --ctl FILE --model "delay=1000 loss=5000"`.

Frames that come in at interface A go out at B, and back, later or not at all. Both are interfaces of the process's
network namespace (`nsenter --net=… python -m …`). FILE is a unix socket for changes and counts while it runs.
"""

from __future__ import annotations

import json
import socket
import sys
from pathlib import Path
from typing import Any

from strata.errors import RunFailed, UsageError
from strata.model.base import Value
from strata_lab import compiled
from strata_lab.parts.program import Control, explained, program, status_of

PATIENCE_S = 5.0
MISSING = "check that the process of the hop is running"


class HopDirection(Value):
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


class HopTruth(Value):
    """What the hop did, from A to B and back; ``model`` are the words in force."""

    pid: int
    model: str
    elapsed_ns: int
    ab: HopDirection
    ba: HopDirection


class HopControl(Control):
    """The socket of a hop at ``path``."""

    def __init__(self, path: Path | str) -> None:
        self.path = Path(path)

    def tell(self, text: str) -> None:
        """As `set`."""
        refused = self._ask(text)["refused"]
        if refused is not None:
            raise UsageError("the hop rejects", repr(text), refused, "see the parameters of the hop")

    def there(self) -> None:
        """Raises `RunFailed` as long as the hop does not answer."""
        self._ask("")

    def truth(self) -> HopTruth:
        """Everything that was counted. Raises `RunFailed` without a hop."""
        seen = self._ask("")
        return HopTruth.model_validate({key: value for key, value in seen.items() if key != "refused"})

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
    hint = "check that both interfaces are in this network namespace, and run as root"
    refused = ("not a hop:", model, "see the parameters of the hop")
    with explained(refused, ("cannot serve a hop between", f"{a} and {b}", hint)):
        compiled.lab_hop(json.dumps({"a": a, "b": b, "ctl": str(ctl), "model": model}))


def main(argv: list[str] | None = None) -> int:
    """The program; its exit status."""
    parser = program("strata_lab.parts.hop", __doc__)
    parser.add_argument("a", help="an interface of this network namespace")
    parser.add_argument("b", help="the other one")
    parser.add_argument("--ctl", required=True, help="where its unix socket is made")
    parser.add_argument("--model", default="", help='words such as "delay=1000 loss=5000"')
    words = parser.parse_args(argv)
    return status_of(lambda: serve(words.a, words.b, words.ctl, words.model))


if __name__ == "__main__":
    sys.exit(main())
