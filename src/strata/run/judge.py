"""Whether a result counts as a measurement of its step."""

from __future__ import annotations

from strata.model.result import EngineResult


def cut_short(result: EngineResult) -> bool:
    """Whether somebody stopped it before its time: kept, and measured again on resume."""
    return result.stop_reason == "stopped"


def fault(result: EngineResult) -> str | None:
    """Why this is no measurement, None where it is one. Single failed I/Os are counted, and no reason."""
    if cut_short(result):
        return f"stopped after {result.seconds:.3g} s"
    names = ", ".join(sorted({error.name for d in result.directions for error in d.errors}))
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
