"""Which words name processors and nodes."""

from __future__ import annotations

import pytest

from strata.errors import UsageError
from strata.model.placement import Placement, parse_placement


@pytest.mark.parametrize(
    ("text", "cpus"),
    [("0", (0,)), ("0,2-3", (0, 2, 3)), (" 1 , 0 ", (1, 0)), ("5-5", (5,)), ("2,2,1-3", (2, 1, 3)), ("1023", (1023,))],
)
def test_lists_keep_their_order_and_each_once(text: str, cpus: tuple[int, ...]) -> None:
    assert parse_placement(text, None) == Placement(cpus=cpus)
    assert parse_placement(None, text).job == {"pin_nodes": list(cpus)}


@pytest.mark.parametrize("text", ["", "a", "3-1", "0-", "-1", "1024", "0,,1", "0-99999"])
def test_what_is_no_list_is_refused(text: str) -> None:
    with pytest.raises(UsageError, match="--cpus"):
        parse_placement(text, None)


def test_processors_or_nodes() -> None:
    assert parse_placement(None, None).job == {}
    with pytest.raises(UsageError, match="both"):
        parse_placement("0", "0")
