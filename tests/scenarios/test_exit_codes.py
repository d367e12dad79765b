"""One table of exit codes: in the code, in the guide, in the help, and in what commands end with."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
import sample_report

from strata.errors import Exit, StrataError
from strata.model.finding import VerdictKind
from strata.store import open_store

GUIDE = Path(__file__).parents[2] / "docs" / "guide" / "exit-codes.md"
QUICK = ("--runtime", "200ms", "--ramp-time", "0", "--progress", "none")


def test_the_guide_has_the_table() -> None:
    rows = re.findall(r"^\| (\d+) \| ([^|]+) \| ([^|]+) \|$", GUIDE.read_text(), re.MULTILINE)
    assert [(int(code), short, meaning) for code, short, meaning in rows] == [
        (code.value, code.short, code.meaning) for code in Exit
    ]


def test_the_help_names_every_code(strata) -> None:
    said = " ".join(strata("--help").stdout.split())
    for code in Exit:
        assert f"{code.value} {code.short}" in said


def test_every_error_has_a_code_of_the_table() -> None:
    kinds = [StrataError]
    for kind in kinds:
        kinds += kind.__subclasses__()
    assert {kind.exit_code for kind in kinds} <= set(Exit)
    assert all(isinstance(kind.exit_code, Exit) for kind in kinds)


def test_an_aim_that_is_not_reached_is_inconclusive(strata) -> None:
    aim = ("--until", "0.05%", "--until-min", "20ms", "--until-percentile", "none")
    done = strata("measure", "null:", *aim, *QUICK, "--rate-iops", "2000", "--rate-process", "poisson")
    assert done.returncode == Exit.INCONCLUSIVE, done.stderr
    assert "did not reach ±0.050 %" in done.stderr
    assert "IOPS" in done.stdout


@pytest.mark.parametrize("form", ["--html", "--markdown"])
def test_a_page_that_was_written_is_fine_whatever_the_verdict(strata, tmp_path: Path, form: str) -> None:
    kept = sample_report.build()
    verdict = kept.diagnosis.verdict.model_copy(update={"kind": VerdictKind.INCONCLUSIVE})
    with open_store() as store:
        store.create_run(kept.run)
        store.save_outcome(kept.run.id, kept.analysis, kept.diagnosis.model_copy(update={"verdict": verdict}))
    page = tmp_path / "page"
    done = strata("report", kept.run.id, form, page)
    assert done.returncode == Exit.FINE, done.stderr
    assert kept.run.plan.stack.name in page.read_text()
