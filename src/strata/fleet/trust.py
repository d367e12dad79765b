"""The certificates of a cluster: one authority of its own, and one certificate with its key for each node.

A folder holds ``authority/`` (the certificate and the key that signs) and one folder for each name, which is all that
its machine needs: ``ca.pem``, ``node.pem``, ``node-key.pem``. Whoever has a certificate of the authority may run code
on every node: Dask knows no lesser right. So keys are the user's alone (0600 in folders of 0700); others are refused.
"""

from __future__ import annotations

import datetime as dt
import re
import secrets
from pathlib import Path
from typing import TYPE_CHECKING

from strata.errors import RunFailed, UsageError
from strata.fleet.certificates import AUTHORITY, CA, CA_KEY, CERTIFICATE, HINT, HOLDS, KEY, Certificates, now
from strata.fleet.settings import installed
from strata.host import atomic_write, ownership
from strata.model.nodes import NODE_NAME, TrustedName, TrustState

if TYPE_CHECKING:
    from cryptography import x509
    from cryptography.hazmat.primitives.asymmetric.ec import EllipticCurvePrivateKey

AUTHORITY_DAYS = 3650
ALWAYS = ("scheduler", "client")
"""Names that every cluster needs beside its nodes'."""
_SKEW = dt.timedelta(hours=1)
"""Clocks of nodes may be behind ours."""


def make(root: Path, names: tuple[str, ...], days: int, *, renew: bool = False) -> TrustState:
    """Makes what is missing of the authority and of a certificate for each name, `ALWAYS` among them.

    ``renew``: the named ones are made anew, with a new key. Raises `UsageError`, `RunFailed`, `SafetyRefusal`.
    """
    for name in names:
        if re.fullmatch(NODE_NAME, name) is None or name == AUTHORITY:
            why = "a node is called by letters, digits, '.', '_' and '-', at most 63, and not authority"
            raise UsageError("cannot make a certificate for", name, why, "strata node trust node-1 node-2")
    installed()
    ownership.folder(root, HINT, HOLDS)
    signer, key = _authority(root)
    for name in dict.fromkeys((*ALWAYS, *names)):
        if not (root / name / CERTIFICATE).exists() or (renew and name in names):
            _node(root / name, name, signer, key, days)
    return check(root)


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
    ours = root / AUTHORITY / CA if found != [root] else root / CA
    return TrustState(folder=str(root), names=tuple(_state(path, ours) for path in found))


def _state(path: Path, authority: Path) -> TrustedName:
    made = Certificates(path)
    wrong = list(made.problems())
    if not wrong and authority.exists() and authority.read_bytes() != (path / CA).read_bytes():
        wrong.append(f"{CA} is not the authority's of this folder: nodes of another authority are refused")
    until = made.expires()
    return TrustedName(
        name=path.name,
        folder=str(path),
        expires_unix_ns=None if until is None else int(until.timestamp()) * 10**9,
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
        return certificate, key
    ownership.folder(folder, HINT, HOLDS)
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, f"Strata authority {secrets.token_hex(4)}")])
    at = now()
    certificate = _signed(
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .not_valid_before(at - _SKEW)
        .not_valid_after(at + dt.timedelta(days=AUTHORITY_DAYS)),
        key,
        key,
        authority=True,
    )
    _write(folder, {CA_KEY: _pem_of_key(key), CA: _pem(certificate)})
    return certificate, key


def _node(folder: Path, name: str, signer: x509.Certificate, signs: EllipticCurvePrivateKey, days: int) -> None:
    """A certificate for either end of a connection, because a node listens and connects."""
    from cryptography import x509
    from cryptography.hazmat.primitives.asymmetric import ec
    from cryptography.x509.oid import ExtendedKeyUsageOID

    ownership.folder(folder, HINT, HOLDS)
    key = ec.generate_private_key(ec.SECP256R1())
    at = now()
    both = [ExtendedKeyUsageOID.SERVER_AUTH, ExtendedKeyUsageOID.CLIENT_AUTH]
    certificate = _signed(
        x509.CertificateBuilder()
        .subject_name(x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, name)]))
        .issuer_name(signer.subject)
        .not_valid_before(max(at - _SKEW, signer.not_valid_before_utc))
        .not_valid_after(min(at + dt.timedelta(days=days), signer.not_valid_after_utc))
        .add_extension(x509.SubjectAlternativeName([x509.DNSName(name)]), critical=False)
        .add_extension(x509.ExtendedKeyUsage(both), critical=False),
        key,
        signs,
        authority=False,
    )
    _write(folder, {KEY: _pem_of_key(key), CERTIFICATE: _pem(certificate), CA: _pem(signer)})


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
