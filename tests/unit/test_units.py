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


def test_a_figure_that_rounds_up_to_the_next_power_keeps_its_digits() -> None:
    assert [units.significant(x) for x in (99.98, 9.999, 0.9996, 999.6, 99.94)] == [
        "100",
        "10.0",
        "1.00",
        "1000",
        "99.9",
    ]
