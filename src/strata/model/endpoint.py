"""What a workload is aimed at, as a URI."""

from __future__ import annotations

import difflib
import ipaddress
import re
import socket
from functools import partial
from urllib.parse import parse_qs, urlsplit

from pydantic import Field

from strata.errors import UsageError
from strata.model import cluster_uri, smb_uri
from strata.model.base import WithPassword
from strata.model.workload_options import connections_problem
from strata.schemes import SCHEMES, WRITTEN, EndpointKind
from strata.schemes.declared import Scheme
from strata.text import controls, secrets

__all__ = ["CLUSTER", "REMOTE", "SCHEMES", "Endpoint", "EndpointKind", "address", "is_loopback"]

CLUSTER = frozenset(EndpointKind(scheme.name) for scheme in SCHEMES.values() if scheme.library)
"""Kinds that a cluster's own client library reaches, inside fio."""

REMOTE = frozenset(EndpointKind(name) for name in SCHEMES)
"""Kinds that are reached over connections."""


class Endpoint(WithPassword):
    """``file:/path`` · ``block:/dev/x`` · ``null:`` · ``nbd://host:port/export`` · ``nbd+unix:///export?socket=/path``
    · ``smb://user@host:port/share/path`` · ``rbd:pool/image`` · ``gluster://host/volume/path``.

    ``uri`` is as given, without a password; ``path`` is set for file and block only. ``netns``: connections
    are made from this network namespace (its path) and not from the process's own.
    """

    kind: EndpointKind
    uri: str
    path: str | None = None
    connections: int = 1
    netns: str | None = None
    fd: int | None = Field(default=None, exclude=True, repr=False)
    """A descriptor of the file or device that this process holds open: the engine opens beside it, and not by the name,
    which may lead to another file by then. It is saved with nothing."""

    @property
    def opened(self) -> str:
        """What to open in this process for a file or device; ``path`` is what to call it."""
        return (self.path or "") if self.fd is None else f"/proc/self/fd/{self.fd}"

    def beside(self, fd: int) -> Endpoint:
        """The same endpoint, opened beside this descriptor."""
        return self.model_copy(update={"fd": fd})

    @property
    def remote(self) -> bool:
        """Whether connections lead there."""
        return self.kind in REMOTE

    @property
    def scheme(self) -> Scheme | None:
        """What is known of its scheme; None for what is of this machine."""
        return SCHEMES.get(self.kind)

    def seen_from(self, netns: str) -> Endpoint:
        """The same endpoint, reached from the network namespace at this path."""
        return self.model_copy(update={"netns": netns}) if self.remote else self

    def over(self, connections: int) -> Endpoint:
        """The same endpoint over so many connections, whatever its address asks for."""
        parts = urlsplit(self.uri)
        kept = [word for word in parts.query.split("&") if word and not word.startswith("connections=")]
        query = "&".join([*kept, f"connections={connections}"])
        uri = parts._replace(query=query).geturl()
        return self.model_copy(update={"uri": uri, "connections": connections})

    @classmethod
    def parse(cls, uri: str) -> Endpoint:
        """Raises `UsageError` naming the scheme that was not understood."""
        secrets.know(uri)
        if controls.halves(uri) != uri:
            why = "its name is not valid text in this locale (UTF-8)"
            raise _refused(uri, why, "rename it, or use another path")
        scheme, _, rest = uri.partition(":")
        if scheme in ("file", "block"):
            path = rest.removeprefix("//")
            if not path.startswith("/"):
                hint = f"write the full path: {scheme}:/…/{path}"
                raise _refused(uri, "the path is not absolute", hint)
            return cls(kind=EndpointKind(scheme), uri=f"{scheme}:{path}", path=path)
        if scheme == "null":
            return cls(kind=EndpointKind.NULL, uri="null:")
        found = next((known for known in SCHEMES.values() if scheme in known.forms), None)
        if found is not None:
            return (_with_login if found.login else _cluster if found.library else _remote)(uri, scheme, found)
        meant = difflib.get_close_matches(scheme.lower(), WRITTEN, 1)
        hint = f"write {WRITTEN[meant[0]]}" if meant else f"use one of: {', '.join(WRITTEN.values())}"
        raise _refused(uri, f"unknown scheme {scheme!r}", hint)


def address(host: str, port: int) -> str:
    """``host:port``, where an IPv6 host stands in brackets."""
    bare = host.strip("[]")
    return f"[{bare}]:{port}" if ":" in bare else f"{bare}:{port}"


OWN_SERVER = "127.0.0.1:0/"
"""In an NBD endpoint: a server that Strata starts itself for the run, on a free port of the loopback."""


def own_export(uri: str) -> str | None:
    """The export's name where the server is one that Strata starts itself, else None."""
    head, own, tail = uri.partition(OWN_SERVER)
    return tail.partition("?")[0] if own and head == "nbd://" else None


LOCAL_NAMES = frozenset({"localhost", "localhost.localdomain", "ip6-localhost", "ip6-loopback"})


def is_loopback(host: str) -> bool:
    """Whether a name or an address leads to the machine, or the network namespace, from which it is asked."""
    name = host.strip("[]").rstrip(".").lower()
    try:
        known = ipaddress.ip_address(name)
    except ValueError:
        try:
            # 127.1 and 2130706433 are ways to write one, too.
            known = ipaddress.ip_address(socket.inet_aton(name))
        except OSError:
            return name in LOCAL_NAMES
    return (getattr(known, "ipv4_mapped", None) or known).is_loopback


def _refused(uri: str, why: str, hint: str = "") -> UsageError:
    return UsageError("cannot use the endpoint", secrets.hidden(uri), why, hint)


def _with_login(uri: str, _word: str, scheme: Scheme) -> Endpoint:
    bare, password = smb_uri.split(uri)
    if (why := smb_uri.problem(bare)) is not None:
        raise _refused(uri, why, smb_uri.WRITE)
    made = Endpoint(kind=EndpointKind(scheme.name), uri=bare, connections=smb_uri.connections(bare))
    return made.with_password(password)


def _remote(uri: str, word: str, scheme: Scheme) -> Endpoint:
    refused = partial(_refused, uri, hint=f"write {scheme.forms[word]}")
    if secrets.spans(uri) or "@" in re.split("[/?#]", uri.partition("://")[2])[0]:
        raise refused(
            "its port is not a number"
            if "@" not in uri and secrets.user_info(uri)
            else "user names and passwords are not supported there"
        )
    try:
        parts = urlsplit(uri)
        _ = parts.port  # only looked at here is it checked
    except ValueError as e:
        raise refused(str(e).lower()) from e
    query = parse_qs(parts.query, keep_blank_values=True)
    if word.endswith("+unix"):
        if not query.get("socket", [""])[0]:
            raise refused("the socket is missing")
    elif not parts.hostname:
        raise refused("the host is missing")
    if (why := scheme.problem(parts.path.split("/"), query)) is not None:
        raise refused(why)
    connections = query.get("connections", ["1"])[0]
    if (why := connections_problem(connections)) is not None:
        raise _refused(uri, why)
    return Endpoint(kind=EndpointKind(scheme.name), uri=uri, connections=int(connections))


def _cluster(uri: str, word: str, scheme: Scheme) -> Endpoint:
    form, kind = scheme.forms[word], EndpointKind(scheme.name)
    if secrets.spans(uri):
        raise _refused(uri, "passwords, keys and ports that are not a number are not supported", f"write {form}")
    try:
        (cluster_uri.rbd if kind is EndpointKind.RBD else cluster_uri.gluster)(uri)
    except ValueError as e:
        raise _refused(uri, str(e), f"write {form}") from e
    return Endpoint(kind=kind, uri=uri)
