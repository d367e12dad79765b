"""What a run tells while it is measured: kept within a bound, read as it grows, and never in the way of the run."""

from __future__ import annotations

import math
import statistics
import time
from collections.abc import Iterable
from pathlib import Path

import pytest

from strata.analyse.stats import estimate
from strata.app import live, live_run
from strata.host import livefile
from strata.host.xdg import state_dir
from strata.model.live import LiveHead, LiveLayer, LivePoint, LiveRun
from strata.model.progress import Phase, Progress, StandingCause
from strata.model.stack import Layer, Stack
from strata.report.html import live as page

STACK = Stack(name="s", layers=(Layer(name="disk", endpoint="null:"), Layer(name="share", endpoint="null:")))
LAYERS = tuple(LiveLayer(name=x.name, endpoint=x.endpoint) for x in STACK.layers)
HEAD = LiveHead(run="r-1", stack="s", layers=LAYERS, began_unix_ns=10**18, pid=1)


def told(number: int, **more: object) -> LivePoint:
    known = {"phase": Phase.MEASURE, "layer": "disk", "label": "read", "step": 1} | more
    return LivePoint(number=number, at_unix_ns=10**18 + number * 10**9, progress=Progress.model_validate(known))


def files() -> list[Path]:
    return list((state_dir() / "live").iterdir())


def test_a_run_is_followed_and_leaves_nothing_behind() -> None:
    seen: list[Progress] = []
    assert live.measured_now() == () and live.feed_of("r-1") is None
    with live.recorded("r-1", STACK, seen.append, 0.02) as emit:
        assert [h.run for h in live.measured_now()] == ["r-1"]
        feed = live.feed_of("r-1")
        assert feed is not None
        emit(told(1, iops=100.0).progress)
        first = feed.look()
        assert first is not None and first.last == 1 and first.head.goal == 0.02 and first.now is not None
        assert feed.look() is first
        emit(told(2, iops=101.0, finished=True).progress)
        again = feed.look()
        assert again is not None and again.last == 2 and [c.iops.value for c in again.cells] == [101.0]
        assert files()[0].stat().st_mode & 0o777 == 0o600
    assert feed.look() is None and live.feed_of("r-1") is None and files() == []
    assert len(seen) == 2


def test_samples_are_kept_as_often_as_a_reader_needs_them_and_everything_else_always() -> None:
    with live.recorded("r-1", STACK, lambda _: None) as emit:
        for _ in range(50):
            emit(told(1, iops=1.0).progress)
        emit(told(1, iops=1.0, layer="share").progress)
        emit(told(1, iops=1.0, finished=True).progress)
        emit(told(1, error="it broke").progress)
        feed = live.feed_of("r-1")
        assert feed is not None and (found := feed.look()) is not None
        assert found.last == 4 and found.failed == ("disk · read · it broke",)


@pytest.mark.parametrize("run_id", ["../r", "", "a/b", ".hidden", "x" * 200])
def test_a_name_leads_nowhere_else(run_id: str) -> None:
    assert live.feed_of(run_id) is None


def test_a_run_of_hours_stays_within_the_bound_and_its_whole_time_is_there(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(livefile, "MOST_BYTES", 40_000)
    monkeypatch.setattr(live, "EVERY_S", 0.0)
    with live.recorded("r-1", STACK, lambda _: None) as emit:
        feed = live.feed_of("r-1")
        assert feed is not None
        most = 0
        for step in range(1, 600):
            for _ in range(3):
                emit(told(1, iops=float(step), step=step).progress)
            emit(told(1, iops=float(step), step=step, finished=True).progress)
            most = max(most, files()[0].stat().st_size)
            if step % 100 == 0:
                assert feed.look() is not None
        found = feed.look()
        assert most < 40_000 + livefile.LINE_MOST and found is not None
        assert found.now is not None and found.now.step == 599 and found.last == 599 * 4
        assert len(found.rates) <= live_run.SHOWN_RATES + 2 and len(files()) == 1


def test_a_writer_that_died_is_nobody_and_its_file_is_taken_away(tmp_path: Path) -> None:
    folder = state_dir() / "live"
    folder.mkdir(mode=0o700)
    (folder / "dead.live").write_text(HEAD.model_dump_json() + "\n")
    feed = live.feed_of("dead")
    assert feed is not None and feed.look() is None
    assert live.measured_now() == () and files() == []


def test_what_cannot_be_kept_does_not_cost_the_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    blocked = tmp_path / "file"
    blocked.write_text("")
    monkeypatch.setenv("STRATA_STATE_DIR", str(blocked / "below"))
    seen: list[Progress] = []
    with live.recorded("r-1", STACK, seen.append) as emit:
        emit(told(1).progress)
    assert len(seen) == 1
    monkeypatch.setenv("STRATA_STATE_DIR", str(tmp_path / "s"))

    def full(_fd: int, _data: bytes) -> int:
        raise OSError(28, "No space left on device")

    with live.recorded("r-1", STACK, seen.append) as emit:
        monkeypatch.setattr(livefile.os, "write", full)
        emit(told(2).progress)
        emit(told(3).progress)
    assert len(seen) == 3


def test_half_a_line_is_read_when_it_is_whole(tmp_path: Path) -> None:
    path, place = tmp_path / "x", livefile.Position()
    path.write_bytes(b"one\ntw")
    found = livefile.news(path, place)
    assert found is not None and found.lines == (b"one",) and found.anew and not found.written
    with path.open("ab") as file:
        file.write(b"o\n")
    found = livefile.news(path, place)
    assert found is not None and found.lines == (b"two",) and not found.anew


def test_another_file_with_the_same_number_is_read_from_its_beginning(tmp_path: Path) -> None:
    path, place = tmp_path / "x", livefile.Position()
    path.write_bytes(b"head\none\ntwo\n")
    assert livefile.news(path, place) is not None
    # As the kernel gives the inode of a file that is gone to the next one.
    for text in (b"head\ntwo\nthree\n", b"head\nfour\n"):
        path.write_bytes(text)
        found = livefile.news(path, place)
        assert found is not None and found.anew and found.lines == tuple(text.splitlines())
    found = livefile.news(path, place)
    assert found is not None and not found.anew and not found.lines


def test_what_somebody_else_wrote_into_the_file_is_left_out() -> None:
    with live.recorded("r-1", STACK, lambda _: None) as emit:
        with files()[0].open("ab") as file:
            file.write(b"{}\nnot json\n" + b'{"number": 1}\n')
        emit(told(1, iops=1.0).progress)
        feed = live.feed_of("r-1")
        assert feed is not None and (found := feed.look()) is not None and len(found.rates) == 1


def stands(points: Iterable[LivePoint]) -> LiveRun:
    """After these points, looked at once."""
    so_far = live_run.RunSoFar(HEAD)
    for point in points:
        so_far.take(point)
    return so_far.run()


def test_what_stands_of_a_run() -> None:
    causes = (StandingCause(layer="share", cause="loss", title="t", confidence=0.4, holds=False),)
    points = [
        told(1, iops=100.0, p50_ns=5.0, p99_ns=9.0),
        told(2, iops=110.0, finished=True),
        told(3, layer="share", step=2, iops=50.0, finished=True),
        told(4, step=3, iops=121.0, finished=True, round=2),
        told(5, phase=Phase.CONFIRM, label=None, message="twice the depth", standing=causes),
        told(6, phase=Phase.CONFIRM, step=1, iops=700.0, finished=True),
    ]
    found = stands(points)
    assert [(c.layer, c.iops.n) for c in found.cells] == [("disk", 2), ("share", 1)]
    assert found.cells[0].iops.value == pytest.approx((110 * 121) ** 0.5)
    assert [r.cell for r in found.rates] == [1, 1, 2, 3, 4] and found.rates[0].p99_ns == 9.0
    assert found.standing == causes and found.experiment == "twice the depth" and found.seconds == 6.0
    assert stands([]).now is None


def test_brief_cells_keep_their_times_where_points_are_left_out() -> None:
    points = [told(n + 1, step=n // 2, iops=5.0, **({"p50_ns": 1.0} if n % 2 == 0 else {"finished": True}))
              for n in range(4000)]  # fmt: skip
    rates = stands(points).rates
    timed = [r for r in rates if r.p50_ns is not None]
    assert live_run.SHOWN_RATES - 10 <= len(rates) <= live_run.SHOWN_RATES + 2 and 0.4 < len(timed) / len(rates) < 0.6
    assert [r.second for r in rates] == sorted(r.second for r in rates) and rates[-1].second == 4000.0


def test_rounds_of_many_cells_say_together_how_much_they_vary() -> None:
    points = []
    for number in range(20):
        at = {"label": f"w{number % 10}", "step": number, "finished": True}
        points.append(told(number + 1, iops=100.0 * (1.02 if number < 10 else 0.98), **at))
    each = stands(points).cells
    alone = estimate([102.0, 98.0], "IOPS").half_width
    assert alone is not None and len(each) == 10
    assert all(c.iops.half_width is not None and c.iops.half_width < 0.75 * alone for c in each)


def test_a_run_that_is_looked_at_all_along_is_what_its_points_say() -> None:
    """What is kept up to date says after each point what is said of all of them at once."""
    points, so_far = [], live_run.RunSoFar(HEAD)
    for n in range(300):
        more = {"label": f"w{n % 7}", "layer": ("disk", "share")[n % 2], "iops": 100.0 + n * 7 % 13}
        if n % 3 == 0:
            more["finished"] = True
        elif n % 5 == 0:
            more = {"error": f"it broke {n % 40}"}
        else:
            more["p50_ns"] = 5.0
        points.append(told(n + 1, step=n // 3, **more))
        so_far.take(points[-1])
        if n % 10 == 0:
            assert so_far.run() == stands(points)
    found = so_far.run()
    assert len(found.failed) == live_run.FAILED_MOST and found.cells[0].iops.n > 5
    logs = [[math.log(p.progress.iops or 1) for p in points if p.progress.finished and p.progress.iops
             and (p.progress.layer, p.progress.label) == (c.layer, c.label)] for c in found.cells]  # fmt: skip
    spread = math.sqrt(sum(statistics.variance(x) * (len(x) - 1) for x in logs) / sum(len(x) - 1 for x in logs))
    for cell, own in zip(found.cells, logs, strict=True):
        wanted = estimate([math.exp(x) for x in own], "IOPS", spread)
        assert (cell.iops.low, cell.iops.high) == pytest.approx((wanted.low, wanted.high))


def test_what_is_kept_of_a_run_of_days_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(live_run, "RATES_MOST", 500)
    so_far = live_run.RunSoFar(HEAD)
    for n in range(3000):
        so_far.take(told(n + 1, step=n, iops=5.0, p50_ns=1.0))
    assert sum(map(len, so_far._rates)) == 500
    found = so_far.run()
    assert found.rates[-1].second == 3000.0 and len(found.rates) <= live_run.SHOWN_RATES


def test_a_page_can_be_made_at_every_moment() -> None:
    points: list[LivePoint] = []
    for text in ("", "<script>alert(1)</script>\u202e"):
        for more in ({"layer": None}, {"iops": 0.0}, {"iops": 5.0, "p50_ns": 1.0}, {"finished": True, "iops": 9.0}):
            points.append(told(len(points) + 1, message=text, **({"label": f"x{text}"} | more)))
            made = page.render(stands(points), "/e")
            assert "<script>alert" not in made and "\u202e" not in made
    assert "x&lt;script&gt;alert" in made


def test_what_it_costs_a_run() -> None:
    """A line of a usual size, many times: far below what a thousandth of a CPU would be at two a second."""
    with live.recorded("r-1", STACK, lambda _: None) as emit:
        before = time.process_time()
        for step in range(500):
            emit(told(1, iops=1.0, step=step).progress)
        spent = (time.process_time() - before) / 500
    assert spent < 0.0005
