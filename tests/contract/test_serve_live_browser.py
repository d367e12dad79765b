"""``strata serve`` in a real browser while something changes: who has no token, a run that goes on before the reader's
eyes, a watching that does, and a server that was gone."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from browser_view import CONTRAST
from pages_opened import opened
from serving import FIRST, NASTY, SECOND, SOURCE, STOPPED, WATCHED, Served, fill, keep_slices, measuring, served, until
from tiers import rest_in_ci

pytestmark = pytest.mark.browser

TICK_MS = 50.0
WATCHED_FOR_UPDATES = f"""() => {{
    const now = () => performance.timeOrigin + performance.now();
    window.seen = []; window.ticks = [now()];
    new MutationObserver(() => window.seen.push(now())).observe(document.getElementById('now'), {{ childList: true }});
    setInterval(() => window.ticks.push(now()), {TICK_MS}); }}"""
"""Each change that the page makes, with its time, and how late the page's own timers are."""
STEP = "Number(document.querySelector('#now .confidence').textContent.match(/step (\\d+)|$/)[1])"
"""Which step the page shows; NaN before the first."""


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    state = tmp_path_factory.mktemp("served") / "s"
    fill(state)
    with measuring(state), served(state) as one:
        yield one


Waits = list[tuple[float, float]]
"""(Unix ms, ms for which some processes had waited for a CPU until then)."""


@contextmanager
def waits_for_a_cpu(*pids: int) -> Iterator[Waits]:
    """Of all threads of these processes, by the kernel's own account, each `TICK_MS`."""

    known: dict[Path, float] = {}

    def more() -> float:
        """Since the last look, of those that are there: threads come and go."""
        told = 0.0
        for one in (one for pid in pids for one in Path("/proc", str(pid), "task").glob("*/schedstat")):
            with suppress(OSError):
                now = int(one.read_text().split()[1]) / 1e6
                told += now - known.get(one, 0.0)
                known[one] = now
        return told

    more()
    found, over = [(time.time() * 1000, 0.0)], threading.Event()

    def look() -> None:
        while not over.wait(TICK_MS / 1000):
            found.append((time.time() * 1000, found[-1][1] + more()))

    thread = threading.Thread(target=look)
    thread.start()
    try:
        yield found
    finally:
        over.set()
        thread.join()


def waited(found: Waits, begin: float, end: float) -> float:
    """Between both times, and a look before and after."""
    before = max((total for at, total in found if at <= begin), default=found[0][1])
    return min((total for at, total in found if at >= end), default=found[-1][1]) - before


def lateness(ticks: list[float], begin: float, end: float) -> float:
    """How much later than due the ticks between both were, together."""
    return sum(max(0.0, b - a - TICK_MS) for a, b in pairwise(ticks) if begin < b and a < end)


@pytest.mark.parametrize("width", rest_in_ci([400, 1440], every_day=1))
@pytest.mark.parametrize("asked", ["/runs", "/?token=wrong", f"/runs/{FIRST}", "/watch"])
def test_without_the_token_a_page_says_why_and_what_next_and_nothing_of_the_store(
    chromium: Any, server: Served, asked: str, width: int
) -> None:
    context = chromium.new_context(viewport={"width": width, "height": 900})
    page = context.new_page()
    loaded: list[str] = []
    said: list[str] = []
    page.on("request", lambda request: loaded.append(request.url))
    page.on("console", lambda message: said.append(message.text))
    answer = page.goto(server.base + asked)
    assert (answer.status, answer.headers["www-authenticate"]) == (401, "Bearer")
    text = page.inner_text("main")
    why = "the token is not the one of this server" if "token" in asked else "the request has no token"
    for words in ("without its token", f"Why: {why}.", "Next: open the address that strata serve printed"):
        assert words in text
    whole = page.content()
    assert not any(word in whole for word in (FIRST, SECOND, STOPPED, NASTY, "disk", server.token))
    assert loaded == [server.base + asked] and page.evaluate("document.links.length") == 0
    assert [s for s in said if "Failed to load resource" not in s] == []
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    for scheme in ("light", "dark"):
        page.emulate_media(color_scheme=scheme)
        assert page.evaluate(CONTRAST) == []
    # The address that was printed opens the same browser the page.
    page.goto(server.url)
    assert page.goto(server.base + "/runs").status == 200
    context.close()


def test_a_program_without_the_token_is_told_in_a_line(server: Served) -> None:
    answer = server.ask("/runs.json", Authorization=None, Accept="application/json")
    assert answer.status == 401 and answer.body.startswith("error: the request has no token\nhint: open the address")
    other = server.ask("/runs.json", Authorization="Bearer x")
    assert other.status == 401 and other.body.startswith("error: the token is not the one of this server\n")


@pytest.mark.ci
def test_each_update_of_a_run_comes_within_a_second_and_causes_fall(chromium: Any, tmp_path: Path) -> None:
    """Every one, not the median. For how long the server, the run and the page waited for a CPU that others had is
    taken off: the kernel counts it for the processes, timers that do nothing show it of the page."""
    state = tmp_path / "s"
    fill(state)
    with (
        measuring(state) as run,
        served(state) as server,
        opened(chromium, server, "/runs/now-1") as page,
        waits_for_a_cpu(run.pid, server.pid) as waits,
    ):
        page.wait_for_selector("#standing li")
        page.evaluate(WATCHED_FOR_UPDATES)
        before = page.evaluate(STEP)
        page.wait_for_timeout(8000)
        # The time since the last one counts too.
        times, ticks = page.evaluate("[[...window.seen, performance.timeOrigin + performance.now()], window.ticks]")
        gaps = [(b - a, lateness(ticks, a, b) + waited(waits, a, b)) for a, b in pairwise(times)]
        told = [f"{gap:.0f} ms, {off:.0f} of them the machine's" for gap, off in gaps]
        print(*told, sep="\n")
        assert page.evaluate(STEP) > before and len(gaps) > 3, told
        assert all(gap - off < 1000 for gap, off in gaps), told
        assert page.locator("#charts svg.chart").count() == 3
        text = page.evaluate("document.querySelector('#live').innerText")
        for word in ("goal ±2.0 %", "±5.0 %", "s left", "twice the depth", "refuted", "undecided", NASTY, "depth 3"):
            assert word in text, word
        # Eight hours are four times ten thousand such updates: what one leaves behind would be seen after a few.
        count = page.evaluate("document.getElementsByTagName('*').length")
        page.wait_for_timeout(2000)
        assert page.evaluate("document.getElementsByTagName('*').length") < count + 400
        assert page.said == []


@pytest.mark.ci
def test_a_server_that_was_gone_is_no_gap(chromium: Any, tmp_path: Path) -> None:
    fill(tmp_path / "s")
    with measuring(tmp_path / "s", every=0.3):
        with served(tmp_path / "s") as server:
            port = server.port
            context = chromium.new_context()
            page = context.new_page()
            page.goto(server.url)
            page.goto(f"{server.base}/runs/now-1")
            until("a step", 30, lambda: page.evaluate(STEP) > 1)
            before = page.evaluate(STEP)
            points = page.locator("#charts svg.chart >> nth=0").locator("path.dot").count()
        page.wait_for_selector("#lost:not([hidden])")
        page.wait_for_timeout(4000)
        with served(tmp_path / "s", listen=f"127.0.0.1:{port}"):
            page.wait_for_selector("#lost", state="hidden", timeout=30000)
            until("later steps", 30, lambda: page.evaluate(STEP) > before + 3)
            # Those that were measured meanwhile are there too: three of each step, and the end of it.
            now = page.evaluate(STEP)
            assert page.locator("#charts svg.chart >> nth=0").locator("path.dot").count() >= points + 2 * (
                now - before - 1
            )
            context.close()


def test_a_measurement_ends_as_its_report(chromium: Any, tmp_path: Path) -> None:
    state = tmp_path / "s"
    environment = os.environ | {"STRATA_STATE_DIR": str(state), "PYTHONPATH": str(SOURCE)}
    words = ["measure", "null:1g", "--rw", "randread", "--bs", "4k", "--runtime", "5s", "--interval", "250ms"]
    words += ["--rate-iops", "1000"]
    command = [sys.executable, "-m", "strata", *words]
    with served(state) as server, opened(chromium, server, "/runs") as page:
        with subprocess.Popen(command, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE) as run:
            link = page.locator("#now ~ ul a")
            until("a live run", 60, lambda: page.goto(f"{server.base}/runs") and link.count())
            link.click()
            page.wait_for_selector("#charts svg.chart")
            address = page.url
            assert run.wait(60) == 0, run.stderr and run.stderr.read()
        page.wait_for_selector("#verdict", timeout=30000)
        assert page.url == address and page.locator("#live").count() == 0
        assert page.said == []


def test_a_run_that_was_killed_is_not_shown_as_measured(chromium: Any, tmp_path: Path) -> None:
    fill(tmp_path / "s")
    with served(tmp_path / "s") as server:
        with measuring(tmp_path / "s", STOPPED) as run, opened(chromium, server, f"/runs/{STOPPED}") as page:
            page.wait_for_selector("#charts svg.chart")
            run.send_signal(signal.SIGKILL)
            page.wait_for_selector("h1:has-text('No verdict')", timeout=30000)
        assert "Measured now" not in server.ask("/runs").body
        assert not any((tmp_path / "s" / "live").glob("*.live"))


def test_a_watching_goes_on_before_the_readers_eyes(chromium: Any, tmp_path: Path) -> None:
    fill(tmp_path / "s")
    keep_slices(tmp_path / "s", 12)
    with served(tmp_path / "s") as server, opened(chromium, server, f"/watch?path={WATCHED}") as page:
        assert page.locator("#charts svg.chart").count() == 3
        assert f"slow {NASTY}" in page.inner_text("h1").lower()
        before = page.inner_text("#now .kicker")
        page.wait_for_timeout(1500)
        keep_slices(tmp_path / "s", 1)
        until("a newer slice", 30, lambda: page.inner_text("#now .kicker") != before)
        assert page.said == []


@pytest.mark.ci
def test_a_server_that_was_gone_is_no_gap_of_a_watching(chromium: Any, tmp_path: Path) -> None:
    """What was kept while no server answered is in the charts of the page that stayed open."""
    state = tmp_path / "s"
    fill(state)
    # A short line has a mark at each of its points.
    keep_slices(state, 5)
    dots = "document.querySelector('#charts svg.chart').querySelectorAll('.dot').length"
    with served(state) as server:
        port = server.port
        context = chromium.new_context()
        page = context.new_page()
        page.goto(server.url)
        page.goto(f"{server.base}/watch?path={WATCHED}")
        page.wait_for_selector("#charts svg.chart")
        page.evaluate("window.stayed = true")
        before = page.evaluate(dots)
    page.wait_for_selector("#lost:not([hidden])")
    for _ in range(3):
        keep_slices(state, 1)
        time.sleep(0.2)
    page.wait_for_timeout(2000)
    assert page.evaluate(dots) == before == 5 * 2
    with served(state, listen=f"127.0.0.1:{port}"):
        page.wait_for_selector("#lost", state="hidden", timeout=30000)
        # A dot of each of the two layers for each slice.
        until("the slices of the gap", 30, lambda: page.evaluate(dots) == before + 3 * 2)
        keep_slices(state, 1)
        until("a later slice", 30, lambda: page.evaluate(dots) == before + 4 * 2)
        assert page.evaluate("window.stayed")
        context.close()
