"""Moving a store between revisions."""

from __future__ import annotations

from pathlib import Path

from alembic import command
from alembic.config import Config
from sqlalchemy import Engine

import strata.store


def move(engine: Engine, revision: str) -> None:
    """Up or down to the revision, in one transaction."""
    config = Config()
    config.set_main_option("script_location", str(Path(strata.store.__file__).parent / "migrations"))
    with engine.begin() as connection:
        config.attributes["connection"] = connection
        (command.downgrade if revision != "head" else command.upgrade)(config, revision)
