"""Pressure: time in which work stood still for want of something."""

from __future__ import annotations

from strata.model.counters.counter import Counter, Scope
from strata.model.series import SeriesKind

RESOURCES = ("cpu", "io", "memory", "irq")

SECONDS = Counter(
    "pressure_seconds",
    "s",
    SeriesKind.COUNTER,
    Scope.MACHINE,
    "time in which some task, or all tasks (full), waited for the resource",
    aspects={"resource": RESOURCES, "kind": ("some", "full")},
)
