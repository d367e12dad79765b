"""Of several tests of one kind, those of every day; CI has all (`STRATA_SUITE=whole`)."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import pytest


def rest_in_ci(values: Iterable[Any], every_day: int | Iterable[Any]) -> list[Any]:
    """For `pytest.mark.parametrize`: all ``values``, of which every day has the first so many, or those named."""
    values = list(values)
    kept = values[:every_day] if isinstance(every_day, int) else list(every_day)
    assert all(x in values for x in kept), "what is for every day must be one of them"
    marked = [x if x in kept else pytest.param(*_arguments(x), marks=pytest.mark.ci) for x in values]
    assert kept, "every day needs one of each kind"
    return marked


def _arguments(value: Any) -> tuple[Any, ...]:
    return value if isinstance(value, tuple) else (value,)
