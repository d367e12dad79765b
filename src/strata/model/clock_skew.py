"""How far the clock of counters is ahead of that of a measurement, as a value."""

from __future__ import annotations

from strata.model.base import Value, sparse


class ClockSkew(Value):
    """``seconds`` ± ``within_s``: by so much the counters' clock is ahead of the measurement's; None: nothing shows it,
    and ``why``. ``seen_by``: the counter that saw the same I/Os."""

    counters: str
    measured: str
    seconds: float | None = sparse(None)
    within_s: float | None = sparse(None)
    seen_by: str = sparse("")
    why: str = sparse("")

    @property
    def applied_s(self) -> float:
        """What the counters are moved by: nothing where they agree within the bound."""
        if self.seconds is None or self.within_s is None or abs(self.seconds) <= self.within_s:
            return 0.0
        return self.seconds
