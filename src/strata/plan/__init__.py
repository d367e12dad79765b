"""From a stack and workloads to a plan: cells, their order, and what they will cost. Pure; nothing is opened."""

from __future__ import annotations

from strata.plan.cost import PlanRow, plan_rows
from strata.plan.expand import Schedule, expand
from strata.plan.ident import new_id
from strata.plan.words import workload_from_words
from strata.plan.workloads import DIAGNOSE

__all__ = ["DIAGNOSE", "PlanRow", "Schedule", "expand", "new_id", "plan_rows", "workload_from_words"]
