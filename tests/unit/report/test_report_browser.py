"""Every page in a real browser: narrow, wide and dark; readable, in sight, alone, and its figures can be saved."""

from __future__ import annotations

import csv
import io
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import test_report_compare
import test_report_history
import test_report_matrix
from browser_view import CONTRAST, OUT_OF_SIGHT, VIEWS, seen
from sample_report import build

from strata.model.run import Report
from strata.report.html import compare, history, matrix
from strata.report.html import page as html

NASTY = '=<script>alert("x")</script>'
pytestmark = pytest.mark.browser


PAGES: dict[str, Callable[[], str]] = {
    "report": lambda: html.render(build(share=NASTY)),
    "compare": lambda: compare.render(test_report_compare.build()),
    "history": lambda: history.render(test_report_history.build([10**18 + i * 10**15 for i in range(7)])),
    "matrix": lambda: matrix.render(test_report_matrix.build(where=NASTY)),
}


@pytest.fixture(scope="module", params=PAGES)
def file(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("page") / f"{request.param}.html"
    path.write_text(PAGES[request.param](), encoding="utf-8")
    return path


@pytest.mark.parametrize(("width", "scheme"), VIEWS)
def test_every_page_fits_reads_and_asks_nobody(chromium: Any, file: Path, width: int, scheme: str) -> None:
    with seen(chromium, file, width, scheme) as view:
        assert view.asked == [file.as_uri()]
        assert view.overflow <= 0
        view.page.evaluate("for (const one of document.querySelectorAll('details')) one.open = true")
        assert view.page.evaluate(CONTRAST) == []
        assert view.overflow <= 0
        assert view.said == []


def test_the_button_saves_the_figures_of_a_file_that_was_opened_without_a_server(chromium: Any, file: Path) -> None:
    with seen(chromium, file, 1280, "light") as view:
        name, text = view.saved()
        assert view.said == [] and view.asked == [file.as_uri()]
    assert name.startswith("strata-") and name.endswith(".csv")
    head, *rows = csv.reader(io.StringIO(text))
    assert rows and all(len(row) <= len(head) for row in rows) and "iops" in " ".join(head)
    # A name is a name in a spreadsheet too.
    assert not any(field.startswith("=") for row in rows for field in row)
    if NASTY in PAGES[file.stem]().replace("&lt;", "<").replace("&gt;", ">").replace("&#34;", '"'):
        assert f"'{NASTY}" in {field for row in rows for field in row}


def test_every_entry_of_the_contents_leads_to_its_section(chromium: Any, file: Path) -> None:
    with seen(chromium, file, 1280, "light") as view:
        links = view.page.evaluate(
            "[...document.querySelectorAll('.contents a')].map(a => [a.textContent, "
            "document.querySelector(a.getAttribute('href'))?.textContent])"
        )
    assert links and all(said == there for said, there in links)


def deep(report: Report) -> Report:
    """Five layers with names as they are found: a table that no telephone is wide enough for."""
    text = report.model_dump_json(by_alias=True)
    return Report.model_validate_json(text.replace('"file system"', '"the file system of the second node"'))


def test_at_400_px_every_mark_is_in_sight(chromium: Any, tmp_path: Path) -> None:
    file = tmp_path / "deep.html"
    file.write_text(html.render(deep(build(share="share as the other node sees it"))), encoding="utf-8")
    with seen(chromium, file, 400, "light") as view:
        assert view.page.locator(".mark").count() >= 12
        assert view.page.evaluate(OUT_OF_SIGHT) == []


def test_both_paths_are_drawn_in_one_direction(chromium: Any, tmp_path: Path) -> None:
    """The medium first in the ladder and in what it ran on; the arrow points to what is read next."""
    file = tmp_path / "paths.html"
    file.write_text(html.render(build()), encoding="utf-8")
    for width, arrow in ((400, '"↓"'), (1280, '"→"')):
        with seen(chromium, file, width, "light") as view:
            found = view.page.evaluate(
                "['.path', '.chain'].map(name => [...document.querySelectorAll(name + ' > li')].map(li => "
                "[li.textContent, getComputedStyle(li, '::after').content, li.getBoundingClientRect().top, "
                "li.getBoundingClientRect().left]))"
            )
        ladder, ran_on = found
        assert ladder[0][0].startswith("disk") and ladder[-1][0].startswith("share")
        assert "the medium" in ran_on[0][0] and "file system" in ran_on[-1][0]
        for path in found:
            assert {one[1] for one in path[:-1]} == {arrow}
            places = [one[2] if width == 400 else one[3] for one in path]
            assert places == sorted(places)


def test_a_script_that_got_into_a_page_is_not_run(chromium: Any, file: Path, tmp_path: Path) -> None:
    """The second lock: were a name written unescaped one day, the policy still knows the one script that may run."""
    taken = "<script>document.title = 'taken'</script><img src=x onerror=\"document.title = 'taken'\">"
    page = tmp_path / file.name
    page.write_text(file.read_text(encoding="utf-8").replace("<main>", f"<main>{taken}"), encoding="utf-8")
    with seen(chromium, page, 1280, "light") as view:
        assert view.page.title() != "taken"
        assert sum("Content Security Policy" in one for one in view.said) >= 2
        # The page's own one runs all the same.
        assert view.saved()[1]
