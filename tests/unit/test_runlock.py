"""Two processes never measure one run."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from strata.errors import RunFailed
from strata.host.runlock import held


def test_a_held_run_names_its_process_and_is_free_afterwards(own_state: Path) -> None:
    with held("r1"):
        with pytest.raises(RunFailed, match=f"process {os.getpid()} is measuring it"), held("r1"):
            pass
        with held("r2"):
            pass
    with held("r1"):
        pass
    assert not list(own_state.rglob("*.lock"))


def test_a_file_left_by_a_dead_process_holds_nothing(own_state: Path) -> None:
    (own_state / "strata").mkdir()
    (own_state / "strata" / "r1.lock").write_text("1\n")
    with held("r1"):
        pass
