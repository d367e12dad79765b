"""How much equal measurements differ on one machine and device: what is pooled over cells and over runs."""

from __future__ import annotations

from pydantic import Field

from strata.model.base import Value


class PooledNoise(Value):
    """Relative to the level of each cell; squares are variances.

    ``variance_s`` is the relative variance that a mean over one second of one start has, typical of the cells;
    ``spread_df`` says how alike they are (Smyth's prior degrees of freedom: few where cells differ widely).
    ``correlation_s`` is for how long neighbouring bins go together (the integrated autocorrelation time). ``between``
    is the relative standard deviation from one start to the next that no longer run would mend, known with
    ``between_df`` degrees of freedom. ``cells`` and ``seconds`` are what it was seen in.
    """

    variance_s: float = Field(ge=0)
    spread_df: float = Field(gt=0)
    correlation_s: float = Field(ge=0)
    between: float = Field(ge=0)
    between_df: float = Field(ge=0)
    cells: int = Field(ge=0)
    seconds: float = Field(ge=0)
    runs: tuple[str, ...] = ()
    """Earlier runs that it comes from; empty: from this one alone."""

    def error(self, seconds: float, starts: int = 1) -> float:
        """Relative standard error of a typical cell's mean over ``starts`` starts of ``seconds`` each."""
        return float(((self.between**2 + self.variance_s / seconds) / starts) ** 0.5)
