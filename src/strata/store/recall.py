"""What is remembered over runs: read from narrow columns and indices, never from whole results."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any, TypeVar

from sqlalchemy import ColumnElement, Connection, Select, bindparam, insert, select, text
from sqlalchemy.orm import Session

from strata.errors import StoreError, UsageError
from strata.model.plan import StepKind
from strata.model.remembered import EVERY, Baseline, RunHead, SeriesName, Wanted
from strata.model.run import Run, RunStatus
from strata.model.step_figures import RoundTimes, StepFigures, check_column, sound
from strata.parsing import json_of
from strata.store.errors import named
from strata.store.tables import BaselineRow, FiguresRow, HeadRow, RunRow, SeriesRow

NUMBERS = (
    "run_id", "created_unix_ns", "step_order", "round", "kind", "ops", "errored", "iops", "bytes_per_second",
    "mean_ns", "p50_ns", "p90_ns", "p99_ns", "p999_ns", "caching",
)  # fmt: skip

Named = TypeVar("Named", int, str)
PARAMETERS_MOST = 10_000
"""Of one question: SQLite takes 32,766."""
BINARY = "strata_binary"
"""The execution option of a query of many numbers: a PostgreSQL server then sends them as they are, not as text, which
takes half as long to read."""


class Recall:
    """The part of `strata.store.Store` that remembers. Raises `StoreError` as all of it does."""

    path: Path | str

    def _reading(self) -> AbstractContextManager[Session]:
        raise NotImplementedError

    def _writing(self) -> AbstractContextManager[Session]:
        raise NotImplementedError

    def heads(self, limit: int, wanted: Wanted = EVERY, skip: int = 0) -> tuple[RunHead, ...]:
        """The newest ``limit`` runs of those ``wanted`` as a list shows them, the newest first, without the newest
        ``skip``."""
        asked = (
            select(
                RunRow.id, RunRow.created_unix_ns, RunRow.status, RunRow.stack,
                HeadRow.layers, HeadRow.workloads, HeadRow.rounds, HeadRow.message,
                HeadRow.name, HeadRow.note, HeadRow.host, HeadRow.endpoints,
            )
            .join(HeadRow, HeadRow.run_id == RunRow.id, isouter=True)
            .where(*_conditions(wanted))
            .order_by(RunRow.created_unix_ns.desc(), RunRow.id.desc())
            .limit(max(limit, 0))
            .offset(max(skip, 0))
        )  # fmt: skip
        with named("cannot read the store", self.path), self._reading() as session:
            rows = session.execute(asked).all()
            return tuple(
                RunHead(
                    id=r.id, created_unix_ns=r.created_unix_ns, status=RunStatus(r.status), stack=r.stack,
                    layers=json_of(r.layers or "[]"), workloads=json_of(r.workloads or "[]"),
                    rounds=r.rounds or 0, message=r.message, name=r.name or "", note=r.note or "", host=r.host or "",
                    endpoints=json_of(r.endpoints or "[]"),
                )
                for r in rows
            )  # fmt: skip

    def figures(self, run_id: str) -> tuple[StepFigures, ...]:
        """The few numbers of each of a run's measurements that gave I/Os, in the order of its steps."""
        with named(f"cannot read run {run_id} from", self.path), self._reading() as session:
            # By the connection: rows of numbers do not pass through what would make objects of them.
            rows = session.connection().execute(figures_query(run_id)).all()
            # By position: a comparison reads thousands of rows, and their attributes by name take twice as long.
            return sound(tuple(map(StepFigures._make, rows)))

    def times(self, run_ids: Sequence[str]) -> list[RoundTimes]:
        """For each run, of each of its measuring steps the mean time, where it has one, in the order of its steps."""
        with named("cannot read the store", self.path), self._reading() as session:
            connection, asked = session.connection(), _times_query()
            each = [connection.execute(asked, {"run_id": run}).all() for run in run_ids]
            cells = _cells(connection, {row[0] for rows in each for row in rows})
            return [_times(rows, cells) for rows in each]

    def series(self) -> tuple[SeriesName, ...]:
        """Every cell at every place that was ever measured."""
        asked = select(SeriesRow.layer, SeriesRow.workload_key, SeriesRow.identity).order_by(SeriesRow.id)
        with named("cannot read the store", self.path), self._reading() as session:
            rows = session.execute(asked).all()
            return tuple(SeriesName(layer=r.layer, workload_key=r.workload_key, identity=r.identity) for r in rows)

    def history(self, series: SeriesName, newest: int | None = None) -> tuple[StepFigures, ...]:
        """The measurements of one series, the oldest first, without distributions; at most the ``newest`` so many."""
        with named("cannot read the store", self.path), self._reading() as session:
            rows = session.execute(history_query(series, newest)).all()
            return sound(tuple(StepFigures._make((*row[:-1], b"", row[-1])) for row in reversed(rows)))

    def rates(self, series: Sequence[SeriesName], newest: int) -> list[dict[str, list[float]]]:
        """Of each series the IOPS of the measuring rounds of each run, from its ``newest`` so many rows, the oldest run
        first."""
        with named("cannot read the store", self.path), self._reading() as session:
            connection, asked = session.connection(), _rates_query()
            every = [connection.execute(asked, one.model_dump() | {"newest": newest}).all() for one in series]
            if not {type(row[2]) for rows in every for row in rows} <= {int, float}:
                raise ValueError("an iops of the wrong type")
        found: list[dict[str, list[float]]] = [{} for _ in series]
        for runs, rows in zip(found, every, strict=True):
            for run, kind, iops in reversed(rows):
                if kind == "measure":
                    runs.setdefault(run, []).append(iops)
        return found

    def save_baseline(self, name: str, runs: Sequence[str], created_unix_ns: int, note: str, *, new: bool) -> Baseline:
        """A first version of a ``new`` name, or the next of a known one. Raises `UsageError` where it is the other."""
        newest = select(BaselineRow.version).where(BaselineRow.name == name).order_by(BaselineRow.version.desc())
        with named(f"cannot save baseline {name} in", self.path), self._writing() as session:
            last = session.scalars(newest.limit(1)).first()
            if new and last is not None:
                raise UsageError(
                    "there is already a baseline",
                    repr(name),
                    "",
                    f"to replace its runs: strata baseline promote {name}",
                )
            if not new and last is None:
                raise UsageError("there is no baseline", repr(name), "", f"to create it: strata baseline save {name}")
            made = Baseline(
                name=name, version=(last or 0) + 1, created_unix_ns=created_unix_ns, runs=tuple(runs), note=note
            )
            session.execute(
                insert(BaselineRow).values(
                    name=name, version=made.version, created_unix_ns=created_unix_ns, runs=json.dumps(list(runs)),
                    note=note,
                )
            )  # fmt: skip
        return made

    def baselines(self) -> tuple[Baseline, ...]:
        """Every version of every baseline, by name, the one in force first."""
        asked = select(BaselineRow).order_by(BaselineRow.name, BaselineRow.version.desc())
        with named("cannot read the store", self.path), self._reading() as session:
            rows = session.scalars(asked).all()
            return tuple(
                Baseline(
                    name=r.name, version=r.version, created_unix_ns=r.created_unix_ns, runs=json_of(r.runs), note=r.note
                )
                for r in rows
            )

    def baseline(self, name: str) -> Baseline:
        """The version in force. Raises `UsageError` naming those there are."""
        known = self.baselines()
        for one in known:
            if one.name == name:
                return one
        names = ", ".join(dict.fromkeys(b.name for b in known))
        hint = f"choose one of: {names}" if names else f"to create it: strata baseline save {name}"
        raise UsageError("there is no baseline", repr(name), f"in {self.path}", hint)


def _conditions(wanted: Wanted) -> list[ColumnElement[bool]]:
    asked = ((HeadRow.name, wanted.name), (HeadRow.host, wanted.host), (RunRow.stack, wanted.stack))
    found: list[ColumnElement[bool]] = [
        column.like(_pattern(text), escape="\\") for column, text in asked if text is not None
    ]
    if wanted.since_unix_ns is not None:
        found.append(RunRow.created_unix_ns >= wanted.since_unix_ns)
    if wanted.not_of:
        found.append(RunRow.stack.not_in(wanted.not_of))
    return found


def _pattern(text: str) -> str:
    """A pattern of SQL from one of shells."""
    plain = text.replace("\\", "\\\\").replace("%", "\\%").replace("_", "\\_")
    return plain.replace("*", "%").replace("?", "_")


def figures_query(run_id: str) -> Select[Any]:
    """What `Recall.figures` asks."""
    asked = _asked(FiguresRow.__table__.c.quantiles).where(FiguresRow.run_id == run_id)
    return asked.order_by(FiguresRow.step_order).execution_options(**{BINARY: True})


def _times_query() -> Select[Any]:
    """What `Recall.times` asks."""
    figures = FiguresRow.__table__.c
    return (
        select(figures.series_id, figures.round, figures.mean_ns)
        .where(figures.run_id == bindparam("run_id"), figures.kind == StepKind.MEASURE.value, figures.mean_ns > 0)
        .order_by(figures.step_order)
        .execution_options(**{BINARY: True})
    )


def in_parts(these: Sequence[Named]) -> Iterator[Sequence[Named]]:
    """All of these, as many at a time as one question may name."""
    return (these[begin : begin + PARAMETERS_MOST] for begin in range(0, len(these), PARAMETERS_MOST))


def _cells(connection: Connection, series: Collection[int]) -> dict[int, tuple[str, str]]:
    """Layer and workload key of each series: a fleet measures the same few in a hundred thousand rows."""
    of = SeriesRow.__table__.c
    found: dict[int, tuple[str, str]] = {}
    if not set(map(type, series)) <= {int}:
        raise ValueError("a series without a number")
    for some in in_parts(sorted(series)):
        rows = connection.execute(select(of.id, of.layer, of.workload_key).where(of.id.in_(some))).all()
        check_column("layer", [row[1] for row in rows])
        check_column("workload_key", [row[2] for row in rows])
        found |= {number: (layer, key) for number, layer, key in rows}
    return found


def _times(rows: Sequence[Any], cells: Mapping[int, tuple[str, str]]) -> RoundTimes:
    """What `_times_query` found. Column by column: values of each row take longer than to fetch them."""
    series, rounds, mean_ns = zip(*rows, strict=True) if rows else ((), (), ())
    for name, column in (("round", rounds), ("mean_ns", mean_ns)):
        check_column(name, column)
    if not cells.keys() >= set(series):
        raise ValueError("a figure of no series")
    return RoundTimes([cells[number] for number in series], rounds, mean_ns)


def history_query(series: SeriesName, newest: int | None) -> Select[Any]:
    """What `Recall.history` asks; the newest first."""
    # One number before anything is joined: the index of a series then gives the newest rows without reading the others.
    one = select(SeriesRow.id).where(
        SeriesRow.layer == series.layer,
        SeriesRow.workload_key == series.workload_key,
        SeriesRow.identity == series.identity,
    )
    asked = (
        _asked()
        .where(FiguresRow.series_id == one.scalar_subquery())
        .order_by(FiguresRow.created_unix_ns.desc(), FiguresRow.run_id.desc(), FiguresRow.step_order.desc())
    )
    return asked if newest is None else asked.limit(newest)


def _rates_query() -> Select[Any]:
    """What `Recall.rates` asks, one question for each series: layer, workload and identity of one, and how many."""
    figures, series = (row.__table__.c for row in (FiguresRow, SeriesRow))
    named_so = (series[name] == bindparam(name) for name in ("layer", "workload_key", "identity"))
    return (
        select(figures.run_id, figures.kind, figures.iops)
        .where(figures.series_id == select(series.id).where(*named_so).scalar_subquery())
        .order_by(figures.created_unix_ns.desc(), figures.run_id.desc(), figures.step_order.desc())
        .limit(bindparam("newest"))
    )


def keep_head(session: Session, run: Run) -> None:
    """The head of a run beside it, within its transaction."""
    session.merge(_head_row(run))


def _head_row(run: Run) -> HeadRow:
    head = RunHead.of(run)
    return HeadRow(
        run_id=run.id, layers=json.dumps(head.layers), workloads=json.dumps(head.workloads), rounds=head.rounds,
        message=head.message, name=head.name, note=head.note, host=head.host, endpoints=json.dumps(head.endpoints),
    )  # fmt: skip


def keep_figures(session: Session, run_id: str, order: int, figures: StepFigures | None) -> None:
    """The numbers of a step beside it, within its transaction; None takes away those of an earlier attempt."""
    old = session.get(FiguresRow, (run_id, order))
    if figures is None:
        if old is not None:
            session.delete(old)
        return
    session.merge(_figures_row(figures, _series_id(session, figures)))


def _figures_row(figures: StepFigures, series_id: int) -> FiguresRow:
    numbers = {n: getattr(figures, "order" if n == "step_order" else n) for n in NUMBERS}
    return FiguresRow(series_id=series_id, quantiles=figures.packed, **numbers)


def keep_new(session: Session, runs: Sequence[Run], figures: Sequence[StepFigures]) -> None:
    """Heads and numbers of runs that were not there before, within the transaction that adds them."""
    series: dict[SeriesName, int] = {}
    for run in runs:
        session.add(_head_row(run))
    for one in figures:
        name = SeriesName(layer=one.layer, workload_key=one.workload_key, identity=one.identity)
        if name not in series:
            series[name] = _series_id(session, one)
        session.add(_figures_row(one, series[name]))


def _series_id(session: Session, figures: StepFigures) -> int:
    values = {"layer": figures.layer, "workload_key": figures.workload_key, "identity": figures.identity}
    asked = select(SeriesRow.id).filter_by(**values)
    found = session.scalars(asked).first()
    if found is None:
        # Two processes may begin the same series: the second one's row is let go, and both read the first one's.
        session.execute(
            text(
                "INSERT INTO series (layer, workload_key, identity) VALUES (:layer, :workload_key, :identity) "
                "ON CONFLICT DO NOTHING"
            ),
            values,
        )
        found = session.scalars(asked).first()
    if found is None:
        raise StoreError("cannot save", "a step's figures", "its series was deleted while it was saved", "try again")
    return found


def _asked(*more: Any) -> Select[Any]:
    """The fields of `StepFigures` in their order, without the distribution; ``more`` stands before the last."""
    # Columns of the tables, not of their classes: rows then do not pass through what would make objects of them.
    series, figures = (row.__table__.c for row in (SeriesRow, FiguresRow))
    place = series.layer, series.workload_key, series.identity
    columns = [figures[name] for name in NUMBERS]
    return select(*columns[:5], *place, *columns[5:-1], *more, columns[-1]).join(
        SeriesRow, SeriesRow.id == FiguresRow.series_id
    )
