"""Runs, their cells and their outcomes: the first schema."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0001"
down_revision = None

APPLICATION_ID = 0x53545241
"""``STRA`` in the header of the file: by this the store is told from the databases of others."""


def upgrade() -> None:
    """From nothing."""
    op.create_table(
        "runs",
        sa.Column("id", sa.String(64), nullable=False),
        sa.Column("created_unix_ns", sa.BigInteger(), nullable=False),
        sa.Column("status", sa.String(16), nullable=False),
        sa.Column("stack", sa.Text(), nullable=False),
        sa.Column("document", sa.Text(), nullable=False),
        sa.PrimaryKeyConstraint("id", name="pk_runs"),
    )
    op.create_index("ix_runs_created_unix_ns", "runs", ["created_unix_ns"])
    op.create_table(
        "cells",
        sa.Column("run_id", sa.String(64), nullable=False),
        sa.Column("step_order", sa.Integer(), nullable=False, autoincrement=False),
        sa.Column("round", sa.Integer(), nullable=False),
        sa.Column("kind", sa.String(16), nullable=False),
        sa.Column("layer", sa.Text(), nullable=False),
        sa.Column("workload_key", sa.Text(), nullable=False),
        sa.Column("iops", sa.Float(), nullable=True),
        sa.Column("error", sa.Text(), nullable=True),
        sa.Column("result", sa.LargeBinary(), nullable=False),
        sa.PrimaryKeyConstraint("run_id", "step_order", name="pk_cells"),
        sa.ForeignKeyConstraint(["run_id"], ["runs.id"], name="fk_cells_run_id", ondelete="CASCADE"),
    )
    op.create_index("ix_cells_layer", "cells", ["layer", "workload_key"])
    op.create_table(
        "outcomes",
        sa.Column("run_id", sa.String(64), nullable=False),
        sa.Column("verdict", sa.String(32), nullable=False),
        sa.Column("layer", sa.Text(), nullable=True),
        sa.Column("cause", sa.String(64), nullable=False),
        sa.Column("analysis", sa.Text(), nullable=False),
        sa.Column("diagnosis", sa.Text(), nullable=False),
        sa.PrimaryKeyConstraint("run_id", name="pk_outcomes"),
        sa.ForeignKeyConstraint(["run_id"], ["runs.id"], name="fk_outcomes_run_id", ondelete="CASCADE"),
    )
    if op.get_bind().dialect.name == "sqlite":
        op.execute(f"PRAGMA application_id = {APPLICATION_ID}")


def downgrade() -> None:
    """To nothing: every run is lost."""
    for table in ("outcomes", "cells", "runs"):
        op.drop_table(table)
    if op.get_bind().dialect.name == "sqlite":
        op.execute("PRAGMA application_id = 0")
