"""The display of a running measurement, on a terminal and elsewhere."""

from __future__ import annotations

import io
import os
from contextlib import closing

import pytest
from hypothesis import given
from hypothesis import strategies as st

from strata.model.progress import ClientNow, DeviceNow, Glance, NodeNow, Phase, Progress
from strata.report.live import LiveView, QuietConsole, Screen, client_lines, sparkline
from strata.report.plain import PlainView, time_left

STEP = Progress(
    phase=Phase.MEASURE,
    layer="share",
    label="random read · 4 KiB · depth 32",
    round=2,
    rounds=5,
    step=7,
    steps=101,
    iops=27_920,
    bytes_per_second=114e6,
    p99_ns=2.05e6,
    seconds_left=246,
)
DONE = STEP.model_copy(update={"finished": True})


class Gone(io.StringIO):
    """A terminal that has been closed."""

    def write(self, s: str) -> int:
        raise BrokenPipeError


def terminal(width: int = 80, file: io.StringIO | None = None) -> tuple[QuietConsole, io.StringIO]:
    stream = io.StringIO() if file is None else file
    return QuietConsole(file=stream, force_terminal=True, width=width, height=30, color_system=None), stream


def test_plain_view_prints_a_line_a_finished_step_and_none_in_between() -> None:
    out = io.StringIO()
    with closing(PlainView(out)) as view:
        view.update(Progress(phase=Phase.PREPARE, message="writing 4 GiB of its own data"))
        view.update(Progress(phase=Phase.PREPARE, message="half of it"))
        for _ in range(20):
            view.update(STEP)
        view.update(DONE)
        view.update(DONE.model_copy(update={"error": "the server went away", "step": 8}))
    view.update(DONE)
    assert out.getvalue().replace("\u202f", " ").splitlines() == [
        "preparing: writing 4 GiB of its own data",
        "measuring",
        "[7/101] round 2/5 share · random read · 4 KiB · depth 32: 27 920 IOPS, 109 MiB/s, p99 2.05 ms, 4 min 6 s left",
        "[8/101] round 2/5 failed: share · random read · 4 KiB · depth 32: the server went away",
    ]


SERVER = NodeNow(
    name="n1",
    servers=(("qemu-nbd", 0.12), ("idle", 0.0)),
    tx_bytes_per_second=32.5e6,
    rx_bytes_per_second=402e3,
    resent=607,
    rtt_s=2.1e-4,
    waiting_bytes=65_536,
)
BUSY = Glance(
    busy=0.43,
    own=0.026,
    devices=(DeviceNow(name="loop0", iops=3769, bytes_per_second=30.9e6, depth=13.4, request_s=3.57e-3),),
    nodes=(NodeNow(tx_bytes_per_second=900.0, rx_bytes_per_second=0.0), SERVER, NodeNow(name="n2", resent=0.0)),
)


@pytest.mark.parametrize(("width", "more"), [(80, ""), (200, " · 64 KiB waiting · rtt 210 µs")])
def test_the_counters_of_now_stand_under_the_rates_a_line_for_each_device_and_node(width: int, more: str) -> None:
    screen = Screen()
    screen.take(STEP.model_copy(update={"now": BUSY}))
    lines = [line.plain.replace("\u202f", " ") for line in screen.lines(width)]
    assert lines[3:] == [
        "  loop0     depth 13 · 3 769 IOPS · 29.5 MiB/s · 3.57 ms each",
        "  here      CPU 43 % · strata 0.026 CPUs",
        "  n1        qemu-nbd 0.12 CPUs · out 31.0 MiB/s · in 393 KiB/s · 607 resent/s" + more,
    ]
    screen.take(STEP)
    assert len(screen.lines(width)) == 3, "what is not known takes no line"


@given(width=st.integers(40, 240), name=st.text(max_size=80), steps=st.integers(1, 500))
def test_no_line_of_the_live_display_is_wider_than_the_terminal(width: int, name: str, steps: int) -> None:
    screen = Screen()
    for finished in (False, True):
        screen.take(STEP.model_copy(update={"layer": name, "steps": steps, "finished": finished, "now": BUSY}))
        screen.take(STEP.model_copy(update={"layer": name, "steps": steps, "error": name}))
        for line in screen.lines(width):
            assert line.cell_len <= width, line.plain
            assert "\n" not in line.plain


def test_live_view_shows_the_cell_and_leaves_the_terminal_clean() -> None:
    console, out = terminal()
    view = LiveView(console)
    view.update(STEP)
    shown = out.getvalue()
    for part in ("share · random read", "round 2 of 5", "step 7 of 101", "4 min 6 s left", "109 MiB/s", "p99 2.05 ms"):
        assert part in shown
    assert "\x1b[?25l" in shown
    view.close()
    view.close()
    view.update(DONE)
    left = out.getvalue()[len(shown) :]
    assert "\x1b[?25h" in left
    assert left.count("\x1b[2K") >= 3
    assert "share" not in left[left.rindex("\x1b[2K") :]


def test_live_view_gives_the_terminal_back_after_an_exception() -> None:
    console, out = terminal()

    def watch() -> None:
        with closing(LiveView(console)) as view:
            view.update(STEP)
            raise RuntimeError("boom")

    with pytest.raises(RuntimeError):
        watch()
    assert "\x1b[?25h" in out.getvalue()


def test_a_stream_that_goes_away_does_not_end_the_run() -> None:
    console, _ = terminal(file=Gone())
    live, plain = LiveView(console), PlainView(Gone())
    stdout = os.fstat(1)
    for view in (live, plain):
        view.update(STEP)
        view.update(DONE)
        view.close()
    assert os.fstat(1) == stdout


class Broken(io.StringIO):
    """A terminal whose line was cut."""

    def flush(self) -> None:
        raise OSError(5, "Input/output error")


def test_a_terminal_that_breaks_does_not_end_the_run() -> None:
    console, _ = terminal(file=Broken())
    with closing(LiveView(console)) as live, closing(PlainView(Broken())) as plain:
        for view in (live, plain):
            view.update(STEP)
            view.update(DONE)


def test_finished_steps_are_kept_and_the_sparkline_begins_anew_with_each_cell() -> None:
    screen = Screen()
    for step in range(1, 9):
        screen.take(STEP.model_copy(update={"step": step}))
        screen.take(STEP.model_copy(update={"step": step}))
        assert list(screen.recent) == [27_920, 27_920]
        screen.take(DONE.model_copy(update={"step": step}))
    assert [p.step for p in screen.finished] == [5, 6, 7, 8]


def test_control_codes_in_names_do_not_reach_the_terminal() -> None:
    console, out = terminal()
    with closing(LiveView(console)) as view:
        view.update(STEP.model_copy(update={"layer": "sh\x1b[2Jare"}))
    assert "\x1b[2J" not in out.getvalue()


def test_sparkline_starts_at_zero_and_keeps_to_its_width() -> None:
    assert sparkline([0, 50, 100], 8) == "▁▅█"
    assert sparkline([85, 100], 8) == "▇█"
    assert sparkline(list(range(100)), 10) == sparkline(list(range(90, 100)), 10)
    assert sparkline([0.0, 0.0], 4) == "▁▁"


@pytest.mark.parametrize(("seconds", "text"), [(None, ""), (0.2, "0 s left"), (59.6, "1 min 0 s left")])
def test_time_left_is_whole_seconds(seconds: float | None, text: str) -> None:
    assert time_left(STEP.model_copy(update={"seconds_left": seconds})) == text


def test_each_client_has_a_line_and_who_is_late_or_lost_is_told() -> None:
    clients = (
        ClientNow(client=0, node="node-1", iops=9_900, bytes_per_second=40e6, p99_ns=210_000),
        ClientNow(client=1, node="node-2", late=2),
        ClientNow(client=2, node="node-3", lost="it was ended by signal 9"),
        ClientNow(client=3, node="node-4"),
    )
    screen = Screen()
    screen.take(STEP.model_copy(update={"now": Glance(clients=clients)}))
    lines = [line.plain.replace("\u202f", " ") for line in screen.lines(80)]
    assert lines[3:7] == [
        "  client 0  9 900 IOPS · 38.1 MiB/s · p99 210 µs · node-1",
        "  client 1  LATE by 2 intervals · node-2",
        "  client 2  lost: it was ended by signal 9 · node-3",
        "  client 3  done or idle · node-4",
    ]
    many = [ClientNow(client=n, node="n", iops=100.0 + n, p99_ns=1) for n in range(40)]
    many[35] = ClientNow(client=35, node="n", late=1)
    shown = client_lines(many, 60)
    assert len(shown) == 13 and "LATE" in shown[-2]
    assert shown[-1].strip() == "and 28 more clients, none late, all faster"
