"""Which certificates of an authority count no more: its revocation list (RFC 5280), ``crl.pem`` beside ``ca.pem``.

The authority signs the list, so it may come to a machine over any connection. It is in force until the authority
expires: one that ran out would end every cluster on a day of its own. A later list replaces an earlier one, and is told
from it by its date; each names whatever the one before named.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING

from strata import units
from strata.errors import UsageError
from strata.host import untrusted

if TYPE_CHECKING:
    from cryptography import x509
    from cryptography.hazmat.primitives.asymmetric.ec import EllipticCurvePrivateKey

CRL = "crl.pem"
MOST = 4 * units.MIB
"""Bytes of a list: some 80,000 certificates."""
SKEW = dt.timedelta(hours=1)
"""Clocks of nodes may be behind ours."""
WHERE = "run strata node trust on the machine of the authority, and copy crl.pem from its folder authority"


def read(path: Path, ca: x509.Certificate) -> x509.CertificateRevocationList:
    """The list in that file. Raises `UsageError` for what is not one list of that authority, and nothing else.

    Beside a list the file might hold a certificate, and OpenSSL would trust that from then on.
    """
    return parsed(untrusted.read_bytes(path, "cannot read", MOST, WHERE), ca, str(path))


def parsed(content: bytes, ca: x509.Certificate, where: str) -> x509.CertificateRevocationList:
    """The same of its content."""
    from cryptography import x509

    try:
        found = x509.load_pem_x509_crl(content)
        ours = found.issuer == ca.subject and found.is_signature_valid(ca.public_key())  # type: ignore[arg-type]
    except (ValueError, TypeError) as e:
        raise UsageError("cannot use", where, f"it is no revocation list in PEM: {str(e)[:200]}", WHERE) from e
    if not ours:
        raise UsageError("cannot use", where, "it is not signed by ca.pem: it is of another authority", WHERE)
    if pem(found) != content:
        raise UsageError("cannot use", where, "it contains more than the revocation list", WHERE)
    return found


def pem(found: x509.CertificateRevocationList) -> bytes:
    """As it stands in the file."""
    from cryptography.hazmat.primitives.serialization import Encoding

    return found.public_bytes(Encoding.PEM)


def serials(found: x509.CertificateRevocationList) -> frozenset[int]:
    """The numbers of the certificates that it names."""
    return frozenset(one.serial_number for one in found)


def later(one: x509.CertificateRevocationList, other: x509.CertificateRevocationList) -> bool:
    """Whether ``one`` was made after ``other``."""
    return one.last_update_utc > other.last_update_utc


def signed(
    ca: x509.Certificate,
    key: EllipticCurvePrivateKey,
    before: x509.CertificateRevocationList | None,
    revoked: Iterable[int],
    at: dt.datetime,
) -> x509.CertificateRevocationList:
    """The list after ``before`` that also names the numbers ``revoked``.

    OpenSSL takes the one of the latest date, which has whole seconds: each is a second later than the one before.
    """
    from cryptography import x509
    from cryptography.hazmat.primitives import hashes

    number, date = 1, max(at - SKEW, ca.not_valid_before_utc)
    entries = [] if before is None else list(before)
    if before is not None:
        number = before.extensions.get_extension_for_class(x509.CRLNumber).value.crl_number + 1
        date = max(date, before.last_update_utc + dt.timedelta(seconds=1))
    entries += [
        x509.RevokedCertificateBuilder().serial_number(serial).revocation_date(at).build() for serial in revoked
    ]
    builder = (
        x509.CertificateRevocationListBuilder()
        .issuer_name(ca.subject)
        .last_update(date)
        .next_update(ca.not_valid_after_utc)
        .add_extension(x509.CRLNumber(number), critical=False)
        .add_extension(x509.AuthorityKeyIdentifier.from_issuer_public_key(key.public_key()), critical=False)
    )
    for entry in entries:
        builder = builder.add_revoked_certificate(entry)
    return builder.sign(key, hashes.SHA256())
