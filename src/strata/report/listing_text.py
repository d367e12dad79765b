"""The list of saved runs for the terminal."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from strata.model.finding import Verdict
from strata.model.remembered import RunHead
from strata.report import figures, words
from strata.report.textual import Paint, table


def runs_text(
    runs: Sequence[RunHead], width: int, color: bool = False, verdicts: Mapping[str, Verdict] | None = None
) -> str:
    """One line per run, newest as given. ``verdicts`` by run id, where there is one."""
    if not runs:
        return "no runs yet; `strata diagnose PATH` makes the first"
    known = verdicts or {}

    def last(run: RunHead) -> str:
        verdict = known.get(run.id)
        return words.verdict_title(verdict) if verdict else (run.message or "")

    rows = [
        (
            run.id,
            figures.utc(run.created_unix_ns).removesuffix(" UTC"),
            run.status.value,
            run.stack,
            f"{len(run.layers)}×{len(run.workloads)}×{run.rounds}",
            last(run),
        )
        for run in runs
    ]
    head = ("run", "made (UTC)", "status", "stack", "layers×workloads×rounds" if width >= 100 else "l×w×r", "verdict")
    lines = table(head, rows, width, numeric=frozenset({4}), elastic=frozenset({3, 5}))
    return "\n".join([Paint(color)(lines[0], "bold"), *lines[1:]])
