"""The HTML page: one file, nothing loaded, nothing injected, everything the report has."""

from __future__ import annotations

import base64
import hashlib
import re
from html.parser import HTMLParser
from itertools import pairwise
from pathlib import Path

import pytest
from sample_report import build, estimate
from tiers import rest_in_ci

from strata.model.analysis import Check, Equivalence, NoiseFloor
from strata.model.run import Report, RunStatus
from strata.report import answer
from strata.report.html import page as html
from strata.report.html.charts import svg
from strata.report.html.charts.percentiles import percentiles, split
from strata.report.html.charts.prediction import prediction
from strata.report.html.charts.svg import element
from strata.report.html.charts.waterfall import Bar, room_for, waterfall
from strata.report.html.frame import heat, text_of
from strata.report.html.page import bars

NASTY = '<script>alert("x")</script><img src=http://evil.example/a>'
LOADING = {"src", "href", "srcset", "poster", "data", "action", "formaction", "background", "xlink:href", "cite"}
VOID = {"meta", "link", "br", "img", "hr", "input"}
CHROMIUM = Path("/usr/bin/chromium-headless-shell")


class Page(HTMLParser):
    """Tags and attributes as a browser would read them; remembers what is not closed."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.open: list[str] = []
        self.crossed: list[str] = []
        self.styles: list[str] = []
        self.feed(text)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))

    def handle_endtag(self, tag: str) -> None:
        if not self.open or self.open.pop() != tag:
            self.crossed.append(tag)

    def handle_data(self, data: str) -> None:
        if self.open and self.open[-1] == "style":
            self.styles.append(data)


def with_analysis(report: Report, **changes: object) -> Report:
    return report.model_copy(update={"analysis": report.analysis.model_copy(update=changes)})


@pytest.mark.parametrize("share", ["share", NASTY])
def test_nothing_is_loaded_from_anywhere(share: str) -> None:
    page = Page(html.render(build(share=share)))
    for tag, attributes in page.tags:
        assert tag not in {"link", "iframe", "img", "object", "embed", "base", "audio", "video", "source"}, tag
        for name in LOADING & set(attributes):
            assert (attributes[name] or "").startswith("#"), (tag, name, attributes[name])
    style = "".join(page.styles) + "".join(a.get("style") or "" for _, a in page.tags)
    assert "url(" not in style
    assert "@import" not in style


def test_the_page_is_well_formed_and_every_name_is_unique() -> None:
    page = Page(html.render(build()))
    assert page.crossed == []
    assert page.open == []
    names = [a["id"] for _, a in page.tags if "id" in a]
    assert len(names) == len(set(names))
    for _, attributes in page.tags:
        for named in (attributes.get("aria-labelledby") or "").split():
            assert named in names


def test_names_from_outside_stay_text() -> None:
    text = html.render(build(share=NASTY))
    assert "<script>alert" not in text
    assert "&lt;script&gt;alert" in text
    assert [tag for tag, _ in Page(text).tags].count("script") == 1


def test_every_picture_has_a_name_and_a_description() -> None:
    text = html.render(build())
    pictures = re.findall(r"<svg viewBox[^>]*class=\"chart\".*?</svg>", text, re.S)
    assert len(pictures) == 8 * 3 + 2
    for picture in pictures:
        assert re.search(r"<title id=\"[^\"]+\">[^<]+</title><desc id=\"[^\"]+\">[^<]+</desc>", picture)


def test_the_verdict_stands_before_everything_else() -> None:
    text = html.render(build())
    order = [
        "the wire carries no more than 110 MiB/s",
        "Do first",
        "Confirmed by experiment",
        "Layer comparison",
        "Latency percentiles",
    ]
    order += [
        "Where the time of a request",
        "IOPS over time",
        "<h3>Counters</h3>",
        "System under test",
        "Reliability of the figures",
    ]
    order += ["Reproduce", "f688f5c"]
    body = text[text.index("<main>") :]
    places = [body.index(part) for part in order]
    assert places == sorted(places)


def test_a_clean_report_has_no_banner_and_each_trouble_has_its_own() -> None:
    assert 'class="banner"' not in html.render(with_analysis(build(), checks=()))
    report = build(profile="debug", status=RunStatus.STOPPED)
    bad = Check(kind="little", layer="share", workload_key=None, impossible=True, message="N is 8, X·R is 31")
    noise = NoiseFloor(between_rounds=0.21, within_bins=0.3, tolerance=0.4, rounds=5, cells=20)
    text = html.render(with_analysis(report, checks=(*report.analysis.checks, bad), noise=noise))
    for heading in ("Debug build", "Unfinished", "Cannot be true", "Noisy machine", "Unsteady"):
        assert f"<strong>{heading}.</strong>" in text
    assert text.index("Debug build") < text.index('id="verdict"')


def test_one_round_is_not_called_a_noisy_machine() -> None:
    """The line above it says that the noise is unknown."""
    noise = NoiseFloor(between_rounds=0.31, within_bins=0.3, tolerance=0.4, rounds=1, cells=1)
    text = html.render(with_analysis(build(), noise=noise))
    assert "noise floor unknown" in text and "Noisy machine" not in text


def test_a_report_without_results_is_still_a_page() -> None:
    report = with_analysis(
        build(status=RunStatus.FAILED), cells=(), comparisons=(), checks=(), generator=None, remotes=()
    )
    report = report.model_copy(
        update={"run": report.run.model_copy(update={"survey": None, "data": None}), "results": (), "repeat": ()}
    )
    page = Page(html.render(report))
    assert page.crossed == []
    assert "figure" not in {tag for tag, _ in page.tags}


def test_the_waterfall_adds_up_to_the_top_layers_mean() -> None:
    report = build()
    made = bars(report, "read-128KiB-qd8")
    top = report.analysis.summary("share", "read-128KiB-qd8")
    assert top is not None
    assert [b.whole for b in made] == [True, False, False]
    assert made[-1].end == pytest.approx(top.mean_ns.value)
    for lower, upper in pairwise(made):
        assert upper.start == pytest.approx(lower.end)


def test_the_waterfall_starts_at_the_lowest_measured_layer() -> None:
    made = bars(build(), "write-128KiB-qd8")
    assert (made[0].layer, made[0].whole, made[0].start) == ("file system", True, 0.0)


def test_a_percentile_without_samples_beyond_it_is_not_drawn_firm() -> None:
    cell = build().analysis.cells[0].model_copy(update={"ios": 20_000})
    firm, thin = split(cell)
    assert firm[-1][0] == 99.5
    assert [p for p, _ in thin] == [99.5, 99.9, 99.95]
    assert percentiles("x", "label", [(0, cell.model_copy(update={"curve": ()}))]) is None


def test_heat_grows_with_the_distance_from_equality() -> None:
    values = [float(heat(r)) for r in (1.0, 0.9, 0.7, 0.5, 0.3, 0.1, 0.0)]
    assert values == sorted(values)
    assert (values[0], values[-1]) == (0.0, 1.0)


def test_faster_and_unsure_squares_have_their_own_look() -> None:
    report = build()
    one, two, *rest = report.analysis.comparisons
    faster = one.model_copy(update={"verdict": Equivalence.FASTER, "iops": estimate(1.4, 0.01, "ratio")})
    unsure = two.model_copy(update={"verdict": Equivalence.CANNOT_TELL})
    text = html.render(with_analysis(report, comparisons=(faster, unsure, *rest)))
    assert 'class="mark-faster ' in text
    assert 'class="mark-unsure ' in text


@pytest.mark.parametrize(("low", "high"), [(45_000, 550_000), (1, 2), (1.9e6, 18e6), (3e9, 3.1e9)])
def test_log_axes_hold_their_values_and_have_readable_ticks(low: float, high: float) -> None:
    bottom, top = svg.log_range(low, high)
    assert bottom <= low < high <= top
    assert top / bottom >= 10
    assert 2 <= len(svg.log_ticks(bottom, top)) <= 8


@pytest.mark.parametrize("high", [0.3, 1, 7, 88_120, 1.1e6])
def test_linear_ticks_stay_within_the_axis(high: float) -> None:
    ticks = svg.linear_ticks(high)
    assert ticks[0] == 0
    assert ticks[-1] <= high * 1.000001
    assert 3 <= len(ticks) <= 6


def test_svg_escapes_text_and_attributes() -> None:
    assert element("text", "<b>&", class_='a"b') == '<text class="a&#34;b">&lt;b&gt;&amp;</text>'


@pytest.mark.browser
@pytest.mark.parametrize("width", [400, 1280])
@pytest.mark.parametrize("scheme", rest_in_ci(["light", "dark"], every_day=1))
def test_a_browser_asks_the_network_for_nothing_and_the_page_fits(tmp_path: Path, width: int, scheme: str) -> None:
    assert CHROMIUM.exists(), "needs a headless Chromium (Debian: chromium-headless-shell)"
    from playwright.sync_api import sync_playwright

    file = tmp_path / "report.html"
    file.write_text(html.render(build(share=NASTY)), encoding="utf-8")
    asked: list[str] = []
    said: list[str] = []
    with sync_playwright() as p:
        browser = p.chromium.launch(executable_path=str(CHROMIUM), args=["--no-sandbox"])
        page = browser.new_page(viewport={"width": width, "height": 900}, color_scheme=scheme)
        page.route("**/*", lambda route: (asked.append(route.request.url), route.continue_()))
        page.on("dialog", lambda dialog: (said.append(dialog.message), dialog.dismiss()))
        page.on("pageerror", lambda error: said.append(str(error)))
        page.on("console", lambda message: said.append(message.text))
        page.goto(file.as_uri())
        buttons = page.locator(".command button").count()
        overflow = page.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth")
        swatches = page.evaluate(
            "[0,1,2].map(i => getComputedStyle(document.querySelector('.path .layer-' + i)).backgroundColor)"
        )
        browser.close()
    assert asked == [file.as_uri()]
    assert said == []
    assert buttons == 3
    assert overflow <= 0
    assert len(set(swatches)) == 3


def test_rounds_are_counted_from_one() -> None:
    text = html.render(build())
    ticks = re.findall(r'text-anchor="middle">(\d)</text>', text[text.index('id="time-title"') :])
    assert set(ticks) == {"1", "2", "3", "4", "5"}
    assert "round 0:" not in text and "round 5:" in text


def test_a_whisker_does_not_reach_below_nothing_nor_over_the_names() -> None:
    added = estimate(1000.0, 0.1, "ns").model_copy(update={"low": -90_000.0, "high": 92_000.0})
    drawn = waterfall("x", "label", (Bar("a long name of a layer", 0, 5000.0, added, whole=False),))
    assert drawn is not None
    bars_from = room_for(len("a long name of a layer"))
    whiskers = [float(x) for x in re.findall(r'<line x1="([^"]+)"[^>]*class="whisker"', drawn)]
    assert len(whiskers) == 3 and min(whiskers) == pytest.approx(bars_from, abs=0.1)


def test_the_measured_whisker_never_runs_through_the_word_predicted() -> None:
    own = answer.own(build().diagnosis)
    assert own is not None and own.outcome is not None
    wide = own.outcome.measured.model_copy(update={"low": -50.0, "high": own.outcome.measured.value * 1.4})
    drawn = prediction("x", own.outcome.model_copy(update={"measured": wide}))
    whisker = re.search(r'<line x1="([^"]+)" y1="([^"]+)"[^>]*class="whisker"', drawn)
    name = re.search(r'<text x="[^"]+" y="([^"]+)" class="name"', drawn)
    assert whisker is not None and name is not None
    assert float(whisker[1]) >= 10 and float(name[1]) < float(whisker[2]) - 14


def test_a_script_that_came_in_would_not_run() -> None:
    """The policy names the one script by its hash: nothing inline is trusted because it is inline."""
    text = html.render(build(share=NASTY))
    policy = re.search(r'Content-Security-Policy" content="([^"]+)"', text)
    script = re.search(r"<script>(.*?)</script>", text, re.S)
    assert policy is not None and script is not None
    digest = base64.b64encode(hashlib.sha256(script[1].encode()).digest()).decode()
    assert f"script-src &#39;sha256-{digest}&#39;" in policy[1] or f"script-src 'sha256-{digest}'" in policy[1]
    assert "unsafe-inline" not in policy[1].split("script-src")[1].split(";")[0]


def test_names_that_begin_a_formula_stay_names_in_the_figures() -> None:
    made = text_of(["a", "b"], [["=HYPERLINK(1)", -3.5], ["+1", None], ['two "quoted"\nlines', 0]])
    assert made == 'a,b\n\'=HYPERLINK(1),-3.5\n\'+1,\n"two ""quoted""\nlines",0\n'
