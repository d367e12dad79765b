"""Tasks timed with few and with many: real commands, whose times are known."""

from __future__ import annotations

from pathlib import Path

import pytest

from strata.analyse.elasticity import timed
from strata.app.scale_plan import ask_of
from strata.app.scale_points import Maker
from strata.app.scale_tasks import Task, measure_tasks
from strata.errors import RunFailed, UsageError
from strata.model.axis import Axis
from strata.model.estimate import Estimate
from strata.model.scale import ScaleAsk
from strata.report.scale_text import scale_text


def ask(points: str = "1,2", budget: str = "2s", until: str = "2%") -> ScaleAsk:
    return ask_of("storage-nodes", points, budget, until, None, open_loop=False, what_if=(), size=None)


def script(folder: Path, name: str, text: str) -> str:
    made = folder / name
    made.write_text(f"#!/bin/sh\n{text}\n")
    made.chmod(0o755)
    return f"'{made}' {{}}"


def ns(seconds: float, half: float | None, n: int = 3) -> Estimate:
    low, high = (None, None) if half is None else (1e9 * (seconds - half), 1e9 * (seconds + half))
    return Estimate(value=1e9 * seconds, low=low, high=high, n=n, unit="ns")


def test_the_part_that_scales_is_amdahls_with_the_interval_of_both_times() -> None:
    half = timed("copy", "nodes", 2.0, ns(10, 0.1), ns(7.5, 0.1))
    assert half.part.value == pytest.approx(0.5) and half.times == pytest.approx(4 / 3)
    assert half.part.low is not None and half.part.high is not None
    assert half.part.low == pytest.approx(0.5 - 2 * 0.75 * 0.0166, abs=0.002)
    assert half.part.high == pytest.approx(0.5 + 2 * 0.75 * 0.0166, abs=0.002)
    assert half.again == pytest.approx(7.5 / 6.25) and half.most == pytest.approx(7.5 / 5)
    assert timed("copy", "nodes", 2.0, ns(10, None, 1), ns(7.5, None, 1)).part.low is None, "one round tells none"


def test_tasks_are_timed_at_both_ends_in_turn_and_what_scales_is_told(tmp_path: Path) -> None:
    told = tmp_path / "told"
    note = f"echo $1 >> '{told}'"
    scales = Task.parse("scales=" + script(tmp_path, "a", f"{note}; sleep $(test $1 = 1 && echo 0.4 || echo 0.05)"))
    stays = Task.parse("stays=" + script(tmp_path, "b", "sleep 0.3"))
    maker = Maker(Axis.STORAGE_NODES, script(tmp_path, "make", f"echo made $1 >> '{told}'"), 1)
    result = measure_tasks(ask("1,8", "4s"), (scales, stays), lambda _: None, maker)
    words = told.read_text().split("\n")
    assert words[:6] == ["1", "made 8", "8", "8", "made 1", "1"], "there and back"
    assert words[-2] == "made 1" or words[-2] == "1", "and back at the end"
    one, other = result.tasks
    # A busy machine starts each command late: by 50 ms of 0.45 s that is a part of 0.89.
    assert one.part.value == pytest.approx(1.0, abs=0.3) and other.part.value == pytest.approx(0.0, abs=0.3)
    assert one.measured is not None and one.measured[0].n >= 3
    text = scale_text(result, 100)
    assert text.startswith("storage-nodes 1 and 8 · 2 figures before and after") and "ended: " in text


def test_a_budget_for_one_round_gives_times_without_an_interval() -> None:
    result = measure_tasks(ask(budget="1ms"), (Task.parse("t=sleep 0.0{}"),), lambda _: None)
    assert result.tasks[0].part.low is None and result.ended == "budget"
    assert "one round gives no interval" in result.remarks[0]


@pytest.mark.parametrize(
    ("points", "tasks", "why"),
    [
        ("1,2,4", ("a=true {}",), "3 are given"),
        ("1,2", ("a=true",), "nothing would change"),
        ("1,2", ("a=true {}", "a=true"), "two tasks have this name"),
    ],
)
def test_tasks_that_cannot_be_compared_are_refused(points: str, tasks: tuple[str, ...], why: str) -> None:
    with pytest.raises(UsageError, match=why):
        measure_tasks(ask(points), [Task.parse(t) for t in tasks], lambda _: None)


def test_a_task_without_a_name_or_a_command_is_refused_and_one_that_fails_ends_it() -> None:
    for text in ("copy", "=cp", "a=", "a='"):
        with pytest.raises(UsageError, match="cannot use --task"):
            Task.parse(text)
    with pytest.raises(RunFailed, match=r"the task a failed: .*exit status 1"):
        measure_tasks(ask(), [Task.parse("a=false {}")], lambda _: None)
