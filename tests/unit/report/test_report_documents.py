"""JSON and Markdown: what others rely on."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import golden_file
import pytest
from json_schema import problems
from sample_report import build

from strata.app import schemas
from strata.model.remembered import RunHead
from strata.report import json_, markdown

SCHEMA = json.loads(schemas.schema("report"))


def test_a_cell_that_was_asked_for_its_counters_is_written_as_before() -> None:
    report = build()
    before = json_.render(report)
    assert all(cell.readings is not None and cell.resources is not None for cell in report.analysis.cells)
    assert json_.render(report) == before


def test_json_fits_its_published_schema_and_loads_back() -> None:
    text = json_.render(build())
    assert problems(json.loads(text), SCHEMA, SCHEMA) == []
    assert json_.Document.model_validate_json(text) == json_.document(build())


@pytest.mark.parametrize("spoil", [{"verdict": None}, {"schema": "strata.report/2"}, {"surprise": 1}, {"findings": {}}])
def test_the_schema_refuses_what_is_not_a_report(spoil: dict[str, Any]) -> None:
    value = {**json.loads(json_.render(build())), **spoil}
    assert problems(value, SCHEMA, SCHEMA)


def test_json_keeps_the_promised_keys() -> None:
    value = json.loads(json_.render(build()))
    assert value["schema"] == "strata.report/1"
    assert {k: value["verdict"][k] for k in ("kind", "layer", "cause", "confidence")} == {
        "kind": "layer",
        "layer": "share",
        "cause": "wire-bandwidth",
        "confidence": 0.96,
    }
    assert set(value["verdict"]) >= {"headline", "explanation", "next_step", "missing"}
    assert set(value) == {
        "schema",
        "verdict",
        "findings",
        "ruled_out",
        "paragraph",
        "story",
        "refused",
        "comparisons",
        "cells",
        "checks",
        "noise",
        "failures",
        "run",
        "repeat",
    }
    assert value["ruled_out"][0]["cause"] == "wire-latency"
    assert value["run"]["debug_build"] is False
    assert value["run"]["noise"]["repeats"] == 6
    assert value["repeat"][0]["command"].startswith("strata diagnose")


def test_json_says_debug_build() -> None:
    assert json.loads(json_.render(build(profile="debug")))["run"]["debug_build"] is True


def test_json_of_survey_plan_runs_and_clean_names_its_schema() -> None:
    report = build()
    assert report.run.survey is not None
    survey = json.loads(json_.render_part("survey", "survey", report.run.survey))
    assert (survey["schema"], survey["survey"]["file_system"]["kind"]) == ("strata.survey/1", "ext4")
    plan = json.loads(json_.render_part("plan", "plan", report.run.plan))
    assert (plan["schema"], plan["plan"]["bytes_written"]) == ("strata.plan/1", 61 << 30)
    runs = json.loads(json_.render_part("runs", "runs", (RunHead.of(report.run),)))
    assert (runs["schema"], runs["runs"][0]["stack"]) == ("strata.runs/1", "build-volume")
    gone = json.loads(json_.render_part("clean", "removed", [Path("/mnt/strata.dat")]))
    assert gone == {"schema": "strata.clean/1", "removed": ["/mnt/strata.dat"]}


def test_markdown_reads_as_it_was_looked_at() -> None:
    golden_file.check("report.md", markdown.render(build()))


def test_a_title_is_text_in_a_line_of_html() -> None:
    report = build()
    first, *others = report.diagnosis.findings
    hostile = first.model_copy(update={"title": "the data of <img src=x onerror=alert(1)> lies"})
    told = report.diagnosis.model_copy(update={"findings": (hostile, *others)})
    summaries = [
        x for x in markdown.render(report.model_copy(update={"diagnosis": told})).splitlines() if "<summary" in x
    ]
    assert any("&lt;img" in x for x in summaries) and not any("<img" in x for x in summaries)


def test_markdown_rows_are_whole_whatever_the_names_are() -> None:
    text = markdown.render(build(share="a|b `c` <img src=x> @team\n| d"))
    rows = [line for line in text.splitlines() if line.startswith("| ")]
    explained = [line for line in rows if line.replace("\\|", "").count("|") == 6]
    assert len(explained) == 2 + 8 and len(rows) - len(explained) == 2 + 8
    assert {line.replace("\\|", "").count("|") for line in rows} == {5, 6}
    assert "<img" not in text.replace("\\<img", "")
    assert "@team" not in text
