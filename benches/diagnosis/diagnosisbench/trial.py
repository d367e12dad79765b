"""A trial: which lab is built, what is put into it, and beside what it is diagnosed."""

from __future__ import annotations

from enum import StrEnum

from diagnosisbench.split import Split, Why
from strata.model.base import Value


class Kind(StrEnum):
    """What is right to say of it."""

    ONE = "one limit"
    HEALTHY = "healthy"
    TWO = "two limits"
    OUTSIDE = "outside the catalogue"


class Put(Value):
    """One limit: an injection of the lab's, or one of `diagnosisbench.outside`, with its place on the severities' scale
    and the value that is there."""

    what: str
    position: float
    value: float

    def __str__(self) -> str:
        return f"{self.what}={self.value:g}"


class Trial(Value):
    """``setup`` names the kind of lab (`diagnosisbench.setups`), ``options`` are all that are not the stack's default.

    ``seed`` is its number, from which everything about it was drawn. ``neighbour``: processor and disk are also used
    by somebody else.
    """

    seed: int
    kind: Kind
    setup: str
    stack: str
    options: dict[str, str]
    put: tuple[Put, ...] = ()
    neighbour: bool = False

    @property
    def what(self) -> str:
        """What was put in, by name."""
        return "+".join(put.what for put in self.put) or "nothing"

    @property
    def name(self) -> str:
        """Of its file."""
        return f"{self.setup}-{self.what}-{self.seed:06d}"

    def kept(self, split: Split) -> frozenset[Why]:
        """Why it is kept from tuning; empty: it is there to learn from, or was looked at."""
        if self.name in split.looked:
            return frozenset()
        return split.kept([put.position for put in self.put], self.seed, self.stack, self.options)

    def __str__(self) -> str:
        beside = ", beside a neighbour" if self.neighbour else ""
        return f"{self.seed} {self.setup}: {' + '.join(map(str, self.put)) or 'nothing put in'}{beside}"
