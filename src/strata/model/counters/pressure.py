"""Pressure: time in which work stood still for want of something."""

from __future__ import annotations

from strata.model.counters.counter import Family, Scope

RESOURCES = ("cpu", "io", "memory", "irq")

SECONDS = Family("pressure_", Scope.MACHINE).grows(
    "seconds",
    "s",
    "time in which some task, or all tasks (full), waited for the resource",
    aspects={"resource": RESOURCES, "kind": ("some", "full")},
)
