"""Commands as processes that need not load the libraries first: each is forked from one process that has loaded them.

Loading is half of what a short command costs. What is forked is a process like any other: own number, directory,
environment, streams, signals and exit status, and the whole of `python -m strata` from its entry on. What an
interpreter reads only as it starts (`PYTHON…`, locale, time zone) and what a child has to do first need a start of
their own; tests of commands that are killed in mid run make theirs themselves.

What this cannot see: an order that differs from start to start (all have one hash seed), an import that is missing or
goes in circles in a cold start, and more than one thread of the numerical libraries. Help, manners and the demos start
the real thing.
"""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import tempfile
from contextlib import suppress
from pathlib import Path

ROOMS = ("strata.cli", "strata.app", "strata.report", "strata_lab")
"""What they import is nearly all that there is."""
READ_AT_THE_START = ("PYTHON", "LC_", "LANG", "TZ", "LD_", "MALLOC_")
CALM = dict.fromkeys(("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"), "1")
"""As a command that measures a matrix sets them before it loads the numerical libraries."""
_STARTED_WITH = {name: value for name, value in os.environ.items() if name.startswith(READ_AT_THE_START)}
_door: list[tuple[subprocess.Popen[bytes], socket.socket]] = []


def able() -> bool:
    """Whether the environment asks for nothing that an interpreter reads only as it starts."""
    return {k: v for k, v in os.environ.items() if k.startswith(READ_AT_THE_START)} == _STARTED_WITH


def run(words: tuple[str, ...], timeout: float) -> subprocess.CompletedProcess[str]:
    """`strata WORDS…` to its end, as :func:`subprocess.run` with both streams captured; stdin as we have it."""
    ours, theirs = socket.socketpair()
    with ours, tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
        with theirs:
            document = json.dumps([words, str(Path.cwd()), dict(os.environ)]).encode()
            socket.send_fds(_opened(), [b"."], [theirs.fileno(), 0, out.fileno(), err.fileno()])
            ours.sendall(len(document).to_bytes(4, "big") + document)
        ours.settimeout(timeout)
        process, status = int.from_bytes(_exactly(ours, 4), "big"), b""
        try:
            status = _exactly(ours, 4)
        except TimeoutError:
            raise subprocess.TimeoutExpired(words, timeout) from None
        finally:
            if not status:
                with suppress(ProcessLookupError):
                    os.kill(process, signal.SIGKILL)
        code = os.waitstatus_to_exitcode(int.from_bytes(status, "big"))
        said = []
        for stream in (out, err):
            stream.seek(0)
            said.append(stream.read().decode())
    return subprocess.CompletedProcess(words, code, *said)


def _opened() -> socket.socket:
    """The way to the process that has loaded everything; it ends when we do."""
    if not _door or _door[0][0].poll() is not None:
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_DGRAM)
        with theirs:
            argv = [sys.executable, __file__, str(theirs.fileno()), str(os.getpid())]
            quiet = subprocess.DEVNULL
            fds, environment = [theirs.fileno()], os.environ | CALM
            server = subprocess.Popen(argv, pass_fds=fds, stdin=quiet, stdout=quiet, cwd="/", env=environment)
        _door[:] = [(server, ours)]
    return _door[0][1]


def _exactly(stream: socket.socket, size: int) -> bytes:
    got = b""
    while len(got) < size:
        if not (more := stream.recv(size - len(got))):
            raise EOFError(f"the process that starts commands has gone ({_door[0][0].poll()})")
        got += more
    return got


def _serve(door: socket.socket, client: int) -> None:
    """Forks for each that asks; only the forked ones return from here, with all that makes them a command."""
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    while os.getppid() == client:
        try:
            _, fds, _, _ = socket.recv_fds(door, 1, 4)
        except TimeoutError:
            continue
        if os.fork() == 0:
            signal.signal(signal.SIGCHLD, signal.SIG_DFL)
            answers = socket.socket(fileno=fds[0])
            words, cwd, environment = json.loads(_exactly(answers, int.from_bytes(_exactly(answers, 4), "big")))
            if process := os.fork():
                answers.sendall(process.to_bytes(4, "big"))
                with suppress(BrokenPipeError):  # who asked has given up
                    answers.sendall(os.waitpid(process, 0)[1].to_bytes(4, "big"))
                os._exit(0)
            for number, fd in enumerate(fds[1:]):
                os.dup2(fd, number)
            answers.detach()
            door.detach()
            os.closerange(3, max(fds) + 1)
            os.chdir(cwd)
            os.environ.clear()
            os.environ.update(environment)
            sys.argv[1:] = words
            return
        for fd in fds:
            os.close(fd)
    os._exit(0)


def _main() -> None:
    """Loads all of Strata, waits to be asked, and is the command that was asked for."""
    import gc
    import pkgutil
    import runpy
    from importlib import import_module

    del sys.path[0]
    import strata

    for room in map(import_module, ROOMS):
        for module in pkgutil.walk_packages(room.__path__, f"{room.__name__}."):
            import_module(module.name)
    gc.collect()
    gc.freeze()
    door = socket.socket(fileno=int(sys.argv[1]))
    door.settimeout(1)
    _serve(door, int(sys.argv[2]))
    sys.argv[0] = str(Path(strata.__path__[0], "__main__.py"))
    runpy.run_module("strata", run_name="__main__", alter_sys=True)


if __name__ == "__main__":
    _main()
