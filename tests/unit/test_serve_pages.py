"""What the pages of ``strata serve`` are made of, without a server."""

from __future__ import annotations

import json
import re
from pathlib import Path
from urllib.parse import unquote

import pytest
from serving import FIRST, SECOND, STOPPED, WATCHED, fill, keep_slices

from strata.errors import UsageError
from strata.model.live import LiveHead, LiveRun
from strata.model.progress import Phase, Progress
from strata.serve import remembered, runs, watch
from strata.serve.feeds import FEEDS_MOST, Feeds
from strata.serve.remembered import RememberedPages
from strata.serve.runs import RunPages
from strata.store import open_store


@pytest.fixture
def store(tmp_path: Path) -> str:
    fill(tmp_path / "s")
    return str(tmp_path / "s" / "strata.db")


def test_more_histories_than_a_page_has_room_for_are_listed(store: str, monkeypatch: pytest.MonkeyPatch) -> None:
    pages = RememberedPages(store)
    assert "more cells than fit on one page" not in pages.histories({"cell": "disk/*"}).html("")
    monkeypatch.setattr(remembered, "CELLS_MOST", 1)
    found = pages.histories({"cell": "disk/*"})
    assert "more cells than fit on one page" in found.html("")
    names = json.loads(found.json())["cells"]
    assert len(names) > 1 and all(name.startswith("disk/") for name in names)


def test_pages_of_finished_runs_are_kept_within_a_bound(store: str, monkeypatch: pytest.MonkeyPatch) -> None:
    pages = RunPages(store, Feeds(store), control=False)
    first = pages.one(FIRST, {}).html("")
    assert pages.one(FIRST, {}).html("") is first
    monkeypatch.setattr(runs, "KEPT_PAGES", 1)
    pages.one(SECOND, {}).html("")
    again = pages.one(FIRST, {}).html("")
    assert again == first and again is not first
    monkeypatch.setattr(runs, "KEPT_BYTES", 10)
    pages.one(SECOND, {}).html("")
    assert pages._made == {}


def test_runs_by_age_are_compared_with_the_oldest(store: str) -> None:
    pages = RememberedPages(store)
    given = json.loads(pages.compared([SECOND, FIRST], anyway=False, by_age=False).json())
    by_age = json.loads(pages.compared([SECOND, FIRST], anyway=False, by_age=True).json())
    assert given["a"]["run"] == SECOND and by_age["a"]["run"] == FIRST
    for wrong in ([], [FIRST], [FIRST, FIRST], [f"r{i}" for i in range(20)]):
        with pytest.raises(UsageError, match="2 to 8"):
            pages.compared(wrong, anyway=False, by_age=True)


@pytest.mark.parametrize(
    ("asked", "found"),
    [
        ({"if.limit": "2"}, {"limit": 2.0}),
        ({"if.limit": "1", "if.delay": "x", "if.cores": "1e9", "limit": "2", "if.x": "nan", "if.y": "-1"}, {}),
    ],
)
def test_only_what_changes_is_asked_of_a_sweep(asked: dict[str, str], found: dict[str, float]) -> None:
    assert runs._what_if(asked) == found


@pytest.mark.parametrize(("text", "number"), [("3", 3), ("", 1), ("-1", 1), ("0", 1), ("9" * 9, 1), ("x", 1)])
def test_a_page_number_is_a_number(text: str, number: int) -> None:
    assert runs._whole(text) == number


@pytest.mark.parametrize(("control", "linked"), [(True, True), (False, False)])
def test_the_form_for_a_name_and_the_end_is_linked_where_it_can_be_used(
    store: str, control: bool, linked: bool
) -> None:
    """From the list, from a finished run, and from one that was stopped."""
    pages = RunPages(store, Feeds(store), control=control)
    assert (f'href="/runs/{FIRST}/edit"' in pages.listed({}).html("")) is linked
    for run in (FIRST, STOPPED):
        assert (f'href="/runs/{run}/edit"' in pages.one(run, {}).html("")) is linked


def test_the_twins_of_lists_say_what_their_pages_say(store: str) -> None:
    listed = json.loads(RunPages(store, Feeds(store), control=False).listed({}).json())
    assert listed["schema"] == "strata.runs-page/1" and listed["page"] == 1 and not listed["more"]
    assert set(listed["verdicts"]) == {FIRST, SECOND} and listed["now"] == []
    with open_store(store) as kept:
        kept.save_baseline("main", [FIRST], 10**18, "", new=True)
    found = RememberedPages(store).baselines()
    twin = json.loads(found.json())
    (gate,) = twin["gates"]
    page, why = found.html("").replace("&#39;", "'"), gate["why"]
    assert gate["baseline"] == "main" and len(why) > 20 and f"{why[0].upper()}{why[1:]}" in page
    assert [b["name"] for b in twin["baselines"]] == ["main"]


def test_a_look_back_leads_to_the_time_before_and_after_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("STRATA_STATE_DIR", str(tmp_path / "s"))
    (tmp_path / "s").mkdir(mode=0o700)
    assert json.loads(watch.shown({}).json())["watched"] == []
    keep_slices(tmp_path / "s", 180)
    now = watch.shown({"path": WATCHED})
    shown = now.html("/twin")
    assert 'name="around"' in shown and 'href="/twin"' in shown and ">Later</a>" not in shown
    earlier = re.search(r'href="/watch\?path=[^"&]*&amp;around=([^"]*)">Earlier', shown)
    assert earlier is not None
    back = watch.shown({"path": WATCHED, "around": unquote(earlier[1])})
    shown, found = back.html(""), json.loads(back.json())
    assert found["from_unix_ns"] < json.loads(now.json())["from_unix_ns"] < found["to_unix_ns"]
    assert ">Later</a>" in shown and ">Now</a>" in shown and ">Earlier</a>" in shown


def test_pages_of_runs_that_nobody_saw_end_are_kept_within_a_bound(store: str) -> None:
    feeds = Feeds(store)
    for number in range(FEEDS_MOST + 5):
        head = LiveHead(run=f"20260301-{number:06d}-aaaa", stack="s", began_unix_ns=1, pid=1)
        feeds.parts(LiveRun(head=head, now=Progress(phase=Phase.MEASURE), last=1))
    assert len(feeds._parts) == FEEDS_MOST and list(feeds._parts)[-1] == head.run
