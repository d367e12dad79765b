"""Where ``strata serve`` listens: nothing that others could read, and no name that is not its own."""

from __future__ import annotations

from pathlib import Path

import pytest

from strata.app.serve import Listening, listening
from strata.errors import Exit, SafetyRefusal, UsageError
from strata.fleet import trust
from strata.host.xdg import state_dir


def asked(listen: str = "127.0.0.1:0", *names: str, certificate: Path | None = None, key: Path | None = None,
          new: bool = False) -> Listening:  # fmt: skip
    return listening(listen, names, certificate, key, control=False, new_token=new, store=None)


@pytest.mark.parametrize("listen", ["0.0.0.0:1", "[::]:1", "192.0.2.1:8765", "[2001:db8::1]:1"])
def test_another_address_needs_a_certificate(listen: str) -> None:
    with pytest.raises(SafetyRefusal, match="without a certificate") as caught:
        asked(listen)
    assert caught.value.exit_code == Exit.REFUSED and "ssh -L" in caught.value.hint
    assert not (state_dir() / "serve").exists()


@pytest.mark.parametrize(
    "listen", ["", "8765", "host:8765", "127.0.0.1", "127.0.0.1:99999", "127.0.0.1:x", "a@127.0.0.1:1", "127.0.0.1:1/x"]
)
def test_what_is_no_address_is_refused(listen: str) -> None:
    with pytest.raises(UsageError, match="cannot listen at"):
        asked(listen)


@pytest.mark.parametrize("listen", ["127.0.0.1:0", "localhost:0", "[::1]:0", "127.9.9.9:0"])
def test_loopback_is_asked_by_its_own_names_alone(listen: str) -> None:
    names = asked(listen).names(81)
    assert {"127.0.0.1:81", "localhost:81", "[::1]:81"} <= names
    assert not any(name.split(":81")[0] in ("", "example") for name in names) and len(names) <= 4
    assert "localhost" in asked(listen).names(80)


def test_a_name_can_be_added_and_must_be_one() -> None:
    assert "lab.example:7" in asked("127.0.0.1:0", "Lab.example").names(7)
    for wrong in ("a b", "*", "http://x", "", "x/y"):
        with pytest.raises(UsageError, match="--host"):
            asked("127.0.0.1:0", wrong)


def test_the_token_is_long_the_users_alone_and_stays() -> None:
    first = asked().token
    path = state_dir() / "serve" / "token"
    assert len(first) >= 40 and path.stat().st_mode & 0o777 == 0o600 and path.read_text() == first
    assert asked().token == first
    assert asked(new=True).token != first
    path.write_text("short")
    assert len(asked().token) >= 40
    path.unlink()
    path.symlink_to("/etc/passwd")
    with pytest.raises(OSError):
        asked()


def test_a_certificate_is_looked_at_before_anything_listens(tmp_path: Path) -> None:
    root = tmp_path / "trust"
    trust.make(root, ("lab",), 30)
    certificate, key = root / "lab" / "node.pem", root / "lab" / "node-key.pem"
    found = asked("0.0.0.0:1", "lab", certificate=certificate, key=key)
    assert found.secure and found.address(1).startswith("https://lab:1/?token=")
    for wrong in ((certificate, None), (None, key), (certificate, certificate), (tmp_path / "no", key)):
        with pytest.raises(UsageError, match="certificate"):
            asked("0.0.0.0:1", certificate=wrong[0], key=wrong[1])
    key.chmod(0o644)
    with pytest.raises(SafetyRefusal, match="other users may read it"):
        asked("0.0.0.0:1", certificate=certificate, key=key)
