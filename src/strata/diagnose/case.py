"""Everything a cause may look at: the stack, what was measured, and what experiments gave."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property, lru_cache

from strata.diagnose.identity_key import IdentityKey
from strata.diagnose.models import Fit, fit_all
from strata.diagnose.view import Point, View, views
from strata.model.analysis import Analysis, CellSummary
from strata.model.experiment import Tried
from strata.model.stack import Layer, Stack

LEAST_EXPLAINED = 0.75
MOST_PER_POINT = 3.0


@dataclass(frozen=True)
class Pair:
    """A layer over the one it is compared with, with its fits, the best shape first.

    ``case``: everything else that was measured. ``before``: the same without what another cause was found to take.
    """

    case: Case
    view: View
    fits: tuple[Fit, ...]
    before: Pair | None = None

    @property
    def best(self) -> Fit:
        """The shape that explains most."""
        return self.fits[0]

    def shape(self, name: str) -> Fit:
        return next(f for f in self.fits if f.shape.value == name)

    def lead(self, *names: str) -> float:
        """How much better the best of these shapes is than the best of the others."""
        mine = min(f.total for f in self.fits if f.shape.value in names)
        other = min((f.total for f in self.fits if f.shape.value not in names), default=mine)
        # What the first cause may have taken too much of, no shape behind it is the better for.
        return other - mine if self.before is None else min(other - mine, self.before.lead(*names))

    def acceptable(self, found: Fit) -> bool:
        """Whether a fit explains the loss and leaves no cell far from its prediction."""
        affected = {p.key for p in self.view.affected}
        return (
            found.explained >= LEAST_EXPLAINED and found.per_point <= MOST_PER_POINT and bool(affected & found.binding)
        )

    def without(self, keys: set[str]) -> Pair:
        """The same with these cells left out, fitted again."""
        rest = self.view.without(keys)
        return Pair(self.case, rest, fit_all(rest) if rest.points else self.fits, self.before)


@dataclass(frozen=True)
class Station:
    """One layer by itself: its cells, as they were measured."""

    layer: Layer
    cells: tuple[CellSummary, ...]

    def cell(self, key: str) -> CellSummary | None:
        return next((c for c in self.cells if c.workload.key == key), None)


@dataclass(frozen=True)
class Case:
    """One diagnosis' evidence. ``tried``: experiments that were run, in their order."""

    stack: Stack
    analysis: Analysis
    tried: tuple[Tried, ...] = ()

    @cached_property
    def pairs(self) -> tuple[Pair, ...]:
        """Each layer over each layer that it is compared with, where both were measured."""
        return tuple(Pair(self, view, fits) for view, fits in _fitted(IdentityKey(self.stack, self.analysis)))

    def rows(self, layer: str, key: str) -> Iterator[tuple[Pair, Point]]:
        """A workload of that layer over each layer that it is compared with, where it was measured at both."""
        for pair in self.pairs:
            if pair.view.layer.name == layer:
                yield from ((pair, p) for p in pair.view.everything if p.key == key)

    @cached_property
    def stations(self) -> tuple[Station, ...]:
        """Every layer that was measured, from the lowest up."""
        return tuple(
            Station(layer, found)
            for layer in self.stack.layers
            if (found := tuple(c for c in self.analysis.cells if c.layer == layer.name))
        )

    def station(self, layer: str) -> Station | None:
        """The layer of that name, where it was measured."""
        return next((s for s in self.stations if s.layer.name == layer), None)

    def without_server(self, station: Station) -> tuple[Station, ...]:
        """That layer and what reaches its data without a server: a device that is only read tells nothing of writes."""
        return tuple(s for s in self.stations if s is station or not s.layer.target.remote)

    def outcomes(self, key: str) -> Iterable[Tried]:
        """What the experiments of one module gave."""
        return (t for t in self.tried if t.experiment.key == key)


@lru_cache(maxsize=2)
def _fitted(of: IdentityKey) -> tuple[tuple[View, tuple[Fit, ...]], ...]:
    """Experiments change what is known of the causes, not the shapes of the rows: fitted once for a run."""
    stack, analysis = of.values
    assert isinstance(stack, Stack) and isinstance(analysis, Analysis)
    return tuple((view, fit_all(view)) for view in views(stack, analysis))
