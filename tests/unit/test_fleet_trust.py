"""Certificates: what is made can be used by TLS alone, and what is wrong with some is said."""

from __future__ import annotations

import datetime as dt
import ssl
import stat
from pathlib import Path

import pytest
from cryptography import x509
from invoked import strata
from tiers import rest_in_ci

from strata.errors import RunFailed, SafetyRefusal, UsageError
from strata.fleet import doors, identity, revocation, trust
from strata.fleet.certificates import CA, CERTIFICATE, KEY, Certificates
from strata.fleet.revocation import CRL


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
    issued = folder / "authority" / "issued.pem"
    before = {p: p.read_bytes() for p in folder.rglob("*.pem") if p != issued}
    made(folder, "n1", "n2")
    assert before.items() <= {p: p.read_bytes() for p in folder.rglob("*.pem")}.items()
    trust.make(folder, ("n1",), 30, renew=True)
    changed = {p.relative_to(folder).as_posix() for p, content in before.items() if p.read_bytes() != content}
    assert changed == {"n1/node.pem", "n1/node-key.pem"}
    assert issued.read_bytes().count(b"BEGIN CERTIFICATE") == 5


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


def no_list(folder: Path) -> None:
    (folder / "n1" / CRL).unlink()


def a_list_of_another_authority(folder: Path) -> None:
    (folder / "n1" / CRL).write_bytes((made(folder.parent / "foreign", "n1") / "n1" / CRL).read_bytes())


def a_list_with_a_certificate_beside(folder: Path) -> None:
    other = (made(folder.parent / "foreign", "n1") / "n1" / CA).read_bytes()
    (folder / "n1" / CRL).write_bytes((folder / "n1" / CRL).read_bytes() + other)


def revoked(folder: Path) -> None:
    trust.revoke(folder, ("n1",))


def one_of_the_authority_before(folder: Path) -> None:
    other = made(folder.parent / "foreign", "n1") / "n1"
    for name in (CA, CERTIFICATE, KEY, CRL):
        (folder / "n1" / name).write_bytes((other / name).read_bytes())


@pytest.mark.parametrize(
    ("harm", "word"),
    rest_in_ci(
        [
            (wrong_ca, "it is of another authority"),
            (wrong_key, "is not the key of node.pem"),
            (wrong_mode, "open to other users (0604)"),
            (no_key, "node-key.pem: no such file"),
            (no_pem, "is no PEM file of its kind"),
            (a_link, "is a symbolic link"),
            (a_big_one, "larger than the limit of 64 KiB"),
            (no_list, "crl.pem: no such file"),
            (a_list_of_another_authority, "crl.pem: it is not signed by ca.pem"),
            (a_list_with_a_certificate_beside, "crl.pem: it contains more than the revocation list"),
            (revoked, "node.pem was revoked on"),
            (one_of_the_authority_before, "not the authority's of this folder"),
        ],
        every_day=6,
    ),
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


def listed(folder: Path) -> frozenset[int]:
    """The numbers on the list in that folder."""
    return revocation.serials(Certificates(folder).revocations())


def test_a_revocation_is_for_all_that_a_name_ever_had(tmp_path: Path) -> None:
    folder = made(tmp_path / "t", "n1", "n2")
    before = certificate(folder / "n1" / CERTIFICATE)
    trust.make(folder, ("n1",), 30, renew=True)
    renewed = certificate(folder / "n1" / CERTIFICATE)
    assert listed(folder / "n2") == frozenset()
    done = strata("node", "trust", "--dir", folder, "--revoke", "n1")
    assert done.returncode == 0, done.stderr
    assert "revoked" in done.stdout
    assert "copy authority/crl.pem" in done.stdout
    for name in ("authority", "scheduler", "client", "n1", "n2"):
        assert listed(folder / name) == {before.serial_number, renewed.serial_number}, name
    with pytest.raises(SafetyRefusal, match="will not use the certificate") as refused:
        identity.security(doors.parsed("tls://x:1"), folder, "n1")
    assert any("was revoked on" in text for text in refused.value.problems)
    # A new one of the same name counts again, and stays so with the next revocation.
    assert strata("node", "trust", "--dir", folder, "--renew", "n1").returncode == 0
    assert identity.security(doors.parsed("tls://x:1"), folder, "n1") is not None
    trust.revoke(folder, ("n2",))
    assert len(listed(folder / "n1")) == 3
    assert certificate(folder / "n1" / CERTIFICATE).serial_number not in listed(folder / "n1")


def test_each_list_is_later_than_the_one_before_and_names_what_it_named(tmp_path: Path) -> None:
    names = tuple(f"n{number}" for number in range(5))
    folder = made(tmp_path / "t", *names)
    last = Certificates(folder / "client").revocations()
    for count, name in enumerate(names, 1):
        # Within one second: OpenSSL tells lists apart by whole seconds.
        trust.revoke(folder, (name,))
        found = Certificates(folder / "client").revocations()
        assert revocation.later(found, last)
        assert revocation.serials(last) < revocation.serials(found)
        assert len(revocation.serials(found)) == count
        last = found
    trust.revoke(folder, names)
    assert not revocation.later(Certificates(folder / "client").revocations(), last)
    ca = certificate(folder / "authority" / CA)
    assert last.next_update_utc == ca.not_valid_after_utc


@pytest.mark.parametrize(
    ("words", "code", "text"),
    [
        (("--revoke",), 2, "cannot revoke: no name is given"),
        (("--revoke", "n7"), 2, "the authority signed nothing of that name"),
        (("--revoke", "n1", "--renew"), 2, "--renew"),
        (("--revoke", "n1", "--check"), 2, "--revoke"),
    ],
)
def test_what_cannot_be_revoked_is_said(tmp_path: Path, words: tuple[str, ...], code: int, text: str) -> None:
    folder = made(tmp_path / "t", "n1")
    done = strata("node", "trust", "--dir", folder, *words)
    assert done.returncode == code
    assert text in done.stderr
    assert listed(folder / "n1") == frozenset()


def test_who_is_not_the_authority_can_revoke_nothing(tmp_path: Path) -> None:
    folder = made(tmp_path / "t", "n1")
    with pytest.raises(RunFailed, match="the key of the authority is not there"):
        trust.revoke(folder / "n1", ("n1",))
    (folder / "authority" / "ca-key.pem").unlink()
    with pytest.raises(RunFailed, match="the key of the authority is not there"):
        trust.revoke(folder, ("n1",))


def test_an_authority_from_before_gets_a_list(tmp_path: Path) -> None:
    folder = made(tmp_path / "t", "n1")
    for path in (*folder.rglob(CRL), folder / "authority" / "issued.pem"):
        path.unlink()
    with pytest.raises(SafetyRefusal) as refused:
        identity.security(doors.parsed("tls://x:1"), folder, "n1")
    assert any("run strata node trust on the machine of the authority" in text for text in refused.value.problems)
    assert trust.make(folder, (), 30).fine
    assert identity.security(doors.parsed("tls://x:1"), folder, "n1") is not None
    # What still lies in its folder is known.
    trust.revoke(folder, ("n1",))
    assert listed(folder / "client") == {certificate(folder / "n1" / CERTIFICATE).serial_number}


def test_a_list_that_comes_later_is_in_force_and_an_older_one_is_not_taken(tmp_path: Path) -> None:
    folder = made(tmp_path / "t", "n1", "n2")
    secured = identity.security(doors.parsed("tls://x:1"), folder, "scheduler")
    server = secured.get_listen_args("scheduler")["ssl_context"]
    client = identity.security(doors.parsed("tls://x:1"), folder, "n1").get_connection_args("worker")["ssl_context"]
    older = (folder / "scheduler" / CRL).read_bytes()
    assert shaken(client, server, "scheduler")
    assert not secured.look()
    trust.revoke(folder, ("n1",))
    assert secured.look()
    assert not secured.look()
    with pytest.raises(ssl.SSLCertVerificationError, match="certificate revoked"):
        shaken(client, server, "scheduler")
    for content in (older, b"nothing of the kind", older + (folder / "n1" / CA).read_bytes()):
        (folder / "scheduler" / CRL).write_bytes(content)
        with pytest.raises(UsageError):
            secured.look()
        with pytest.raises(ssl.SSLCertVerificationError, match="certificate revoked"):
            shaken(client, server, "scheduler")


def test_a_list_of_the_scheduler_is_taken_for_its_signature_alone(tmp_path: Path) -> None:
    folder = made(tmp_path / "t", "n1", "n2")
    mine = tmp_path / "machine" / "n1"
    mine.mkdir(parents=True, mode=0o700)
    for name in (CA, CERTIFICATE, KEY, CRL):
        (mine / name).write_bytes((folder / "n1" / name).read_bytes())
        (mine / name).chmod(0o600)
    secured = identity.security(doors.parsed("tls://x:1"), mine, "n1")
    before = (mine / CRL).read_bytes()
    foreign = made(tmp_path / "foreign", "n1")
    trust.revoke(foreign, ("n1",))
    with pytest.raises(UsageError, match="not signed by"):
        secured.told((foreign / "authority" / CRL).read_text())
    trust.revoke(folder, ("n2",))
    fresh = (folder / "authority" / CRL).read_text()
    with pytest.raises(UsageError, match="more than the revocation list"):
        secured.told(fresh + (foreign / "authority" / CA).read_text())
    for nothing in (None, 7, before.decode()):
        assert not secured.told(nothing)
    assert (mine / CRL).read_bytes() == before
    assert secured.told(fresh)
    assert (mine / CRL).read_text() == fresh
    assert not secured.told(before.decode())
    assert (mine / CRL).read_text() == fresh
