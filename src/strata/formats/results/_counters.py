"""Counters that another tool wrote over time, as series."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from strata.formats.results.source import Misread
from strata.model.series import Series, SeriesKind

SERIES_MOST = 20_000
VALUES_MOST = 5_000_000


@dataclass
class Sampled:
    """Series by (metric, unit, object), each with its samples in the order of the file."""

    held: dict[tuple[str, str, str], tuple[list[int], list[float]]] = field(default_factory=dict)
    count: int = 0

    def add(self, metric: str, unit: str, of: str, at_ns: int, value: float) -> None:
        """Another sample. Raises `Misread` where there are too many."""
        key = (metric, unit, of)
        lane = self.held.get(key)
        if lane is None:
            if len(self.held) >= SERIES_MOST:
                raise Misread(f"it has more than {SERIES_MOST} counters")
            lane = self.held[key] = ([], [])
        self.count += 1
        if self.count > VALUES_MOST:
            raise Misread(f"it has more than {VALUES_MOST} samples")
        lane[0].append(at_ns)
        lane[1].append(value)

    def series(
        self, labels: Mapping[str, str], grows: Callable[[str], bool] = lambda metric: False
    ) -> tuple[Series, ...]:
        """All of them; ``labels`` of each beside its object. ``grows``: whether a metric is a counter, not a gauge."""
        return tuple(
            Series(
                metric=metric, unit=unit, kind=SeriesKind.COUNTER if grows(metric) else SeriesKind.GAUGE,
                labels={**labels, **({"of": of} if of else {})}, t_ns=tuple(times), values=tuple(values),
            )
            for (metric, unit, of), (times, values) in self.held.items()
        )  # fmt: skip
