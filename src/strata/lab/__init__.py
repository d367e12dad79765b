"""Known limits, injected on purpose: the ground truth for verdicts, and a place to rehearse."""

from __future__ import annotations

from strata.lab.scenario import Scenario, Service, Wire, scenario, scenario_names

__all__ = ["Scenario", "Service", "Wire", "scenario", "scenario_names"]
