"""Known limits that can be put into a lab: one file each, named after the cause."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from dataclasses import dataclass
from importlib import resources

from strata.errors import UsageError
from strata.lab.lab import Lab

SEVERITIES = ("mild", "marked", "severe")


@dataclass(frozen=True)
class Asked:
    """``CAUSE:severity`` as it was asked for."""

    cause: str
    severity: str

    def __str__(self) -> str:
        return f"{self.cause}:{self.severity}"

    def apply(self, lab: Lab) -> None:
        """Puts it into the lab. Raises `UsageError` when the stack has nothing it could act on."""
        action: Callable[[Lab, str], None] = _module(self.cause).inject
        action(lab, self.severity)
        lab.fact("injection", cause=self.cause, severity=self.severity)


def cause_names() -> tuple[str, ...]:
    """Every injection there is, in alphabetical order."""
    root = resources.files("strata.lab.inject")
    stems = (f.name.removesuffix(".py") for f in root.iterdir() if f.name.endswith(".py"))
    return tuple(sorted(s.replace("_", "-") for s in stems if not s.startswith("_")))


def parse(word: str) -> Asked:
    """``slow-medium`` or ``slow-medium:severe``. Raises `UsageError` naming what there is."""
    cause, _, severity = word.partition(":")
    if cause not in cause_names():
        raise UsageError("there is no injection", repr(cause), "", f"choose one of: {', '.join(cause_names())}")
    if (severity or "marked") not in SEVERITIES:
        raise UsageError("cannot inject", word, f"unknown severity {severity!r}", f"one of: {', '.join(SEVERITIES)}")
    return Asked(cause, severity or "marked")


def _module(cause: str):  # type: ignore[no-untyped-def]  # each has inject(lab, severity) and TRUTH
    return importlib.import_module(f"strata.lab.inject.{cause.replace('-', '_')}")
