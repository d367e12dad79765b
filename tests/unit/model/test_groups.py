"""Grouping keeps the order of keys and of values."""

from __future__ import annotations

from strata.model.groups import grouped


def test_keys_and_values_stay_in_the_order_in_which_they_come() -> None:
    found = grouped((n % 3, n) for n in (5, 3, 1, 2, 4, 6))
    assert list(found.items()) == [(2, [5, 2]), (0, [3, 6]), (1, [1, 4])]
    assert grouped(()) == {}
