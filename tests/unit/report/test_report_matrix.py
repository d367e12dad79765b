"""A matrix as text in any width, and as a page that can be read without colour and without a pointer."""

from __future__ import annotations

import math
import re
from pathlib import Path

import pytest
import sample_report
from rich.cells import cell_len

from strata.model.estimate import Estimate
from strata.model.matrix import BudgetPrediction, Given, Grid, HeldOut, Known, MatrixAsk, MatrixCell, MatrixResult
from strata.model.noise import PooledNoise
from strata.plan.matrix import matrix_of
from strata.report.html import matrix as page
from strata.report.html.charts import heatmap
from strata.report.html.charts.heatmap import said
from strata.report.matrix_text import matrix_markdown, matrix_text, prediction_lines, share, short

NASTY = '<script>alert("x")</script>'
NOISE = PooledNoise(
    variance_s=4e-4, spread_df=5, correlation_s=0.2, between=0.012, between_df=8, cells=280, seconds=700, runs=("a",)
)
TOLD = BudgetPrediction(
    known_from=Known.FLOOR, noise=NOISE, seconds=900, seconds_a_cell=3.2, error_median=0.008, error_p95=0.03,
    half_width=0.02, target=0.01, seconds_for_target=5000,
)  # fmt: skip


def estimate(value: float, share_: float, n: int = 2) -> Estimate:
    return Estimate(value=value, low=value * math.exp(-share_), high=value * math.exp(share_), n=n, unit="IOPS")


def build(where: str = "file:/mnt/new.dat", text: str = "full") -> MatrixResult:
    grid, workloads = matrix_of(text)
    cells = []
    for i, w in enumerate(workloads):
        value = 3e5 * w.arrival.iodepth**0.5 / (1 + w.bs / 16384)
        smoothed = i % 3 > 0
        cells.append(
            MatrixCell(
                layer="file", workload=w, pattern=w.pattern, bs=w.bs, iodepth=w.arrival.iodepth,
                given=Given.MISSING if i == 3 else Given.SMOOTHED if smoothed else Given.MEASURED,
                iops=None if i == 3 else estimate(value, 0.012),
                measured=None if i == 3 else estimate(value * 1.01, 0.03), smoothed=estimate(value, 0.012),
                visits=0 if i == 3 else 2, seconds=3.0, ios=1000, mean_ns=1e5 * (1 + i),
                p99_ns=3e5 if i % 2 else None, kink=i == 9,
                percentiles_ns={"50": 9e4, "90": 1.5e5, "95": 2e5} | ({"99": 3e5} if i % 2 else {}), moved=i == 12,
                generator_bound=i == 15, why="every I/O failed: EIO" if i == 3 else None,
            )
        )  # fmt: skip
    return MatrixResult(
        run="20261121-000000-abcd", where=where, ask=MatrixAsk(grid=grid, budget_s=900, target=0.01), layers=("file",),
        cells=tuple(cells), noise=NOISE, predictions=(TOLD,), seconds=890, start_s=0.11, ended="budget", reached=False,
        held_out=HeldOut(cells=40, error_median=0.01, error_p95=0.04, within_interval=0.95), written=10 << 30,
        remarks=("one remark",), created_unix_ns=1_773_480_360_000_000_000, survey=sample_report.build().run.survey,
        repeat="strata measure file:/mnt/new.dat --matrix full --budget 15m",
        environment={"hostname": "node-7", "engine": "native", "build": {"profile": "release"}, "strata": "0.1"},
    )  # fmt: skip


@pytest.mark.parametrize("width", [40, 80, 139, 140, 200])
def test_the_text_keeps_its_width_and_loses_no_cell(width: int) -> None:
    text = matrix_text(build(), width)
    assert all(cell_len(line) <= width for line in text.splitlines())
    assert text.count("~") >= 180 and "^" in text and "?" in text and "EIO" in text
    for pattern in ("sequential read", "random 70/30", "random write"):
        assert pattern in text


def test_wide_text_has_an_interval_in_every_cell() -> None:
    wide, narrow = matrix_text(build(), 200), matrix_text(build(), 80)
    assert wide.count("±1.2 %") > 270
    assert narrow.count("widest") >= 5


def test_figures_are_short_and_keep_four_digits() -> None:
    assert [short(x) for x in (3.21987, 812.3, 12346.0, 999960.0, 1_204_000.0)] == [
        "3.220", "812", "12.35k", "1.000M", "1.204M",
    ]  # fmt: skip


def test_a_prediction_says_what_no_time_brings() -> None:
    assert "would take about" in " ".join(prediction_lines(TOLD, 200))
    ranged = TOLD.model_copy(update={"seconds_low": 1200, "seconds_high": 9000})
    assert "at least 20 min 0 s, at most 150 min 0 s" in " ".join(prediction_lines(ranged, 200))
    open_ = ranged.model_copy(update={"seconds_high": None})
    assert "no bound is known" in " ".join(prediction_lines(open_, 200))
    forbidden = TOLD.model_copy(update={"seconds_for_target": None})
    assert "no measuring time gives" in " ".join(prediction_lines(forbidden, 200))


def test_the_page_says_every_cell_in_words_and_marks_it_without_colour() -> None:
    result = build()
    html = page.render(result)
    assert html.count('class="cell" tabindex="0"') == 279
    assert html.count("<title>") >= 280
    for cell in result.cells[:20]:
        assert said(cell).replace("'", "&#39;") in html
    smoothed = sum(c.given is Given.SMOOTHED for c in result.cells)
    assert len(re.findall(r'fill="url\(#heat-\d-0-hatch\)"', html)) == smoothed
    assert html.count('class="square heat-') >= 279 and " kink" in html and " moved" in html
    assert "every I/O failed: EIO" in html
    assert share(result.cells[3]) == math.inf


def test_nothing_from_outside_gets_into_the_page() -> None:
    html = page.render(build(where=NASTY))
    assert html.count("<script") == 1 and "<script>alert" not in html and "&lt;script&gt;alert" in html


def test_the_markdown_has_every_cell_with_its_interval_and_its_sign() -> None:
    made = matrix_markdown(build())
    rows = [line for line in made.splitlines() if line.startswith("| ")]
    # Five patterns of a head, a rule and seven depths.
    assert len(rows) == 5 * 9 and all(row.count("|") == 10 for row in rows)
    assert made.count("±1.2 %") >= 279 and made.count("\\~ ") >= 180
    assert "%^" in made and "%?" in made and "–" in made and "every I/O failed: EIO" in made
    assert "node-7 · 2026-03-14 09:26 UTC · strata measure file:/mnt/new.dat --matrix full" in made
    assert "- one remark" in made and "would take about" in made


def test_nothing_from_outside_gets_into_the_markdown() -> None:
    made = matrix_markdown(build(where=NASTY + " | *x*"))
    assert made.count("<script") == made.count("\\<script") and "\\| \\*x\\*" in made


def test_a_matrix_with_one_row_has_its_page_and_its_text() -> None:
    result = build(text="bs=4k,8k;rw=randread,randwrite")
    assert "heat-1" in page.render(result) and "depth" in matrix_text(result, 80)


def test_the_page_says_when_where_on_what_and_how_to_repeat_it() -> None:
    html = page.render(build())
    for part in (
        "2026-03-14 09:26 UTC",
        "node-7",
        "/dev/sda",
        "strata measure file:/mnt/new.dat --matrix full",
        "release",
    ):
        assert part in html


def test_there_is_a_map_of_each_quantity_and_a_hidden_p99_says_what_it_needs() -> None:
    html = page.render(build())
    for quantity in ("IOPS", "MiB/s", "mean", "p99"):
        assert html.count(f"random read: {quantity} by depth and size</title>") == 1
    for percentile in ("50", "90", "95"):
        assert html.count(f"random read: p{percentile} by depth and size</title>") == 1
    # No cell has so many I/Os.
    assert "p99.9 by depth" not in html and "p99.99 by depth" not in html
    assert "mean 100 µs, p50 90.0 µs, p90 150 µs, p95 200 µs" in html.replace("\u202f", " ").replace("\xa0", " ")
    assert html.count("empty cells: p99 needs 10\u202f000 I/Os") == 5
    assert "4 KiB, depth 2: 1.326k MiB/s" in html


def luminance(colour: str) -> float:
    """WCAG 2.1."""
    parts = [int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)]
    red, green, blue = (v / 12.92 if v <= 0.04045 else ((v + 0.055) / 1.055) ** 2.4 for v in parts)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def contrast(one: str, other: str) -> float:
    low, high = sorted((luminance(one), luminance(other)))
    return (high + 0.05) / (low + 0.05)


TEMPLATES = Path(heatmap.__file__).parents[1] / "templates"


@pytest.mark.parametrize("shade", range(heatmap.STEPS))
def test_every_figure_can_be_read_on_its_square(shade: int) -> None:
    """The squares and their figures have one colour in light and in dark."""
    css = (TEMPLATES / "matrix.css").read_text(encoding="utf-8")
    square = re.search(rf"\.heat-{shade} {{ fill: (#\w{{6}})", css)
    figure = re.search(rf"\.chart \.{heatmap.ink(shade)} {{ fill: (#\w{{6}})", css)
    assert square is not None and figure is not None
    assert contrast(square[1], figure[1]) >= 4.5


@pytest.mark.parametrize("scheme", [0, 1])
@pytest.mark.parametrize("paper", ["paper", "sheet", "warn-paper"])
@pytest.mark.parametrize("ink", ["ink", "soft", "focus"])
def test_every_text_can_be_read_on_every_paper_in_light_and_dark(scheme: int, paper: str, ink: str) -> None:
    css = (TEMPLATES / "style.css").read_text(encoding="utf-8")
    colours = [re.findall(rf"--{name}: (#\w{{6}})", css)[scheme] for name in (paper, ink)]
    assert contrast(*colours) >= 4.5


@pytest.mark.ci
@pytest.mark.browser
def test_a_browser_shows_it_narrow_and_wide(tmp_path: Path) -> None:
    from playwright.sync_api import sync_playwright

    file = tmp_path / "matrix.html"
    file.write_text(page.render(build()), encoding="utf-8")
    with sync_playwright() as p:
        browser = p.chromium.launch(executable_path="/usr/bin/chromium-headless-shell", args=["--no-sandbox"])
        for width in (400, 1280):
            one = browser.new_page(viewport={"width": width, "height": 900})
            said_: list[str] = []
            one.on("console", lambda message, said_=said_: said_.append(message.text))
            one.goto(file.as_uri())
            assert one.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth") <= 0
            assert one.locator("g.cell").count() == 279 and said_ == []
        browser.close()


def test_grid_counts_its_cells() -> None:
    assert Grid(name="x", depths=(1, 2), sizes=(4096,), patterns=("a", "b", "c")).cells == 6
