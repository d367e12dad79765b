"""The process of one local client: ``… child COMMANDS ANSWERS``, two descriptors.

COMMANDS: one line, its words; then single bytes: `BEAT` while its parent lives, `STOP`.
ANSWERS: lines of JSON: ``ready``, an ``interval`` each, a ``tick`` where there is nothing else to say, and at last
``result`` or ``error``.
"""

from __future__ import annotations

import json
import os
import sys
import threading
import time
from typing import Any

from strata.engine.clients.client import measure_client
from strata.errors import StrataError

BEAT, STOP = b".", b"s"
BEAT_S, SILENT_S = 1.0, 4.0
"""How often each side says that it lives, and after how long without a word the child takes its parent for gone."""


class Parent:
    """What is heard of the parent, by a thread of its own."""

    def __init__(self, commands: int) -> None:
        self._file = os.fdopen(commands, "rb", buffering=0)
        self._heard = time.monotonic()
        self._gone = False
        self.stop = False

    def words(self) -> dict[str, Any]:
        """The first line."""
        line = b""
        while b"\n" not in line:
            got = self._file.read(1 << 16)
            if not got:
                raise EOFError("the parent ended before it said what to measure")
            line += got
        line, _, after = line.partition(b"\n")
        found: dict[str, Any] = json.loads(line)
        self._take(after)
        threading.Thread(target=self._listen, daemon=True).start()
        return found

    def alive(self) -> bool:
        """Whether it was heard of lately."""
        return not self._gone and time.monotonic() - self._heard < SILENT_S

    def _listen(self) -> None:
        while got := self._file.read(4096):
            self._take(got)
        self._gone = self.stop = True

    def _take(self, got: bytes) -> None:
        self._heard = time.monotonic()
        self.stop |= STOP in got


def main(commands: int, answers: int) -> int:
    """One client, from its first word to its last."""
    told = 0.0

    def say(**answer: Any) -> None:
        nonlocal told
        told = time.monotonic()
        line = json.dumps(answer).encode() + b"\n"
        while line:
            line = line[os.write(answers, line) :]

    parent = Parent(commands)
    say(ready=True)

    def alive() -> bool:
        if time.monotonic() - told >= BEAT_S:
            say(tick=True)
        return parent.alive()

    try:
        words = parent.words()
        result = measure_client(words, lambda interval: say(interval=interval), alive, lambda: parent.stop)
        say(result=result)
    except StrataError as e:
        say(error=e.headline, hint=e.hint)
        return e.exit_code
    return 0


if __name__ == "__main__":
    sys.exit(main(int(sys.argv[1]), int(sys.argv[2])))
