"""A disk that behaves as told: `python -m strata_lab.parts.disk DIR --size 1GiB --model "c=8 svc=2000"`.

In DIR appear `disk`, a file whose reads and writes take as long as the model says, and `ctl`. A loop device on top
(`losetup --find --show --direct-io=on DIR/disk`) makes it a block device with the kernel's own counters. The process
serves until SIGTERM and takes its mount with it.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

from strata.errors import RunFailed, UsageError
from strata.model.base import Value
from strata_lab import compiled
from strata_lab.parts.program import FUSE, Control, explained, program, status_of

MISSING = "check that the process of the disk is running"


class DiskDirection(Value):
    """Reads or writes since the last reset. ``depth_sum`` over ``n`` is the mean depth that an arriving I/O found."""

    n: int
    bytes: int
    sequential: int
    wait_ns: int
    svc_ns: int
    max_ns: int
    errors: int
    depth_sum: int


class DiskSpan(Value):
    """How often, and how long in all."""

    n: int
    ns: int


class Amount(Value):
    """How often, and how many bytes in all."""

    n: int
    bytes: int


class ReadCache(Value):
    """Reads that were answered whole from the read cache, and the others."""

    hits: int
    misses: int


class WriteCache(Value):
    """Writes that found room at once, those that waited (and for how long), and what is dirty now."""

    absorbed: int
    full: int
    full_ns: int
    dirty_bytes: int


class Head(Value):
    """Seeks, waits for the platter, those of more than half a turn next to the head, and reads from the read-ahead."""

    seek: DiskSpan
    rotation: DiskSpan
    rotations_lost: int
    read_ahead: int


class Blocks(Value):
    """Whole blocks read and written, I/Os that touched one more than they need, blocks read before a write."""

    read: int
    written: int
    straddled: int
    rmw: DiskSpan


class Member(Value):
    """Parts of I/Os that one member served, and its servers' time of service."""

    n: int
    busy_ns: int


class Late(Value):
    """Answers that were held until their time, and how much later than due they were given."""

    n: int
    ns: int
    max_ns: int


class DiskTruth(Value):
    """What the disk did since the last reset: exact counts of the model, not measurements; but ``late``, which is one.

    ``model`` are the words that make the parameters in force; ``held_bytes`` is what the content occupies.
    """

    pid: int
    size_bytes: int
    held_bytes: int
    model: str
    elapsed_ns: int
    read: DiskDirection
    write: DiskDirection
    flush: DiskSpan
    discard: Amount
    capped: DiskSpan
    slowed: DiskSpan
    depth_max: int
    read_cache: ReadCache
    write_cache: WriteCache
    block: Blocks
    head: Head
    members: tuple[Member, ...]
    late: Late


class DiskControl(Control):
    """The `ctl` file of a disk at ``directory``."""

    def __init__(self, directory: Path | str) -> None:
        self.directory = Path(directory)
        self.disk = self.directory / "disk"
        self.ctl = self.directory / "ctl"

    def tell(self, text: str) -> None:
        """As `set`."""
        try:
            self.ctl.write_text(text)
        except FileNotFoundError as e:
            raise RunFailed("there is no lab disk at", str(self.directory), "", MISSING) from e
        except OSError as e:
            refused = self._read()["refused"]
            if refused is None:
                raise RunFailed("cannot set parameters at", str(self.ctl), str(e), MISSING) from e
            raise UsageError("the disk rejects", repr(text), refused, "see the parameters of the lab disk") from e

    def there(self) -> None:
        """Raises `RunFailed` as long as the disk is not."""
        if not self.ctl.exists():
            raise RunFailed("the lab disk did not start at", str(self.directory), "", MISSING)

    def truth(self) -> DiskTruth:
        """Everything that was counted, at one moment. Raises `RunFailed` without a disk."""
        seen = self._read()
        own = {"pid", "size_bytes", "held_bytes", "model", "late"}
        counted = {key: value for key, value in seen["truth"].items() if key != "since_ns"}
        return DiskTruth.model_validate({key: seen[key] for key in own} | counted)

    def _read(self) -> dict[str, Any]:
        try:
            seen: dict[str, Any] = json.loads(self.ctl.read_text())
        except (OSError, ValueError) as e:
            raise RunFailed("cannot read", str(self.ctl), str(e), MISSING) from e
        return seen


def serve(directory: Path | str, size: str, model: str = "", backing: Path | str | None = None) -> None:
    """Be the disk until SIGTERM; blocks. Raises `UsageError` for a bad size or model, `RunFailed` for the system."""
    config = {"dir": str(directory), "size": size, "model": model, "backing": str(backing) if backing else None}
    refused = ("not a lab disk:", model or size, "see the parameters of the lab disk")
    with explained(refused, ("cannot serve a lab disk at", str(directory), FUSE)):
        compiled.lab_disk(json.dumps(config))


def main(argv: list[str] | None = None) -> int:
    """The program; its exit status."""
    parser = program("strata_lab.parts.disk", __doc__)
    parser.add_argument("dir", help="empty directory where `disk` and `ctl` appear")
    parser.add_argument("--size", default="1GiB", help="bytes, or with KiB, MiB, GiB (default %(default)s)")
    parser.add_argument("--model", default="", help='words such as "c=8 svc=2000"')
    parser.add_argument("--backing", help="file that holds the content (default: in memory)")
    words = parser.parse_args(argv)
    return status_of(lambda: serve(words.dir, words.size, words.model, words.backing))


if __name__ == "__main__":
    sys.exit(main())
