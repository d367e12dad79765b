"""Known limits that can be put into a lab: one file each, named after the cause, holding one `INJECTION`."""

from __future__ import annotations

import importlib
from dataclasses import dataclass

from strata.errors import UsageError, choices
from strata.host import shipped
from strata.lab.lab import Lab
from strata.lab.truth import Injection, Severity


@dataclass(frozen=True)
class Asked:
    """``CAUSE:severity`` as it was asked for."""

    cause: str
    severity: Severity

    def __str__(self) -> str:
        return f"{self.cause}:{self.severity.value}"

    @property
    def injection(self) -> Injection:
        """What is true of it."""
        return injection(self.cause)

    def apply(self, lab: Lab) -> None:
        """Puts it into the lab. Raises `UsageError` when the stack has nothing it could act on."""
        truth = self.injection.on(lab.stack)
        truth.inject(lab, truth.value[self.severity])
        lab.fact("injection", cause=self.cause, severity=self.severity.value)


def injection(cause: str) -> Injection:
    """The injection of that name. Raises `UsageError` naming what there is."""
    if cause not in shipped.injections():
        raise UsageError("there is no injection", repr(cause), "", choices(cause, shipped.injections()))
    module = importlib.import_module(f"strata.lab.inject.{cause.replace('-', '_')}")
    found: Injection = module.INJECTION
    return found


def parse(word: str) -> Asked:
    """``slow-medium`` or ``slow-medium:severe``. Raises `UsageError` naming what there is."""
    cause, _, severity = word.partition(":")
    injection(cause)
    try:
        return Asked(cause, Severity(severity or Severity.MARKED))
    except ValueError as e:
        hint = choices(severity, Severity)
        raise UsageError("cannot inject", word, f"unknown severity {severity!r}", hint) from e
