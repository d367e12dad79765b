"""Where the time of a request goes, as text, page and Chrome's trace events: the same figures, and they add up."""

from __future__ import annotations

import json
from itertools import accumulate, pairwise
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from chrome import slices
from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len
from waterfalls import COUNT, PARTS, traced, waterfall

from strata.model.waterfall import NotFollowed, PartKind, ServerClock
from strata.report.html import trace as page
from strata.report.perfetto import perfetto_json
from strata.report.trace_text import trace_text
from strata.report.waterfall_lines import clock_lines, missing_lines, rows_of
from strata.units import count


def test_each_row_begins_where_the_one_above_it_ends_and_the_last_ends_with_the_request() -> None:
    found = waterfall()
    (group,) = found.groups
    rows = rows_of(found, group)
    for row, following in pairwise(rows):
        assert following.start_ns == row.start_ns + row.mean_ns
    assert rows[-1].start_ns + rows[-1].mean_ns == group.total.mean_ns
    assert group.total.mean_ns == sum(p.mean_ns for layer in group.layers for p in layer.parts)
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


CLOCK = ServerClock(
    offset_ns=-12_500_000, bound_ns=38_000, rate_ppm=11.2, rate_bound_ppm=0.8, messages=(4000, 4001), exchanges=2000,
    there_ns=60_500.0, back_ns=58_000.0,
)  # fmt: skip


def test_two_clocks_say_what_they_leave_open(tmp_path: Path) -> None:
    result = traced(tmp_path)
    assert result.waterfall is not None
    assert clock_lines(result.waterfall) == []
    (group,) = result.waterfall.groups
    wire = group.layers[1]
    part = wire.parts[0].model_copy(update={"unknown_ns": 720.0})
    layers = (group.layers[0], wire.model_copy(update={"parts": (part,)}), *group.layers[2:])
    groups = (group.model_copy(update={"layers": layers}),)
    two = result.model_copy(
        update={"waterfall": result.waterfall.model_copy(update={"clock": CLOCK, "groups": groups})}
    )
    assert two.waterfall is not None
    clock, ways = clock_lines(two.waterfall)
    assert "12.5 ms behind, ±38.0 µs" in clock and "11.2 ±0.8 ppm" in clock and f"{count(4001)} from it" in clock
    assert "60.5 µs ±38.0 µs" in ways and "58.0 µs ±38.0 µs" in ways
    for width in (80, 120, 200):
        lines = trace_text(two, width).splitlines()
        assert max(cell_len(line) for line in lines) <= width
        (head,) = [line for line in lines if line.startswith("  layer")]
        assert "±" in head and any("720 ns" in line and "█" in line for line in lines)
    html = page.render(two)
    assert "720 ns" in html and "12.5 ms behind" in html


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
    assert f"exchange,read,loop0,service,500000.0,0.0,0.5,500000,500000,{COUNT}" in html


def events(tmp_path: Path) -> list[dict[str, Any]]:
    document = json.loads(perfetto_json(traced(tmp_path)))
    assert document["displayTimeUnit"] in ("ms", "ns")
    found: list[dict[str, Any]] = document["traceEvents"]
    return found


def test_trace_events_have_what_the_format_asks_of_them(tmp_path: Path) -> None:
    """As in "Trace Event Format": pairs of begin and end with ts in µs, metadata events with the names."""
    found = events(tmp_path)
    for event in found:
        assert isinstance(event["pid"], int) and isinstance(event["tid"], int) and event["name"]
        if event["ph"] == "M":
            assert event["name"] in ("process_name", "thread_name") and event["args"]["name"]
        else:
            assert event["ph"] in "BE" and event["ts"] >= 0 and event["cat"]
    whole = [one for one in slices(found) if one.category == "request"]
    assert [one.us for one in whole] == [1000.0, 1000.0, 9000.0]
    assert whole[1].ts - whole[0].ts == pytest.approx(500.0)
    assert {one.lane for one in whole} == {(1, 1), (1, 2)}


@given(began=st.integers(0, 2**57), lengths=st.lists(st.integers(1, 10**8), min_size=1, max_size=20))
def test_segments_of_a_request_meet_and_end_within_it_whatever_the_clock_shows(began: int, lengths: list[int]) -> None:
    """The clock is at weeks, and segments are ns: a begin and a length are rounded apart."""
    ends = list(accumulate(lengths))
    segments = tuple((n % 2, PartKind.OWN, end - ns, ns) for n, (end, ns) in enumerate(zip(ends, lengths, strict=True)))
    with TemporaryDirectory() as folder:
        result = traced(Path(folder))
    assert result.waterfall is not None and result.recording is not None
    one = result.waterfall.samples[0].model_copy(update={"ns": ends[-1], "segments": segments})
    follows = one.model_copy(update={"at_ns": one.at_ns + one.ns})
    fall = result.waterfall.model_copy(update={"samples": (one, follows)})
    told = result.recording.model_copy(update={"began_ns": began})
    document = json.loads(perfetto_json(result.model_copy(update={"waterfall": fall, "recording": told})))
    found = slices(document["traceEvents"])
    assert len(found) == 2 * (1 + len(lengths)) and {s.lane for s in found} == {(1, 1)}
    parts = [s for s in found if s.depth == 1]
    assert len(parts) == 2 * len(lengths)
    for part, following in pairwise(parts):
        assert part.end == following.ts
