"""Another user of this machine, for real: what a process of its does, and a directory of its own."""

from __future__ import annotations

import os
import tempfile
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from absent import absent

OTHER = 65534


@contextmanager
def directory_of_another() -> Iterator[Path]:
    """A directory that belongs to another user, and that everybody may enter."""
    if os.geteuid() != 0:
        absent("needs root, to act as another user")
    with tempfile.TemporaryDirectory(prefix="strata-other-") as name:
        path = Path(name)
        path.chmod(0o755)
        own = path / "own"
        own.mkdir()
        os.chown(own, OTHER, OTHER)
        yield own


def as_another(what: Callable[[], None]) -> int:
    """Starts a process of the other user that does this; its number. It ends with 0, or with 1 when it raises."""
    if (pid := os.fork()) != 0:
        return pid
    status = 1
    try:
        os.setgroups([])
        os.setgid(OTHER)
        os.setuid(OTHER)
        what()
        status = 0
    except BaseException:
        traceback.print_exc()
    finally:
        os._exit(status)


def ended(pid: int) -> int:
    """Waits for it; its exit status."""
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
