"""What a word names that a command takes as a path: an address is told as it was written."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from invoked import said
from tiers import rest_in_ci

from strata.app.trace import trace
from strata.app.where import existing, file_or_directory
from strata.errors import UsageError

ADDRESS = "nbd://127.0.0.1:9/export"


@pytest.mark.parametrize("command", rest_in_ci(["survey", "diagnose", "plan", "watch", "trace"], every_day=2))
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


@pytest.mark.parametrize("verb", ["survey", "trace", "watch"])
def test_behind_a_pipe_or_a_terminal_there_is_no_storage(verb: str, tmp_path: Path) -> None:
    """`strata watch /dev/null` told who wrote there, as if that were its load."""
    os.mkfifo(pipe := tmp_path / "pipe")
    for where, kind in (("/dev/null", "a character device"), (str(pipe), "a fifo")):
        with pytest.raises(UsageError, match=f"cannot {verb} {where}: it is {kind}, and no file, directory or block"):
            existing(where, verb)


def test_a_link_that_leads_nowhere_is_not_its_own_neighbour(tmp_path: Path) -> None:
    (link := tmp_path / "volume").symlink_to(tmp_path / "gone")
    with pytest.raises(UsageError, match="it is a link that leads nowhere") as said:
        existing(link, "watch")
    assert "did you mean" not in said.value.hint
