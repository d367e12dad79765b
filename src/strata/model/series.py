"""Counters over time. A counter that could not be read is absent, never 0."""

from __future__ import annotations

from enum import StrEnum
from itertools import pairwise

from strata.model.base import Value


class SeriesKind(StrEnum):
    """A counter only grows (its differences are the signal); a gauge is read as it stands."""

    COUNTER = "counter"
    GAUGE = "gauge"


class Series(Value):
    """One metric of one thing (``labels`` say which) sampled at ``t_ns`` (CLOCK_REALTIME, ns since the epoch)."""

    metric: str
    unit: str
    kind: SeriesKind
    labels: dict[str, str] = {}
    t_ns: tuple[int, ...]
    values: tuple[float, ...]

    @property
    def delta(self) -> float | None:
        """Growth of a counter from first to last sample; None with fewer than two samples or after a reset.

        A reset in between is one too, even where the counter has passed its old value again since.
        """
        if self.kind is not SeriesKind.COUNTER or len(self.values) < 2:
            return None
        if any(after < before for before, after in pairwise(self.values)):
            return None
        return self.values[-1] - self.values[0]

    @property
    def seconds(self) -> float:
        """Time from first to last sample."""
        return (self.t_ns[-1] - self.t_ns[0]) / 1e9 if len(self.t_ns) > 1 else 0.0

    @property
    def rate(self) -> float | None:
        """Growth per second of a counter, in ``unit``/s; None where `delta` is."""
        return None if self.delta is None or self.seconds <= 0 else self.delta / self.seconds

    @property
    def mean(self) -> float | None:
        """Mean of a gauge's samples."""
        return sum(self.values) / len(self.values) if self.kind is SeriesKind.GAUGE and self.values else None
