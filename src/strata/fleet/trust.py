"""The certificates of a cluster: one authority of its own, and one certificate with its key for each node.

A folder holds ``authority/`` (the certificate, the key that signs, all that it signed, and what of it is revoked) and
one folder for each name, which is all that its machine needs: ``ca.pem``, ``crl.pem``, ``node.pem``, ``node-key.pem``.
Whoever has a certificate of the authority may run code on every node: Dask knows no lesser right. So keys are the
user's alone (0600 in folders of 0700); others are refused.
"""

from __future__ import annotations

import datetime as dt
import re
import secrets
from pathlib import Path
from typing import TYPE_CHECKING

from strata import units
from strata.errors import RunFailed, UsageError, choices
from strata.fleet import revocation
from strata.fleet.certificates import AUTHORITY, CA, CA_KEY, CERTIFICATE, HINT, HOLDS, KEY, Certificates, now
from strata.fleet.revocation import CRL, SKEW
from strata.fleet.settings import installed
from strata.host import atomic_write, ownership, untrusted
from strata.model.nodes import NODE_NAME, TrustedName, TrustState

if TYPE_CHECKING:
    from cryptography import x509
    from cryptography.hazmat.primitives.asymmetric.ec import EllipticCurvePrivateKey

AUTHORITY_DAYS = 3650
ALWAYS = ("scheduler", "client")
"""Names that every cluster needs beside its nodes'."""
ISSUED = "issued.pem"
"""Every certificate that the authority signed for a name: what was made anew has to be revoked as well."""
_ISSUED_MOST = 64 * units.MIB


def make(root: Path, names: tuple[str, ...], days: int, *, renew: bool = False) -> TrustState:
    """Makes what is missing of the authority and of a certificate for each name, `ALWAYS` among them.

    ``renew``: the named ones are made anew, with a new key. Raises `UsageError`, `RunFailed`, `SafetyRefusal`.
    """
    for name in names:
        if re.fullmatch(NODE_NAME, name) is None or name == AUTHORITY:
            why = "a node's name has letters, digits, '.', '_' and '-', at most 63, and is not authority"
            raise UsageError("cannot make a certificate for", name, why, "strata node trust node-1 node-2")
    installed()
    ownership.folder(root, HINT, HOLDS)
    signer, key = _authority(root)
    missing = [
        name
        for name in dict.fromkeys((*ALWAYS, *names))
        if not (root / name / CERTIFICATE).exists() or (renew and name in names)
    ]
    made = {name: _node(name, signer, key, days) for name in missing}
    if made:
        # Written down first: whatever is in use can be revoked.
        known = [_pem(one) for one in _issued(root)] + [files[CERTIFICATE] for files in made.values()]
        _write(root / AUTHORITY, {ISSUED: b"".join(known)})
    for name, files in made.items():
        ownership.folder(root / name, HINT, HOLDS)
        _write(root / name, files)
    _hand_out(root)
    return check(root)


def revoke(root: Path, names: tuple[str, ...]) -> TrustState:
    """Makes every certificate of these names void that the authority signed so far, those before a renewal too.

    Raises `UsageError` for a name that has none, `RunFailed` where the authority is not here, `SafetyRefusal`.
    """
    installed()
    ownership.folder(root, HINT, HOLDS)
    if not (root / AUTHORITY / CA_KEY).exists():
        hint = "run it in the folder that holds authority, where the certificates were made"
        raise RunFailed("cannot revoke certificates in", str(root), "the key of the authority is not there", hint)
    signer, key = _authority(root)
    before = revocation.read(root / AUTHORITY / CRL, signer)
    known: dict[str, list[int]] = {}
    for one in _issued(root):
        known.setdefault(_name_of(one), []).append(one.serial_number)
    for name in names:
        if name not in known:
            raise UsageError("cannot revoke", name, "the authority signed nothing of that name", choices(name, known))
    fresh = {serial for name in names for serial in known[name]} - revocation.serials(before)
    if fresh:
        made = revocation.signed(signer, key, before, sorted(fresh), now())
        _write(root / AUTHORITY, {CRL: revocation.pem(made)})
    _hand_out(root)
    return check(root)


def _hand_out(root: Path) -> None:
    """Puts the authority's list into the folder of each name."""
    content = untrusted.read_bytes(root / AUTHORITY / CRL, "cannot read", revocation.MOST)
    for folder in sorted(path.parent for path in root.glob(f"*/{CERTIFICATE}")):
        ownership.folder(folder, HINT, HOLDS)
        _write(folder, {CRL: content})


def _issued(root: Path) -> list[x509.Certificate]:
    """Every certificate that the authority signed for a name, those that still lie in a folder among them."""
    from cryptography import x509

    found: dict[int, x509.Certificate] = {}
    for path in (root / AUTHORITY / ISSUED, *sorted(root.glob(f"*/{CERTIFICATE}"))):
        if not path.exists():
            continue
        try:
            for one in x509.load_pem_x509_certificates(untrusted.read_bytes(path, "cannot read", _ISSUED_MOST)):
                found[one.serial_number] = one
        except ValueError as e:
            raise RunFailed("cannot use", str(path), f"it is no PEM file of certificates: {str(e)[:200]}", HINT) from e
    return list(found.values())


def _name_of(certificate: x509.Certificate) -> str:
    from cryptography import x509

    return str(certificate.subject.get_attributes_for_oid(x509.NameOID.COMMON_NAME)[0].value)


def check(root: Path) -> TrustState:
    """What is there, and what is wrong with it. Raises `RunFailed` where there is nothing."""
    installed()
    try:
        ownership.folder(root, HINT, HOLDS, make=False)
        found = [path for path in sorted(root.iterdir()) if path.is_dir() and path.name != AUTHORITY]
    except FileNotFoundError:
        found = []
    if (root / CERTIFICATE).exists():
        found = [root]
    if not found:
        raise RunFailed("cannot find certificates in", str(root), "there are none", "strata node trust NAME …")
    ours = root / AUTHORITY if found != [root] else root
    return TrustState(folder=str(root), names=tuple(_state(path, ours) for path in found))


def _state(path: Path, authority: Path) -> TrustedName:
    made = Certificates(path)
    wrong = list(made.problems())
    if not wrong and (authority / CA).exists() and (authority / CA).read_bytes() != (path / CA).read_bytes():
        wrong.append(f"{CA} is not the authority's of this folder: nodes of another authority are refused")
    if not wrong and (authority / CRL).exists() and (authority / CRL).read_bytes() != (path / CRL).read_bytes():
        wrong.append(f"{CRL} is not the authority's of this folder: {revocation.WHERE}")
    until, revoked = made.expires(), made.revoked()
    return TrustedName(
        name=path.name,
        folder=str(path),
        expires_unix_ns=None if until is None else int(until.timestamp()) * 10**9,
        revoked_unix_ns=None if revoked is None else int(revoked.timestamp()) * 10**9,
        problems=tuple(wrong),
    )


def _authority(root: Path) -> tuple[x509.Certificate, EllipticCurvePrivateKey]:
    """The one that signs here, made if there is none."""
    from cryptography import x509
    from cryptography.hazmat.primitives.asymmetric import ec
    from cryptography.hazmat.primitives.serialization import load_pem_private_key

    folder = root / AUTHORITY
    if (folder / CA).exists():
        ownership.folder(folder, HINT, HOLDS)
        try:
            certificate = x509.load_pem_x509_certificate((folder / CA).read_bytes())
            key = load_pem_private_key((folder / CA_KEY).read_bytes(), None)
        except (OSError, ValueError, TypeError) as e:
            why = f"its certificate or key cannot be read: {e}"
            raise RunFailed("cannot use the authority in", str(folder), why, "give another folder: --dir") from e
        if not isinstance(key, ec.EllipticCurvePrivateKey) or key.public_key() != certificate.public_key():
            why = "its key is not its certificate's"
            raise RunFailed("cannot use the authority in", str(folder), why, "give another folder: --dir")
        if not (folder / CRL).exists():
            _write(folder, {CRL: revocation.pem(revocation.signed(certificate, key, None, (), now()))})
        return certificate, key
    ownership.folder(folder, HINT, HOLDS)
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, f"Strata authority {secrets.token_hex(4)}")])
    at = now()
    certificate = _signed(
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .not_valid_before(at - SKEW)
        .not_valid_after(at + dt.timedelta(days=AUTHORITY_DAYS)),
        key,
        key,
        authority=True,
    )
    none = revocation.signed(certificate, key, None, (), at)
    _write(folder, {CA_KEY: _pem_of_key(key), CRL: revocation.pem(none), CA: _pem(certificate)})
    return certificate, key


def _node(name: str, signer: x509.Certificate, signs: EllipticCurvePrivateKey, days: int) -> dict[str, bytes]:
    """Files with a certificate for either end of a connection, because a node listens and connects."""
    from cryptography import x509
    from cryptography.hazmat.primitives.asymmetric import ec
    from cryptography.x509.oid import ExtendedKeyUsageOID

    key = ec.generate_private_key(ec.SECP256R1())
    at = now()
    both = [ExtendedKeyUsageOID.SERVER_AUTH, ExtendedKeyUsageOID.CLIENT_AUTH]
    certificate = _signed(
        x509.CertificateBuilder()
        .subject_name(x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, name)]))
        .issuer_name(signer.subject)
        .not_valid_before(max(at - SKEW, signer.not_valid_before_utc))
        .not_valid_after(min(at + dt.timedelta(days=days), signer.not_valid_after_utc))
        .add_extension(x509.SubjectAlternativeName([x509.DNSName(name)]), critical=False)
        .add_extension(x509.ExtendedKeyUsage(both), critical=False),
        key,
        signs,
        authority=False,
    )
    return {KEY: _pem_of_key(key), CERTIFICATE: _pem(certificate), CA: _pem(signer)}


def _signed(
    builder: x509.CertificateBuilder, key: EllipticCurvePrivateKey, signs: EllipticCurvePrivateKey, *, authority: bool
) -> x509.Certificate:
    from cryptography import x509
    from cryptography.hazmat.primitives import hashes

    usage = x509.KeyUsage(
        digital_signature=not authority, key_cert_sign=authority, crl_sign=authority, content_commitment=False,
        key_encipherment=False, data_encipherment=False, key_agreement=False, encipher_only=False, decipher_only=False,
    )  # fmt: skip
    return (
        builder.public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .add_extension(x509.BasicConstraints(ca=authority, path_length=0 if authority else None), critical=True)
        .add_extension(usage, critical=True)
        .add_extension(x509.SubjectKeyIdentifier.from_public_key(key.public_key()), critical=False)
        .add_extension(x509.AuthorityKeyIdentifier.from_issuer_public_key(signs.public_key()), critical=False)
        .sign(signs, hashes.SHA256())
    )


def _pem(certificate: x509.Certificate) -> bytes:
    from cryptography.hazmat.primitives.serialization import Encoding

    return certificate.public_bytes(Encoding.PEM)


def _pem_of_key(key: EllipticCurvePrivateKey) -> bytes:
    from cryptography.hazmat.primitives import serialization as s

    return key.private_bytes(s.Encoding.PEM, s.PrivateFormat.PKCS8, s.NoEncryption())


def _write(folder: Path, files: dict[str, bytes]) -> None:
    """The key first: a certificate without its key would count as made."""
    try:
        with atomic_write.directory(folder) as fd:
            for name, content in files.items():
                atomic_write.replace_in(fd, name, content)
    except OSError as e:
        raise RunFailed("cannot write certificates to", str(folder), e.strerror or str(e), HINT) from e
