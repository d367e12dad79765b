"""The JSON documents that commands print, each with its published JSON Schema (2020-12)."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from pydantic import BaseModel

from strata.app.matrix import MatrixPlan
from strata.app.measure import OneResult
from strata.errors import UsageError, choices
from strata.model.compared import ComparedRuns
from strata.model.elastic import ElasticRun
from strata.model.figures import Checked
from strata.model.history import Gate, History
from strata.model.imported import ImportResult
from strata.model.live import LiveRun
from strata.model.matrix import MatrixResult
from strata.model.nodes import NodeList, TrustState
from strata.model.pages import BaselinesPage, RunsPage, WatchPage
from strata.model.peers import FleetCompared
from strata.model.plan import Plan
from strata.model.remembered import Baseline, RunHead
from strata.model.scale import ScaleResult
from strata.model.stages import StagesState
from strata.model.survey import Survey
from strata.model.survey_compared import ComparedSurveys
from strata.model.trace import TraceResult
from strata.model.verify import VerifyResult
from strata.model.watch import LookBack, Observed, Slice, WatchResult
from strata.report.explained import Explained
from strata.report.json_ import Document, part_schema, schema_of

WHOLE: dict[str, type[BaseModel]] = {
    "report": Document, "explain": Explained, "measure": OneResult, "matrix": MatrixResult, "matrix-plan": MatrixPlan,
    "compare": ComparedRuns, "history": History, "gate": Gate, "verify": VerifyResult, "trace": TraceResult,
    "check": Checked, "import": ImportResult, "stages": StagesState, "nodes": NodeList, "trust": TrustState,
    "survey-compare": ComparedSurveys, "scale": ScaleResult, "elastic": ElasticRun,
    "fleet": FleetCompared, "watch": WatchResult,
    "watch-slice": Slice, "observed": Observed, "live": LiveRun, "watch-history": LookBack,
    "runs-page": RunsPage, "baselines-page": BaselinesPage, "watched": WatchPage,
}  # fmt: skip
"""``strata.NAME/1``: the document is the value itself."""
PARTS: dict[str, tuple[str, Any]] = {
    "survey": ("survey", Survey), "plan": ("plan", Plan), "runs": ("runs", list[RunHead]),
    "comparisons": ("comparisons", list[ComparedRuns]), "cells": ("cells", dict[str, int]),
    "runs-deleted": ("deleted", list[str]), "baselines": ("baselines", list[Baseline]), "clean": ("removed", list[str]),
}  # fmt: skip
"""``strata.NAME/1``: a value, or a list of them, stands under a key."""
Documents = Mapping[str, type[BaseModel]]


def names(others: Documents | None = None) -> tuple[str, ...]:
    """What `schema` can be asked for. ``others``: documents of a package beside this one, whole ones."""
    return tuple(sorted((*WHOLE, *PARTS, *(others or {}))))


def schema(name: str, others: Documents | None = None) -> str:
    """The JSON Schema of one document, as JSON. Raises `UsageError`."""
    whole = WHOLE | dict(others or {})
    if name not in whole and name not in PARTS:
        raise UsageError("cannot print the schema of", name, "there is no such document", choices(name, names(others)))
    if name in whole:
        made = schema_of(whole[name], name)
    else:
        key, part = PARTS[name]
        made = part_schema(part, name, key)
    return json.dumps(made, indent=2, ensure_ascii=False)
