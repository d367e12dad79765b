"""Commands as processes that need not load the libraries first: each is forked from one process that has loaded them.

Loading is half of what a short command costs. What is forked is a process like any other: own number, directory,
environment, streams, signals and exit status, and the whole of `python -m strata` from its entry on. What an
interpreter reads only as it starts (`PYTHON…`, locale, time zone) and what a child has to do first need a start of
their own.

Servers, nodes and commands that a test interrupts or kills in mid run are forked as well (`Started`): a node loads for
more than half a second before it joins.

Its end is short: what an interpreter calls at its end is called, and what it would then take apart piece by piece (half
of the time of a short command, as all libraries are loaded) is left to the kernel.

What this cannot see: destructors that run as an interpreter is taken apart, an order that differs from start to start
(all have one hash seed), an import that is missing or goes in circles in a cold start, and more than one thread of the
numerical libraries. Help, manners and the demos start the real thing, and so do nodes and servers in namespaces, in the
lab, and of `tests/contract/test_netns.py`.
"""

from __future__ import annotations

import io
import json
import os
import selectors
import signal
import socket
import subprocess
import sys
import tempfile
import threading
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path

ROOMS = ("strata.cli", "strata.app", "strata.report", "strata.fleet", "strata.serve", "strata_lab")
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
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
        ours, process = _forked(words, os.environ, (0, out.fileno(), err.fileno()))
        status = b""
        ours.settimeout(timeout)
        try:
            status = _exactly(ours, 4)
        except TimeoutError:
            raise subprocess.TimeoutExpired(words, timeout) from None
        finally:
            ours.close()
            if not status:
                with suppress(ProcessLookupError):
                    os.kill(process, signal.SIGKILL)
        code = os.waitstatus_to_exitcode(int.from_bytes(status, "big"))
        said = []
        for stream in (out, err):
            stream.seek(0)
            said.append(stream.read().decode())
    return subprocess.CompletedProcess(words, code, *said)


class Started:
    """`strata WORDS…` that goes on, used as a `subprocess.Popen` with a pipe for stderr; it hears and prints nothing
    else."""

    def __init__(self, words: Sequence[object], environment: Mapping[str, str] = os.environ) -> None:
        self.args, self.returncode = list(map(str, words)), None
        read, write = os.pipe()
        with open(os.devnull, "r+b") as nothing:  # noqa: PTH123 - no path of ours
            self._answers, self.pid = _forked(self.args, environment, (nothing.fileno(), nothing.fileno(), write))
        os.close(write)
        self.stderr = os.fdopen(read, encoding="utf-8")
        self._heard: list[str] = []
        self._reader: threading.Thread | None = None

    def wait(self, timeout: float | None = None) -> int:
        """Its exit status. Raises `subprocess.TimeoutExpired`."""
        if self.returncode is None:
            self._answers.settimeout(timeout)
            try:
                self.returncode = os.waitstatus_to_exitcode(int.from_bytes(_exactly(self._answers, 4), "big"))
            except (TimeoutError, BlockingIOError):
                raise subprocess.TimeoutExpired(self.args, timeout or 0) from None
            self._answers.close()
        return self.returncode

    def poll(self) -> int | None:
        """Its exit status, or None while it runs."""
        with suppress(subprocess.TimeoutExpired):
            self.wait(0)
        return self.returncode

    def send_signal(self, number: int) -> None:
        """Nothing, where it has ended."""
        if self.poll() is None:
            os.kill(self.pid, number)

    def terminate(self) -> None:
        self.send_signal(signal.SIGTERM)

    def kill(self) -> None:
        self.send_signal(signal.SIGKILL)

    def communicate(self, timeout: float | None = None) -> tuple[None, str]:
        """What else it says until it ends. Raises `subprocess.TimeoutExpired`, after which it can be asked again."""
        if self._reader is None:
            self._reader = threading.Thread(target=lambda: self._heard.append(self.stderr.read()), daemon=True)
            self._reader.start()
        self._reader.join(timeout)
        if self._reader.is_alive():
            raise subprocess.TimeoutExpired(self.args, timeout or 0)
        self.wait(timeout)
        return None, self._heard.pop() if self._heard else ""


def _forked(words: Sequence[str], environment: Mapping[str, str], streams: Sequence[int]) -> tuple[socket.socket, int]:
    """Where its exit status will come, and its number. ``streams``: stdin, stdout, stderr."""
    ours, theirs = socket.socketpair()
    with theirs:
        document = json.dumps([words, str(Path.cwd()), dict(environment)]).encode()
        socket.send_fds(_opened(), [b"."], [theirs.fileno(), *streams])
        ours.sendall(len(document).to_bytes(4, "big") + document)
    return ours, int.from_bytes(_exactly(ours, 4), "big")


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
    with selectors.DefaultSelector() as heard:
        heard.register(door, selectors.EVENT_READ)
        while os.getppid() == client:
            for key, _ in heard.select(1):
                if key.fileobj is not door:
                    process, answers = key.data
                    with suppress(BrokenPipeError):  # who asked has given up
                        answers.sendall(os.waitpid(process, 0)[1].to_bytes(4, "big"))
                    heard.unregister(key.fd)
                    os.close(key.fd)
                    answers.close()
                    continue
                _, fds, _, _ = socket.recv_fds(door, 1, 4)
                answers = socket.socket(fileno=fds[0])
                words, cwd, environment = json.loads(_exactly(answers, int.from_bytes(_exactly(answers, 4), "big")))
                if not (process := os.fork()):
                    _become(words, cwd, environment, fds[1:])
                    return
                for fd in fds[1:]:
                    os.close(fd)
                with suppress(BrokenPipeError):
                    answers.sendall(process.to_bytes(4, "big"))
                heard.register(os.pidfd_open(process), selectors.EVENT_READ, (process, answers))
    os._exit(0)


def _become(words: Sequence[str], cwd: str, environment: Mapping[str, str], streams: Sequence[int]) -> None:
    for number, fd in enumerate(streams):
        os.dup2(fd, number)
    # Those that are there know whether what they were opened on can seek.
    for name, number in (("stdout", 1), ("stderr", 2)):
        old = getattr(sys, name)
        settings = {"encoding": old.encoding, "errors": old.errors, "line_buffering": old.line_buffering}
        new = io.TextIOWrapper(open(number, "wb", closefd=False), **settings)  # noqa: SIM115
        setattr(sys, name, new)
        setattr(sys, f"__{name}__", new)
    os.chdir(cwd)
    os.environ.clear()
    os.environ.update(environment)
    # An interpreter of its own would have found more there.
    sys.path[:0] = [p for p in environment.get("PYTHONPATH", "").split(os.pathsep) if p and p not in sys.path]
    sys.argv[1:] = words


def load() -> None:
    """All that commands import, in a process that is forked from then on."""
    import gc
    import pkgutil
    from functools import cache
    from importlib import import_module

    import typer

    for room in map(import_module, ROOMS):
        for module in pkgutil.walk_packages(room.__path__, f"{room.__name__}."):
            import_module(module.name)
    # The options of all commands, from their functions: made anew it is half of what is left of a short command.
    typer.main.get_command = cache(typer.main.get_command)
    typer.main.get_command(import_module("strata.cli.main").app)
    gc.collect()
    gc.freeze()


def _main() -> None:
    """Loads all of Strata, waits to be asked, and is the command that was asked for."""
    import runpy

    del sys.path[0]
    import strata

    load()
    # A shell's job in the background ignores Ctrl-C, and what it starts does too.
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    door = socket.socket(fileno=int(sys.argv[1]))
    _serve(door, int(sys.argv[2]))
    # The ways to here and to all others that were forked.
    door.detach()
    os.closerange(3, os.sysconf("SC_OPEN_MAX"))
    sys.argv[0] = str(Path(strata.__path__[0], "__main__.py"))
    try:
        runpy.run_module("strata", run_name="__main__", alter_sys=True)
    except SystemExit as end:
        if isinstance(end.code, int):
            _end(end.code)
        raise


def _end(code: int) -> None:
    """As an interpreter ends, until it would take itself apart; returns where a stream takes no more."""
    import atexit

    threading._shutdown()  # type: ignore[attr-defined]
    atexit._run_exitfuncs()
    with suppress(OSError, ValueError):
        for stream in (sys.stdout, sys.stderr):
            if stream is not None:
                stream.flush()
        os._exit(code)


if __name__ == "__main__":
    _main()
