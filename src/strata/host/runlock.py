"""One process at a time measures a run: a second one would write the test file under the first one's reads."""

from __future__ import annotations

import fcntl
import os
import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from strata.errors import RunFailed, UsageError
from strata.host.proc import descriptor
from strata.host.xdg import state_dir
from strata.parsing import RUN_ID


@contextmanager
def held(run_id: str) -> Iterator[None]:
    """Holds the run until the block ends; the kernel lets go of it when this process dies.

    Raises `RunFailed` naming the process that holds it, and `UsageError` for a name that leads elsewhere.
    """
    if re.fullmatch(RUN_ID, run_id) is None:
        raise UsageError("cannot measure run", repr(run_id), "it is not a run id", "strata runs")
    path = state_dir() / f"{run_id}.lock"
    with descriptor(path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW, 0o600) as fd:
        try:
            fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as e:
            holder = os.pread(fd, 20, 0).decode("ascii", "replace").strip() or "another process"
            hint = "wait for it to end, or give the id of the interrupted run: strata runs"
            raise RunFailed("run", run_id, f"process {holder} is measuring it now", hint) from e
        os.ftruncate(fd, 0)
        os.pwrite(fd, f"{os.getpid()}\n".encode(), 0)
        try:
            yield
        finally:
            Path(path).unlink(missing_ok=True)
