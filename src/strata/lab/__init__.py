"""Known limits, injected on purpose: the ground truth for verdicts, and a place to rehearse."""

from __future__ import annotations

from strata.lab.scenario import DEMO_PREFIX, Scenario, Service, Wire, demo_of, scenario, scenario_names

__all__ = ["DEMO_PREFIX", "Scenario", "Service", "Wire", "demo_of", "scenario", "scenario_names"]
