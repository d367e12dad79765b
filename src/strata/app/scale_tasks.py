"""How long tasks of the user's take with few and with many of something, and how much of each scales (Amdahl).

A task is a command: create a database, copy it, check it. All tasks run one after the other with the fewer, then with
the more, then the other way round, and so on: what drifts meets both alike.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass

from strata import units
from strata.app.runner import Emit
from strata.app.scale_points import HOLE, Maker, filled, run_users, words_of
from strata.app.signals import stop_on_signals
from strata.errors import Stopped, UsageError
from strata.model.estimate import Estimate
from strata.model.progress import Phase, Progress
from strata.model.scale import ScaleAsk, ScaleResult

EXAMPLE = "for example: --task 'copy=cp big.db copy.db' --task 'checksum=sha256sum big.db'"
ROUNDS = 3
"""From so many on an interval may say that it is enough."""


@dataclass(frozen=True)
class Task:
    """``words``: a command, in which ``{}`` stands for the number."""

    name: str
    words: Sequence[str]

    @classmethod
    def parse(cls, text: str) -> Task:
        """Of ``NAME=COMMAND``. Raises `UsageError`."""
        name, equals, command = text.partition("=")
        if not equals or not name.strip():
            raise UsageError("cannot use --task", repr(text), "it is not NAME=COMMAND", EXAMPLE)
        return cls(name.strip(), words_of(command, "--task", EXAMPLE))


def measure_tasks(ask: ScaleAsk, tasks: Sequence[Task], emit: Emit, maker: Maker | None = None) -> ScaleResult:
    """Rounds of all tasks with the fewer and with the more, until the budget is over or every interval is narrow.

    Each has one round at least. Nothing is stored. Raises `UsageError`, `RunFailed` where a command fails, `Stopped`.
    """
    axis, values = ask.axis, ask.values
    if len(values) != 2:
        why = f"it needs exactly two values, and {len(values)} are given"
        raise UsageError("cannot time tasks over", axis.value, why, "--points 2,4")
    if len({t.name for t in tasks}) < len(tasks):
        raise UsageError("cannot use --task", tasks[0].name, "two tasks have this name", EXAMPLE)
    numbered = any(HOLE in word for t in tasks for word in t.words)
    if maker is None and not numbered:
        why = f"nothing would change: no task has {HOLE} for the number, and there is no --make"
        raise UsageError("cannot time tasks over", axis.value, why, f"--make 'COMMAND {HOLE}' --now N")
    taken: dict[tuple[int, str], list[float]] = {(v, t.name): [] for v in values for t in tasks}
    begun, rounds, ended, left = time.monotonic(), 0, "budget", None
    try:
        with stop_on_signals() as stop:
            while True:
                for value in values if rounds % 2 == 0 else reversed(values):
                    if maker is not None:
                        maker.make(value)
                    for task in tasks:
                        if stop():
                            raise Stopped("times of tasks are not stored", hint="start again")
                        emit(Progress(phase=Phase.MEASURE, label=task.name, message=f"{axis.value} {value}"))
                        taken[value, task.name].append(_timed(task, value))
                rounds += 1
                spent = time.monotonic() - begun
                if rounds >= ROUNDS and all(_narrow(times, ask.target) for times in taken.values()):
                    ended = "every task is within the target"
                    break
                if spent + spent / rounds > ask.budget_s:
                    break
    finally:
        left = None if maker is None else maker.put_back()
    return _result(ask, tasks, taken, time.monotonic() - begun, ended, left)


def _timed(task: Task, value: int) -> float:
    begun = time.monotonic_ns()
    run_users(filled(task.words, value), f"the task {task.name} failed:")
    return float(time.monotonic_ns() - begun)


def _mean(times: Sequence[float]) -> Estimate:
    from strata.analyse.stats import estimate

    return estimate(times, "ns")


def _narrow(times: Sequence[float], target: float) -> bool:
    found = _mean(times)
    return found.half_width is not None and found.half_width <= target * found.value


def _result(
    ask: ScaleAsk, tasks: Sequence[Task], taken: dict[tuple[int, str], list[float]], seconds: float, ended: str,
    left: str | None,
) -> ScaleResult:  # fmt: skip
    from strata.analyse.elasticity import timed

    few, many = ask.values
    found = tuple(
        timed(t.name, ask.axis.value, many / few, _mean(taken[few, t.name]), _mean(taken[many, t.name])) for t in tasks
    )
    rounds = len(taken[few, tasks[0].name])
    once = "; one round gives no interval" if rounds == 1 else ""
    remark = f"tasks with {ask.axis.value} {few} and {many}, {rounds} rounds each, in {units.duration(seconds * 1e9)}"
    return ScaleResult(
        where=f"{ask.axis.value} {few} and {many}", ask=ask, layers=(), points=(), curves=(), tasks=found,
        seconds=seconds, ended=ended, remarks=tuple(filter(None, (f"{remark}; ended: {ended}{once}", left))),
    )  # fmt: skip
