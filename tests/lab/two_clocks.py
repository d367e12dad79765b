"""One recording of one kernel as two: what the client's machine would have seen, and the server's on its own clock.

The layout is that of ``crates/strata-trace/src/saved.rs``; the program that reads the files back checks it.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

_MAGIC = b"strata-trace 1\n"
_EVENT, _PAIR = 44, 56
_MARK = np.dtype([
    ("at_ns", "<u8"), ("a", "<u8"), ("b", "<u8"), ("c", "<u8"), ("n", "<i4"), ("m", "<u4"), ("pid", "<i4"),
    ("what", "u1"), ("call", "u1"), ("placed", "u1"), ("pad", "u1"),
])  # fmt: skip
_SENT, _RECEIVED, _ARRIVED, _OPENED, _GONE = 5, 6, 7, 8, 9


class Recording:
    """A saved trace with what its waterfall is made of."""

    def __init__(self, path: Path) -> None:
        content = path.read_bytes()
        length = int.from_bytes(content[len(_MAGIC) : len(_MAGIC) + 4], "little")
        at = len(_MAGIC) + 4
        self.head: dict[str, Any] = json.loads(content[at : at + length])
        at += length
        events = self.head["events"] * _EVENT
        self.events = np.frombuffer(content, np.uint8, events, at).reshape(-1, _EVENT).copy()
        marks = self.head["path"]["marks"]
        self.marks: NDArray[Any] = np.frombuffer(content, _MARK, marks, at + events).copy()
        self.pairs = content[at + events + marks * _MARK.itemsize :]

    def write(self, path: Path, clients: bool, port: int, offset_ns: int, rate: float, step_ns: int = 0) -> None:
        """The client's half, or the server's on its clock; with ``step_ns`` that is set in the middle of their talk."""
        mine = self._clients(port) if clients else ~self._clients(port)
        marks = self.marks[mine].copy()
        events = self.events if not clients else self.events[:0]
        events = events.copy()
        head = json.loads(json.dumps(self.head))
        begin, end = head["window_ns"]
        middle = int(np.median(self.marks["at_ns"][self.marks["what"] == _SENT]))

        def there(at: NDArray[np.uint64]) -> NDArray[np.uint64]:
            since = at.astype(np.int64) - begin
            moved = at.astype(np.int64) + offset_ns + np.rint(since * rate).astype(np.int64)
            moved += np.where(at > middle, step_ns, 0)
            return moved.astype(np.uint64)

        if not clients:
            marks["at_ns"] = there(marks["at_ns"])
            times = events[:, :8].copy().view("<u8")
            events[:, :8] = there(times).view(np.uint8)
            head["window_ns"] = [int(at) for at in there(np.array([begin, end], dtype=np.uint64))]
        pairs = self.pairs if clients else b""
        head["events"], head["path"]["marks"], head["path"]["pairs"] = len(events), len(marks), len(pairs) // _PAIR
        if clients:
            head["targets"], head["path"]["extents"] = [], []
        else:
            head["path"]["follow"], head["path"]["spoken"] = 0, []
        text = json.dumps(head).encode()
        content = _MAGIC + len(text).to_bytes(4, "little") + text + events.tobytes() + marks.tobytes() + pairs
        path.write_bytes(content)

    def _clients(self, port: int) -> NDArray[np.bool_]:
        """What happened on the client's side: its process, and what arrived at its sockets."""
        marks, what = self.marks, self.marks["what"]
        wire = (what == _ARRIVED) | (what == _OPENED)
        own = np.where(wire, marks["n"] != port, marks["pid"] == self.head["path"]["follow"])
        moved = (what == _SENT) | (what == _RECEIVED)
        sockets = np.unique(marks["a"][own & moved])
        found: NDArray[np.bool_] = np.where(what == _GONE, np.isin(marks["a"], sockets), own)
        return found
