"""What a list of runs is filtered by: name, note, host and endpoints beside each run.

Runs of earlier versions have no name; host and endpoints are read from their documents once.
"""

from __future__ import annotations

import json

import sqlalchemy as sa
from alembic import op

from strata.parsing import json_of

revision = "0004"
down_revision = "0003"

COLUMNS = {"name": "", "note": "", "host": "", "endpoints": "[]"}


def upgrade() -> None:
    """The columns, and what is known already in them."""
    for name, empty in COLUMNS.items():
        op.add_column("heads", sa.Column(name, sa.Text(), nullable=False, server_default=empty))
    connection = op.get_bind()
    fill = sa.text("UPDATE heads SET host = :host, endpoints = :endpoints WHERE run_id = :run")
    for (run,) in connection.execute(sa.text("SELECT run_id FROM heads")).all():
        document = connection.execute(sa.text("SELECT document FROM runs WHERE id = :run"), {"run": run}).scalar()
        try:
            known = json_of(document or "")
            layers = [layer["endpoint"] for layer in known["plan"]["stack"]["layers"]]
            host = str(known["environment"]["hostname"])
        except (ValueError, KeyError, TypeError, AttributeError):
            continue
        connection.execute(fill, {"run": run, "host": host, "endpoints": json.dumps(layers)})


def downgrade() -> None:
    """Names and notes stay in the documents of the runs."""
    with op.batch_alter_table("heads") as heads:
        for name in COLUMNS:
            heads.drop_column(name)
