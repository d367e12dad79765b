"""Where the time of a request goes, as text, page and Chrome's trace events: the same figures, and they add up."""

from __future__ import annotations

import json
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from rich.cells import cell_len
from waterfalls import COUNT, PARTS, traced, waterfall

from strata.model.waterfall import NotFollowed
from strata.report.html import trace as page
from strata.report.perfetto import perfetto_json
from strata.report.trace_text import trace_text
from strata.report.waterfall_lines import missing_lines, rows_of


def test_each_row_begins_where_the_one_above_it_ends_and_the_last_ends_with_the_request() -> None:
    found = waterfall()
    (group,) = found.groups
    rows = rows_of(found, group)
    for row, following in pairwise(rows):
        assert following.start_ns == row.start_ns + row.mean_ns
    assert rows[-1].start_ns + rows[-1].mean_ns == group.total.mean_ns == group.summed_ns
    assert sum(row.share for row in rows) == pytest.approx(1.0)


@pytest.mark.parametrize("width", [80, 120, 200])
def test_bars_follow_each_other_within_the_terminal(tmp_path: Path, width: int) -> None:
    text = trace_text(traced(tmp_path, overlapping=3), width)
    lines = text.splitlines()
    assert max(cell_len(line) for line in lines) <= width
    assert "\x1b" not in text
    at = next(n for n, line in enumerate(lines) if line.startswith("  layer"))
    bars = lines[at + 1 : at + 1 + len(PARTS)]
    assert all("█" in bar for bar in bars)
    begins = [bar.index("█") for bar in bars]
    assert begins == sorted(begins)
    service = next(bar for bar in bars if "service" in bar)
    assert service.count("█") == max(bar.count("█") for bar in bars)
    assert "50 %" in service and "500 µs" in service


def test_every_reason_has_its_words_and_only_those_that_happened() -> None:
    none = dict.fromkeys(NotFollowed.model_fields, 0)
    assert missing_lines(NotFollowed(**none)) == []
    for name in NotFollowed.model_fields:
        (line,) = missing_lines(NotFollowed(**{**none, name: 7}))
        assert line.startswith("7 requests ")


def test_without_a_request_it_says_so(tmp_path: Path) -> None:
    result = traced(tmp_path)
    assert result.waterfall is not None
    empty = result.model_copy(update={"waterfall": result.waterfall.model_copy(update={"groups": (), "samples": ()})})
    assert "no request was followed" in trace_text(empty, 80)
    assert "No request was followed" in page.render(empty)


def test_the_page_has_the_picture_the_table_and_nothing_that_is_run(tmp_path: Path) -> None:
    html = page.render(traced(tmp_path, by_kernel=2))
    assert html.count("<svg") == 2
    assert "loop0 · service" in html and "2 requests at the device that no system call made" in html
    assert "\x1b" not in html and "<script src" not in html
    assert f"exchange,read,loop0,service,500000.0,0.5,500000,500000,{COUNT}" in html


def events(tmp_path: Path) -> list[dict[str, Any]]:
    document = json.loads(perfetto_json(traced(tmp_path)))
    assert document["displayTimeUnit"] in ("ms", "ns")
    found: list[dict[str, Any]] = document["traceEvents"]
    return found


def test_trace_events_have_what_the_format_asks_of_them(tmp_path: Path) -> None:
    """As in "Trace Event Format": complete events with ts and dur in µs, metadata events with the names."""
    for event in events(tmp_path):
        assert isinstance(event["pid"], int) and isinstance(event["tid"], int) and event["name"]
        if event["ph"] == "M":
            assert event["name"] in ("process_name", "thread_name") and event["args"]["name"]
        else:
            assert event["ph"] == "X" and event["ts"] >= 0 and event["dur"] > 0 and event["cat"]
    whole = [e for e in events(tmp_path) if e["ph"] == "X" and e["cat"] == "request"]
    assert [e["dur"] for e in whole] == [1000.0, 1000.0, 9000.0]
    assert whole[1]["ts"] - whole[0]["ts"] == pytest.approx(500.0)


def test_events_of_one_lane_lie_in_each_other_or_apart(tmp_path: Path) -> None:
    """Two that overlap in part cannot be drawn on one line."""
    found = [e for e in events(tmp_path) if e["ph"] == "X"]
    lanes = {e["tid"] for e in found}
    assert len(lanes) == 2
    for lane in lanes:
        open_until: list[float] = []
        for event in sorted((e for e in found if e["tid"] == lane), key=lambda e: (e["ts"], -e["dur"])):
            end = event["ts"] + event["dur"]
            while open_until and open_until[-1] <= event["ts"] + 1e-6:
                open_until.pop()
            assert not open_until or end <= open_until[-1] + 1e-3
            open_until.append(end)
