"""Child processes that cannot outlive us and are always reaped."""

from __future__ import annotations

import contextlib
import ctypes
import os
import select
import signal
import subprocess
import tempfile
import time
from collections.abc import Mapping, Sequence
from types import TracebackType
from typing import IO

from strata.errors import RunFailed

_PR_SET_PDEATHSIG = 1
_LAST_WORDS_BYTES = 2000


class Child:
    """A child in its own session that the kernel kills when the thread that started it ends.

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

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
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
        libc, parent = ctypes.CDLL(None, use_errno=True), os.getpid()

        def follow_parent() -> None:
            libc.prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
            # The parent may have died between fork and prctl; then no signal will ever come.
            if os.getppid() != parent:
                os._exit(1)

        self._words = tempfile.TemporaryFile()  # noqa: SIM115 - lives as long as the child, closed in stop()
        try:
            self._process = subprocess.Popen(
                self.argv,
                env=None if self._env is None else dict(self._env),
                stdin=subprocess.DEVNULL,
                stdout=self._words if self._heard else subprocess.DEVNULL,
                stderr=self._words if self._heard else subprocess.DEVNULL,
                pass_fds=self._pass_fds,
                start_new_session=True,
                # Between fork and exec it makes two system calls and takes no lock, so other threads cannot hang it.
                preexec_fn=follow_parent,  # noqa: PLW1509
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
        return self._pidfd < 0 or bool(select.select([self._pidfd], [], [], timeout_s)[0])

    def stop(self, grace_s: float = 5.0) -> int | None:
        """SIGTERM, after ``grace_s`` SIGKILL, to the whole session; reaped when this returns.

        The exit code (None: never ran). May be called again.
        """
        process = self._process
        if process is None:
            return None
        if self._pidfd >= 0:
            self._signal(signal.SIGTERM)
            select.select([self._pidfd], [], [], grace_s)
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
