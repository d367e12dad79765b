"""Carrying out a run: strategies that say what is measured next, and the one runner that gives them hands."""

from __future__ import annotations

from strata.run.execute import execute
from strata.run.machine import RunMachine
from strata.run.preconditioner import Write, Wrote, precondition
from strata.run.resume import done_orders

__all__ = ["RunMachine", "Write", "Wrote", "done_orders", "execute", "precondition"]
