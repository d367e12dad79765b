"""A directory without a page cache: `python -m strata_lab.parts.direct DIR --lower DIR`, `--part …` or `--remote …`.

In DIR appear the regular files of the lower directory, parts of devices under names of their own, and files on other
nodes. What a server reads and writes there is read and written below as it is, with O_DIRECT, or sent as it is. The
process serves until SIGTERM and takes its mount with it.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from strata.errors import UsageError
from strata_lab import compiled
from strata_lab.parts.program import FUSE, explained, program, status_of


@dataclass(frozen=True)
class DirectPart:
    """``size`` bytes of ``path`` from ``offset``, shown as the file ``name``; both are multiples of 4096."""

    name: str
    path: str
    offset: int
    size: int

    @property
    def word(self) -> str:
        """As the program takes it."""
        return f"{self.name}={self.offset}+{self.size}@{self.path}"

    @classmethod
    def of(cls, word: str) -> DirectPart:
        """What `word` gives. Raises `UsageError`."""
        try:
            name, _, rest = word.partition("=")
            place, _, path = rest.partition("@")
            offset, size = (int(x) for x in place.split("+"))
        except ValueError as e:
            raise UsageError("not a part of a file:", repr(word), "", "write NAME=OFFSET+SIZE@PATH") from e
        return cls(name, path, offset, size)


def serve(
    directory: Path | str,
    lower: Path | str | None = None,
    parts: Sequence[DirectPart] = (),
    remotes: Sequence[tuple[str, str]] = (),
) -> None:
    """Be the directory until SIGTERM; blocks. ``remotes``: names, and ``nbd://`` or ``smb://`` addresses.

    Raises `UsageError` for a bad part or address, `RunFailed` for the system.
    """
    config = {
        "dir": str(directory),
        "lower": str(lower) if lower else None,
        "parts": [asdict(p) for p in parts],
        "remotes": [{"name": name, "uri": uri} for name, uri in remotes],
    }
    refused = ("cannot show", str(directory), "offset and size are multiples of 4096")
    with explained(refused, ("cannot show files at", str(directory), FUSE)):
        compiled.lab_direct(json.dumps(config))


def main(argv: list[str] | None = None) -> int:
    """The program; its exit status."""
    parser = program("strata_lab.parts.direct", __doc__)
    parser.add_argument("dir", help="empty directory where the files appear")
    parser.add_argument("--lower", help="directory whose regular files are shown")
    parser.add_argument("--part", action="append", default=[], help="NAME=OFFSET+SIZE@PATH, once for each part")
    known = "NAME=URI of a file on another node (nbd:// or smb://; its password in STRATA_SMB_PASSWORD)"
    parser.add_argument("--remote", action="append", default=[], help=known)
    words = parser.parse_args(argv)
    remotes = [(name, uri) for name, _, uri in (word.partition("=") for word in words.remote)]
    return status_of(lambda: serve(words.dir, words.lower, [DirectPart.of(word) for word in words.part], remotes))


if __name__ == "__main__":
    sys.exit(main())
