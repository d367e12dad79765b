"""Known limits that can be put into a lab: one file each, named after the cause, holding one `INJECTION`."""

from __future__ import annotations

import importlib
import math
from dataclasses import dataclass

from strata.errors import UsageError, choices
from strata_lab import shipped
from strata_lab.lab import Lab
from strata_lab.truth import Injection, InjectionSeverity


@dataclass(frozen=True)
class InjectionAsked:
    """``CAUSE:severity`` or ``CAUSE=VALUE`` as it was asked for; with a value of one's own there is no severity."""

    cause: str
    severity: InjectionSeverity | None = None
    own: float | None = None

    def __str__(self) -> str:
        return f"{self.cause}={self.own:g}" if self.severity is None else f"{self.cause}:{self.severity.value}"

    def value(self, truth: Injection) -> float:
        """What is put in, of an injection as it is on that stack."""
        if self.severity is not None:
            return truth.value[self.severity]
        assert self.own is not None
        return self.own

    @property
    def injection(self) -> Injection:
        """What is true of it."""
        return injection(self.cause)

    def apply(self, lab: Lab, truth: Injection | None = None) -> None:
        """Puts it into the lab. Raises `UsageError` when the stack has nothing it could act on."""
        truth = truth or self.injection.on(lab.stack)
        truth.inject(lab, self.value(truth))
        lab.fact("injection", cause=self.cause, word=str(self))


def injection(cause: str) -> Injection:
    """The injection of that name. Raises `UsageError` naming what there is."""
    if cause not in shipped.injections():
        raise UsageError("there is no injection", repr(cause), "", choices(cause, shipped.injections()))
    module = importlib.import_module(f"strata_lab.inject.{cause.replace('-', '_')}")
    found: Injection = module.INJECTION
    return found


def parse(word: str) -> InjectionAsked:
    """``slow-medium``, ``slow-medium:severe`` or ``slow-medium=7000``. Raises `UsageError` naming what there is."""
    if "=" in word:
        return _with_a_value(word)
    cause, _, severity = word.partition(":")
    injection(cause)
    try:
        return InjectionAsked(cause, InjectionSeverity(severity or InjectionSeverity.MARKED))
    except ValueError as e:
        hint = choices(severity, InjectionSeverity)
        raise UsageError("cannot inject", word, f"unknown severity {severity!r}", hint) from e


def _with_a_value(word: str) -> InjectionAsked:
    cause, _, text = word.partition("=")
    truth = injection(cause)
    try:
        own = float(text)
    except ValueError:
        own = math.nan
    if not own < math.inf or truth.checked(own) != own or (truth.whole and own % 1):
        raise UsageError(
            "cannot inject", word, f"{text!r} is not a value in {truth.unit}", f"{cause} or {cause}:severe"
        )
    return InjectionAsked(cause, own=own)
