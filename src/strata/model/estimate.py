"""A number that knows how sure it is."""

from __future__ import annotations

from pydantic import model_validator

from strata.model.base import Value


class Estimate(Value):
    """``value`` with the interval ``low..high`` (95 % unless said), from ``n`` independent rounds, in ``unit``.

    With n = 1 there is no interval: ``low`` and ``high`` are None.
    """

    value: float
    low: float | None
    high: float | None
    n: int
    unit: str

    @model_validator(mode="after")
    def _ordered(self) -> Estimate:
        if self.n < 1:
            raise ValueError("an estimate needs n >= 1")
        if self.low is not None and self.high is not None and not self.low <= self.value <= self.high:
            raise ValueError(f"the interval {self.low}..{self.high} does not hold {self.value}")
        return self

    @property
    def half_width(self) -> float | None:
        """Half the interval's length, in ``unit``; None where there is no interval."""
        return None if self.low is None or self.high is None else (self.high - self.low) / 2
