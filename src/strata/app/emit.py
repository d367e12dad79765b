"""``strata emit``: workloads as commands of another tool, to be run where Strata is not."""

from __future__ import annotations

from collections.abc import Sequence
from fnmatch import fnmatchcase

from strata.errors import SafetyRefusal, UsageError
from strata.formats.scripts import Measurement, Script, written
from strata.model.plan import Cell
from strata.model.workload import Workload
from strata.plan.order import interleave
from strata.plan.workloads import DIAGNOSE

MEASUREMENTS_MOST = 10_000


def emit(
    form: str,
    target: str,
    workloads: Sequence[Workload] = (),
    only: Sequence[str] = (),
    *,
    size: int,
    rounds: int,
    ramp_s: float,
    runtime_s: float,
    seed: int,
    counters: bool = True,
    destructive: bool = False,
) -> str:
    """The text of a script. ``workloads``: none means those of `diagnose`; ``only`` keeps those whose name matches.

    Raises `UsageError` where the tool has no words for a workload, and `SafetyRefusal` for writes to a device without
    ``destructive``.
    """
    chosen = [w for w in workloads or DIAGNOSE if not only or any(fnmatchcase(w.key, name) for name in only)]
    if not chosen:
        there = ", ".join(w.key for w in workloads or DIAGNOSE)
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
