"""The page of a comparison: what changed most first, every change with its sign, and nothing from outside as markup."""

from __future__ import annotations

import csv
import io
import re

import pytest

from strata.model.compared import (
    CellCompared,
    Change,
    ComparedRuns,
    EnvironmentField,
    Fairness,
    Gap,
    Shift,
    Side,
)
from strata.model.estimate import Estimate
from strata.report.html import compare as page
from strata.report.html.charts.forest import DRAWN_MOST, LEFT, RIGHT, forest

NASTY = '=<script>alert("x")</script>'
MADE = 1_773_480_360_000_000_000


def ratio(value: float, share: float = 0.03, unit: str = "ratio") -> Estimate:
    return Estimate(value=value, low=value * (1 - share), high=value * (1 + share), n=5, unit=unit)


def cell(layer: str, at: float, verdict: Change, share: float = 0.03) -> CellCompared:
    shift = Shift(percentile="50", a_ns=1e6, b_ns=1e6 / at, ratio=ratio(1 / at), moved_ns=ratio(1e5, unit="ns"))
    return CellCompared(
        layer=layer, workload_key=f"randread-{at}", label=f"random read · {at}", a=ratio(1000.0, unit="IOPS"),
        b=ratio(1000.0 * at, unit="IOPS"), iops=ratio(at, share), p_difference=0.01, p_equivalence=0.5, verdict=verdict,
        shifts=(shift,), gap=Gap(at_ns=1e6, a=0.8, b=0.3), why="too noisy" if verdict is Change.CANNOT_TELL else None,
    )  # fmt: skip


def build(layer: str = NASTY) -> ComparedRuns:
    return ComparedRuns(
        a=Side(run="20260314-a", created_unix_ns=MADE, stack="one", rounds=5),
        b=Side(run="20260315-b", created_unix_ns=MADE, stack=NASTY, rounds=5),
        margin=0.05, level=0.95, between_runs=None, noise=0.01,
        environment=(EnvironmentField(name="kernel", a=NASTY, b="6.6", fairness=Fairness.CAVEAT),),
        cells=(
            cell(layer, 1.0, Change.EQUIVALENT), cell(layer, 0.9, Change.SLOWER), cell(layer, 0.5, Change.SLOWER),
            cell(layer, 1.3, Change.FASTER), cell(layer, 0.97, Change.CANNOT_TELL, 0.6),
        ),
    )  # fmt: skip


def test_what_changed_most_comes_first_and_has_its_sign() -> None:
    text = page.render(build("disk"))
    signs = re.findall(r'<span class="mark">(.)</span>\s*([a-z ]+)', text)
    assert [(sign, said.strip()) for sign, said in signs] == [
        ("▼", "slower"), ("▼", "slower"), ("▲", "faster"), ("?", "cannot tell"), ("=", "equivalent"),
    ]  # fmt: skip
    assert "−50 % (−52…−48 %)" in text and "5 cells: 2 slower, 1 faster" in text
    assert text.count("largest difference between the distributions") == 3 and "too noisy" in text


def test_names_from_outside_stay_text() -> None:
    text = page.render(build())
    assert "<script>alert" not in text and text.count("<script") == 1
    assert "&lt;script&gt;alert" in text


def test_the_figures_have_both_runs_and_a_shift_of_each_percentile() -> None:
    head, *rows = csv.reader(io.StringIO(page.csv_of(build("disk"))))
    assert all(len(row) == len(head) for row in rows) and len(rows) == 5
    one = dict(zip(head, rows[2], strict=True))
    assert (one["iops_a"], one["iops_b"], one["ratio"], one["p50_b_ns"]) == ("1000.0", "500.0", "0.5", "2000000.0")


@pytest.mark.parametrize("at", [1e-4, 0.5, 1.0, 40.0, 1e5])
def test_no_change_is_so_large_that_it_leaves_the_picture(at: float) -> None:
    drawn = forest("f", (cell("a layer with a long name", at, Change.SLOWER, 0.9),), 0.05)
    assert drawn is not None
    for x in re.findall(r'(?:cx|x1|x2)="([^"]+)"', drawn):
        assert LEFT - 0.1 <= float(x) <= RIGHT + 0.1
    assert '"tick" text-anchor="middle">1</text>' in drawn


def test_a_picture_holds_no_more_than_can_be_looked_at() -> None:
    few = build("disk")
    shown = page.render(few)
    assert shown.count('class="whisker"') == 5 and "All changes in one picture" in shown
    many = few.model_copy(update={"cells": few.cells * 20})
    shown = page.render(many)
    assert shown.count('class="whisker"') == DRAWN_MOST and f"The first {DRAWN_MOST} of 100 cells" in shown
    # The table has them all, and the picture those that the table begins with.
    assert shown.count('data-layer="IOPS, B against A"') == 100
    assert shown.count('class="change slow"') == 40


def test_names_stand_above_their_whiskers() -> None:
    drawn = forest("f", build("disk").cells, 0.05)
    assert drawn is not None
    names = [float(y) for y in re.findall(r'<text x="[^"]+" y="([^"]+)" class="name"', drawn)]
    whiskers = [float(y) for y in re.findall(r'y1="([^"]+)"[^>]*class="whisker"', drawn)]
    assert len(names) == len(whiskers) == 5
    assert all(name + 6 < whisker for name, whisker in zip(names, whiskers, strict=True))
    assert forest("f", (), 0.05) is None
