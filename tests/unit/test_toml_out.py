"""What is written as TOML reads back equal, and looks as people write it."""

from __future__ import annotations

import math
import tomllib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from strata.text import toml

# Half a character cannot be written anywhere.
TEXT = st.text(st.characters(exclude_categories=["Cs"]))
FINITE = st.floats(allow_nan=False, allow_infinity=False)
PLAIN = st.one_of(TEXT, st.booleans(), st.integers(-(1 << 63), (1 << 63) - 1), FINITE)
KEYS = st.from_regex(r"[A-Za-z0-9_]{1,9}", fullmatch=True)
VALUES = st.recursive(PLAIN, lambda inner: st.lists(inner, max_size=4) | st.dictionaries(KEYS, inner, max_size=4))


@pytest.mark.ci
@given(st.dictionaries(KEYS, VALUES))
def test_every_value_reads_back_equal(table: dict[str, object]) -> None:
    assert tomllib.loads(toml.lines(table)) == table


@given(st.text(), st.sampled_from(["?", " "]))
def test_a_comment_never_ends_its_line(text: str, unseen: str) -> None:
    """`tomlkit.comment` writes what it is given: a name with a line end in it would become a key of the file."""
    text = toml.comment(f"{text}\nevil = 1 \x07", unseen)
    assert tomllib.loads(f"# {text}\na = 1\n") == {"a": 1}


def test_lists_and_tables_in_a_row_stay_in_one_line() -> None:
    """A drafted layer is commented out line by line; `tomli_w` would break every list over several."""
    goals = [{"figure": "mean", "most": 20000000}, {"figure": "99", "most": 5e7}]
    assert toml.lines({"on": ("disk",), "goals": goals, "expect.faster": "cache"}) == (
        'on = ["disk"]\n'
        'goals = [{ figure = "mean", most = 20000000 }, { figure = "99", most = 50000000.0 }]\n'
        'expect.faster = "cache"\n'
    )


def test_what_toml_wants_escaped_and_json_does_not() -> None:
    assert toml.value('\x7f "\\\n é 😀') == '"\\u007f \\"\\\\\\n é 😀"'


@pytest.mark.parametrize("number", [math.inf, -math.inf, math.nan])
def test_what_is_not_finite_is_refused(number: float) -> None:
    """JSON's words for it are none of TOML's, and `strata.parsing` takes neither."""
    with pytest.raises(ValueError, match="not JSON compliant"):
        toml.value([number])
