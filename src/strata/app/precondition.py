"""Writing Strata's own file until the write rate is steady: the hands of `strata.run.preconditioner`."""

from __future__ import annotations

from strata import units
from strata.app.driver import Here
from strata.app.runner import Runner
from strata.app.sampling_scope import SamplingScope
from strata.engine import Request, Timing
from strata.engine.native import NativeEngine
from strata.errors import RunFailed
from strata.model.placement import Placement
from strata.model.plan import Cell
from strata.model.precondition import PreconditionBudget, Preconditioned, WriteRound
from strata.model.progress import Phase, Progress
from strata.model.workload import Cache
from strata.run.judge import cut_short, fault
from strata.run.preconditioner import WINDOW, Write, Wrote, precondition

SECONDS_MAX = 60.0
FILES_MAX = 8
"""Without a word about bytes: so many times the size of the file."""

FIRST_ROUND = 1 << 20
"""Rounds are numbered from here, so that they draw other offsets than those that are measured."""


def budget_of(seconds: float | None, bytes_max: int | None, runtime_s: float, size: int) -> PreconditionBudget | None:
    """None where neither is asked. Rounds last as long as a cell is measured, or as the window needs to fit."""
    if seconds is None and bytes_max is None:
        return None
    limit = seconds if seconds is not None else SECONDS_MAX
    return PreconditionBudget(
        seconds_max=limit,
        bytes_max=bytes_max if bytes_max is not None else max(1, FILES_MAX * size),
        round_s=min(runtime_s, limit / WINDOW),
    )


def write_until_steady(
    runner: Runner, cell: Cell, budget: PreconditionBudget, placement: Placement | None
) -> Preconditioned:
    """Rounds of the cell's own workload where its layer is driven. Raises `SafetyRefusal` where that is not Strata's
    own any more."""
    runner.site.check_still_ours(cell.layer)
    first, *more = runner.site.pieces(cell.layer)
    workload = cell.workload.model_copy(update={"cache": Cache.AS_FOUND, "clients": 1})
    # Another engine may know no bound of bytes: in this process it is always Strata's own that writes.
    own = isinstance(runner.driver, Here)
    alone = Here(NativeEngine(), lambda _: SamplingScope()).alone if own else runner.driver.alone

    def write(asked: Write) -> Wrote:
        timing = Timing(ramp_s=0.0, runtime_s=asked.seconds, interval_s=asked.seconds)
        number = FIRST_ROUND + asked.number
        request = Request(
            endpoint=first.endpoint, workload=workload, segments=first.segments, timing=timing, round_index=number,
            placement=placement, more=tuple(more), stop_after_bytes=asked.bytes_max,
        )  # fmt: skip
        result = alone(cell.layer, request, runner.stop_requested)
        done = WriteRound(bytes=result.write.bytes, seconds=result.seconds)
        if cut_short(result):
            return Wrote(done, cut=True)
        if trouble := fault(result):
            raise RunFailed("cannot precondition", first.endpoint.uri, trouble)
        rate = done.bytes_per_second
        now = Progress(phase=Phase.PRECONDITION, layer=cell.layer, label=cell.workload.label, bytes_per_second=rate)
        runner.emit(now)
        return Wrote(done)

    return precondition(cell, budget, write)


def said_of(done: Preconditioned) -> str:
    """``steady after 7 rounds (3.5 s, 812 MiB written)``, or what is missing."""
    cost = f"{len(done.rounds)} rounds ({units.duration(done.seconds * units.NS_PER_S)}, "
    cost += f"{units.size(done.bytes_written)} written)"
    if done.reached:
        return f"steady after {cost}"
    if done.ended == "failed":
        return f"failed after {cost}: {done.error}"
    last = done.last
    why = (
        "too few rounds to judge"
        if last is None
        else (f"max − min {units.percent(last.spread, 2)} of the mean, slope {units.percent(last.slope, 2)}")
    )
    limit = {"time": "the time limit was reached", "bytes": "the byte limit was reached"}
    return f"not steady after {cost}: {why}; {limit.get(done.ended, 'it was stopped')}"
