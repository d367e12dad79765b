"""How often a byte crosses a wire, and what that tells: 0 on the node that has it, 1 elsewhere, r more for r copies.

A read crosses no wire on the owner and one on a node that reaches the data through the owner; a write crosses r and
1 + r, r being the copies beyond the owner's. These are solved from the wire's bytes for each one of the application.
"""

from __future__ import annotations

CROSSES, STAYS = 0.7, 0.3
"""Bytes for each byte from which on it crosses once, and up to which it does not: heads are a few per cent, and small
writes carry the file system's own beside them."""


def copies_beyond(written: float, read: float) -> int:
    """r, the copies beyond the owner's: what a byte that is written crosses more than one that is read."""
    more = written - read
    return round(more) if more >= CROSSES else 0


def busier(asked: float, total: float) -> float:
    """Of ``total`` in both directions at the owner the busier one: ``asked`` comes from elsewhere, copies go out."""
    return max(asked, total - asked)
