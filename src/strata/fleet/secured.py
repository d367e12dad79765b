"""Connections of Dask that nobody on the revocation list can open, or keep.

Dask makes one context of TLS for all connections of a process, when it starts. A list that comes later is added to that
context, and connections that are open are looked through. A session is never resumed: its certificate would not be
looked at again (RFC 8446, 2.2; OpenSSL keeps what it found at first).
"""

from __future__ import annotations

import os
import ssl
from contextlib import suppress
from typing import TYPE_CHECKING, Any
from weakref import WeakSet

from distributed.security import Security

from strata.errors import RunFailed, StrataError, UsageError
from strata.fleet import revocation
from strata.fleet.certificates import CA, CERTIFICATE, KEY, Certificates
from strata.fleet.revocation import CRL
from strata.host import atomic_write
from strata.text.output import note

if TYPE_CHECKING:
    from collections.abc import Iterator

    from distributed import Scheduler, Worker

IDENTITY_KEY = "strata_revoked"
"""Where a scheduler's answer has its list."""
STREAM_OP = "strata-revoked"
"""What it sends to nodes that have joined when it gets a new one."""


class Secured(Security):
    """Dask's, with the revocation list of the folder."""

    def __init__(self, made: Certificates) -> None:
        both = {f"tls_{role}_{what}": str(made.folder / file) for role in ("client", "scheduler", "worker")
                for what, file in (("cert", CERTIFICATE), ("key", KEY))}  # fmt: skip
        version = ssl.TLSVersion.TLSv1_3
        how: dict[str, Any] = {"require_encryption": True, "tls_min_version": version, **both}
        super().__init__(tls_ca_file=str(made.folder / CA), **how)  # type: ignore[no-untyped-call]
        self._made = made
        self._contexts: WeakSet[ssl.SSLContext] = WeakSet()
        self._seen = self._state()
        self._take(made.revocations())

    def _take(self, found: Any) -> None:
        self._list, self.pem, self.serials = found, revocation.pem(found).decode("ascii"), revocation.serials(found)

    def _get_tls_context(self, tls: dict[str, Any], purpose: ssl.Purpose) -> ssl.SSLContext:
        context: ssl.SSLContext = super()._get_tls_context(tls, purpose)  # type: ignore[no-untyped-call]
        context.verify_flags |= ssl.VERIFY_CRL_CHECK_LEAF
        context.load_verify_locations(cafile=str(self._made.folder / CRL))
        if purpose is ssl.Purpose.CLIENT_AUTH:
            context.num_tickets = 0
        self._contexts.add(context)
        return context

    def look(self) -> bool:
        """Whether the list in the folder is a new one; it is in force from then on.

        Raises `UsageError`, once for each change of the file, where it cannot be used: the one before stays in force.
        """
        if (state := self._state()) == self._seen:
            return False
        self._seen = state
        found = self._made.revocations()
        if revocation.later(self._list, found):
            why = "it is older than the list in effect, which stays"
            raise UsageError("cannot use", str(self._made.folder / CRL), why, revocation.WHERE)
        for context in self._contexts:
            context.load_verify_locations(cafile=str(self._made.folder / CRL))
        self._take(found)
        return True

    def told(self, said: object) -> bool:
        """`look`, after the list that a scheduler has was put into the folder, if it is later than ours.

        Raises `UsageError` for what is none of our authority, `RunFailed` where it cannot be kept.
        """
        if not isinstance(said, str) or said == self.pem or len(said) > revocation.MOST:
            return False
        found = revocation.parsed(said.encode("utf-8", "replace"), self._made.authority(), "the scheduler's list")
        if not revocation.later(found, self._list):
            return False
        folder = self._made.folder
        try:
            with atomic_write.directory(folder) as fd:
                atomic_write.replace_in(fd, CRL, revocation.pem(found))
        except OSError as e:
            why = f"{e.strerror or e}; a revoked certificate would still be accepted"
            raise RunFailed("cannot write", str(folder / CRL), why, "make the folder writable, or copy the list") from e
        return self.look()

    def _state(self) -> tuple[int, ...] | None:
        with suppress(OSError):
            found = os.lstat(self._made.folder / CRL)
            return found.st_ino, found.st_size, found.st_mtime_ns, found.st_ctime_ns
        return None


def look(server: Scheduler | Worker) -> bool:
    """Whether a new list is in force at that end; connections to and from whom it names are then ended."""
    return _after(server, lambda secured: secured.look())


def told(server: Scheduler | Worker, said: object) -> bool:
    """The same with a list that a scheduler sent."""
    return _after(server, lambda secured: secured.told(said))


def _after(server: Scheduler | Worker, change: Any) -> bool:
    secured = server.security
    if not isinstance(secured, Secured):
        return False
    try:
        if not change(secured):
            return False
    except StrataError as e:
        note(f"warning: {e.headline}; {e.hint}")
        return False
    for listener in server.listeners:
        # Who has shown a certificate and said nothing yet. The others among them try again.
        listener.abort_handshaking_comms()  # type: ignore[attr-defined]
    for comm in list(_open(server)):
        ended(server, comm)
    return True


def ended(server: Scheduler | Worker, comm: Any) -> bool:
    """Whether the other end's certificate is revoked; the connection is over then."""
    secured, certificate = server.security, comm.extra_info.get("peercert") or {}
    serial = int(certificate.get("serialNumber", "0"), 16)
    if not isinstance(secured, Secured) or serial not in secured.serials:
        return False
    names = [value for kind, value in certificate.get("subjectAltName", ()) if kind == "DNS"]
    note(f"note: ended a connection of {', '.join(names) or comm.peer_address}: its certificate is revoked")
    comm.abort()
    return True


def _open(server: Scheduler | Worker) -> Iterator[Any]:
    """All connections: those that came, those that we opened, and a node's own to its scheduler."""
    yield from server._comms
    for pool in (server.rpc.available, server.rpc.occupied):
        for comms in pool.values():
            yield from comms
    stream = getattr(getattr(server, "batched_stream", None), "comm", None)
    if stream is not None:
        yield stream
