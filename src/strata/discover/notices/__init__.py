"""What will distort a measurement, each with why it matters and what to do.

A check takes the survey and returns its notices; it prints nothing and changes nothing.
"""

from __future__ import annotations

from strata.discover.notices import arrays, caches, devices, filesystem, health, machine, paths
from strata.model.survey import Notice, Severity, Survey

_FILES = (filesystem, devices, arrays, paths, health, caches, machine)
CHECKS = tuple(check for file in _FILES for check in file.CHECKS)


def notices(survey: Survey) -> tuple[Notice, ...]:
    """All notices, warnings first."""
    found = [notice for check in CHECKS for notice in check(survey)]
    return tuple(sorted(found, key=lambda n: n.severity is not Severity.WARNING))
