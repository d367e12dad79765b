"""Values by their identity: what was worked out of the very same ones is not worked out again."""

from __future__ import annotations


class IdentityKey:
    """A key of a cache over large frozen values, which would take longer to compare than to ask."""

    def __init__(self, *values: object) -> None:
        # Held, so that no other value can take their place in memory while the key lives.
        self.values = values

    def __hash__(self) -> int:
        return hash(tuple(map(id, self.values)))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, IdentityKey) and all(a is b for a, b in zip(self.values, other.values, strict=True))
