"""A report as JSON for programs: stable keys, base units, the unit in the key or in the estimate itself.

``verdict.kind``, ``verdict.layer``, ``verdict.cause``, ``verdict.confidence``, ``findings[]`` and
``ruled_out[]`` are promised to stay. The shape is published as a JSON Schema (``strata schema``).
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any, Literal

from pydantic import BaseModel, Field, TypeAdapter
from pydantic_core import PydanticSerializationError

from strata.model.analysis import CellSummary, Check, Comparison, Generator, NoiseFloor, Remote
from strata.model.base import Value
from strata.model.experiment import ExperimentRecord, Refusal
from strata.model.finding import Finding, RuledOut, Verdict
from strata.model.foreign_io import ForeignIo
from strata.model.plan import Cell, Plan
from strata.model.precondition import Preconditioned
from strata.model.run import DataSet, Environment, NoiseProbe, Report, RunStatus
from strata.model.survey import Survey
from strata.model.survey_compared import ComparedSurveys
from strata.report import words
from strata.report.paragraph import paragraph

SCHEMA: Literal["strata.report/1"] = "strata.report/1"
SURVEY_SCHEMA = "strata.survey/1"
_DIALECT = "https://json-schema.org/draft/2020-12/schema"


class RunPart(Value):
    """Where the figures come from. ``created_unix_ns`` is in ns since the epoch, ``noise`` what was measured first."""

    id: str
    created_unix_ns: int
    status: RunStatus
    name: str
    note: str
    message: str | None
    plan: Plan
    environment: Environment
    survey: Survey | None
    data: DataSet | None
    generator: Generator | None
    remotes: tuple[Remote, ...]
    foreign: tuple[ForeignIo, ...]
    noise: NoiseProbe | None
    preconditions: tuple[Preconditioned, ...]
    nodes: ComparedSurveys | None
    debug_build: bool


class ReportedCell(CellSummary):
    """A cell and the keys by which the rest of the document names it.

    ``workload_key`` with ``layer``: as `comparisons` and `checks` (and the documents of `compare`, `history` and
    `gate`) name it. ``cell``: both in one, as findings, failures and steps name it.
    """

    cell: str
    workload_key: str

    @classmethod
    def of(cls, found: CellSummary) -> ReportedCell:
        key = found.workload.key
        # By its fields: what was worked out from them stays with it too.
        fields = {name: getattr(found, name) for name in type(found).model_fields}
        return cls(**fields, cell=Cell(layer=found.layer, workload=found.workload).key, workload_key=key)


class Failure(Value):
    """A step that gave no result, and why."""

    cell: str
    round: int
    error: str


class Command(Value):
    """One command line that repeats a part of the run."""

    what: str
    command: str


class Document(Value):
    """The top level of the JSON report."""

    schema_version: Literal["strata.report/1"] = Field(alias="schema")
    verdict: Verdict
    findings: tuple[Finding, ...]
    ruled_out: tuple[RuledOut, ...]
    paragraph: str
    story: tuple[ExperimentRecord, ...]
    refused: tuple[Refusal, ...]
    comparisons: tuple[Comparison, ...]
    cells: tuple[ReportedCell, ...]
    checks: tuple[Check, ...]
    noise: NoiseFloor
    failures: tuple[Failure, ...]
    run: RunPart
    repeat: tuple[Command, ...]


def document(report: Report) -> Document:
    """The report as the value that is printed."""
    run, analysis, diagnosis = report.run, report.analysis, report.diagnosis
    own = {"name": run.label.name, "note": run.label.note, "debug_build": words.debug_build(report)}
    made = {
        "schema_version": SCHEMA,
        "paragraph": paragraph(analysis, diagnosis),
        "cells": tuple(ReportedCell.of(cell) for cell in analysis.cells),
        "failures": tuple(Failure(cell=r.cell, round=r.round, error=r.error) for r in report.results if r.error),
        "run": RunPart(**_of(RunPart, run) | own),
        "repeat": tuple(Command(what=what, command=command) for what, command in report.repeat),
    }
    return Document(**_of(Document, diagnosis) | _of(Document, analysis) | made)


def _of(kind: type[Value], part: Value) -> dict[str, Any]:
    """The fields of ``kind`` that the part has under the same name."""
    return {name: value for name, value in part if name in kind.model_fields}


def render(report: Report) -> str:
    """One JSON document, without a trailing newline. What is not finite is null."""
    return document(report).model_dump_json(indent=2)


def schema_of(document: type[BaseModel], name: str) -> dict[str, Any]:
    """The JSON Schema (2020-12) of a document ``strata.NAME/1`` that is the value itself."""
    made = document.model_json_schema(mode="serialization")
    made["properties"]["schema"] = {"const": f"strata.{name}/1"}
    return {"$schema": _DIALECT, **made, "title": f"strata.{name}/1"}


def part_schema(part: Any, name: str, key: str) -> dict[str, Any]:
    """The same of a document that has a value, or a list of them, under a key (`render_part`); ``part`` is its type."""
    inner = TypeAdapter(part).json_schema(mode="serialization", ref_template="#/$defs/{model}")
    return {
        "$schema": _DIALECT, "title": f"strata.{name}/1", "type": "object", "required": ["schema", key],
        "$defs": inner.pop("$defs", {}),
        "properties": {"schema": {"const": f"strata.{name}/1"}, key: inner},
    }  # fmt: skip


def render_part(name: str, key: str, part: Value | Iterable[Value | Path | str]) -> str:
    """``{"schema": "strata.plan/1", "plan": …}`` for one value, a list under the key for several: runs, paths."""
    # Each value is written by its own serializer, which takes a tenth of what the library's takes with an indent.
    if isinstance(part, Value):
        body = _indented(part, 1)
    else:
        body = ",".join(f"\n    {_indented(one, 2)}" for one in part)
        body = f"[{body}\n  ]" if body else "[]"
    return f'{{\n  "schema": "strata.{name}/1",\n  "{key}": {body}\n}}'


def _indented(part: Value | Path | str, depth: int) -> str:
    """As JSON whose further lines stand so deep; a text in it has no line ends of its own. A path that is no text is
    printed with the bytes it has, not as it is shown."""
    if isinstance(part, Value):
        try:
            told = BaseModel.model_dump_json(part, indent=2)
        except PydanticSerializationError:
            told = json.dumps(part.model_dump(mode="json"), indent=2, ensure_ascii=False, allow_nan=False)
        return told.replace("\n", "\n" + "  " * depth)
    return json.dumps(str(part), ensure_ascii=False)
