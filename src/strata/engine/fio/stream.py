"""fio's report as it comes: JSON documents one after the other, with error lines between them."""

from __future__ import annotations

import errno
import json
import os
import re
from collections import deque
from dataclasses import dataclass
from typing import Any

FAILED_IO = re.compile(r"io_u error.*: (?P<why>[^:]+): (?P<direction>read|write) offset=(?P<offset>\d+), buflen=")
ERRNO_OF = {os.strerror(number): number for number in errno.errorcode}


@dataclass
class FailedIos:
    """I/Os of one direction that failed with one errno."""

    direction: str
    errno: int
    first_offset: int
    count: int = 0

    @property
    def name(self) -> str:
        """As in errno.h."""
        return errno.errorcode[self.errno]


Failures = dict[tuple[str, int], FailedIos]
"""By direction and errno."""


def merge_failures(whole: Failures, part: Failures) -> None:
    """Add ``part`` to ``whole``; the first offset stays the first."""
    for key, failure in part.items():
        if key in whole:
            whole[key].count += failure.count
        else:
            whole[key] = failure


class Stream:
    """Takes bytes, gives documents. ``words`` are the last lines that were neither a document nor a failed I/O."""

    def __init__(self) -> None:
        self.words: deque[str] = deque(maxlen=20)
        self.failures: Failures = {}
        self._rest = b""
        self._document: list[bytes] | None = None

    def feed(self, data: bytes) -> list[dict[str, Any]]:
        """The documents that ``data`` completes."""
        *lines, self._rest = (self._rest + data).split(b"\n")
        return [document for line in lines if (document := self._line(line)) is not None]

    def close(self) -> list[dict[str, Any]]:
        """What the last line, which may lack its end, completes."""
        return self.feed(b"\n") if self._rest else []

    def forget_failures(self) -> Failures:
        """The failed I/Os so far; counting begins anew."""
        before, self.failures = self.failures, {}
        return before

    def _line(self, line: bytes) -> dict[str, Any] | None:
        # fio writes its notes between the lines of a document too, and always from the first column.
        if self._document is None or not line.startswith((b" ", b"{", b"}", b"]")):
            if line == b"{":
                self._document = [line]
            else:
                self._word(line.decode("utf-8", "replace").strip())
            return None
        self._document.append(line)
        if line != b"}":
            return None
        text, self._document = b"\n".join(self._document), None
        try:
            document: dict[str, Any] = json.loads(text)
        except ValueError as e:
            self.words.append(f"unreadable report: {e}")
            return None
        return document

    def _word(self, line: str) -> None:
        if not line:
            return
        found = FAILED_IO.search(line)
        if found is None:
            self.words.append(line)
            return
        number, direction = ERRNO_OF.get(found["why"], errno.EIO), found["direction"]
        failure = self.failures.setdefault(
            (direction, number), FailedIos(direction, number, first_offset=int(found["offset"]))
        )
        failure.count += 1
