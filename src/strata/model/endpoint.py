"""What a workload is aimed at, as a URI."""

from __future__ import annotations

from enum import StrEnum
from urllib.parse import parse_qs, urlsplit

from pydantic import PrivateAttr, SecretStr

from strata.errors import UsageError
from strata.model import smb_uri
from strata.model.base import Value


class EndpointKind(StrEnum):
    """The kinds an engine can drive."""

    FILE = "file"
    BLOCK = "block"
    NULL = "null"
    NBD = "nbd"
    SMB = "smb"


REMOTE = frozenset({EndpointKind.NBD, EndpointKind.SMB})
"""Kinds that are reached over connections."""


class Endpoint(Value):
    """``file:/path`` · ``block:/dev/x`` · ``null:`` · ``nbd://host:port/export`` · ``nbd+unix:///export?socket=/path``
    · ``smb://user@host:port/share/path``.

    ``uri`` is as given, without a password; ``path`` is set for file and block only. ``netns``: connections
    are made from this network namespace (its path) and not from the process's own.
    """

    kind: EndpointKind
    uri: str
    path: str | None = None
    connections: int = 1
    netns: str | None = None
    _password: SecretStr | None = PrivateAttr(default=None)

    @property
    def password(self) -> str | None:
        """The password that stood in the address. It is saved and printed with nothing."""
        return None if self._password is None else self._password.get_secret_value()

    def with_password(self, password: str | None) -> Endpoint:
        """The same endpoint and this password for it."""
        made = self.model_copy()
        made._password = None if password is None else SecretStr(password)
        return made

    @property
    def remote(self) -> bool:
        """Whether connections lead there."""
        return self.kind in REMOTE

    def seen_from(self, netns: str) -> Endpoint:
        """The same endpoint, reached from the network namespace at this path."""
        return self.model_copy(update={"netns": netns}) if self.remote else self

    @classmethod
    def parse(cls, uri: str) -> Endpoint:
        """Raises `UsageError` naming the scheme that was not understood."""
        scheme, _, rest = uri.partition(":")
        if scheme in ("file", "block"):
            path = rest.removeprefix("//")
            if not path.startswith("/"):
                raise UsageError("cannot use the endpoint", uri, "the path is not absolute", f"write {scheme}:/path")
            return cls(kind=EndpointKind(scheme), uri=f"{scheme}:{path}", path=path)
        if scheme == "null":
            return cls(kind=EndpointKind.NULL, uri="null:")
        if scheme in ("nbd", "nbd+unix"):
            try:
                parts = urlsplit(uri)
                _ = parts.port  # only looked at here is it checked
            except ValueError as e:
                raise UsageError("cannot use the endpoint", uri, str(e).lower(), "write nbd://host:port/export") from e
            query = parse_qs(parts.query)
            if scheme == "nbd" and not parts.hostname:
                raise UsageError("cannot use the endpoint", uri, "no host", "write nbd://host:port/export")
            if scheme == "nbd+unix" and "socket" not in query:
                raise UsageError("cannot use the endpoint", uri, "no socket", "write nbd+unix:///?socket=/path")
            connections = query.get("connections", ["1"])[0]
            if not connections.isdigit() or not 1 <= int(connections) <= 64:
                raise UsageError("cannot use the endpoint", uri, f"connections={connections} is not 1..64")
            return cls(kind=EndpointKind.NBD, uri=uri, connections=int(connections))
        if scheme == "smb":
            bare, password = smb_uri.split(uri)
            if (why := smb_uri.problem(bare)) is not None:
                raise UsageError("cannot use the endpoint", smb_uri.shown(uri), why, smb_uri.WRITE)
            made = cls(kind=EndpointKind.SMB, uri=bare, connections=smb_uri.connections(bare))
            return made.with_password(password)
        raise UsageError(
            "cannot use the endpoint",
            smb_uri.shown(uri),
            f"unknown scheme {scheme!r}",
            "use file:/path, block:/dev/…, null:, nbd://host:port/export or smb://user@host/share/file",
        )
