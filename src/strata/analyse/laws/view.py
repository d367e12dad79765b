"""One of our own runs as the laws see it: what was planned, every round, and what was made of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from strata.analyse.rounds import CellRounds
from strata.model.analysis import CellSummary, Comparison, Generator, NoiseFloor
from strata.model.figures import Flag
from strata.model.plan import Plan
from strata.model.run import DataSet


@dataclass(frozen=True)
class RunView:
    """``rounds`` by (layer, workload key). ``devices``: whether any block device holds the data.

    ``memory`` is what the page cache may grow to, in bytes; None where it is not known.
    """

    plan: Plan
    rounds: Mapping[tuple[str, str], CellRounds]
    cells: Sequence[CellSummary]
    comparisons: Sequence[Comparison]
    noise: NoiseFloor
    data: DataSet | None = None
    generator: Generator | None = None
    devices: bool = True
    memory: int | None = None

    def of(self, cell: CellSummary) -> CellRounds:
        """The rounds of a cell."""
        return self.rounds[(cell.layer, cell.workload.key)]


def colour(reason: str, layer: str = "", workload_key: str = "") -> Flag:
    """What colours a figure and does not make it impossible."""
    words = {word: name for word, name in (("layer", layer), ("workload", workload_key)) if name}
    return Flag(law="", row="/".join(words.values()), broken=False, reason=reason, next_step="", words=words)
