"""The text of OpenMetrics 1.0 and of the Prometheus exposition format 0.0.4: samples, strictly read, for the probe
of an exporter and for files of samples with times (``promtool tsdb dump`` writes the name as a label).

Not `prometheus_client`, which reads both formats too: it takes every line apart anew (14 to 21 ms of a CPU for
1,500 lines; here 10 the first time and 1 later), takes the square of a line's length (21 s for a line of 2 MiB), adds
``_total`` to the names of counters, and tells what it refuses by more than one kind of error. Tests hold the two
against each other.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping

_NAME = re.compile(r"[a-zA-Z_:][a-zA-Z0-9_:]*")
_LABEL = re.compile(r'\s*([a-zA-Z_][a-zA-Z0-9_]*)\s*=\s*"((?:[^"\\]|\\.)*)"\s*(,|(?=\}))')
# float() would also take "1_000", "infinity" and blanks.
_NUMBER = re.compile(r"[+-]?([0-9]+(\.[0-9]*)?|\.[0-9]+)([eE][+-]?[0-9]+)?")
_SPECIAL = {"+Inf": math.inf, "Inf": math.inf, "-Inf": -math.inf, "NaN": math.nan, "Nan": math.nan}
HEADS_MOST, HEADS_CHARACTERS_MOST = 1 << 18, 16 << 20
"""Names with labels that are remembered of one source, and their length together, before all are forgotten."""
_ESCAPES = {"\\\\": "\\", '\\"': '"', "\\n": "\n"}


class MalformedMetrics(ValueError):
    """The text is not of the format; says which line and why."""


class Parser:
    """Reads the same exporter again and again: a name with its labels is taken apart once.

    ``heads``: name and labels by what stands before the value, of every line read so far.
    """

    def __init__(self) -> None:
        self.heads: dict[str, tuple[str, Mapping[str, str]]] = {}
        self._characters = 0

    @property
    def full(self) -> bool:
        """Whether it remembers more than it should, and has to `forget` before it reads on."""
        return len(self.heads) > HEADS_MOST or self._characters > HEADS_CHARACTERS_MOST

    def forget(self) -> None:
        """All heads."""
        self.heads.clear()
        self._characters = 0

    def values(self, text: str) -> Iterator[tuple[str, float]]:
        """(head, value) of every sample in order. Comments, help and types are passed over; exemplars and timestamps
        are not kept.

        Raises `MalformedMetrics` at the first line that is neither: half of an answer is no answer.
        """
        for number, raw in enumerate(text.split("\n"), 1):
            line = raw.strip()
            if not line or line[0] == "#":
                continue
            try:
                yield self.sample(line)[:2]
            except ValueError as e:
                raise MalformedMetrics(f"line {number}: {e}") from e

    def sample(self, line: str) -> tuple[str, float, float | None]:
        """(head, value, timestamp as it is written) of a line that is a sample. Raises ValueError."""
        before, _, last = line.rpartition(" ")
        if before in self.heads:
            return before, _value(last), None
        head, _, value = before.rpartition(" ")
        if head in self.heads:
            return head, _value(value), _time(last)
        return self._whole(line)

    def _whole(self, line: str) -> tuple[str, float, float | None]:
        match = _NAME.match(line)
        labels, at = _labels(line, 0 if match is None else match.end())
        name = labels.pop("__name__", None) if match is None else match.group()
        if name is None:
            raise ValueError("no metric name")
        value, *rest = line[at:].partition(" # ")[0].split() or [""]
        if len(rest) > 1:
            raise ValueError(f"{' '.join(rest)!r} is not a timestamp")
        found = _value(value), _time(rest[0]) if rest else None
        head = line[:at].rstrip()
        if head not in self.heads:
            self._characters += len(head)
        self.heads[head] = name, labels
        return head, *found


def _labels(line: str, at: int) -> tuple[dict[str, str], int]:
    if not line.startswith("{", at):
        return {}, at
    at += 1
    found: dict[str, str] = {}
    while not (closing := re.compile(r"\s*\}").match(line, at)):
        match = _LABEL.match(line, at)
        if match is None:
            raise ValueError("the labels do not end")
        if match.group(1) in found:
            raise ValueError(f"label {match.group(1)!r} twice")
        found[match.group(1)] = re.sub(r"\\.", lambda m: _ESCAPES.get(m.group(), m.group()), match.group(2))
        at = match.end()
    return found, closing.end()


def _value(text: str) -> float:
    if _NUMBER.fullmatch(text):
        return float(text)
    if text in _SPECIAL:
        return _SPECIAL[text]
    raise ValueError(f"{text!r} is not a number")


def _time(text: str) -> float:
    if _NUMBER.fullmatch(text):
        return float(text)
    raise ValueError(f"{text!r} is not a timestamp")
