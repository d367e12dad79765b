"""Commands over files that nobody should have to read, each in a process with little memory and a deadline.

``python hostile.py`` reads a JSON list of command lines from each line, and writes a line with a JSON list of what
became of them. The commands are loaded once for all tests of a worker and every case is a fork, so that a hundred cases
cost little more than a hundred times their own work.
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


_asked: list[subprocess.Popen[str]] = []


def ends_of(commands: list[list[object]]) -> list[Outcome]:
    """What becomes of each of these ``strata`` command lines, in our directory and with our environment."""
    if not _asked or _asked[0].poll() is not None:
        argv, pipe = [sys.executable, __file__], subprocess.PIPE
        # It ends with its standard input, which is closed when we end.
        _asked[:] = [subprocess.Popen(argv, stdin=pipe, stdout=pipe, text=True, env=os.environ | forked.CALM)]
    server = _asked[0]
    assert server.stdin is not None and server.stdout is not None
    lines = [[str(word) for word in words] for words in commands]
    print(json.dumps([str(Path.cwd()), dict(os.environ), lines]), file=server.stdin, flush=True)
    told = server.stdout.readline()
    assert told, f"it ended with {server.wait()}"
    return [Outcome(*one) for one in json.loads(told)]


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
    for line in sys.stdin:
        cwd, environment, commands = json.loads(line)
        os.chdir(cwd)
        os.environ.clear()
        os.environ.update(environment)
        print(json.dumps([_case(words) for words in commands]), flush=True)
