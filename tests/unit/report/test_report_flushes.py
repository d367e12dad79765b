"""Flushes are shown wherever a report is read, and take no place where there are none."""

from __future__ import annotations

import json
from collections.abc import Callable

import pytest
from sample_report import build

from strata.model.run import Report
from strata.report import json_, markdown, terminal
from strata.report.html import page as html


def flushed() -> Report:
    report = build()
    first, *rest = report.analysis.cells
    times = {"mean": 151_000.0, "50": 77_900.0, "99": 310_000.0}
    cells = (first.model_copy(update={"flushes": 2717, "flush_ns": times}), *rest)
    return report.model_copy(update={"analysis": report.analysis.model_copy(update={"cells": cells})})


def as_text(report: Report) -> str:
    return " ".join(terminal.render(report, 120, False).split())


@pytest.mark.parametrize("render", [as_text, markdown.render, html.render])
def test_median_and_p99_of_flushes_are_shown(render: Callable[[Report], str]) -> None:
    text = render(flushed()).replace("\u202f", " ")
    for part in ("77.9 µs", "310 µs"):
        assert part in text
    assert "lushes" in text or "flush p50" in text
    without = render(build())
    assert "lushes" not in without
    assert "flush p" not in without


def test_flushes_in_json() -> None:
    first, second, *_ = json.loads(json_.render(flushed()))["cells"]
    assert (first["flushes"], first["flush_ns"]["99"]) == (2717, 310_000.0)
    assert "flushes" not in second
