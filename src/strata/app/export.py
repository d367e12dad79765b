"""``strata export``: runs of the store in the forms of other tools."""

from __future__ import annotations

from collections.abc import Sequence

from strata.app.kept import load_kept
from strata.errors import UsageError
from strata.formats.exports import MeasuredRun, exported
from strata.formats.exports.tables import CELLS
from strata.model.run import Report


def export(form: str, ids: Sequence[str], store_url: str | None, table: str = CELLS) -> str:
    """The text. ``ids``: none means the newest run. Raises `UsageError` for what is not there or cannot be exported."""
    found = []
    for run_id in ids or (None,):
        report = load_kept(run_id, store_url)
        if not isinstance(report, Report):
            why = "it is a matrix, whose cells are predicted and measured together"
            raise UsageError("cannot export", run_id or "the newest run", why, "strata report RUN --json")
        found.append(MeasuredRun(report.run, report.analysis, report.results))
    return exported(form, found, table)
