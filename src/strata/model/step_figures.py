"""The few numbers of one measurement that comparing and remembering need, so that neither decodes a whole result."""

from __future__ import annotations

import array
import math
import re
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple, get_args, get_type_hints

from strata.errors import RunFailed
from strata.model import histogram
from strata.model.result import CellResult, EngineResult
from strata.parsing import RUN_ID

GRID: tuple[float, ...] = (1.0, *(float(p) for p in range(2, 99, 2)), 99.0, 99.5, 99.9, 99.99)
"""Percentiles at which a distribution is remembered; between two of them it is known to two percent of the I/Os."""


_SINGLE = array.array("f").itemsize


class StepFigures(NamedTuple):
    """One step: rates per second, times in ns, None where the measurement does not have it.

    ``identity`` says where it was measured, beyond the name of the layer: host, stack and endpoint without what
    changes from run to run. ``packed`` are the service times at `GRID` (`pack`), empty where there is no histogram.
    ``caching`` is what was in force (``direct none none``). A tuple and packed, because a comparison reads thousands.
    """

    run_id: str
    created_unix_ns: int
    order: int
    round: int
    kind: str
    layer: str
    workload_key: str
    identity: str
    ops: int
    errored: int
    iops: float
    bytes_per_second: float
    mean_ns: float | None
    p50_ns: float | None
    p90_ns: float | None
    p99_ns: float | None
    p999_ns: float | None
    packed: bytes
    caching: str

    @property
    def cell(self) -> str:
        """``<layer>/<workload key>``, as in a plan."""
        return f"{self.layer}/{self.workload_key}"


class RoundTimes(NamedTuple):
    """Of measuring steps what hosts are compared by, a column each: the cell (layer and workload key), the round, and
    the mean time of a request in ns."""

    cells: Sequence[tuple[str, str]]
    rounds: Sequence[int]
    mean_ns: Sequence[float]


_COLUMNS = {
    name: (frozenset((int, float) if kind is float else (kind,)), optional)
    for name, (kind, optional) in {
        name: ((get_args(hint) or (hint,))[0], type(None) in get_args(hint))
        for name, hint in get_type_hints(StepFigures).items()
    }.items()
}


def sound(figures: tuple[StepFigures, ...]) -> tuple[StepFigures, ...]:
    """The same. Raises `ValueError` for figures that no measurement gives: anybody may have written to a database."""
    # By column, because a comparison reads thousands: a tenth of what it takes to fetch them.
    for name, column in zip(_COLUMNS, zip(*figures, strict=True), strict=False):
        check_column(name, column)
    return figures


def check_column(name: str, column: Sequence[Any]) -> None:
    """Raises `ValueError` where a field of `StepFigures` has not always what a measurement gives."""
    kinds, optional = _COLUMNS[name]
    given = [v for v in column if v is not None] if optional else column
    if not set(map(type, given)) <= kinds:
        raise ValueError(f"a {name} of the wrong type")
    if float in kinds and not all(map(math.isfinite, given)):
        raise ValueError(f"a {name} that is not finite")
    if name in ("ops", "iops") and min(given) <= 0:
        raise ValueError(f"{name} below 1")
    if name == "packed" and not set(map(len, given)) <= {0, len(GRID) * _SINGLE}:
        raise ValueError("a distribution of the wrong length")
    if name == "run_id":
        for one in set(given):
            if re.fullmatch(RUN_ID, one) is None:
                raise ValueError("a run with another id")


def pack(times: Iterable[float]) -> bytes:
    """Single precision, in this machine's order of bytes."""
    return array.array("f", times).tobytes()


def figures_of(result: CellResult, run_id: str, created_unix_ns: int, identity: str) -> StepFigures | None:
    """The numbers of one step; None where it gave no I/O or ended before its time."""
    r = result.result
    if r is None or r.ops == 0 or r.measured_ns <= 0 or result.error:
        return None
    times = _times(r)
    at = dict(zip(GRID, times, strict=True)) if times else {}
    return StepFigures(
        run_id=run_id,
        created_unix_ns=created_unix_ns,
        order=result.order,
        round=result.round,
        kind=result.kind,
        layer=result.layer,
        workload_key=result.workload_key,
        identity=identity,
        ops=r.ops,
        errored=r.errored,
        iops=r.iops,
        bytes_per_second=r.bytes_per_second,
        mean_ns=r.mean_service_ns,
        p50_ns=at.get(50.0),
        p90_ns=at.get(90.0),
        p99_ns=at.get(99.0),
        p999_ns=at.get(99.9),
        packed=pack(times),
        caching=_caching(r),
    )


def _times(result: EngineResult) -> tuple[float, ...]:
    try:
        merged = histogram.merge([result.read.service_time, result.write.service_time])
        if merged is None or not histogram.total(merged):
            return ()
        return tuple(map(float, histogram.quantiles(merged, [p / 100 for p in GRID])))
    except RunFailed:
        # The result itself is kept whole; a histogram that cannot be read is said where a report needs it.
        return ()


def _caching(result: EngineResult) -> str:
    if result.caching is None:
        return ""
    state = result.caching.in_force
    return f"{'direct' if state.direct else 'buffered'}, sync {state.sync}, page cache {state.cache}"
