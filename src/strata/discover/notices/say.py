"""Short forms for the checks."""

from __future__ import annotations

from strata.model.survey import Notice, Severity


def warn(code: str, what: str, why: str, next_step: str) -> Notice:
    """A warning: the figures may be wrong, or not be of what one thinks."""
    return Notice(severity=Severity.WARNING, code=code, what=what, why=why, next_step=next_step)


def info(code: str, what: str, why: str, next_step: str = "") -> Notice:
    """Good to know when reading the figures."""
    return Notice(severity=Severity.INFO, code=code, what=what, why=why, next_step=next_step)
