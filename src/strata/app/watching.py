"""What is watched beside a measurement: which devices, file systems, nodes, ports and servers."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from urllib.parse import urlsplit

from strata.discover.chain import chain
from strata.host.mounts import mount_of
from strata.host.proc import Sys
from strata.model.endpoint import Endpoint, EndpointKind
from strata.model.stack import Stack
from strata.probes import Node

_PORTS = {"nbd": 10809, "smb": 445, "nfs": 2049, "iscsi": 3260}
"""Where a URI without a port leads."""


@dataclass(frozen=True)
class Watch:
    """``stats``: statistics socket of the target of our own that is measured."""

    devices: tuple[str, ...] = ()
    paths: tuple[str, ...] = ()
    nodes: tuple[Node, ...] = ()
    stats: str | None = None

    def served_by(self, stats: str | None) -> Watch:
        """The same while the layer is served by the target with that statistics socket."""
        nodes = self.nodes or (Node(),)
        return replace(self, stats=stats, nodes=(replace(nodes[0], stats=stats), *nodes[1:]))


def ports_of(endpoints: Iterable[Endpoint]) -> tuple[int, ...]:
    """The TCP ports that endpoints lead to; none for what is local or behind a unix socket."""
    found: dict[int, None] = {}
    for endpoint in endpoints:
        parts = urlsplit(endpoint.uri)
        port = (parts.port or _PORTS.get(parts.scheme)) if parts.hostname else None
        if port:
            found[port] = None
    return tuple(found)


def watch_endpoints(endpoints: Sequence[Endpoint]) -> Watch:
    """What is under endpoints that are driven without a stack: their devices, file systems, ports and namespaces."""
    sys = Sys()
    devices: dict[str, None] = {}
    paths: list[str] = []
    for endpoint in endpoints:
        if endpoint.kind is EndpointKind.FILE and endpoint.path is not None:
            paths.append(endpoint.path)
            if (mount := mount_of(endpoint.path, sys)) is not None:
                devices |= dict.fromkeys(d.name for d in chain(mount, sys))
        elif endpoint.kind is EndpointKind.BLOCK and endpoint.path is not None:
            devices[Path(endpoint.path).resolve().name] = None
    ports = ports_of(endpoints)
    here = tuple(Node(netns=netns, ports=ports) for netns in dict.fromkeys(e.netns for e in endpoints))
    return Watch(devices=tuple(devices), paths=tuple(paths), nodes=here[:1])


def watch_of(
    devices: Sequence[str], paths: Sequence[str], endpoints: Sequence[Endpoint], stack: Stack | None = None
) -> Watch:
    """This machine, and every node of the stack that is a namespace of it or tells its own counters.

    All look for all ports of the path.
    """
    ports = ports_of(endpoints)
    named = [n for n in (stack.nodes if stack else ()) if n.netns or n.smb_conf or n.counters]
    there = (Node(name=n.name, netns=n.netns, ports=ports, smb_conf=n.smb_conf, url=n.counters) for n in named)
    nodes = (Node(ports=ports), *there)
    return Watch(devices=tuple(devices), paths=tuple(paths), nodes=nodes)
