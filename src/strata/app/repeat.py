"""The command lines that repeat a run: Strata's own, and fio's for each cell."""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from pathlib import Path

from strata.formats import fio_command
from strata.model.endpoint import Endpoint
from strata.model.run import Run


def repeat_commands(run: Run, endpoints: Mapping[str, Endpoint]) -> tuple[tuple[str, str], ...]:
    """(what it repeats, the command). fio's are for one round of a cell, on a file that still has to exist."""
    argv = run.environment.command
    lines: list[tuple[str, str]] = []
    if argv:
        lines.append(("this run", shlex.join(["strata", *argv[1:]]) if Path(argv[0]).name else shlex.join(argv)))
    plan = run.plan
    for cell in plan.cells:
        endpoint = endpoints.get(cell.layer)
        if cell.skip is not None or endpoint is None or run.data is None:
            continue
        segments = run.data.segments.get(cell.layer, ())
        command = fio_command(endpoint, cell.workload, segments, plan.ramp_s, plan.runtime_s)
        if command is not None:
            lines.append((f"{cell.layer} · {cell.workload.label}", command))
    return tuple(lines)
