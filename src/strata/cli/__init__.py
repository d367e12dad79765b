"""The commands. stdout carries the result only; progress and notes go to stderr."""

import gc

# Before anything is loaded: nothing of what loading makes is garbage, and looking for some is a tenth of the time.
gc.set_threshold(50_000, 20, 50)

from strata.cli.main import main  # noqa: E402

__all__ = ["main"]
