"""Certificates: what is made can be used by TLS alone, and what is wrong with some is said."""

from __future__ import annotations

import datetime as dt
import ssl
import stat
from pathlib import Path

import pytest
from cryptography import x509
from invoked import strata

from strata.errors import RunFailed, SafetyRefusal
from strata.fleet import doors, identity, trust
from strata.fleet.certificates import CA, CERTIFICATE, KEY, Certificates


def made(folder: Path, *names: str, days: int = 30) -> Path:
    """Certificates for these names."""
    state = trust.make(folder, names, days)
    assert state.fine
    return folder


def certificate(path: Path) -> x509.Certificate:
    return x509.load_pem_x509_certificate(path.read_bytes())


def test_files_are_the_users_alone_and_what_is_there_stays(tmp_path: Path) -> None:
    folder = made(tmp_path / "t", "n1")
    assert {p.name for p in folder.iterdir()} == {"authority", "scheduler", "client", "n1"}
    assert {stat.S_IMODE(p.stat().st_mode) for p in folder.rglob("*") if p.is_file()} == {0o600}
    assert {stat.S_IMODE(p.stat().st_mode) for p in (folder, *folder.rglob("*")) if p.is_dir()} == {0o700}
    before = {p: p.read_bytes() for p in folder.rglob("*.pem")}
    made(folder, "n1", "n2")
    assert before.items() <= {p: p.read_bytes() for p in folder.rglob("*.pem")}.items()
    trust.make(folder, ("n1",), 30, renew=True)
    changed = {p.relative_to(folder).as_posix() for p, content in before.items() if p.read_bytes() != content}
    assert changed == {"n1/node.pem", "n1/node-key.pem"}


def test_what_a_certificate_says(tmp_path: Path) -> None:
    folder = made(tmp_path / "t", "n1", days=30)
    ca, node = certificate(folder / "authority" / CA), certificate(folder / "n1" / CERTIFICATE)
    assert ca.extensions.get_extension_for_class(x509.BasicConstraints).value == x509.BasicConstraints(True, 0)
    assert not node.extensions.get_extension_for_class(x509.BasicConstraints).value.ca
    names = node.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    assert names.get_values_for_type(x509.DNSName) == ["n1"]
    assert dt.timedelta(29) < node.not_valid_after_utc - dt.datetime.now(dt.UTC) <= dt.timedelta(30)
    assert node.not_valid_after_utc <= ca.not_valid_after_utc
    # A stricter reader than Dask's agrees: names, uses and chain.
    server, client = (ssl.create_default_context(p, cafile=str(folder / "n1" / CA)) for p in
                      (ssl.Purpose.CLIENT_AUTH, ssl.Purpose.SERVER_AUTH))  # fmt: skip
    server.load_cert_chain(folder / "scheduler" / CERTIFICATE, folder / "scheduler" / KEY)
    client.load_cert_chain(folder / "n1" / CERTIFICATE, folder / "n1" / KEY)
    server.verify_mode = ssl.CERT_REQUIRED
    for context in (server, client):
        context.verify_flags |= ssl.VERIFY_X509_STRICT
    assert shaken(client, server, "scheduler")["subjectAltName"] == (("DNS", "n1"),)
    with pytest.raises(ssl.SSLCertVerificationError, match="not valid for 'other'"):
        shaken(client, server, "other")


def shaken(client: ssl.SSLContext, server: ssl.SSLContext, name: str) -> dict[str, object]:
    """A handshake in memory: what the server knows of the client."""
    there, back = ssl.MemoryBIO(), ssl.MemoryBIO()
    one = client.wrap_bio(back, there, server_hostname=name)
    other = server.wrap_bio(there, back, server_side=True)
    open_ = {one, other}
    while open_:
        for side in list(open_):
            try:
                side.do_handshake()
                open_.discard(side)
            except ssl.SSLWantReadError:
                continue
    return other.getpeercert() or {}


def wrong_ca(folder: Path) -> None:
    (folder / "n1" / CA).write_bytes((made(folder.parent / "foreign", "n1") / "n1" / CA).read_bytes())


def wrong_key(folder: Path) -> None:
    (folder / "n1" / KEY).write_bytes((folder / "client" / KEY).read_bytes())


def wrong_mode(folder: Path) -> None:
    (folder / "n1" / KEY).chmod(0o604)


def no_key(folder: Path) -> None:
    (folder / "n1" / KEY).unlink()


def no_pem(folder: Path) -> None:
    (folder / "n1" / CERTIFICATE).write_text("nothing of the kind")


def a_link(folder: Path) -> None:
    (folder / "n1" / KEY).unlink()
    (folder / "n1" / KEY).symlink_to(folder / "client" / KEY)


def a_big_one(folder: Path) -> None:
    (folder / "n1" / CERTIFICATE).write_bytes(bytes(1 << 17))


def one_of_the_authority_before(folder: Path) -> None:
    other = made(folder.parent / "foreign", "n1") / "n1"
    for name in (CA, CERTIFICATE, KEY):
        (folder / "n1" / name).write_bytes((other / name).read_bytes())


@pytest.mark.parametrize(
    ("harm", "word"),
    [
        (wrong_ca, "it is of another authority"),
        (wrong_key, "is not the key of node.pem"),
        (wrong_mode, "open to other users (0604)"),
        (no_key, "node-key.pem: no such file"),
        (no_pem, "is no PEM file of its kind"),
        (a_link, "is a symbolic link"),
        (a_big_one, "larger than the limit of 64 KiB"),
        (one_of_the_authority_before, "not the authority's of this folder"),
    ],
)
def test_what_is_wrong_is_said_and_is_not_used(tmp_path: Path, harm, word: str) -> None:
    folder = made(tmp_path / "t", "n1")
    harm(folder)
    done = strata("node", "trust", "--dir", folder, "--check")
    assert done.returncode == 3
    assert word in done.stdout
    assert "client" in done.stdout
    if harm is not one_of_the_authority_before:
        with pytest.raises((SafetyRefusal, RunFailed)):
            identity.security(doors.parsed("tls://x:1"), folder, "n1")
    assert identity.security(doors.parsed("tls://x:1"), folder, "client") is not None


@pytest.mark.parametrize(("days", "word"), [(-2, "expired on"), (400, "is valid from")])
def test_time_is_looked_at(tmp_path: Path, days: int, word: str, monkeypatch: pytest.MonkeyPatch) -> None:
    then = dt.datetime.now(dt.UTC) + dt.timedelta(days)
    with monkeypatch.context() as patched:
        patched.setattr(trust, "now", lambda: then)
        folder = tmp_path / "t"
        trust.make(folder, ("n1",), 1)
    assert any(word in text for text in Certificates(folder / "n1").problems())


def test_a_folder_that_others_may_write_to_is_not_used(tmp_path: Path) -> None:
    folder = made(tmp_path / "t", "n1")
    (folder / "n1").chmod(0o777)
    with pytest.raises(SafetyRefusal, match="other users may write in it"):
        identity.security(doors.parsed("tls://x:1"), folder, "n1")
    with pytest.raises(RunFailed, match="there is no certificate in"):
        identity.security(doors.parsed("tls://x:1"), folder, "n7")
    with pytest.raises(RunFailed, match="there are none"):
        trust.check(tmp_path / "nothing")
    # A node's folder alone, as its machine has it.
    assert identity.security(doors.parsed("tls://x:1"), folder / "client", "anything") is not None
