"""The JSON documents that the lab's commands print."""

from __future__ import annotations

from typing import Literal

from pydantic import BaseModel, Field

from strata.model.base import Value, sparse
from strata_lab.selftest import SelftestOutcome
from strata_lab.status import LabState


class LabList(Value):
    """What `strata lab list` prints; ``stacks`` (name, title) and ``injections`` with ``--all``."""

    schema_version: Literal["strata.labs/1"] = Field(default="strata.labs/1", alias="schema")
    labs: tuple[LabState, ...]
    stacks: dict[str, str] | None = sparse(None)
    injections: tuple[str, ...] | None = sparse(None)


class SelftestResult(Value):
    """What `strata lab selftest` prints."""

    schema_version: Literal["strata.lab-selftest/1"] = Field(default="strata.lab-selftest/1", alias="schema")
    ok: bool
    outcomes: tuple[SelftestOutcome, ...]


DOCUMENTS: dict[str, type[BaseModel]] = {"lab": LabState, "labs": LabList, "lab-selftest": SelftestResult}
"""``strata.NAME/1``."""
