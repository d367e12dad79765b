"""What a workload is aimed at, as a URI."""

from __future__ import annotations

from enum import StrEnum
from urllib.parse import parse_qs, urlsplit

from strata.errors import UsageError
from strata.model.base import Value


class EndpointKind(StrEnum):
    """The kinds an engine can drive."""

    FILE = "file"
    BLOCK = "block"
    NULL = "null"
    NBD = "nbd"
    NFS = "nfs"
    ISCSI = "iscsi"


REMOTE = frozenset({EndpointKind.NBD, EndpointKind.NFS, EndpointKind.ISCSI})
"""Kinds that are reached over connections."""


class Endpoint(Value):
    """``file:/path`` · ``block:/dev/x`` · ``null:`` · ``nbd://host:port/export`` · ``nbd+unix:///export?socket=/path``.

    ``uri`` is as given; ``path`` is set for file and block only. ``netns``: connections are made from this network
    namespace (its path) and not from the process's own.
    """

    kind: EndpointKind
    uri: str
    path: str | None = None
    connections: int = 1
    netns: str | None = None

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
        if scheme in FORMS:
            return _remote(uri, scheme)
        raise UsageError(
            "cannot use the endpoint",
            uri,
            f"unknown scheme {scheme!r}",
            "use file:/path, block:/dev/…, null:, nbd://host:port/export, nfs://host/export/file or "
            "iscsi://host/target/lun",
        )


FORMS = {
    "nbd": (EndpointKind.NBD, "nbd://host:port/export"),
    "nbd+unix": (EndpointKind.NBD, "nbd+unix:///?socket=/path"),
    "nfs": (EndpointKind.NFS, "nfs://host[:port]/export/path/file"),
    "iscsi": (EndpointKind.ISCSI, "iscsi://host[:port]/iqn.2026-01.example:target/lun"),
}
"""Schemes of remote endpoints: their kind, and how they are written."""


def _remote(uri: str, scheme: str) -> Endpoint:
    kind, form = FORMS[scheme]

    def refused(why: str) -> UsageError:
        return UsageError("cannot use the endpoint", uri, why, f"write {form}")

    try:
        parts = urlsplit(uri)
        _ = parts.port  # only looked at here is it checked
    except ValueError as e:
        raise refused(str(e).lower()) from e
    query = parse_qs(parts.query)
    if scheme == "nbd+unix":
        if "socket" not in query:
            raise refused("no socket")
    elif not parts.hostname:
        raise refused("no host")
    names = [name for name in parts.path.split("/") if name]
    if kind is EndpointKind.NFS:
        if not names or parts.path.endswith("/"):
            raise refused("it names no file")
        if (version := query.get("version", ["3"])[0]) != "3":
            raise refused(f"version {version} of NFS is not spoken, only 3")
    if kind is EndpointKind.ISCSI and (len(names) != 2 or not names[1].isdigit()):
        raise refused("it names no target and logical unit")
    connections = query.get("connections", ["1"])[0]
    if not connections.isdigit() or not 1 <= int(connections) <= 64:
        raise UsageError("cannot use the endpoint", uri, f"connections={connections} is not 1..64")
    return Endpoint(kind=kind, uri=uri, connections=int(connections))
