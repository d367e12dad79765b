"""The result of a step, and whether it counts as a measurement of it."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from strata.errors import StrataError
from strata.model.plan import Cell, Step
from strata.model.progress import Progress
from strata.model.result import CellResult, EngineResult


def result_of(step: Step, cell: Cell, result: EngineResult | None = None, **beside: Any) -> CellResult:
    """As it is kept; ``beside``: further fields of `CellResult`."""
    return CellResult(
        order=step.order,
        round=step.round,
        cell=cell.key,
        kind=step.kind.value,
        layer=cell.layer,
        workload_key=cell.workload.key,
        result=result,
        experiment=step.experiment,
        changed=step.changed,
        **beside,
    )


def ended(told: Progress, result: CellResult) -> Progress:
    """The progress of a step once it is committed."""
    done = result.result
    rates = {} if done is None else {"iops": done.iops, "bytes_per_second": done.bytes_per_second}
    return told.model_copy(update={"finished": True, "error": result.error, **rates})


def cut_short(result: EngineResult) -> bool:
    """Whether somebody stopped it before its time: kept, and measured again on resume."""
    return result.stop_reason == "stopped"


def fault(result: EngineResult) -> str | None:
    """Why this is no measurement, None where it is one. Single failed I/Os are counted, and no reason."""
    if result.lost:
        gone = ", ".join(f"client {one.client} on {one.node}: {one.why}" for one in result.lost)
        return f"{len(result.lost)} of {len(result.lost) + len(result.clients)} clients were lost ({gone})"
    if cut_short(result):
        return f"stopped after {result.seconds:.3g} s"
    names = ", ".join(sorted({error.name for d in result.directions for error in d.errors}))
    if result.stop_reason == "lease":
        return f"stopped by itself after {result.seconds:.3g} s, as nothing was heard from who started it"
    if result.stop_reason == "stuck":
        return f"{result.stuck} I/Os were issued and never came back"
    if result.message is not None:
        return f"ended after {result.seconds:.3g} s: {result.message}"
    if result.stop_reason == "error":
        return f"an I/O failed: {names or 'unknown error'}"
    if result.ops == 0 and result.errored:
        return f"every I/O failed: {names or 'unknown error'} ({result.errored} in all)"
    if result.ops == 0:
        return f"no I/O completed within {result.seconds:.3g} s"
    return None


def reason(error: StrataError | OSError) -> str:
    """In words, what went wrong."""
    return error.headline if isinstance(error, StrataError) else str(error) or type(error).__name__


def done_orders(results: Iterable[CellResult]) -> frozenset[int]:
    """Orders of the steps that were measured. Failed and cut-short ones are not among them: a resume is also the
    user's answer to what failed, and saving a step again replaces what was kept of it."""
    return frozenset(r.order for r in results if r.error is None and r.result is not None)
