"""``strata emit``: workloads as commands of another tool, to be run where Strata is not."""

from __future__ import annotations

from collections.abc import Sequence
from fnmatch import fnmatchcase
from typing import TypeVar

from strata import units
from strata.app.kept import opened
from strata.app.matrix_plan import MatrixWords, asked_of
from strata.app.options import Options
from strata.errors import SafetyRefusal, UsageError
from strata.formats.scripts import Measurement, Script, written
from strata.model.plan import Cell, Plan
from strata.model.workload import Workload
from strata.plan.order import interleave
from strata.plan.workloads import DIAGNOSE

Number = TypeVar("Number", int, float)
MEASUREMENTS_MOST = 10_000
SIZE, ROUNDS, RAMP_S, RUNTIME_S = units.GIB, 3, 2.0, 10.0
"""Where nobody says another, and no stored run does."""


def emit(
    form: str,
    target: str,
    asked: Sequence[Workload] | MatrixWords | str = (),
    only: Sequence[str] = (),
    *,
    size: int | None = None,
    rounds: int | None = None,
    ramp_s: float | None = None,
    runtime_s: float | None = None,
    seed: int = 1,
    store_url: str | None = None,
    counters: bool = True,
    destructive: bool = False,
) -> str:
    """The text of a script. ``asked``: workloads (none: those of `diagnose`), the words of a matrix, or the id of a
    stored run, which may be an imported one, a matrix or unfinished: what is not said is as in it. ``only`` keeps the
    workloads whose name matches.

    Raises `UsageError` where the tool has no words for a workload, and `SafetyRefusal` for writes to a device without
    ``destructive``.
    """
    told: tuple[int | None, int | None, float | None, float | None] = (None, None, None, None)
    if isinstance(asked, str):
        like = _plan_of(asked, store_url)
        workloads = like.workloads
        # A run that was imported may not know its size or time.
        told = like.file_size or None, like.rounds, like.ramp_s, like.runtime_s or None
    else:
        # In a matrix what writes is write-through where nobody says another.
        workloads = asked_of(asked, Options())[1] if isinstance(asked, MatrixWords) else tuple(asked) or DIAGNOSE
    size, rounds = _said(size, told[0], SIZE), _said(rounds, told[1], ROUNDS)
    ramp_s, runtime_s = _said(ramp_s, told[2], RAMP_S), _said(runtime_s, told[3], RUNTIME_S)
    for option, value, usual in (("--size", size, "1g"), ("--runtime", runtime_s, "10s")):
        if value <= 0:
            raise UsageError("cannot use", option, "it must be greater than 0", f"for example: {option} {usual}")
    chosen = [w for w in workloads if not only or any(fnmatchcase(w.key, name) for name in only)]
    if not chosen:
        there = ", ".join(w.key for w in workloads)
        raise UsageError("nothing to write:", ", ".join(only), "no workload has such a name", f"there are {there}")
    if not 1 <= rounds * len(chosen) <= MEASUREMENTS_MOST:
        why = f"{rounds} rounds of {len(chosen)} workloads; from 1 to {MEASUREMENTS_MOST} measurements are written"
        raise UsageError("cannot write", form, why, "change --rounds")
    cells = {cell.key: cell for cell in (Cell(layer="target", workload=w) for w in chosen)}
    made = [
        Measurement(
            name=f"{step.order + 1:04d}-r{step.round + 1}-{cells[step.cell].workload.key}",
            round=step.round,
            workload=cells[step.cell].workload.model_copy(update={"seed": seed * MEASUREMENTS_MOST + step.order}),
        )
        for step in interleave(tuple(cells.values()), rounds, seed)
    ]
    order = f"in an order shuffled with seed {seed}"
    script = Script(target, size, tuple(made), ramp_s, runtime_s, order, counters)
    if script.device and any(w.rw.writes for w in chosen) and not destructive:
        why = "some of these workloads write"
        raise SafetyRefusal("would overwrite the device", target, why, "--destructive, or only workloads that read")
    return written(form, script)


def _plan_of(run: str, store_url: str | None) -> Plan:
    with opened(store_url) as store:
        return store.load_run(run).plan


def _said(given: Number | None, like: Number | None, usual: Number) -> Number:
    return next(value for value in (given, like, usual) if value is not None)
