"""Looking for what is new: as often as a sample is taken, and never more than a small share of the time."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Iterator

SHARE = 0.002
"""Of the time that may go into looking: with thousands of processes or connections it is done less often."""
_FREE = 2
"""The first look asks for everything, which says nothing of the price of the next; the second one comes when the
measurement has just begun, and with it its connections."""


class Paced:
    """``if looks.due: with looks.timed(): …``"""

    def __init__(self) -> None:
        self._done = 0
        self._next_s = float("-inf")

    @property
    def due(self) -> bool:
        """Whether it may be done now."""
        return self._done < _FREE or time.monotonic() >= self._next_s

    @contextlib.contextmanager
    def timed(self) -> Iterator[None]:
        """Around one look."""
        begun = time.monotonic()
        try:
            yield
        finally:
            now = time.monotonic()
            self._done += 1
            self._next_s = now if self._done < _FREE else now + (now - begun) / SHARE
