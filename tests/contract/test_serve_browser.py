"""``strata serve`` in a real browser: every page reads at every width, by keyboard and on paper."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterator
from datetime import datetime, timedelta
from html import unescape
from pathlib import Path
from typing import Any

import pytest
from browser_view import CONTRAST
from filling import fill as fill_in_bulk
from pages_opened import opened
from serving import (
    FIRST,
    NASTY,
    SECOND,
    STOPPED,
    WATCHED,
    Served,
    fill,
    keep_slices,
    measured_kinds,
    measuring,
    report,
    served,
    until,
)
from tiers import rest_in_ci

from strata.store import open_store

pytestmark = pytest.mark.browser

THIRD = "20260301-130000-dddd"
HOSTS = [f"run-{n:06}" for n in range(7)]
"""Runs of a host each; one is slower than its peers."""

PAGES = {
    "runs": "/runs",
    "report": f"/runs/{FIRST}",
    "unfinished": f"/runs/{STOPPED}",
    "edit": f"/runs/{SECOND}/edit",
    "compare": f"/compare?run={FIRST}&run={SECOND}",
    "several": f"/compare?run={FIRST}&run={SECOND}&run={THIRD}",
    "fleet": "/fleet?" + "&".join(f"run={run}" for run in HOSTS),
    "cells": "/history",
    "history": "/history?cell=disk/*",
    "baselines": "/baselines",
    "gate": f"/gate?baseline=main&run={SECOND}",
    "refused": "/runs/nothing",
    "live": "/runs/now-1",
    "watch form": "/watch",
    "watch": f"/watch?path={WATCHED}",
    "look back": f"/watch?path={WATCHED}&around={{around}}",
    "matrix": "/runs/{matrix}",
    "sweep": "/runs/{sweep}",
    "what if": "/runs/{sweep}?if.limit=2&if.delay=0.5",
}
NEAREST = ("runs", "report", "edit", "history", "watch", "what if")
"""Each kind of thing that a page can have is on one of these."""
ALL_VIEWS = [
    (400, "light"),
    (400, "dark"),
    (1000, "light"),
    (1440, "light"),
    (1440, "dark"),
    (2560, "light"),
    (2560, "dark"),
]
VIEWS = ALL_VIEWS if os.environ.get("STRATA_SUITE") == "whole" else ALL_VIEWS[::2]
"""Each width once, two light and two dark; CI has all (`tests/conftest.py`)."""

FOCUSED = """(() => { const at = document.activeElement, square = at.querySelector(':scope > .square');
    const seen = getComputedStyle(at).outlineStyle !== 'none' ? 'outline'
        : square && getComputedStyle(square).strokeWidth === '4px' ? 'border' : 'none';
    return [at.outerHTML, seen]; })()"""
"""What the keyboard stands on, and how that is seen: a square of a map by its border."""


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    state = tmp_path_factory.mktemp("served") / "s"
    runs = measured_kinds(state, tmp_path_factory)
    fill(state, baseline=True)
    keep_slices(state)
    with open_store(str(state / "strata.db")) as store:
        one = report(THIRD, 4)
        store.keep_whole([(one.run, one.results, (one.analysis, one.diagnosis))])
    with measuring(state), served(state, "--control") as one:
        minutes_ago = datetime.now().astimezone() - timedelta(minutes=2)
        one.runs.update(runs | {"around": f"{minutes_ago:%Y-%m-%dT%H:%M:%S}"})
        yield one


@pytest.fixture(scope="module")
def fleet(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """A store of hosts, which are one another's peers."""
    state = tmp_path_factory.mktemp("fleet")
    with open_store(str(state / "strata.db")) as store:
        fill_in_bulk(store, len(HOSTS))
        with store._engine.begin() as sql:
            sql.exec_driver_sql(
                "UPDATE figures SET mean_ns = mean_ns * 3, iops = iops / 3 WHERE run_id = ?", (HOSTS[3],)
            )
    with served(state) as one:
        yield one


def viewed(page: Any) -> Iterator[tuple[int, str]]:
    """The page in each view, one after the other: no script of ours asks for a width or a scheme, only the style."""
    for width, scheme in VIEWS:
        page.set_viewport_size({"width": width, "height": 900})
        page.emulate_media(color_scheme=scheme)
        assert page.evaluate("[innerWidth, matchMedia('(prefers-color-scheme: dark)').matches]") == [
            width, scheme == "dark",
        ]  # fmt: skip
        yield width, scheme


@pytest.mark.parametrize("name", rest_in_ci(PAGES, list(PAGES)[::3]))
def test_every_page_fits_reads_and_asks_nobody_else(chromium: Any, server: Served, fleet: Served, name: str) -> None:
    server = fleet if name == "fleet" else server
    with opened(chromium, server, PAGES[name]) as page:
        assert page.status == (404 if name == "refused" else 200)
        page.evaluate("for (const one of document.querySelectorAll('details')) one.open = true")
        wide = "document.documentElement.scrollWidth - document.documentElement.clientWidth"
        for view in viewed(page):
            assert page.evaluate(wide) <= 0, view
            assert page.evaluate(CONTRAST) == [], view
        # An error has the code of an error, which a browser says; the page itself says nothing.
        assert [s for s in page.said if "Failed to load resource" not in s] == []
        assert {re.sub(r"(\w+://[^/]+).*", r"\1", url) for url in page.asked} == {server.base}
        assert "alert" not in page.evaluate("[...document.scripts].map(s => s.textContent).join('')")


@pytest.mark.parametrize("name", PAGES)
def test_every_page_links_what_it_shows_as_json(server: Served, fleet: Served, name: str) -> None:
    server = fleet if name == "fleet" else server
    shown = server.ask(PAGES[name].format(**server.runs))
    found = re.search(r'href="([^"]*)">JSON</a>', shown.body)
    assert found
    twin = server.ask(unescape(found.group(1)))
    # A run that was stopped has a page of its own, and as JSON no report.
    assert (
        twin.status == (409 if name == "unfinished" else shown.status)
        and twin.headers["content-type"] == "application/json"
    )
    assert json.loads(twin.body)


TABLES = [
    "runs",
    "compare",
    "several",
    "fleet",
    "cells",
    "history",
    "baselines",
    "gate",
    "watch form",
    "watch",
    "look back",
]


@pytest.mark.parametrize("name", TABLES)
def test_on_a_telephone_every_row_is_in_sight(chromium: Any, server: Served, fleet: Served, name: str) -> None:
    """What a row is of and what is said of it: nothing of it has to be pushed aside, or is cut."""
    with opened(chromium, fleet if name == "fleet" else server, PAGES[name], 400) as page:
        told = (
            "[...document.querySelectorAll('.ladder tbody > tr > *, .stacked tbody > tr > *, .brief tbody > tr > *')]"
        )
        assert page.evaluate(f"{told}.length") > 2
        cut = f"{told}.filter(e => e.getBoundingClientRect().right > innerWidth || e.scrollWidth > e.clientWidth + 1)"
        assert page.evaluate(f"{cut}.map(e => e.textContent)") == []


@pytest.mark.parametrize("runs", [2, 4, 7])
def test_every_column_of_a_comparison_is_in_sight(chromium: Any, fleet: Served, runs: int) -> None:
    """On a window of a laptop, with figures and reasons as long as they become."""
    path = "/compare?" + "&".join(f"run={run}" for run in HOSTS[:runs])
    with opened(chromium, fleet, path, 1280) as page:
        assert page.locator(".compared thead th").count() == (4 if runs == 2 else runs)
        cells = "[...document.querySelectorAll('.compared tr > *')]"
        cut = f"{cells}.filter(e => e.getBoundingClientRect().right > innerWidth)"
        assert page.evaluate(f"{cut}.map(e => e.textContent)") == []


@pytest.mark.parametrize("name", ["report", "matrix"])
def test_a_wide_window_has_more_beside_each_other_and_no_longer_lines(chromium: Any, server: Served, name: str) -> None:
    with opened(chromium, server, PAGES[name], 2560) as page:
        assert page.evaluate("document.body.getBoundingClientRect().width") > 0.8 * 2560
        first = "document.querySelector('.panels, .maps')"
        columns = f"new Set([...{first}.children].map(e => e.getBoundingClientRect().left)).size"
        assert page.evaluate(columns) >= 4
        line = "Math.max(...[...document.querySelectorAll('main p:not(.legend)')].map(e => e.offsetWidth))"
        assert page.evaluate(line) <= 78 * 16


@pytest.mark.parametrize("name", ["live", "watch", "look back"])
def test_a_wide_window_shows_the_course_beside_the_verdict(chromium: Any, server: Served, name: str) -> None:
    """What is looked at from across a room stands in one window, and the three charts in one row also on a laptop."""
    place = "document.querySelector('{}').getBoundingClientRect()"
    rows = "new Set([...document.querySelectorAll('#charts figure')].map(e => e.getBoundingClientRect().top)).size"
    letters = """Math.min(...[...document.querySelectorAll('#charts svg text')].map(e =>
        parseFloat(getComputedStyle(e).fontSize) * e.ownerSVGElement.getBoundingClientRect().width /
        e.ownerSVGElement.viewBox.baseVal.width))"""
    for width in (1000, 1440, 2560):
        with opened(chromium, server, PAGES[name], width) as page:
            page.wait_for_selector("#charts svg.chart")
            assert page.evaluate(rows) == 1 and page.evaluate(letters) > 10
            beside = page.evaluate(f"{place.format('#charts')}.left >= {place.format('#now')}.right")
            assert beside == (width == 2560)


@pytest.mark.parametrize("width", [400, 1000, 1280, 1440])
def test_a_history_has_its_runs_in_sight_and_a_chart_that_can_be_read(
    chromium: Any, server: Served, width: int
) -> None:
    with opened(chromium, server, PAGES["history"], width) as page:
        pushed = "[...document.querySelectorAll('.scroll')].filter(e => e.scrollWidth > e.clientWidth + 1)"
        assert page.evaluate(f"{pushed}.map(e => e.ariaLabel)") == []
        size = """() => { const svg = document.querySelector('.course svg');
            return parseFloat(getComputedStyle(svg.querySelector('text')).fontSize)
                * svg.getBoundingClientRect().width / svg.viewBox.baseVal.width }"""
        assert 10 < page.evaluate(size) < 18


def test_a_wide_window_leaves_a_list_in_its_middle(chromium: Any, server: Served) -> None:
    with opened(chromium, server, "/runs", 2560) as page:
        left, right = page.evaluate("(() => { const at = document.querySelector('.runs').getBoundingClientRect();"
                                    "return [at.left, innerWidth - at.right]; })()")  # fmt: skip
        assert abs(left - right) < 40 and left > 500


def test_a_curve_on_a_telephone_can_be_read(chromium: Any, server: Served) -> None:
    with opened(chromium, server, PAGES["sweep"], 400) as page:
        size = """() => { const svg = document.querySelector('.sweep svg');
            const scale = svg.getBoundingClientRect().width / svg.viewBox.baseVal.width;
            return parseFloat(getComputedStyle(svg.querySelector('text')).fontSize) * scale }"""
        assert page.evaluate(size) > 10


def test_the_map_has_a_box_for_each_layer_and_the_newest_rate_on_its_arrow(chromium: Any, server: Served) -> None:
    """Beside each other in their size, whatever the width; what is written stays within the picture."""
    with opened(chromium, server, PAGES["live"]) as page:
        page.wait_for_selector("#charts svg.chart")
        outside = """() => { const box = document.querySelector('.map svg').getBoundingClientRect();
            return [...document.querySelectorAll('.map text')].filter(t => {
              const at = t.getBoundingClientRect(); return at.right > box.right + 1 || at.left < box.left - 1; })
              .map(t => t.textContent); }"""
        size = "parseFloat(getComputedStyle(document.querySelector('.map text')).fontSize)"
        scale = "document.querySelector('.map svg').getBoundingClientRect().width / " \
                "document.querySelector('.map svg').viewBox.baseVal.width"  # fmt: skip
        for view in viewed(page):
            assert page.locator(".map .station").count() == 2 and page.locator(".map .head").count() == 2, view
            assert page.locator(".map text", has_text=NASTY).count() >= 1, view
            assert page.evaluate(outside) == [], view
            assert page.evaluate(f"{size} * {scale}") >= 11, view
        rates = "[...document.querySelectorAll('.map text')].map(t => t.textContent).filter(t => /IOPS/.test(t)).join()"
        before = page.evaluate(rates)
        until("another rate", 30, lambda: page.evaluate(rates) != before)
        page.locator(".map").focus()
        assert page.evaluate("document.activeElement.classList.contains('map')")


@pytest.mark.parametrize("name", rest_in_ci(PAGES, NEAREST))
def test_axe_finds_no_serious_fault(chromium: Any, server: Served, fleet: Served, name: str) -> None:
    """In an isolated world of the debugger: the content policy holds for the page, not for who examines it.

    A page in the dark has other colours and nothing else that is other: the rule about colours looks at it.
    """
    import axe_playwright_python

    script = (Path(axe_playwright_python.__file__).parent / "axe.min.js").read_text(encoding="utf-8")
    with opened(chromium, fleet if name == "fleet" else server, PAGES[name], 1280) as page:
        page.evaluate(script)
        for scheme, rules, least in (("light", "", 6), ("dark", "runOnly: ['color-contrast'], ", 1)):
            page.emulate_media(color_scheme=scheme)
            found = page.evaluate(f"axe.run(document, {{{rules}resultTypes: ['violations']}})")
            bad = [(v["id"], v["nodes"][0]["html"][:200]) for v in found["violations"] if v["impact"] in
                   ("serious", "critical")]  # fmt: skip
            assert bad == [], scheme
            assert len(found["passes"]) >= least, scheme


def test_a_page_is_walked_through_by_the_keyboard(chromium: Any, server: Served) -> None:
    """From the address line: the first stop leads elsewhere, every stop can be seen, marks and buttons are reached."""
    with opened(chromium, server, "/runs") as page:
        stops = []
        for _ in range(40):
            page.keyboard.press("Tab")
            stops.append(page.evaluate("document.activeElement.outerHTML.slice(0, 60)"))
            seen = page.evaluate("getComputedStyle(document.activeElement).outlineStyle")
            assert seen != "none" or "<body" in stops[-1], stops[-1]
        assert any('name="run"' in s for s in stops) and any("<button" in s for s in stops)
        page.locator("input[name=run]").nth(1).focus()
        page.keyboard.press("Space")
        page.locator("input[name=run]").nth(2).focus()
        page.keyboard.press("Space")
        page.keyboard.press("Enter")
        page.wait_for_url("**/compare?*run=*&run=*")


@pytest.mark.parametrize("name", rest_in_ci(PAGES, NEAREST))
def test_the_keyboard_reaches_the_end_of_every_page(chromium: Any, server: Served, fleet: Served, name: str) -> None:
    """Each link, field and table that is pushed aside in its turn; where one stands can be seen."""
    with opened(chromium, fleet if name == "fleet" else server, PAGES[name]) as page:
        every = "[...document.querySelectorAll('main :is(a[href], button, input, summary)')]"
        page.evaluate(f"window.last = {every}.filter(e => e.checkVisibility()).at(-1)?.outerHTML")
        stops = []
        for _ in range(400):
            page.keyboard.press("Tab")
            here, outline = page.evaluate(FOCUSED)
            if here.startswith("<body"):
                break
            stops.append(here)
            assert outline != "none", here[:200]
        last = page.evaluate("window.last")
        assert len(stops) > 3 and (last is None or last in stops)


def test_a_slider_is_moved_by_the_keyboard_and_answers(chromium: Any, server: Served) -> None:
    """What if: the value beside it follows, and the prediction comes with the page that the button asks for."""
    with opened(chromium, server, PAGES["sweep"]) as page:
        page.locator("input[type=range]").first.focus()
        for _ in range(4):
            page.keyboard.press("ArrowRight")
        assert page.locator("output").first.inner_text() == "2×"
        page.keyboard.press("Enter")
        page.wait_for_url("**if.limit=2**")
        assert "limit=2x" in page.inner_text("main")
        assert page.said == []


def test_a_run_is_named_and_deleted_in_the_browser(chromium: Any, tmp_path: Path) -> None:
    """From the list to the form and back, by links and buttons alone."""
    fill(tmp_path / "s")
    with served(tmp_path / "s", "--control") as server, opened(chromium, server, "/runs") as page:
        page.get_by_label(f"Name or delete {FIRST}").click()
        page.get_by_label("Name", exact=True).fill("the quiet one")
        page.get_by_role("button", name="Save").click()
        page.wait_for_url(f"**/runs/{FIRST}")
        page.goto(f"{server.base}/runs?name=quiet")
        assert page.locator("tbody tr").count() == 1
        page.get_by_role("link", name="the quiet one").click()
        page.get_by_role("link", name="Name or delete").click()
        page.get_by_role("button", name="Delete").click()
        page.wait_for_url("**/runs")
        assert FIRST not in page.inner_text("main") and SECOND in page.inner_text("main")
        assert page.said == []


def test_a_refused_form_says_why_and_leads_back(chromium: Any, server: Served) -> None:
    """A run of a baseline is not deleted; nothing on the page leads nowhere."""
    with opened(chromium, server, f"/runs/{FIRST}/edit", 400) as page:
        page.get_by_role("button", name="Delete").click()
        page.wait_for_url("**/delete")
        assert "is in baseline main" in page.inner_text("main")
        assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
        assert page.evaluate(CONTRAST) == []
        for link in page.evaluate("[...document.links].map(e => e.getAttribute('href'))"):
            assert server.ask(link).status == 200, link
        page.get_by_role("link", name="Back to the form").click()
        page.wait_for_url(f"**/runs/{FIRST}/edit")


A4 = {"width": "210mm", "height": "297mm"}
PAPER = (794, 1123)
"""The same in CSS pixels."""


@pytest.mark.parametrize("name", rest_in_ci(PAGES, NEAREST))
def test_paper_is_filled_with_what_is_not_for_the_screen(
    chromium: Any, server: Served, fleet: Served, name: str
) -> None:
    """White, although the screen is dark. A page ends where the next figure or row has no room, not where the next
    section has none."""
    with opened(chromium, fleet if name == "fleet" else server, PAGES[name], PAPER[0], "dark") as page:
        page.emulate_media(media="print")
        page.set_viewport_size({"width": PAPER[0], "height": PAPER[1]})
        hidden = "[...document.querySelectorAll('.site, .filter, button')].every(e => !e.checkVisibility())"
        assert page.evaluate(hidden)
        assert page.evaluate("getComputedStyle(document.documentElement).backgroundColor") == "rgb(255, 255, 255)"
        assert page.evaluate(CONTRAST) == []
        assert page.evaluate("document.documentElement.scrollWidth") <= PAPER[0]
        beside = "[...document.querySelectorAll('td, th, p, li, svg')].filter(e => e.getBoundingClientRect().right > "
        assert page.evaluate(f"{beside} innerWidth).map(e => e.textContent)") == []
        high = page.evaluate("document.body.scrollHeight") / PAPER[1]
        printed = page.pdf(**A4)
        sheets = len(re.findall(rb"/Type\s*/Page\b", printed))
        assert printed[:5] == b"%PDF-" and 1 <= sheets <= 1.35 * high + 1, (sheets, high)
