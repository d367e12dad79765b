"""The page of a trace: what it says, how wide it is, and that a loss colours every share."""

from __future__ import annotations

from pathlib import Path

import pytest
from rich.cells import cell_len
from traces import figures, recording

from strata import units
from strata.model.trace import NodeWindow, TraceResult, summary_of
from strata.report.trace_text import summary_lines, trace_text

STREAM = [("WS", n) for n in range(40)]
MIXED = [*STREAM, *(("R", 7000 - 3 * n) for n in range(30))]
SWAPPED = [("WS", n) for n in [*range(20), *(m for k in range(10, 60) for m in (2 * k + 1, 2 * k))]]


def result(folder: Path, ios: list[tuple[str, int]], lost: int = 0, **more: object) -> TraceResult:
    found = figures(folder, ios, **more)
    notes = ("incomplete: events were lost",) if lost else ()
    return TraceResult(where="/dev/sda", form="live", figures=found, recording=recording(lost), notes=notes)


@pytest.mark.parametrize("width", [80, 200])
@pytest.mark.parametrize("ios", [STREAM, MIXED, SWAPPED])
def test_no_line_is_wider_than_the_terminal(tmp_path: Path, width: int, ios: list[tuple[str, int]]) -> None:
    page = trace_text(result(tmp_path, ios), width)
    assert max(cell_len(line) for line in page.splitlines()) <= width


@pytest.mark.parametrize("width", [80, 200])
def test_devices_of_nodes_carry_their_names_and_the_rate_is_that_of_their_own_window(
    tmp_path: Path, width: int
) -> None:
    found = figures(tmp_path, STREAM)
    (device,) = found.devices
    half = found.window_ns // 2
    devices = tuple(
        device.model_copy(update={"target": device.target.model_copy(update={"node": name})}) for name in ("n1", None)
    )
    told = recording()
    nodes = (
        NodeWindow(node="n1", window_ns=half, events=1, offset_ns=7, bound_ns=150_000, recording=told),
        NodeWindow(node=None, window_ns=found.window_ns, events=1, recording=recording(3)),
    )
    whole = TraceResult(
        where="stack.toml", form="live", figures=found.model_copy(update={"devices": devices}), nodes=nodes
    )
    assert not whole.whole
    page = trace_text(whole, width)
    assert max(cell_len(line) for line in page.splitlines()) <= width
    text = " ".join(page.split())
    name = device.target.name
    fast, slow = (" ".join(units.count(40 / (ns / 1e9)).split()) for ns in (half, found.window_ns))
    assert f"{name} of n1 · recorded · 40 requests · {fast} IOPS" in text
    assert f"{name} · recorded · 40 requests · {slow} IOPS" in text
    assert "±150 µs by its clock" in text and "this machine traced for" in text
    # What was lost on one machine makes the others' shares no less certain.
    assert text.count("≈ strictly sequential") == 1


def test_one_direction_in_sentences(tmp_path: Path) -> None:
    page = " ".join(trace_text(result(tmp_path, STREAM), 100).split())
    assert "40 requests, 320 KiB" in page
    assert "100 % strictly sequential" in page
    assert "none of 1 sequential stream" in page
    assert "service p50 100 µs" in page
    assert "1 thread: job7/7 40" in page
    assert "1.00 requests for each submitted I/O (40)" in page


def test_two_directions_in_columns(tmp_path: Path) -> None:
    lines = trace_text(result(tmp_path, MIXED), 100).splitlines()
    row = next(line for line in lines if line.strip().startswith("strictly sequential"))
    assert row.split()[-4:] == ["0.0", "%", "100", "%"]
    assert next(line for line in lines if line.strip().startswith("backward")).split()[1:3] == ["100", "%"]


def test_reordering_with_its_extent_and_threads(tmp_path: Path) -> None:
    page = " ".join(trace_text(result(tmp_path, SWAPPED, pids=(7, 8)), 100).split())
    assert "42 % out of order in 1 sequential stream, late by 1.0 I/Os on average, 1 at most" in page
    assert "2.0 different ones in 16 consecutive requests" in page


def test_a_loss_is_said_and_marks_the_shares(tmp_path: Path) -> None:
    page = trace_text(result(tmp_path, STREAM, lost=9), 100)
    assert "incomplete: events were lost" in page and "lost: 9 counted" in page
    assert "100 % ≈ strictly sequential" in " ".join(page.split())
    assert "≈" not in trace_text(result(tmp_path, STREAM), 100)


def test_the_short_form(tmp_path: Path) -> None:
    device = figures(tmp_path, SWAPPED).devices[0]
    said = " ".join(" ".join(summary_lines([summary_of(device, 1.0, True, app_ios=60)], 100)).split())
    assert "8,0, recorded: writes 16 % strictly sequential, 42 % out of order by up to 1 I/O" in said
    assert "2.00 requests per I/O" in said
