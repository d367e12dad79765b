"""The result is impossible.

What it claims
    At least one figure cannot be true as it stands, so nothing is concluded from any of them.
Why it matters
    Most surprising results are wrong results: a cache that answered, another volume, a column that slipped.
Evidence it needs
    Operational: a law that does not hold (Little's law, IOPS × size, a layer faster than the one it stands on, reads
    that never reached the device).
What rules it out
    All laws hold; or a cause that is shown and makes all of these figures: then the verdict names that cause.
What to do next
    Follow the broken law's next step, then measure again.
How sure
    As sure as the law is general: 0.9, and 0.95 with two different laws.
Example
    177 880 IOPS beside 138 MB/s at 8 KiB: the IOPS imply 1 390 MiB/s.
Source
    Little 1961; Denning, Buzen 1978 (the operational laws); the page of the laws.
"""

from __future__ import annotations

from collections.abc import Iterable

from strata.analyse.laws import below, cache
from strata.model.analysis import Analysis, Check
from strata.model.finding import Cause, Finding
from strata.model.stack import Stack

CAUSE = Cause.IMPOSSIBLE

WHY = (Cause.WRONG_FILE, Cause.HOLES, Cause.CACHE_FLATTERS)
"""What makes figures too good to be true, where it is shown."""
TOO_GOOD = frozenset({cache.NAME, below.NAME})
"""Laws that it breaks: the device moved less than was asked for, or a layer is faster than what it stands on."""


def broken(analysis: Analysis) -> tuple[Check, ...]:
    """The checks that make the result impossible."""
    return tuple(c for c in analysis.checks if c.impossible)


def reason(stack: Stack, checks: tuple[Check, ...], findings: Iterable[Finding]) -> Finding | None:
    """The finding that makes all of these figures, at its layer or at one that stands on it; None where none does."""
    if not checks or any(c.kind not in TOO_GOOD for c in checks):
        return None
    for one in findings:
        over = {x.name for x in stack.layers if one.layer in {b.name for b in stack.stands_on(x)}}
        if one.cause in WHY and all(c.layer in over | {one.layer} for c in checks):
            return one
    return None


def next_step(check: Check) -> str:
    """What this law points at."""
    return check.next_step or "Measure again."


def confidence(checks: tuple[Check, ...]) -> float:
    """0.9; 0.95 when two different laws are broken."""
    return 0.95 if len({c.kind for c in checks}) > 1 else 0.9
