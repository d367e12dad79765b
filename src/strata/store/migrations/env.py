"""What alembic runs: all revisions that are missing, inside the transaction of the connection it is handed."""

from __future__ import annotations

from alembic import context

from strata.store.tables import Base

context.configure(
    connection=context.config.attributes["connection"],
    target_metadata=Base.metadata,
    render_as_batch=True,
    transactional_ddl=True,
)
context.run_migrations()
