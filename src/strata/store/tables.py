"""The tables. Whole values are kept as JSON; columns beside them are what is listed and searched."""

from __future__ import annotations

from sqlalchemy import BigInteger, Float, ForeignKey, Index, Integer, LargeBinary, MetaData, String, Text
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
