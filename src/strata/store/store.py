"""The store's operations. Each is one transaction: when it returns, it is on the disk."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Self, TypeVar

from sqlalchemy import Engine, delete, func, select, update
from sqlalchemy.exc import IntegrityError
from sqlalchemy.orm import Session

from strata.errors import StoreError, UsageError
from strata.model.analysis import Analysis
from strata.model.finding import Cause, Diagnosis, Verdict, VerdictKind
from strata.model.matrix import MatrixResult
from strata.model.place import identity_of
from strata.model.result import CellResult
from strata.model.run import Run, RunBrief, RunStatus
from strata.model.step_figures import StepFigures, figures_of
from strata.store.errors import named
from strata.store.payload import from_json, pack, to_json, unpack
from strata.store.recall import Recall, in_parts, keep_figures, keep_head, keep_new
from strata.store.tables import CellRow, FiguresRow, MatrixRow, OutcomeRow, RunRow, SeriesRow

WRITES = "strata_writes"
"""The execution option of a connection that says whether its transactions write."""

NAMED_AT_MOST = 10
_NO_RUN = "no run has this id"

OneRun = TypeVar("OneRun", bound=RunBrief)
Complete = tuple[Run, Sequence[CellResult], tuple[Analysis, Diagnosis]]
"""A run with its results and its outcome."""


class Store(Recall):
    """Runs with their cells and outcomes. Made by `strata.store.open_store`.

    Every operation raises `StoreError` where the file gives trouble; what was saved before stays intact.
    """

    def __init__(self, engine: Engine, path: Path | str) -> None:
        self.path = path
        self._places: dict[str, tuple[int, dict[str, str]]] = {}
        self._engine = engine
        self._reader = engine.execution_options(**{WRITES: False})

    def create_run(self, run: Run) -> None:
        """Keeps a new run. Raises `StoreError` where its id is taken; the run that has it stays as it is."""
        what = f"cannot save run {run.id} in"
        row = _run_row(run)
        with self._refusing(what, "a run with that id exists", "start the run again"), self._writing() as session:
            session.add(row)
            session.flush()
            keep_head(session, run)

    def has(self, run_id: str) -> bool:
        """Whether there is a run of exactly that id."""
        asked = select(RunRow.id).where(RunRow.id == run_id)
        with named(f"cannot read run {run_id} from", self.path), self._reading() as session:
            return session.scalars(asked).first() is not None

    def keep_whole(self, runs: Sequence[Complete]) -> None:
        """Runs that are complete, with their results and outcomes: all or none, in one transaction.

        Raises `StoreError` where an id is taken.
        """
        what = f"cannot save {len(runs)} runs in" if len(runs) > 1 else f"cannot save run {runs[0][0].id} in"
        heads: list[RunRow] = []
        steps: list[CellRow | OutcomeRow] = []
        figures: list[StepFigures] = []
        for run, results, (analysis, diagnosis) in runs:
            heads.append(_run_row(run))
            said = _said(diagnosis, f"run {run.id}")
            steps += [_cell_row(run.id, result) for result in results]
            steps.append(OutcomeRow(run_id=run.id, analysis=to_json(analysis, f"run {run.id}"), **said))
            places = {layer.name: identity_of(run, layer.name) for layer in run.plan.stack.layers}
            each = (figures_of(r, run.id, run.created_unix_ns, places.get(r.layer, "")) for r in results)
            figures += [found for found in each if found is not None]
        with self._refusing(what, "a run with that id exists", "delete it first"), self._writing() as session:
            session.add_all(heads)
            session.flush()
            session.add_all(steps)
            session.flush()
            keep_new(session, [run for run, _, _ in runs], figures)

    def update_run(self, run: Run) -> None:
        """Replaces a run's own values; its cells and outcome stay. Raises `UsageError` where it is not there."""
        fresh = _run_row(run)
        with named(f"cannot save run {run.id} in", self.path), self._writing() as session:
            row = session.get(RunRow, run.id)
            if row is None:
                raise self._unknown(session, run.id)
            row.created_unix_ns, row.status = fresh.created_unix_ns, fresh.status
            row.stack, row.document = fresh.stack, fresh.document
            keep_head(session, run)
        self._places.pop(run.id, None)

    def delete_runs(self, run_ids: Sequence[str]) -> None:
        """Takes these runs away with all that belongs to them, all or none.

        Raises `UsageError` where one is not there, or is in a version of a baseline.
        """
        held = {run: b for b in self.baselines() for run in b.runs}
        if kept := [f"{i} is in baseline {held[i].name}, version {held[i].version}" for i in run_ids if i in held]:
            hint = "a run that a baseline uses cannot be deleted; leave it out"
            raise UsageError("cannot delete", ", ".join(i for i in run_ids if i in held), "", hint, tuple(kept))
        with named("cannot delete from", self.path), self._writing() as session:
            for run_id in run_ids:
                row = session.get(RunRow, run_id)
                if row is None:
                    raise self._unknown(session, run_id)
                figures = select(FiguresRow.series_id).where(FiguresRow.run_id == run_id).distinct()
                series = session.scalars(figures).all()
                session.delete(row)
                session.flush()
                # A cell that nobody measured any more has no history.
                left = select(FiguresRow.series_id).where(FiguresRow.series_id.in_(series))
                session.execute(delete(SeriesRow).where(SeriesRow.id.in_(series), SeriesRow.id.not_in(left)))
                self._places.pop(run_id, None)

    def save_cell(self, run_id: str, result: CellResult) -> None:
        """Keeps the result of a step, in place of an earlier one of the same order."""
        what = f"step {result.order} of run {run_id}"
        row = _cell_row(run_id, result)
        with self._refusing(f"cannot save {what} in", _NO_RUN), self._writing() as session:
            session.merge(row)
            session.flush()
            created, places = self._where(session, run_id)
            figures = figures_of(result, run_id, created, places.get(result.layer, ""))
            keep_figures(session, run_id, result.order, figures)

    def cells(self, run_id: str) -> tuple[CellResult, ...]:
        """The results of a run in the order of its steps; empty where there are none."""
        asked = select(CellRow.step_order, CellRow.result).where(CellRow.run_id == run_id).order_by(CellRow.step_order)
        with named(f"cannot read run {run_id} from", self.path), self._reading() as session:
            rows = session.execute(asked).all()
        return tuple(unpack(CellResult, packed, f"step {n} of run {run_id}", str(self.path)) for n, packed in rows)

    def load_run(self, id_or_prefix: str) -> Run:
        """The run of that id, or the only one whose id begins so. Raises `UsageError` for none and for several."""
        return self._run(*self._found(id_or_prefix), Run)

    def load_brief(self, id_or_prefix: str) -> RunBrief:
        """The same without its cells and steps: a tenth of the time."""
        return self._run(*self._found(id_or_prefix), RunBrief)

    def load_briefs(self, ids_or_prefixes: Sequence[str]) -> tuple[RunBrief, ...]:
        """The same of several at once, in their order."""
        ids = [one.strip() for one in ids_or_prefixes]
        found: dict[str, RunBrief] = {}
        with named("cannot read the store", self.path), self._reading() as session:
            for some in in_parts(ids):
                rows = session.connection().execute(select(RunRow.id, RunRow.document).where(RunRow.id.in_(some)))
                # One document after the other: those of a thousand hosts together are large.
                found |= {row.id: self._run(row.id, row.document, RunBrief) for row in rows}
        return tuple(found[i] if i in found else self.load_brief(i) for i in ids)

    def _found(self, id_or_prefix: str) -> tuple[str, str]:
        """Its id and its document."""
        asked = id_or_prefix.strip()
        with named(f"cannot read run {asked} from", self.path), self._reading() as session:
            row = session.get(RunRow, asked)
            if row is None:
                row = session.get(RunRow, self._only(session, asked))
        assert row is not None
        return row.id, row.document

    def list_runs(self, limit: int, *status: RunStatus) -> tuple[Run, ...]:
        """The newest ``limit`` runs, the newest first; of those with one of these statuses, where any is given."""
        newest = select(RunRow).order_by(RunRow.created_unix_ns.desc(), RunRow.id.desc()).limit(max(limit, 0))
        if status:
            newest = newest.where(RunRow.status.in_([s.value for s in status]))
        with named("cannot read the store", self.path), self._reading() as session:
            rows = session.scalars(newest).all()
        return tuple(self._run(row.id, row.document, Run) for row in rows)

    def latest(self, *status: RunStatus) -> Run | None:
        """The newest run, of those with one of these statuses; None where there is none."""
        return next(iter(self.list_runs(1, *status)), None)

    def save_outcome(self, run_id: str, analysis: Analysis, diagnosis: Diagnosis) -> None:
        """Keeps what a run said in the end, in place of what it said before."""
        what = f"the outcome of run {run_id}"
        row = OutcomeRow(run_id=run_id, analysis=to_json(analysis, what), **_said(diagnosis, what))
        self._put(row, what)

    def save_diagnosis(self, run_id: str, diagnosis: Diagnosis) -> None:
        """Keeps what a run says now, beside the analysis that it had. Raises `StoreError` where none is kept."""
        what = f"the outcome of run {run_id}"
        values = _said(diagnosis, what)
        with named(f"cannot save {what} in", self.path), self._writing() as session:
            kept = update(OutcomeRow).where(OutcomeRow.run_id == run_id).values(**values).returning(OutcomeRow.run_id)
            known = session.execute(kept).first()
        if known is None:
            raise StoreError(f"cannot save {what} in", str(self.path), "it has no analysis")

    def outcome(self, run_id: str) -> tuple[Analysis, Diagnosis] | None:
        """What the run said in the end; None where it did not get there."""
        with named(f"cannot read run {run_id} from", self.path), self._reading() as session:
            row = session.get(OutcomeRow, run_id)
        if row is None:
            return None
        what, where = f"the outcome of run {run_id}", str(self.path)
        return from_json(Analysis, row.analysis, what, where), from_json(Diagnosis, row.diagnosis, what, where)

    def save_matrix(self, result: MatrixResult) -> None:
        """Keeps what a matrix said in the end, in place of what it said before."""
        what = f"the matrix of run {result.run}"
        row = MatrixRow(run_id=result.run, result=pack(result, what))
        self._put(row, what)

    def matrix(self, run_id: str) -> MatrixResult | None:
        """What the matrix said in the end; None where it did not get there, or cannot be read: its visits are the
        truth, and it can be worked out from them again."""
        with named(f"cannot read run {run_id} from", self.path), self._reading() as session:
            row = session.get(MatrixRow, run_id)
        with suppress(StoreError):
            said = None if row is None else unpack(MatrixResult, row.result, "matrix", str(self.path))
            # In a store that somebody changed it could be another run's.
            return said if said is not None and said.run == run_id else None
        return None

    def _put(self, row: OutcomeRow | MatrixRow, what: str) -> None:
        """A row beside a run, in place of an earlier one. Raises `StoreError` where there is no such run."""
        with self._refusing(f"cannot save {what} in", _NO_RUN), self._writing() as session:
            session.merge(row)

    def verdicts(self, run_ids: Iterable[str]) -> dict[str, Verdict]:
        """The verdicts of those runs that have one, by run id; without loading their analyses."""
        wanted = select(OutcomeRow.run_id, OutcomeRow.diagnosis).where(OutcomeRow.run_id.in_(list(run_ids)))
        with named("cannot read the store", self.path), self._reading() as session:
            rows = session.execute(wanted).all()
        where = str(self.path)
        return {i: from_json(Diagnosis, text, f"the outcome of run {i}", where).verdict for i, text in rows}

    def causes(self, run_ids: Iterable[str]) -> dict[str, tuple[VerdictKind, Cause]]:
        """What the runs that have a verdict say, by run id; what nobody knows is left out. No document is read."""
        wanted = select(OutcomeRow.run_id, OutcomeRow.verdict, OutcomeRow.cause)
        with named("cannot read the store", self.path), self._reading() as session:
            rows = session.execute(wanted.where(OutcomeRow.run_id.in_(list(run_ids)))).all()
        found = {}
        for run_id, verdict, cause in rows:
            with suppress(ValueError):
                found[run_id] = VerdictKind(verdict), Cause(cause)  # type: ignore[call-arg]  # by its key, as any enum
        return found

    def close(self) -> None:
        """Lets go of the file. May be called twice."""
        self._engine.dispose()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @contextmanager
    def _refusing(self, what: str, why: str, hint: str = "") -> Iterator[None]:
        """As `named`; a key that is taken, or that leads to no row, is a `StoreError` that says ``why``."""
        with named(what, self.path):
            try:
                yield
            except IntegrityError as e:
                raise StoreError(what, str(self.path), why, hint) from e

    @contextmanager
    def _writing(self) -> Iterator[Session]:
        with Session(self._engine, expire_on_commit=False) as session, session.begin():
            yield session

    @contextmanager
    def _reading(self) -> Iterator[Session]:
        with Session(self._reader, expire_on_commit=False) as session, session.begin():
            yield session
            session.expunge_all()

    def _where(self, session: Session, run_id: str) -> tuple[int, dict[str, str]]:
        """(when the run was made, where its layers are), read once a run: its document is long."""
        if run_id not in self._places:
            row = session.get(RunRow, run_id)
            if row is None:
                return 0, {}
            run = self._run(run_id, row.document, Run)
            places = {layer.name: identity_of(run, layer.name) for layer in run.plan.stack.layers}
            self._places[run_id] = run.created_unix_ns, places
        return self._places[run_id]

    def _run(self, run_id: str, document: str, kind: type[OneRun]) -> OneRun:
        run = from_json(kind, document, f"run {run_id}", str(self.path))
        if run.id != run_id:
            raise StoreError(
                f"cannot read run {run_id} from the store", str(self.path), f"its document is of run {run.id}"
            )
        return run

    def _only(self, session: Session, prefix: str) -> str:
        begins = func.substr(RunRow.id, 1, len(prefix)) == prefix
        asked = select(RunRow.id).where(begins).order_by(RunRow.created_unix_ns.desc()).limit(NAMED_AT_MOST + 1)
        found = session.scalars(asked).all() if prefix else []
        if not found:
            raise self._unknown(session, prefix)
        if len(found) > 1:
            shown = (*found[:NAMED_AT_MOST], "…") if len(found) > NAMED_AT_MOST else tuple(found)
            raise UsageError(
                "the run id is ambiguous:", prefix, "several runs start with it", "give more characters", shown
            )
        return found[0]

    def _unknown(self, session: Session, run_id: str) -> UsageError:
        newest = session.scalars(select(RunRow.id).order_by(RunRow.created_unix_ns.desc()).limit(3)).all()
        hint = f"the newest are {', '.join(newest)}" if newest else "there are no runs yet: strata diagnose PATH"
        return UsageError(f"no run {run_id!r} in the store", str(self.path), "", hint)


def _said(diagnosis: Diagnosis, what: str) -> dict[str, str | None]:
    """The columns that a diagnosis fills."""
    verdict = diagnosis.verdict
    return {
        "verdict": verdict.kind.value,
        "layer": verdict.layer,
        "cause": verdict.cause.value,
        "diagnosis": to_json(diagnosis, what),
    }


def _cell_row(run_id: str, result: CellResult) -> CellRow:
    return CellRow(
        run_id=run_id,
        step_order=result.order,
        round=result.round,
        kind=result.kind,
        layer=result.layer,
        workload_key=result.workload_key,
        iops=result.result.iops if result.result else None,
        error=result.error,
        result=pack(result, f"step {result.order} of run {run_id}"),
    )


def _run_row(run: Run) -> RunRow:
    return RunRow(
        id=run.id,
        created_unix_ns=run.created_unix_ns,
        status=run.status.value,
        stack=run.plan.stack.name,
        document=to_json(run, f"run {run.id}"),
    )
