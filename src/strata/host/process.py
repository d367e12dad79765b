"""Starting processes: the one place that does. Children of ours, programs of the system, and commands of the user's.

`Child` cannot outlive us and is always reaped; `run` waits for a program of the system; `begin` gives the process to
whoever has more to do with it. All of them start in ``/``, with the environment and the program that
`strata.host.programs` says. What the user asked to be run (`begin_users`, `become_users`) is his: his directory, his
environment, his ``PATH``.
"""

from __future__ import annotations

import contextlib
import ctypes
import errno
import math
import os
import select
import signal
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import IO, Any, NoReturn

from strata.errors import RunFailed
from strata.host import programs

_PR_SET_PDEATHSIG = 1
_LAST_WORDS_BYTES = 2000
_LAST_WORDS_S = 2.0

Process = subprocess.Popen
TookTooLong = subprocess.TimeoutExpired
NotStarted = subprocess.SubprocessError
PIPE, STDOUT = subprocess.PIPE, subprocess.STDOUT


def readable(fds: Iterable[int], seconds: float | None) -> set[int]:
    """Those of which something can be read, as soon as one is or the time is over (None: never). `select` would know
    no descriptor from 1,024 on, and whoever calls Strata as a library may have so many open."""
    poller = select.poll()
    for fd in fds:
        poller.register(fd, select.POLLIN)
    return {fd for fd, _ in poller.poll(None if seconds is None else max(0, math.ceil(seconds * 1000)))}


@dataclass(frozen=True)
class Ended:
    """How a program ended: its exit code (negative: by that signal) and all it said."""

    code: int
    data: bytes
    words: bytes

    @property
    def out(self) -> str:
        """Its standard output as text."""
        return self.data.decode("utf-8", "replace")

    @property
    def err(self) -> str:
        """Its standard error as text."""
        return self.words.decode("utf-8", "replace")


def begin(words: Sequence[str], env: Mapping[str, str] | None = None, **how: Any) -> Process[Any]:
    """Starts a program of the system, or words of `programs.python`; ``how`` is what `subprocess.Popen` takes besides.

    ``env`` is added to the child's environment. Raises `OSError`: ENOENT where the program is not installed.
    """
    program = words[0] if words[0].startswith("/") else programs.find(words[0])
    if program is None:
        raise FileNotFoundError(errno.ENOENT, "it is not installed", words[0])
    how.setdefault("stdin", subprocess.DEVNULL)
    return subprocess.Popen([program, *words[1:]], env=programs.environment(env), cwd="/", **how)


def run(
    words: Sequence[str],
    timeout_s: float,
    env: Mapping[str, str] | None = None,
    *,
    given: bytes = b"",
    pass_fds: Sequence[int] = (),
    preexec_fn: Callable[[], None] | None = None,
) -> Ended:
    """Runs it to its end with ``given`` on its standard input. Raises `OSError`; `TimeoutError` once it was killed."""
    with begin(
        words, env, stdin=PIPE, stdout=PIPE, stderr=PIPE, pass_fds=tuple(pass_fds), preexec_fn=preexec_fn
    ) as child:
        try:
            data, said = child.communicate(given, timeout_s)
        except BaseException as e:
            child.kill()
            if isinstance(e, TookTooLong):
                raise TimeoutError(errno.ETIMEDOUT, f"it took longer than {timeout_s:g} s", words[0]) from e
            raise
    return Ended(child.returncode, data, said)


def begin_users(words: Sequence[str], stdout: int, stderr: int | None = None) -> Process[bytes]:
    """Starts a command of the user's, in this session: Ctrl-C at the terminal is for it too. Raises `OSError`."""
    return subprocess.Popen(list(words), stdout=stdout, stderr=stderr, stdin=subprocess.DEVNULL)


def become_users(words: Sequence[str]) -> NoReturn:
    """This process becomes a command of the user's. Raises `OSError`."""
    os.execvp(words[0], list(words))


def dies_with_us() -> Callable[[], None]:
    """For ``preexec_fn``: the kernel kills the child when the thread that started it ends.

    Between fork and exec it makes two system calls and takes no lock, so other threads cannot hang it.
    """
    libc, parent = ctypes.CDLL(None, use_errno=True), os.getpid()

    def follow() -> None:
        libc.prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
        # The parent may have died between fork and prctl; then no signal will ever come.
        if os.getppid() != parent:
            os._exit(1)

    return follow


class Child:
    """A child in its own session that the kernel kills when the thread that started it ends. See `begin` for ``env``.

    Start it from a thread that lives as long as the child shall: the kernel watches that thread, not the process.
    ``stdout`` and ``stderr`` go to a file of ours; its end is quoted when the child fails. With ``heard`` false
    they go nowhere: for a child that says without bound what it also says elsewhere.
    """

    def __init__(
        self,
        argv: Sequence[str],
        env: Mapping[str, str] | None = None,
        *,
        pass_fds: Sequence[int] = (),
        heard: bool = True,
    ) -> None:
        self.argv, self._env, self._pass_fds, self._heard = tuple(argv), env, tuple(pass_fds), heard
        self._process: subprocess.Popen[bytes] | None = None
        self._words: IO[bytes] | None = None
        self._pidfd = -1

    def __enter__(self) -> Child:
        return self.start()

    def __exit__(self, *_: object) -> None:
        self.stop()

    @property
    def pid(self) -> int:
        """The child's number, also after it ended."""
        return self._running().pid

    @property
    def returncode(self) -> int | None:
        """None while it runs; negative: ended by that signal."""
        if self._process is None or self._process.returncode is not None:
            return None if self._process is None else self._process.returncode
        # Not reaped here: until stop() has ended its whole session, its number must stay taken.
        ended = os.waitid(os.P_PID, self._process.pid, os.WEXITED | os.WNOHANG | os.WNOWAIT)
        if ended is None:
            return None
        return ended.si_status if ended.si_code == os.CLD_EXITED else -ended.si_status

    def start(self) -> Child:
        """Starts it. Raises `RunFailed` when the program cannot be run."""
        if self._process is not None:
            raise RuntimeError("a Child is started once")
        self._words = tempfile.TemporaryFile()  # noqa: SIM115 - lives as long as the child, closed in stop()
        heard = self._words if self._heard else subprocess.DEVNULL
        try:
            self._process = begin(
                self.argv,
                self._env,
                stdout=heard,
                stderr=heard,
                pass_fds=self._pass_fds,
                start_new_session=True,
                preexec_fn=dies_with_us(),
            )
        except (OSError, subprocess.SubprocessError) as e:
            self._words.close()
            raise RunFailed("cannot start", self.argv[0], str(e)) from e
        self._pidfd = os.pidfd_open(self._process.pid)
        return self

    def read_ready_line(self, fd: int, timeout_s: float = 10.0) -> str:
        """The first line the child writes to the pipe whose reading end is ``fd``, without its newline.

        Raises `RunFailed` with the child's last words when it ends first or says nothing for ``timeout_s``.
        """
        line = bytearray()
        deadline = time.monotonic() + timeout_s
        poll = select.poll()
        poll.register(fd, select.POLLIN)
        poll.register(self._pidfd, select.POLLIN)
        while (left := deadline - time.monotonic()) > 0:
            events = dict(poll.poll(left * 1000))
            if fd in events:
                byte = os.read(fd, 1)
                if byte == b"\n":
                    return line.decode("utf-8", "replace")
                line += byte
                if not byte:
                    # It is about to end, and says why only now.
                    self.wait(_LAST_WORDS_S)
                    raise self._failed("closed its pipe before it was ready")
            elif self._pidfd in events:
                raise self._failed(f"ended with {self.returncode} before it was ready")
        raise self._failed(f"was not ready after {timeout_s:g} s")

    def interrupt(self) -> None:
        """SIGINT to the whole session, as Ctrl-C would; it goes on to be waited for."""
        if self._pidfd >= 0:
            self._signal(signal.SIGINT)

    def wait(self, timeout_s: float) -> bool:
        """Whether it has ended, within ``timeout_s``. It is reaped by `stop`."""
        return self._pidfd < 0 or bool(readable([self._pidfd], timeout_s))

    def stop(self, grace_s: float = 5.0) -> int | None:
        """SIGTERM, after ``grace_s`` SIGKILL, to the whole session; reaped when this returns.

        The exit code (None: never ran). May be called again.
        """
        process = self._process
        if process is None:
            return None
        if self._pidfd >= 0:
            self._signal(signal.SIGTERM)
            readable([self._pidfd], grace_s)
            # While the leader is not reaped its number, and so the group's, cannot be given to anybody else.
            self._signal(signal.SIGKILL)
            process.wait()
            os.close(self._pidfd)
            self._pidfd = -1
        return process.returncode

    def last_words(self) -> str:
        """The end of what the child wrote to stdout and stderr."""
        if self._words is None:
            return ""
        end = os.fstat(self._words.fileno()).st_size
        start = max(0, end - _LAST_WORDS_BYTES)
        return os.pread(self._words.fileno(), _LAST_WORDS_BYTES, start).decode("utf-8", "replace").strip()

    def _signal(self, number: signal.Signals) -> None:
        process = self._running()
        if process.returncode is None:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, number)

    def _running(self) -> subprocess.Popen[bytes]:
        if self._process is None:
            raise RuntimeError("the Child was not started")
        return self._process

    def _failed(self, why: str) -> RunFailed:
        words = self.last_words()
        return RunFailed("the child process", self.argv[0], why, problems=tuple(words.splitlines()[-5:]))
