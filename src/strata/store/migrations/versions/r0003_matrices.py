"""What a matrix said in the end, beside its visits: a page of it need not work out every cell again.

Matrices of earlier versions have none and are worked out from their visits, as before.
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0003"
down_revision = "0002"


def upgrade() -> None:
    """The table, empty."""
    op.create_table(
        "matrices",
        sa.Column("run_id", sa.String(64), nullable=False),
        sa.Column("result", sa.LargeBinary(), nullable=False),
        sa.PrimaryKeyConstraint("run_id", name="pk_matrices"),
        sa.ForeignKeyConstraint(["run_id"], ["runs.id"], name="fk_matrices_run_id", ondelete="CASCADE"),
    )


def downgrade() -> None:
    """Nothing that was measured is lost."""
    op.drop_table("matrices")
