"""What is changed in which lab, and what is asked before."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace

from strata_lab.lab import Lab


@dataclass(frozen=True)
class Reach:
    """What the judged layer is reached by: its endpoint's query, and further disks beside it."""

    query: str = ""
    disks: int = 1

    def over(self, connections: int) -> Reach:
        """The same with so many connections."""
        return replace(self, query=f"connections={connections}")


Do = Callable[[Lab], None]


def nothing(_lab: Lab) -> None:
    """Changes nothing in the lab."""


@dataclass(frozen=True)
class Change:
    """``asked`` as `--what-if` takes it, with ``@N``; ``do`` makes it in the lab, ``reach`` is another way to it."""

    asked: str
    do: Do = nothing
    undo: Do = nothing
    reach: Reach | None = None

    @property
    def at(self) -> str:
        """The value of the axis at which it is measured."""
        return self.asked.partition("=")[2].partition("@")[2]


@dataclass(frozen=True)
class Group:
    """Changes of one lab that are predicted from one sweep. The last of ``layers`` is judged."""

    name: str
    stack: str
    options: Mapping[str, str]
    layers: tuple[str, ...]
    words: tuple[str, ...]
    changes: tuple[Change, ...]
    points: str = "1,2,4,8,16,32"
    over: str = "iodepth"
    depth: int = 8
    """Of the workload, where the axis is another one."""
    prepare: Do = nothing
    reach: Reach = field(default_factory=Reach)
    expect: Mapping[str, int] = field(default_factory=dict)
    quick: bool = False

    @property
    def undone(self) -> bool:
        """Whether the lab is after each change as it was before it."""
        return all(c.reach is not None or c.undo is not nothing for c in self.changes)
