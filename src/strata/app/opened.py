"""What passed the safety gate."""

from __future__ import annotations

from strata.model.base import Value
from strata.model.plan import Segment


class Target(Value):
    """What may be driven, after the safety gate: blocks and whether a device may be opened for writing."""

    segments: tuple[Segment, ...]
    allow_write: bool = False
    opened: str | None = None
    """Path of the descriptor that the safety gate checked, where the engine must open that and no other."""


def whole(size: int) -> Segment:
    """All of a target of so many bytes."""
    return Segment(start=0, length=size, target=0)
