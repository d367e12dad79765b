"""The JSON documents that commands print, each with its published JSON Schema (2020-12)."""

from __future__ import annotations

import json
from typing import Any

from pydantic import BaseModel

from strata.app.matrix import MatrixPlan
from strata.app.measure import OneResult
from strata.errors import UsageError, choices
from strata.model.compared import ComparedRuns
from strata.model.figures import Checked
from strata.model.history import Gate, History
from strata.model.imported import ImportResult
from strata.model.matrix import MatrixResult
from strata.model.plan import Plan
from strata.model.stages import StagesState
from strata.model.survey import Survey
from strata.model.trace import TraceResult
from strata.model.verify import VerifyResult
from strata.report.explained import Explained
from strata.report.json_ import Document, part_schema, schema_of

WHOLE: dict[str, type[BaseModel]] = {
    "report": Document, "explain": Explained, "measure": OneResult, "matrix": MatrixResult, "matrix-plan": MatrixPlan,
    "compare": ComparedRuns, "history": History, "gate": Gate, "verify": VerifyResult, "trace": TraceResult,
    "check": Checked, "import": ImportResult, "stages": StagesState,
}  # fmt: skip
"""``strata.NAME/1``: the document is the value itself."""
PARTS: dict[str, type[BaseModel]] = {"survey": Survey, "plan": Plan}
"""``strata.NAME/1``: the value stands under the key NAME."""


def names() -> tuple[str, ...]:
    """What `schema` can be asked for."""
    return tuple(sorted((*WHOLE, *PARTS)))


def schema(name: str) -> str:
    """The JSON Schema of one document, as JSON. Raises `UsageError`."""
    if name not in WHOLE and name not in PARTS:
        raise UsageError("cannot print the schema of", name, "there is no such document", choices(name, names()))
    made: dict[str, Any] = schema_of(WHOLE[name], name) if name in WHOLE else part_schema(PARTS[name], name)
    return json.dumps(made, indent=2, ensure_ascii=False)
