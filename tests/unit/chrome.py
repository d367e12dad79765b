"""Chrome's trace events as a viewer puts them together: begin and end in the order of the file, as a stack."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Slice:
    """A begin and its end. ``lane``: process and thread; ``depth``: slices around it."""

    name: str
    category: str
    lane: tuple[int, int]
    depth: int
    ts: float
    end: float

    @property
    def us(self) -> float:
        return self.end - self.ts


def slices(events: Sequence[dict[str, Any]]) -> list[Slice]:
    """In the order in which they begin. Fails where a lane goes back in time, or an end is not of what is open."""
    open_: dict[tuple[int, int], list[dict[str, Any]]] = {}
    at: dict[tuple[int, int], float] = {}
    found: list[tuple[int, Slice]] = []
    for number, event in enumerate(events):
        if event["ph"] == "M":
            continue
        lane = (event["pid"], event["tid"])
        assert event["ts"] >= at.get(lane, 0.0), f"{event} goes back from {at[lane]}"
        at[lane] = event["ts"]
        stack = open_.setdefault(lane, [])
        if event["ph"] == "B":
            stack.append(event | {"number": number})
            continue
        begun = stack.pop()
        assert (event["ph"], event["name"], event["args"]) == ("E", begun["name"], begun["args"])
        one = Slice(event["name"], begun["cat"], lane, len(stack), begun["ts"], event["ts"])
        found.append((begun["number"], one))
    assert not any(open_.values()), f"never ended: {open_}"
    return [one for _, one in sorted(found, key=lambda pair: pair[0])]
