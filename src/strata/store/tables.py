"""The tables. Whole values are kept as JSON; columns beside them are what is listed and searched."""

from __future__ import annotations

from sqlalchemy import (
    BigInteger,
    Float,
    ForeignKey,
    ForeignKeyConstraint,
    Index,
    Integer,
    LargeBinary,
    MetaData,
    String,
    Text,
    UniqueConstraint,
)
from sqlalchemy.orm import DeclarativeBase, Mapped, mapped_column

NAMES = {
    "pk": "pk_%(table_name)s",
    "fk": "fk_%(table_name)s_%(column_0_name)s",
    "ix": "ix_%(table_name)s_%(column_0_name)s",
    "uq": "uq_%(table_name)s_%(column_0_name)s",
}
"""Constraints have names, so that a later migration can speak of them."""


class Base(DeclarativeBase):
    """All tables of the store."""

    metadata = MetaData(naming_convention=NAMES)


class RunRow(Base):
    """A run. ``document`` is its JSON in the clear, so that any SQLite tool can look into it."""

    __tablename__ = "runs"

    id: Mapped[str] = mapped_column(String(64), primary_key=True)
    created_unix_ns: Mapped[int] = mapped_column(BigInteger)
    status: Mapped[str] = mapped_column(String(16))
    stack: Mapped[str] = mapped_column(Text)
    document: Mapped[str] = mapped_column(Text)

    __table_args__ = (Index("ix_runs_created_unix_ns", "created_unix_ns"),)


class CellRow(Base):
    """The result of one step; (run, order) is its key. ``result`` is described in `strata.store.payload`."""

    __tablename__ = "cells"

    run_id: Mapped[str] = mapped_column(ForeignKey("runs.id", ondelete="CASCADE"), primary_key=True)
    step_order: Mapped[int] = mapped_column(Integer, primary_key=True, autoincrement=False)
    round: Mapped[int] = mapped_column(Integer)
    kind: Mapped[str] = mapped_column(String(16))
    layer: Mapped[str] = mapped_column(Text)
    workload_key: Mapped[str] = mapped_column(Text)
    iops: Mapped[float | None] = mapped_column(Float)
    error: Mapped[str | None] = mapped_column(Text)
    result: Mapped[bytes] = mapped_column(LargeBinary)

    __table_args__ = (Index("ix_cells_layer", "layer", "workload_key"),)


class OutcomeRow(Base):
    """What a run said in the end; the verdict's words stand beside it for lists."""

    __tablename__ = "outcomes"

    run_id: Mapped[str] = mapped_column(ForeignKey("runs.id", ondelete="CASCADE"), primary_key=True)
    verdict: Mapped[str] = mapped_column(String(32))
    layer: Mapped[str | None] = mapped_column(Text)
    cause: Mapped[str] = mapped_column(String(64))
    analysis: Mapped[str] = mapped_column(Text)
    diagnosis: Mapped[str] = mapped_column(Text)


class MatrixRow(Base):
    """What a matrix said in the end; ``result`` is described in `strata.store.payload`."""

    __tablename__ = "matrices"

    run_id: Mapped[str] = mapped_column(ForeignKey("runs.id", ondelete="CASCADE"), primary_key=True)
    result: Mapped[bytes] = mapped_column(LargeBinary)


class HeadRow(Base):
    """What a list shows of a run, beside its own columns: its document is long and is not read for that."""

    __tablename__ = "heads"

    run_id: Mapped[str] = mapped_column(ForeignKey("runs.id", ondelete="CASCADE"), primary_key=True)
    layers: Mapped[str] = mapped_column(Text)
    workloads: Mapped[str] = mapped_column(Text)
    rounds: Mapped[int] = mapped_column(Integer)
    message: Mapped[str | None] = mapped_column(Text)
    name: Mapped[str] = mapped_column(Text, server_default="")
    note: Mapped[str] = mapped_column(Text, server_default="")
    host: Mapped[str] = mapped_column(Text, server_default="")
    endpoints: Mapped[str] = mapped_column(Text, server_default="[]")


class SeriesRow(Base):
    """One cell at one place over all runs: what a history is of. ``identity`` as in `strata.model.place`."""

    __tablename__ = "series"

    id: Mapped[int] = mapped_column(Integer, primary_key=True)
    layer: Mapped[str] = mapped_column(Text)
    workload_key: Mapped[str] = mapped_column(Text)
    identity: Mapped[str] = mapped_column(Text)

    __table_args__ = (UniqueConstraint("layer", "workload_key", "identity", name="uq_series_layer"),)


class FiguresRow(Base):
    """The few numbers of a cell that lists, histories and comparisons need; narrow, and apart from the whole result."""

    __tablename__ = "figures"

    run_id: Mapped[str] = mapped_column(String(64), primary_key=True)
    step_order: Mapped[int] = mapped_column(Integer, primary_key=True, autoincrement=False)
    series_id: Mapped[int] = mapped_column(Integer)
    created_unix_ns: Mapped[int] = mapped_column(BigInteger)
    round: Mapped[int] = mapped_column(Integer)
    kind: Mapped[str] = mapped_column(String(16))
    ops: Mapped[int] = mapped_column(BigInteger)
    errored: Mapped[int] = mapped_column(BigInteger)
    iops: Mapped[float] = mapped_column(Float)
    bytes_per_second: Mapped[float] = mapped_column(Float)
    mean_ns: Mapped[float | None] = mapped_column(Float)
    p50_ns: Mapped[float | None] = mapped_column(Float)
    p90_ns: Mapped[float | None] = mapped_column(Float)
    p99_ns: Mapped[float | None] = mapped_column(Float)
    p999_ns: Mapped[float | None] = mapped_column(Float)
    caching: Mapped[str] = mapped_column(Text)
    quantiles: Mapped[bytes] = mapped_column(LargeBinary)

    __table_args__ = (
        ForeignKeyConstraint(["series_id"], ["series.id"], name="fk_figures_series_id"),
        ForeignKeyConstraint(
            ["run_id", "step_order"], ["cells.run_id", "cells.step_order"], name="fk_figures_run_id", ondelete="CASCADE"
        ),
        Index("ix_figures_series_id", "series_id", "created_unix_ns"),
        # A run's rows lie beside each other, so that comparing two runs reads two stretches of the file.
        {"sqlite_with_rowid": False},
    )


class BaselineRow(Base):
    """One version of a named baseline; the highest is in force. ``runs`` is a JSON list of run ids."""

    __tablename__ = "baselines"

    name: Mapped[str] = mapped_column(String(64), primary_key=True)
    version: Mapped[int] = mapped_column(Integer, primary_key=True, autoincrement=False)
    created_unix_ns: Mapped[int] = mapped_column(BigInteger)
    runs: Mapped[str] = mapped_column(Text)
    note: Mapped[str] = mapped_column(Text)
