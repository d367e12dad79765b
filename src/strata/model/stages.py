"""How the stages of a stack stand, as values."""

from __future__ import annotations

from pydantic import Field

from strata.model.base import Value
from strata.model.run import StageRecord


class StageState(Value):
    """One layer: its measurement, or None and what is done by hand before it can be made (``prepare``).

    ``workloads``: keys of what was measured; ``anchored``: whether the anchor was, too.
    """

    layer: str
    endpoint: str
    prepare: str = ""
    record: StageRecord | None = None
    workloads: tuple[str, ...] = ()
    anchored: bool = False


class StagesState(Value):
    """A stack file, and its layers in their order. ``anchor``: the endpoint that is measured in every stage."""

    schema_version: str = Field(default="strata.stages/1", alias="schema")
    path: str
    stack: str
    anchor: str | None = None
    stages: tuple[StageState, ...]

    @property
    def next(self) -> StageState | None:
        """The first that has no measurement."""
        return next((s for s in self.stages if s.record is None), None)
