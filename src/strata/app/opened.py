"""What passed the safety gate."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from strata.engine import Piece
from strata.model.base import Value
from strata.model.endpoint import Endpoint
from strata.model.plan import Segment


def _nothing() -> None:
    return None


class Target(Value):
    """What may be driven, after the safety gate: where, which blocks, and whether a device may be opened for writing.

    ``endpoint`` holds the descriptor that was checked, where the engine must open that and no other.
    """

    endpoint: Endpoint
    segments: tuple[Segment, ...]
    allow_write: bool = False
    mark: str | None = None
    """The uuid of the mark, of a file of this machine that is Strata's own."""
    still_ours: Callable[[], None] = _nothing
    """Raises `SafetyRefusal` when it is not Strata's own any more that was checked; asked before a step that writes."""
    remove: Callable[[], None] = _nothing
    """Removes a file of this machine that is Strata's own."""
    gone: Callable[[], str | None] = _nothing
    """In words, when the name does not lead any more to the file that is driven."""


def whole(size: int) -> Segment:
    """All of a target of so many bytes."""
    return Segment(start=0, length=size, target=0)


class Targets:
    """The targets of a run's one layer, driven together: where a runner measures without a stack."""

    def __init__(self, targets: Sequence[Target]) -> None:
        self.targets = targets
        self.allow_write = all(t.allow_write for t in targets)

    @property
    def size(self) -> int:
        """Bytes of them all that may be driven."""
        return sum(s.length for t in self.targets for s in t.segments)

    def pieces(self, _layer: str) -> tuple[Piece, ...]:
        """One for each."""
        return tuple(Piece(endpoint=t.endpoint, segments=t.segments) for t in self.targets)

    def check_still_ours(self, _layer: str) -> None:
        """As `Target.still_ours`."""
        for target in self.targets:
            target.still_ours()

    def gone(self) -> str | None:
        """What `Target.gone` says of them all; None where every name leads where it led."""
        return "; ".join(said for target in self.targets if (said := target.gone())) or None
