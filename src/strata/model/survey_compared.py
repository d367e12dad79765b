"""The nodes of a stack compared with each other, field by field."""

from __future__ import annotations

from enum import StrEnum
from typing import Literal

from pydantic import Field

from strata.model.base import UnixNs, Value


class Agreement(StrEnum):
    """Of one field of all nodes."""

    SAME = "same"
    DIFFERS = "differs"
    MISSING = "missing"
    """Those that have it have the same; on others it is not there, or could not be read."""


class SurveyedNode(Value):
    """One of the nodes. ``name`` tells it from the others: the host's name, with a number where two have the same."""

    name: str
    path: str
    taken_unix_ns: UnixNs
    devices: tuple[str, ...]


class SurveyField(Value):
    """One field, in words, in the order of the nodes; None where it is not there or could not be read."""

    name: str
    values: tuple[str | None, ...]
    agreement: Agreement


class ComparedSurveys(Value):
    """Every field of two or more surveys, those that are the same too."""

    schema_version: Literal["strata.survey-compare/1"] = Field(default="strata.survey-compare/1", alias="schema")
    nodes: tuple[SurveyedNode, ...]
    fields: tuple[SurveyField, ...]

    def those(self, agreement: Agreement) -> tuple[SurveyField, ...]:
        """The fields of that agreement."""
        return tuple(field for field in self.fields if field.agreement is agreement)
