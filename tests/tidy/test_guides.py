"""Rules about the guides: every key of a stack file and of a JSON document is in its guide, and no other."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
from pydantic import BaseModel
from sample_report import build

from strata.app.matrix import MatrixPlan
from strata.app.measure import OneResult
from strata.model import compared, experiment, figures, finding, history, imported, matrix, nodes, peers, trace, verify
from strata.model.analysis import Check, Comparison, NoiseFloor
from strata.model.base import Value
from strata.model.estimate import Estimate
from strata.model.stack import Expect, Layer, Node, Stack
from strata.report import explained, json_
from strata_lab.status import LabState

ROOT = Path(__file__).resolve().parents[2]

GUIDE = ROOT / "docs" / "guide"


def keys_of(page: str, heading: str) -> set[str]:
    """The keys in the first column of the table under the heading."""
    sections = re.split(r"^##+ ", page, flags=re.M)
    [found] = [part for part in sections if part.startswith(heading + "\n")]
    rows = re.findall(r"^\| (`[^|]*) \|", found, re.M)
    return {key for row in rows for key in re.findall(r"`([a-z_0-9]+)`", row)}


def keys_in(model: type[BaseModel]) -> set[str]:
    """The keys of the model as JSON has them."""
    return {field.alias or name for name, field in model.model_fields.items() if field.exclude is not True}


def test_the_guide_of_the_stack_file_has_every_key_and_no_other() -> None:
    page = (GUIDE / "stack-file.md").read_text()
    models: dict[str, type[Value]] = {
        "`[stack]`": Stack, "`[[node]]`": Node, "`[[layer]]`": Layer, "`expect` of a layer": Expect,
    }  # fmt: skip
    for heading, model in models.items():
        # The tables of the file are written beside [stack], not in it.
        assert keys_of(page, heading) == set(model.model_fields) - ({"nodes", "layers"} if model is Stack else set()), (
            heading
        )


def test_the_stack_file_of_the_guide_is_one() -> None:
    page = (GUIDE / "stack-file.md").read_text()
    stack = Stack.from_toml(page.split("```toml\n")[1].split("```")[0])
    assert [layer.name for layer in stack.layers] == ["disk", "file system", "share"]


DOCUMENTS: dict[str, type[BaseModel]] = {
    "A figure": Estimate,
    "The report: `strata.report/1`": json_.Document,
    "`verdict`": finding.Verdict,
    "`findings[]`": finding.Finding,
    "`findings[].evidence[]`": finding.Evidence,
    "`ruled_out[]`": finding.RuledOut,
    "`story[]`": experiment.ExperimentRecord,
    "`refused[]`": experiment.Refusal,
    "`comparisons[]`": Comparison,
    "A verdict explained: `strata.explain/1`": explained.Explained,
    "`findings[]` of an explanation": explained.ExplainedFinding,
    "`rows[]` of an explanation": explained.ExplainedRow,
    "`cells[]`": json_.ReportedCell,
    "`checks[]`": Check,
    "`noise`": NoiseFloor,
    "`failures[]`": json_.Failure,
    "`run`": json_.RunPart,
    "`repeat[]`": json_.Command,
    "One endpoint: `strata.measure/1`": OneResult,
    "A matrix: `strata.matrix/1`": matrix.MatrixResult,
    "`cells[]` of a matrix": matrix.MatrixCell,
    "Two runs: `strata.compare/1`": compared.ComparedRuns,
    "`cells[]` of a comparison": compared.CellCompared,
    "Over time: `strata.history/1`": history.History,
    "`cells[]` of a history": history.CellHistory,
    "A gate: `strata.gate/1`": history.Gate,
    "`cells[]` of a gate": history.GateCell,
    "Integrity: `strata.verify/1`": verify.VerifyResult,
    "A trace: `strata.trace/1`": trace.TraceResult,
    "Checked figures: `strata.check/1`": figures.Checked,
    "`flags[]`": figures.Flag,
    "Nodes: `strata.nodes/1`": nodes.NodeList,
    "`nodes[]`": nodes.NodeClock,
    "`nodes[].node`": nodes.NodeInfo,
    "`nodes[].clock`": nodes.ClockOffset,
    "Hosts: `strata.fleet/1`": peers.FleetCompared,
    "`views[]`": peers.PeerView,
    "`differs[]`": peers.Differs,
    "Certificates: `strata.trust/1`": nodes.TrustState,
    "`names[]` of the certificates": nodes.TrustedName,
    "Imported files: `strata.import/1`": imported.ImportResult,
    "`files[]`": imported.FileOutcome,
    "`imported` of a file": imported.Imported,
    "`cells[]` of a file": imported.ImportedCell,
}
JSON_GUIDE = (GUIDE / "json.md").read_text()


@pytest.mark.parametrize("heading", DOCUMENTS)
def test_the_guide_of_json_has_every_key_and_no_other(heading: str) -> None:
    assert keys_of(JSON_GUIDE, heading) == keys_in(DOCUMENTS[heading])


def test_every_schema_there_is_has_a_place_in_the_guide_of_json() -> None:
    folders = (ROOT / "src" / "strata", ROOT / "lab" / "src" / "strata_lab")
    sources = "".join(path.read_text() for folder in folders for path in folder.rglob("*.py"))
    schemas = set(re.findall(r'"(strata\.[a-z-]+/\d+)"', sources))
    assert len(schemas) >= 15
    assert {name for name in schemas if f"`{name}`" not in JSON_GUIDE} == set()
    of_a_lab = re.search(r"^\| `strata.lab/1` .*$", JSON_GUIDE, re.M)
    assert of_a_lab is not None
    assert keys_in(LabState) <= set(re.findall(r"`([a-z_]+)`", of_a_lab[0]))
    assert keys_in(MatrixPlan) == {"schema", "plan", "prediction"}


def test_a_real_report_has_the_keys_of_the_guide() -> None:
    report: dict[str, Any] = json.loads(json_.render(build()))
    assert set(report) == keys_of(JSON_GUIDE, "The report: `strata.report/1`")
    for part in ("verdict", "noise", "run"):
        assert set(report[part]) == keys_of(JSON_GUIDE, f"`{part}`")
    for part in ("findings", "ruled_out", "comparisons", "checks", "repeat"):
        assert report[part], part
        assert all(set(one) == keys_of(JSON_GUIDE, f"`{part}[]`") for one in report[part]), part
    # Of a cell, keys without content are left out.
    assert all(set(cell) <= keys_of(JSON_GUIDE, "`cells[]`") for cell in report["cells"])


def test_what_names_a_cell_in_a_report_finds_it() -> None:
    report = json.loads(json_.render(build()))
    cells = {(cell["layer"], cell["workload_key"]): cell for cell in report["cells"]}
    assert len(cells) == len(report["cells"])
    for comparison in report["comparisons"]:
        key = comparison["workload_key"]
        assert cells[comparison["layer"], key]["workload"] == cells[comparison["below"], key]["workload"]
    names = {cell["cell"] for cell in report["cells"]}
    # A step whose cell gave nothing has none.
    assert names <= {step["cell"] for step in report["run"]["plan"]["steps"]}
    assert {name for found in report["findings"] for one in found["evidence"] for name in one["cells"]} <= names
    assert {found["worst"] for found in report["findings"] if found["worst"]} <= names
