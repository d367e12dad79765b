"""A disk that behaves as told: `python -m strata_lab.parts.disk DIR --size 1GiB --model "c=8 svc=2000"`.

In DIR appear `disk`, a file whose reads and writes take as long as the model says, and `ctl`. A loop device on top
(`losetup --find --show --direct-io=on DIR/disk`) makes it a block device with the kernel's own counters. The process
serves until SIGTERM and takes its mount with it.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from strata.errors import RunFailed, UsageError
from strata_lab import compiled
from strata_lab.parts.program import status_of

POLL_S = 0.01
MISSING = "check that the process of the disk is running"


@dataclass(frozen=True)
class Direction:
    """Reads or writes since the last reset. ``depth_sum`` over ``n`` is the mean depth that an arriving I/O found."""

    n: int
    bytes: int
    sequential: int
    wait_ns: int
    svc_ns: int
    max_ns: int
    errors: int
    depth_sum: int


@dataclass(frozen=True)
class Span:
    """How often, and how long in all."""

    n: int
    ns: int


@dataclass(frozen=True)
class Amount:
    """How often, and how many bytes in all."""

    n: int
    bytes: int


@dataclass(frozen=True)
class ReadCache:
    """Reads that were answered whole from the read cache, and the others."""

    hits: int
    misses: int


@dataclass(frozen=True)
class WriteCache:
    """Writes that found room at once, those that waited (and for how long), and what is dirty now."""

    absorbed: int
    full: int
    full_ns: int
    dirty_bytes: int


@dataclass(frozen=True)
class Head:
    """Seeks, waits for the platter, those of more than half a turn next to the head, and reads from the read-ahead."""

    seek: Span
    rotation: Span
    rotations_lost: int
    read_ahead: int


@dataclass(frozen=True)
class Blocks:
    """Whole blocks read and written, I/Os that touched one more than they need, blocks read before a write."""

    read: int
    written: int
    straddled: int
    rmw: Span


@dataclass(frozen=True)
class Member:
    """Parts of I/Os that one member served, and its servers' time of service."""

    n: int
    busy_ns: int


@dataclass(frozen=True)
class Late:
    """Answers that were held until their time, and how much later than due they were given."""

    n: int
    ns: int
    max_ns: int


@dataclass(frozen=True)
class DiskTruth:
    """What the disk did since the last reset: exact counts of the model, not measurements; but ``late``, which is one.

    ``model`` are the words that make the parameters in force; ``held_bytes`` is what the content occupies.
    """

    pid: int
    size_bytes: int
    held_bytes: int
    model: str
    elapsed_ns: int
    read: Direction
    write: Direction
    flush: Span
    discard: Amount
    capped: Span
    slowed: Span
    depth_max: int
    read_cache: ReadCache
    write_cache: WriteCache
    block: Blocks
    head: Head
    members: tuple[Member, ...]
    late: Late


class DiskControl:
    """The `ctl` file of a disk at ``directory``."""

    def __init__(self, directory: Path | str) -> None:
        self.directory = Path(directory)
        self.disk = self.directory / "disk"
        self.ctl = self.directory / "ctl"

    def set(self, words: str = "", **params: object) -> None:
        """Change parameters now, all or none: ``set(svc=500, c=1)`` or ``set("svc=500 c=1")``.

        Raises `UsageError` for a parameter or value that is refused, `RunFailed` without a disk.
        """
        text = " ".join([words, *(f"{key}={value}" for key, value in params.items())]).strip()
        try:
            self.ctl.write_text(text)
        except FileNotFoundError as e:
            raise RunFailed("there is no lab disk at", str(self.directory), "", MISSING) from e
        except OSError as e:
            refused = self._read()["refused"]
            if refused is None:
                raise RunFailed("cannot set parameters at", str(self.ctl), str(e), MISSING) from e
            raise UsageError("the disk rejects", repr(text), refused, "see the parameters of the lab disk") from e

    def reset(self) -> None:
        """Count anew from now."""
        self.set(reset=1)

    def truth(self) -> DiskTruth:
        """Everything that was counted, at one moment. Raises `RunFailed` without a disk."""
        return truth_of(self._read())

    def wait(self, timeout_s: float = 10.0, alive: Callable[[], bool] = lambda: True) -> None:
        """Until the disk is there. Raises `RunFailed` after ``timeout_s``, or when ``alive`` says its process ended."""
        deadline = time.monotonic() + timeout_s
        while not self.ctl.exists():
            if time.monotonic() > deadline or not alive():
                raise RunFailed("the lab disk did not start at", str(self.directory), "", MISSING)
            time.sleep(POLL_S)

    def _read(self) -> dict[str, Any]:
        try:
            seen: dict[str, Any] = json.loads(self.ctl.read_text())
        except (OSError, ValueError) as e:
            raise RunFailed("cannot read", str(self.ctl), str(e), MISSING) from e
        return seen


def truth_of(seen: dict[str, Any]) -> DiskTruth:
    """The value in the text of a `ctl` file."""
    truth = seen["truth"]
    head, block = truth["head"], truth["block"]
    return DiskTruth(
        pid=seen["pid"],
        size_bytes=seen["size_bytes"],
        held_bytes=seen["held_bytes"],
        model=seen["model"],
        elapsed_ns=truth["elapsed_ns"],
        read=Direction(**truth["read"]),
        write=Direction(**truth["write"]),
        flush=Span(**truth["flush"]),
        discard=Amount(**truth["discard"]),
        capped=Span(**truth["capped"]),
        slowed=Span(**truth["slowed"]),
        depth_max=truth["depth_max"],
        read_cache=ReadCache(**truth["read_cache"]),
        write_cache=WriteCache(**truth["write_cache"]),
        block=Blocks(block["read"], block["written"], block["straddled"], Span(**block["rmw"])),
        head=Head(Span(**head["seek"]), Span(**head["rotation"]), head["rotations_lost"], head["read_ahead"]),
        members=tuple(Member(**member) for member in truth["members"]),
        late=Late(**seen["late"]),
    )


def serve(directory: Path | str, size: str, model: str = "", backing: Path | str | None = None) -> None:
    """Be the disk until SIGTERM; blocks. Raises `UsageError` for a bad size or model, `RunFailed` for the system."""
    config = {"dir": str(directory), "size": size, "model": model, "backing": str(backing) if backing else None}
    try:
        compiled.lab_disk(json.dumps(config))
    except ValueError as e:
        raise UsageError("not a lab disk:", model or size, str(e), "see the parameters of the lab disk") from e
    except OSError as e:
        hint = "check that it is an empty directory and that this user can mount with FUSE"
        raise RunFailed("cannot serve a lab disk at", str(directory), str(e), hint) from e


def main(argv: list[str] | None = None) -> int:
    """The program; its exit status."""
    about = (__doc__ or "").splitlines()[0]
    parser = argparse.ArgumentParser(prog="python -m strata_lab.parts.disk", description=about)
    parser.add_argument("dir", help="empty directory where `disk` and `ctl` appear")
    parser.add_argument("--size", default="1GiB", help="bytes, or with KiB, MiB, GiB (default %(default)s)")
    parser.add_argument("--model", default="", help='words such as "c=8 svc=2000"')
    parser.add_argument("--backing", help="file that holds the content (default: in memory)")
    words = parser.parse_args(argv)
    return status_of(lambda: serve(words.dir, words.size, words.model, words.backing))


if __name__ == "__main__":
    sys.exit(main())
