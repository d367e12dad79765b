"""Carrying out a run: strategies that say what is measured next, and the one runner that gives them hands."""

from __future__ import annotations

from strata.run.execute import execute
from strata.run.judge import done_orders
from strata.run.machine import RunMachine
from strata.run.preconditioner import Write, Wrote, precondition

__all__ = ["RunMachine", "Write", "Wrote", "done_orders", "execute", "precondition"]
