"""The list of saved runs for the terminal."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from strata.model.finding import Verdict
from strata.model.remembered import RunHead
from strata.report import figures, words
from strata.report.text_layout import Paint, table


def runs_text(
    runs: Sequence[RunHead],
    width: int,
    color: bool = False,
    verdicts: Mapping[str, Verdict] | None = None,
    *,
    narrowed: bool = False,
    demos: bool = True,
) -> str:
    """One line per run, newest as given. ``verdicts`` by run id, where there is one. ``narrowed``: not all were asked
    for; ``demos``: those of demos too."""
    if not runs:
        if narrowed:
            return "no such runs; `strata runs` lists all"
        more = "" if demos else "; `strata runs --demos` includes demo runs"
        return f"no runs yet; `strata diagnose PATH` makes the first{more}"
    known = verdicts or {}

    def last(run: RunHead) -> str:
        verdict = known.get(run.id)
        return words.verdict_title(verdict) if verdict else (run.message or "")

    named, placed = any(run.name for run in runs), width >= 100 and any(_where(run) for run in runs)
    rows = [
        (
            run.id,
            figures.utc(run.created_unix_ns).removesuffix(" UTC"),
            run.status.value,
            *((run.name,) if named else ()),
            run.stack,
            *((_where(run),) if placed else ()),
            f"{len(run.layers)}×{len(run.workloads)}×{run.rounds}",
            last(run),
        )
        for run in runs
    ]
    size = "layers×workloads×rounds" if width >= 140 else "l×w×r"
    middle = (*(("name",) if named else ()), "stack", *(("endpoint",) if placed else ()))
    head = ("run", "made (UTC)", "status", *middle, size, "verdict")
    at = head.index(size)
    lines = table(head, rows, width, numeric=frozenset({at}), elastic=frozenset({*range(3, at), at + 1}))
    return "\n".join([Paint(color)(lines[0], "bold"), *lines[1:]])


def _where(run: RunHead) -> str:
    """The uppermost endpoint, where the stack is not called by it already."""
    above = run.endpoints[-1] if run.endpoints else ""
    return "" if run.stack.startswith(above) else above
