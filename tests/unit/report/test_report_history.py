"""The page of a history: a chart and a table of every cell, dates that differ, nothing from outside as markup."""

from __future__ import annotations

import re

import pytest

from strata.model.history import CellHistory, History, HistoryPoint
from strata.report import figures
from strata.report.html import history as page

NASTY = '=<script>alert("x")</script>'
DAY = 86_400 * 10**9
MADE = 1_773_480_360_000_000_000


def point(n: int, made: int) -> HistoryPoint:
    return HistoryPoint(
        run=f"20260314-09{n:04}-abcd", created_unix_ns=made, iops=1000.0 + n, p50_ns=1e5, p99_ns=None, rounds=3
    )


def build(moments: list[int], layer: str = NASTY) -> History:
    points = tuple(point(n, made) for n, made in enumerate(moments))
    none = CellHistory(layer="confirmed only", workload_key="randread-8KiB-qd2", identity="here", points=())
    one = CellHistory(layer=layer, workload_key="randread-4KiB-qd1", identity="here", points=points)
    return History(cells=(none, one))


def axis(moments: list[int]) -> list[str]:
    return re.findall(r'class="tick"[^>]*>(\d{4}-[^<]+)<', page.render(build(moments)))


@pytest.mark.parametrize(
    ("step", "said"),
    [
        (DAY, ["2026-03-14", "2026-03-16"]),
        (60 * 10**9, ["2026-03-14 09:26", "2026-03-14 09:28"]),
        (10**9, ["2026-03-14 09:26:00", "2026-03-14 09:26:02"]),
        (10**6, ["2026-03-14 09:26:00.000000", "2026-03-14 09:26:00.002000"]),
    ],
)
def test_the_ends_of_the_axis_have_dates_that_differ(step: int, said: list[str]) -> None:
    assert axis([MADE, MADE + step, MADE + 2 * step]) == said


def test_one_run_has_one_date() -> None:
    assert axis([MADE]) == ["2026-03-14 09:26"]


def test_every_run_is_a_row_of_its_own_with_a_date_of_its_own() -> None:
    text = page.render(build([MADE, MADE + 10**9, MADE + 2 * 10**9]))
    rows = re.findall(r'<th scope="row">(2026\S+)</th>\s*<td[^>]*>([^<]+)</td>\s*<td[^>]*>([^<]+)</td>', text)
    assert [row[1] for row in rows] == [f"2026-03-14 09:26:0{n}" for n in (2, 1, 0)]
    assert len({row[0] for row in rows}) == 3
    assert "from six runs on" in text.lower()


def test_a_cell_without_a_run_is_not_on_the_page_and_a_name_is_only_a_name() -> None:
    text = page.render(build([MADE]))
    assert "confirmed only" not in text
    assert "<script>alert" not in text and "&lt;script&gt;alert" in text


def test_no_history_is_still_a_page() -> None:
    assert "No cell has a run." in page.render(History(cells=()))


def test_moments_are_as_fine_as_they_have_to_be() -> None:
    assert figures.moments([MADE, MADE]) == ["2026-03-14 09:26"] * 2
    assert figures.moments([]) == []
