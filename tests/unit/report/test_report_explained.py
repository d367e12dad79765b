"""What is said of a verdict: the paragraph that is forwarded, the experiments' story, and the evidence row by row."""

from __future__ import annotations

import re
from typing import Any

import golden_file
import pytest
from rich.cells import cell_len
from sample_diagnosis import inconclusive, two_at_once, wire_limits
from sample_report import build, saying

from strata.errors import UsageError
from strata.model.experiment import Refusal
from strata.model.finding import Diagnosis, VerdictKind
from strata.model.run import Report
from strata.report import markdown, terminal
from strata.report.experiments import PredictionResult, line, scenes
from strata.report.explained import Explained, explained, explained_text
from strata.report.html import page as html
from strata.report.paragraph import paragraph


def changed(report: Report, confidence: float | None = None, **update: Any) -> Report:
    told: Diagnosis = report.diagnosis
    if confidence is not None:
        update["verdict"] = told.verdict.model_copy(update={"confidence": confidence})
    return report.model_copy(update={"diagnosis": told.model_copy(update=update)})


def test_the_story_says_what_each_cause_had_predicted_and_what_fell() -> None:
    [scene] = scenes(build().diagnosis)
    assert [(f.cause, f.result) for f in scene.predictions] == [
        ("wire bandwidth", PredictionResult.AGREED),
        ("a cap on IOPS", PredictionResult.FELL),
    ]
    assert "25\u202f000–31\u202f000 IOPS (refuted)" in line(scene)


def test_the_story_is_told_unasked_where_the_verdict_is_not_sure() -> None:
    sure, doubtful = build(), changed(build(), confidence=0.6)
    assert "(refuted)" in terminal.render(doubtful, 200, False) and "(refuted)" not in terminal.render(sure, 200, False)
    fold = re.compile(r"<details class=.fold.( open)?><summary>1 experiment")
    assert [fold.search(html.render(r)).group(1) for r in (sure, doubtful)] == [None, " open"]  # type: ignore[union-attr]
    assert "<details><summary>Experiments (1)" in markdown.render(sure)
    assert "<details open><summary>Experiments (1)" in markdown.render(doubtful)


def test_what_could_not_be_tried_is_told_with_the_reason() -> None:
    report = build()
    experiment = report.diagnosis.story[0].outcome.experiment
    report = changed(
        report, 0.6, refused=(Refusal(experiment=experiment, because="no other CPU is available to this process"),)
    )
    for text in (terminal.render(report, 200, False), html.render(report), markdown.render(report)):
        assert "no other CPU is available to this process" in text


def test_the_paragraph_says_all_that_is_asked_of_it_and_takes_it_from_values() -> None:
    report = build()
    said = paragraph(report.analysis, report.diagnosis)
    for part in (
        "share gives 21 % of the IOPS of file system", "sequential read · 128 KiB · depth 8", "of 8 workloads",
        "the wire carries no more than 110 MiB/s", "An experiment confirmed it", "Ruled out: wire latency (94",
        "and 1 more", "Do first: Give the share a second link", "at most 4.6 times the IOPS",
        "The cause: ", "a cap on IOPS predicted 25",
    ):  # fmt: skip
        assert part in said, part
    assert "\n" not in said and ".." not in said
    healthy = report.diagnosis.verdict.model_copy(update={"kind": VerdictKind.HEALTHY, "layer": None, "next_step": ""})
    told = paragraph(report.analysis, Diagnosis(verdict=healthy, findings=(), ruled_out=()))
    assert "gives" not in told.split(".")[0] and "Do first" not in told and "at most" not in told


@pytest.mark.parametrize("width", [80, 200])
def test_an_explanation_fits_and_shows_predicted_beside_measured(width: int) -> None:
    report = build()
    text = explained_text(explained(report), report, width)
    assert max(map(cell_len, text.splitlines())) <= width
    [row] = [x for x in text.splitlines() if x.startswith("   read-128KiB-qd8")]
    assert re.search(r"878 +840–920 +0\.21.* 97 %", row), row
    [left] = [x for x in text.splitlines() if x.startswith("   randread-4KiB-qd1 ")]
    assert left.endswith("not explained")
    assert "a cap on IOPS predicted 25\u202f000–31\u202f000 IOPS: refuted" in re.sub(r"\n +", " ", text)


SAID = {"sure": wire_limits, "two": two_at_once, "inconclusive": inconclusive}


@pytest.mark.parametrize("width", [80, 200])
@pytest.mark.parametrize("name", SAID)
def test_an_explanation_reads_as_it_was_looked_at(name: str, width: int) -> None:
    report = saying(SAID[name]())
    golden_file.check(f"explain-{name}-{width}.txt", explained_text(explained(report), report, width))


@pytest.mark.parametrize("name", ["two", "inconclusive"])
def test_a_verdict_reads_as_it_was_looked_at(name: str) -> None:
    report = saying(SAID[name]())
    text = terminal.render(report, 100, False)
    golden_file.check(f"verdict-{name}-100.txt", text[text.index("VERDICT") : text.index("Caveats")].rstrip())


def test_an_experiment_for_a_cause_that_is_not_named_is_told_too() -> None:
    report = saying(two_at_once())
    last = report.diagnosis.findings[1]
    alone = changed(report, findings=(last,))
    text = explained_text(explained(alone), alone, 100)
    assert "Experiments for causes without a finding" in text and "a cap on IOPS predicted" in text
    assert "not named" not in explained_text(explained(report), report, 100)
    assert "not named" not in explained_text(explained(report, "2"), report, 100)


def test_one_finding_is_named_by_its_number_or_its_id() -> None:
    report = build()
    by_number, by_id = explained(report, "1"), explained(report, "7f3a-1")
    assert by_number == by_id and len(by_number.findings) == 1
    assert Explained.model_validate_json(by_number.model_dump_json()) == by_number
    with pytest.raises(UsageError, match="no such finding") as refused:
        explained(report, "2")
    assert "1 (7f3a-1)" in refused.value.hint
