"""The directories follow the XDG variables."""

from __future__ import annotations

from pathlib import Path

import pytest

from strata.errors import RunFailed
from strata.host import xdg


def test_own_variable_then_xdg_then_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("STRATA_STATE_DIR", raising=False)
    monkeypatch.delenv("XDG_STATE_HOME", raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))
    assert xdg.state_dir() == tmp_path / ".local/state/strata"
    assert xdg.state_dir().stat().st_mode & 0o777 == 0o700
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "xdg"))
    assert xdg.state_dir() == tmp_path / "xdg/strata"
    monkeypatch.setenv("XDG_STATE_HOME", "relative/is/ignored")
    assert xdg.state_dir() == tmp_path / ".local/state/strata"
    monkeypatch.setenv("STRATA_STATE_DIR", str(tmp_path / "own"))
    assert xdg.state_dir() == tmp_path / "own"


def test_a_directory_that_cannot_be_made(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "file").write_bytes(b"")
    monkeypatch.setenv("STRATA_STATE_DIR", str(tmp_path / "file/state"))
    with pytest.raises(RunFailed, match="cannot create the directory") as caught:
        xdg.state_dir()
    assert "STRATA_STATE_DIR" in caught.value.hint
