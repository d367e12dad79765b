"""Commands over files that nobody should have to read, each in a process with little memory and a deadline.

``python hostile.py`` reads a JSON list of command lines and writes a JSON list of what became of them. The commands are
loaded once and every case is a fork, so that a hundred cases cost little more than a hundred times their own work.
"""

from __future__ import annotations

import json
import os
import resource
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any, NamedTuple

import forked

ROOM_BYTES = 768 << 20
"""Address space a case may add to what the program has when it begins."""
PROCESSOR_S = 20
"""CPU time of a case. What is refused takes milliseconds; what hangs takes hours."""
WALL_S = 60


class Outcome(NamedTuple):
    """How a command ended: its exit code, negative for the signal that ended it, and what it said."""

    code: int
    out: str
    err: str

    @property
    def crashed(self) -> bool:
        """It ended otherwise than by its own words."""
        return self.code < 0 or "Traceback" in self.err or "panicked" in self.err or "MemoryError" in self.err


def ends_of(commands: list[list[object]]) -> list[Outcome]:
    """What becomes of each of these ``strata`` command lines."""
    asked = json.dumps([[str(word) for word in words] for words in commands])
    words, environment = [sys.executable, __file__], os.environ | forked.CALM
    done = subprocess.run(words, input=asked, capture_output=True, text=True, check=False, env=environment)
    assert done.returncode == 0, done.stderr
    return [Outcome(*one) for one in json.loads(done.stdout)]


def _case(words: list[str]) -> list[Any]:
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
        pid = os.fork()
        if pid == 0:
            _become(words, out.fileno(), err.fileno())
        code = _ended(pid)
        said = []
        for stream in (out, err):
            stream.seek(0)
            said.append(stream.read(100_000).decode("utf-8", "replace"))
    return [code, *said]


def _ended(pid: int) -> int:
    deadline = time.monotonic() + WALL_S
    while True:
        done, status = os.waitpid(pid, os.WNOHANG)
        if done:
            return os.waitstatus_to_exitcode(status)
        if time.monotonic() > deadline:
            os.kill(pid, signal.SIGKILL)
        time.sleep(0.002)


def _become(words: list[str], out: int, err: int) -> None:
    from strata.cli.main import main

    os.dup2(os.open("/dev/null", os.O_RDONLY), 0)
    os.dup2(out, 1)
    os.dup2(err, 2)
    pages = int(Path("/proc/self/statm").read_text().split()[0])
    room = pages * resource.getpagesize() + ROOM_BYTES
    resource.setrlimit(resource.RLIMIT_AS, (room, room))
    resource.setrlimit(resource.RLIMIT_CPU, (PROCESSOR_S, PROCESSOR_S))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    sys.argv = ["strata", *words]
    code: object = 70
    try:
        main()
    except SystemExit as e:
        code = e.code
    except BaseException:
        import traceback

        traceback.print_exc()
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code if isinstance(code, int) else 0)


if __name__ == "__main__":
    forked.load()
    print(json.dumps([_case(words) for words in json.load(sys.stdin)]))
