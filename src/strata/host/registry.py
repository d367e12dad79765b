"""The list of files Strata made and has not yet removed: one JSON line each in ``state_dir()/files.jsonl``."""

from __future__ import annotations

import fcntl
import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path

from strata.errors import RunFailed
from strata.host.atomic_write import directory, read_in, replace_in
from strata.host.mark import Mark
from strata.host.proc import descriptor, read_text
from strata.host.xdg import state_dir

_FILE = "files.jsonl"
_UUID_BYTES = 16
_FS_IOC_GETFSUUID = 0x80111500
"""``_IOR(0x15, 0, struct fsuuid2)`` of linux/fs.h: a length, and so many bytes."""


@dataclass(frozen=True)
class Entry:
    """One file: where it was made, what it is (volume, inode, uuid), and by which process.

    ``volume`` is the uuid of its file system: a device's number is another one after the next mount. Empty where the
    file system has none. A file on a server has its address for a path, no volume and no inode, and ``netns`` where it
    was reached from a network namespace. ``kept``: it is the user's, and stands here only while it is written to.
    """

    path: str
    uuid: str
    volume: str
    inode: int
    pid: int
    process: str
    netns: str | None = None
    kept: bool = False

    @classmethod
    def of(cls, path: Path, mark: Mark, fd: int, *, kept: bool = False) -> Entry:
        """The entry of a file that this process has made or writes to, open at ``fd``."""
        found, own = os.fstat(fd), os.getpid()
        return cls(str(path), mark.uuid, volume_of(fd), found.st_ino, own, process_of(own), kept=kept)

    @classmethod
    def of_remote(cls, uri: str, netns: str | None, mark: Mark) -> Entry:
        """The entry of a file that this process is about to make behind a network, at an address without a password."""
        return cls(uri, mark.uuid, "", 0, os.getpid(), process_of(os.getpid()), netns)

    @property
    def remote(self) -> bool:
        """Whether it is an address and not a path."""
        return "://" in self.path or self.path.startswith("rbd:")

    @property
    def abandoned(self) -> bool:
        """True when the process that made it is gone (a new process with its number does not count)."""
        return process_of(self.pid) != self.process


def add(entry: Entry) -> None:
    """Appends the entry; it is on disk when this returns."""
    with _locked() as folder:
        # A line cut short by a crash must not swallow this one.
        _write(folder, [*_lines(folder), json.dumps(asdict(entry))])


def replace(entry: Entry) -> None:
    """Puts the entry in the place of any other for the same file; it is on disk when this returns."""
    with _locked() as folder:
        _write(folder, [*_but(entry.uuid, _lines(folder)), json.dumps(asdict(entry))])


def entries() -> tuple[Entry, ...]:
    """All files on the list. A line that is not an entry is passed over."""
    with _locked() as folder:
        return tuple(e for e in map(_parse, _lines(folder)) if e is not None)


def abandoned() -> tuple[Entry, ...]:
    """The files whose makers are gone."""
    return tuple(e for e in entries() if e.abandoned)


def entry_of(uuid: str) -> Entry | None:
    """What the list says of the file with this mark."""
    return next((e for e in entries() if e.uuid == uuid), None)


def forget(uuid: str) -> None:
    """Takes the file off the list."""
    with _locked() as folder:
        if lines := _lines(folder):
            _write(folder, _but(uuid, lines))


def _but(uuid: str, lines: list[str]) -> list[str]:
    """The entries of other files."""
    return [line for line in lines if (e := _parse(line)) is not None and e.uuid != uuid]


def process_of(pid: int) -> str:
    """Boot and start time: together with the number they name one process for ever. Empty when there is none."""
    # The command in parentheses may hold anything, also parentheses: the fields are counted after the last one.
    fields = (read_text(f"/proc/{pid}/stat") or "").rpartition(")")[2].split()
    boot = read_text("/proc/sys/kernel/random/boot_id")
    return f"{boot}/{fields[19]}" if len(fields) > 19 else ""


def volume_of(fd: int) -> str:
    """The uuid of the file system that ``fd`` is on, in hexadecimal; empty where it has none or does not tell."""
    answer = bytearray(1 + _UUID_BYTES)
    try:
        fcntl.ioctl(fd, _FS_IOC_GETFSUUID, answer)
    except OSError:
        return ""
    uuid = bytes(answer[1 : 1 + answer[0]])
    return uuid.hex() if any(uuid) else ""


def _lines(folder: int) -> list[str]:
    return (read_in(folder, _FILE) or b"").decode("utf-8", "replace").splitlines()


def _parse(line: str) -> Entry | None:
    try:
        fields = json.loads(line)
        if "device" in fields:
            # As earlier versions wrote it: a number that says nothing any more.
            del fields["device"]
            fields["volume"] = ""
        found = Entry(**fields)
    except (ValueError, TypeError):
        return None
    texts = (found.path, found.uuid, found.volume, found.process, found.netns or "")
    numbers = (found.inode, found.pid)
    return found if all(isinstance(x, str) for x in texts) and all(isinstance(x, int) for x in numbers) else None


@contextmanager
def _locked() -> Iterator[int]:
    """A descriptor of the state directory, with the list locked."""
    base = state_dir()
    try:
        flags = os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW
        with directory(base) as folder, descriptor("files.lock", flags, 0o600, dir_fd=folder) as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            yield folder
    except OSError as e:
        raise RunFailed("cannot save the list of created files", str(base), e.strerror or str(e)) from e


def _write(folder: int, lines: list[str]) -> None:
    """Whole or not at all, also when the machine stops here."""
    replace_in(folder, _FILE, "".join(f"{line}\n" for line in lines).encode())
