"""What a word names that a command takes as a path: an address is told as it was written."""

from __future__ import annotations

import pytest
from invoked import said

from strata.app.trace import trace
from strata.app.where import existing, file_or_directory
from strata.errors import UsageError

ADDRESS = "nbd://127.0.0.1:9/export"


@pytest.mark.parametrize("command", ["survey", "diagnose", "plan", "watch", "trace"])
@pytest.mark.parametrize("address", [ADDRESS, "nbd+unix:///export?socket=/run/s", "nfs://127.0.0.1//a/b", "null:"])
def test_an_address_where_a_path_is_asked_for_is_told_as_it_was_written(command: str, address: str) -> None:
    code, text = said(command, address)
    assert code == 2 and f" {address.rstrip(':')}: it is " in text
    assert "strata measure " in text and "does not exist" not in text


def test_a_password_in_it_is_not_told() -> None:
    code, text = said("survey", "smb://ann:sesame@127.0.0.1/share/a")
    assert code == 2 and "sesame" not in text and "smb://ann:***@127.0.0.1/share/a" in text


def test_a_path_with_a_colon_is_a_path() -> None:
    for verb in ("survey", "trace"):
        with pytest.raises(UsageError, match="it does not exist"):
            existing("/no/such:thing", verb)
    with pytest.raises(UsageError, match="single endpoint"):
        file_or_directory(ADDRESS)
    with pytest.raises(UsageError, match="it is an endpoint"):
        trace(ADDRESS)
