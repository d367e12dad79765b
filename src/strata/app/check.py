"""The consistency laws over a file of figures or a run in the store."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from strata.analyse import view_of
from strata.analyse.conclusions import conclusions_of
from strata.analyse.laws import ask, ask_run, laws
from strata.analyse.of_table import ladder_of
from strata.errors import UsageError
from strata.formats.results import PLAIN_TABLE, Misread, Source, formats, read_result
from strata.formats.results._table import table_of as table_of_import
from strata.formats.table import numbers_not_read, read_table
from strata.host.untrusted import TABLE_MOST, read_text
from strata.model.figures import Checked, Role, Table
from strata.store import open_store


def check_file(path: Path, columns: Mapping[str, str] | None = None, plan: Path | None = None) -> Checked:
    """The laws over a CSV or TSV table, or a fio result. Rows of ``plan`` are what was planned.

    Raises `UsageError` where the file cannot be read or understood.
    """
    table = read_figures(path, columns or {})
    if plan is not None:
        planned = read_figures(plan, {})
        rows = tuple(r.model_copy(update={"role": Role.PLANNED}) for r in planned.rows)
        table = table.model_copy(update={"rows": table.rows + rows})
    return _checked(table, str(path))


def _checked(table: Table, source: str) -> Checked:
    # Here: a run that Strata measured is checked against the laws alone.
    from strata.diagnose import diagnose, propose

    rows = tuple(r for r in table.rows if r.role is not Role.PLANNED)
    told = ask(table)
    ladder = ladder_of(table)
    return Checked(
        source=source,
        rows=len(rows),
        figures=tuple(dict.fromkeys([*(k for r in rows for k in r.figures), *table.figures])),
        labels=tuple(dict.fromkeys([*(k for r in rows for k in r.words), *table.words])),
        unread=numbers_not_read(table),
        laws=tuple(law.name for law in laws() if law.table is not None),
        asked=told.asked,
        flags=told.flags,
        left_out=() if ladder is None else tuple(check.message for check in ladder[1].checks),
        diagnosis=None if ladder is None else diagnose(*ladder),
        experiment=None if ladder is None else propose(*ladder),
        conclusions=conclusions_of(table),
    )


def check_run(run_id: str | None, store_url: str | None) -> Checked:
    """Every law over a run in the store, also one without a verdict; the newest when no id is given."""
    with open_store(store_url) as store:
        run = store.load_run(run_id) if run_id else store.latest()
        if run is None:
            raise UsageError("the store has no runs", "", "", "give a file, or measure first: strata diagnose PATH")
        results = store.cells(run.id)
    if run.imported is not None:
        return _checked(table_of_import(run.imported, run.id), run.id)
    seen = view_of(run.plan, results, data=run.data, generator=run.generator, survey=run.survey, first_noise=run.noise)
    told, every = ask_run(seen), tuple(law.name for law in laws())
    return Checked(source=run.id, rows=len(seen.cells), laws=every, asked=told.asked, flags=told.flags)


def read_figures(path: Path, columns: Mapping[str, str]) -> Table:
    """A table, or another tool's result as one. Raises `UsageError` where it cannot be read or understood."""
    text = read_text(path, "cannot read", TABLE_MOST, "give a CSV or TSV table in UTF-8, or a fio result")
    if '"schema": "strata.' in text[:200]:
        raise UsageError("cannot read", str(path), "it is Strata's own document", "give the run: strata check RUN")
    is_json = path.suffix == ".json" or text.lstrip().startswith("{")
    source = Source(path.name, len(text.encode()), lambda: iter((text.encode(),)))
    others = (one for one in formats() if one.name != PLAIN_TABLE)
    if is_json or (not columns and any(one.recognise(source.head) for one in others)):
        try:
            return table_of_import(read_result(source), path.name)
        except Misread as e:
            where = "" if e.line is None else f" (line {e.line})"
            raise UsageError("cannot read", str(path), f"{e.why}{where}", "strata import --dry-run shows more") from e
    return read_table(text, path.name, columns)
