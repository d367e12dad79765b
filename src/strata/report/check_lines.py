"""The checks that did not hold, those of one kind in one line."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from strata.model.analysis import SAMPLES, Check
from strata.model.groups import grouped
from strata.model.run import Report
from strata.report import figures


@dataclass(frozen=True)
class CheckLine:
    """``text`` says it in one line, ``each`` every single one where there are several."""

    impossible: bool
    heading: str
    text: str
    each: tuple[str, ...]


def check_lines(report: Report) -> tuple[CheckLine, ...]:
    """The impossible first, then in the order the laws are asked."""
    ordered = sorted(report.analysis.checks, key=lambda c: not c.impossible)
    groups = grouped(((check.impossible, check.kind), check) for check in ordered)
    cells = len(report.analysis.cells)
    return tuple(
        CheckLine(impossible, some[0].title, _text(some, cells), tuple(map(told, some)) if len(some) > 1 else ())
        for (impossible, _), some in groups.items()
    )


def told(check: Check) -> str:
    """``share/read-128KiB-qd8: 800 I/Os carry up to p50``; only the message where it is of no layer."""
    where = f"{check.layer}/{check.workload_key}" if check.workload_key else check.layer
    return f"{where}: {check.message}" if where else check.message


def _text(checks: Sequence[Check], cells: int) -> str:
    first, n = checks[0], len(checks)
    if first.kind == SAMPLES and not first.impossible:
        return (
            f"too few samples for p99 in {n} of {figures.plural(cells, 'cell')} (only percentiles with enough "
            "samples are shown); measure longer: --runtime"
        )
    if not first.layer:
        return first.message
    if n == 1:
        return f"{first.title}: {told(first)}"
    where = f"in {n} of {figures.plural(cells, 'cell')}" if first.workload_key else f"{n} times"
    return f"{first.title} {where}, for example {told(first)}"
