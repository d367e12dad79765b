"""The files that one name needs: where they lie, when they expire, and what is wrong with them."""

from __future__ import annotations

import datetime as dt
import os
import re
import stat
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from strata import units
from strata.errors import UsageError
from strata.fleet import revocation
from strata.fleet.revocation import CRL
from strata.host import untrusted
from strata.model.nodes import NODE_NAME

if TYPE_CHECKING:
    from cryptography import x509

AUTHORITY, CA, CA_KEY = "authority", "ca.pem", "ca-key.pem"
CERTIFICATE, KEY = "node.pem", "node-key.pem"
HINT = "give a folder of your own: --dir, or --trust of the other commands"
HOLDS = rf"ca\.pem|ca-key\.pem|node\.pem|node-key\.pem|crl\.pem|issued\.pem|{NODE_NAME}"
"""What the folders hold, for `strata.host.ownership`."""
_MOST = 64 * units.KIB


def now() -> dt.datetime:
    """What certificates are dated by."""
    return dt.datetime.now(dt.UTC)


class Certificates:
    """The files in ``folder``."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def expires(self) -> dt.datetime | None:
        """When the certificate does; None where it cannot be read."""
        try:
            return self._certificate(CERTIFICATE).not_valid_after_utc
        except (UsageError, ValueError):
            return None

    def authority(self) -> x509.Certificate:
        """Whose certificates are accepted. Raises `UsageError` or `ValueError`."""
        return self._certificate(CA)

    def revocations(self) -> x509.CertificateRevocationList:
        """The certificates of that authority that are not. Raises `UsageError` or `ValueError`."""
        return revocation.read(self.folder / CRL, self.authority())

    def revoked(self) -> dt.datetime | None:
        """When this one was, by the list beside it; None where it was not, or that cannot be read."""
        try:
            found = self.revocations().get_revoked_certificate_by_serial_number(
                self._certificate(CERTIFICATE).serial_number
            )
        except (UsageError, ValueError):
            return None
        return None if found is None else found.revocation_date_utc

    def problems(self) -> Iterator[str]:
        """What is wrong, in one line each; nothing where they can be used."""
        yield from self._private()
        read: dict[str, Any] = {}
        for name, how in ((CA, self._certificate), (CERTIFICATE, self._certificate), (KEY, self._key)):
            try:
                read[name] = how(name)
            except UsageError as e:
                yield f"{name}: {e.why}"
            except (ValueError, TypeError) as e:
                yield f"{name} is no PEM file of its kind: {str(e)[:200]}"
        if len(read) == 3:
            yield from self._wrong(read[CA], read[CERTIFICATE], read[KEY])
            try:
                self.revocations()
            except UsageError as e:
                yield f"{CRL}: {e.why}: {revocation.WHERE}"
        if (revoked := self.revoked()) is not None:
            yield f"{CERTIFICATE} was revoked on {revoked:%Y-%m-%d %H:%M} UTC"

    def _wrong(self, ca: x509.Certificate, made: x509.Certificate, key: Any) -> Iterator[str]:
        from cryptography import x509
        from cryptography.exceptions import InvalidSignature
        from cryptography.x509.oid import ExtendedKeyUsageOID

        try:
            made.verify_directly_issued_by(ca)
        except (InvalidSignature, ValueError, TypeError):
            yield f"{CERTIFICATE} is not signed by {CA}: it is of another authority"
        if key.public_key() != made.public_key():
            yield f"{KEY} is not the key of {CERTIFICATE}"
        at = now()
        for name, one in ((CA, ca), (CERTIFICATE, made)):
            if at > one.not_valid_after_utc:
                yield f"{name} expired on {one.not_valid_after_utc:%Y-%m-%d}"
            elif at < one.not_valid_before_utc:
                yield f"{name} is valid from {one.not_valid_before_utc:%Y-%m-%d %H:%M} UTC on only: check the clock"
        try:
            used = set(made.extensions.get_extension_for_class(x509.ExtendedKeyUsage).value)
        except (x509.ExtensionNotFound, ValueError):
            used = set()
        if not {ExtendedKeyUsageOID.SERVER_AUTH, ExtendedKeyUsageOID.CLIENT_AUTH} <= used:
            yield f"{CERTIFICATE} is not for both ends of a connection (extended key usage)"

    def _private(self) -> Iterator[str]:
        """Keys that others can read, or could have put there."""
        for name in (KEY,):
            try:
                found = (self.folder / name).lstat()
            except OSError:
                continue
            if not stat.S_ISREG(found.st_mode):
                yield f"{name} is {untrusted.kind_of(found.st_mode)}, and a regular file is needed"
            elif found.st_uid != os.geteuid():
                yield f"{name} belongs to another user"
            elif found.st_mode & 0o077:
                mode = stat.S_IMODE(found.st_mode)
                yield f"{name} is open to other users ({mode:04o}): make a new one, or if none has read it: chmod 600"

    def _certificate(self, name: str) -> x509.Certificate:
        from cryptography import x509

        return x509.load_pem_x509_certificate(untrusted.read_bytes(self.folder / name, "cannot read", _MOST))

    def _key(self, name: str) -> Any:
        from cryptography.hazmat.primitives.serialization import load_pem_private_key

        return load_pem_private_key(untrusted.read_bytes(self.folder / name, "cannot read", _MOST), None)


def found(given: Path | None, default: Path, name: str) -> Path:
    """The folder for that name: ``given`` itself where it holds a certificate, else its folder of the name."""
    root = default if given is None else given
    if (root / CERTIFICATE).exists():
        return root
    if re.fullmatch(NODE_NAME, name) is None:
        raise UsageError("cannot use the name", name, "it is no name of a node", "use letters, digits, '.', '_', '-'")
    return root / name
