"""Numbers for people."""

from __future__ import annotations

import pytest

from strata import units


@pytest.mark.parametrize(
    ("seconds", "said"),
    [(1.5, "1.50 s"), (119, "119 s"), (119.7, "2 min 0 s"), (125, "2 min 5 s"), (179.7, "3 min 0 s")],
)
def test_minutes_never_show_sixty_seconds(seconds: float, said: str) -> None:
    assert units.duration(seconds * 1e9) == said
