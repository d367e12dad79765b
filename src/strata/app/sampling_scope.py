"""What is watched beside a measurement: which devices, file systems, nodes, ports and servers."""

from __future__ import annotations

import platform
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from urllib.parse import urlsplit

from strata.discover.chain import NOTHING, Under, devices_of
from strata.host import block
from strata.host.mounts import SMB_KINDS, mount_of
from strata.host.proc import Sys
from strata.model.endpoint import Endpoint, EndpointKind
from strata.model.stack import Stack
from strata.model.watch import LayerDevices
from strata.probes import ProbedNode


@dataclass(frozen=True)
class SamplingScope:
    """``devices``: all that are sampled; ``under``: those of them that the measured requests reach. ``stats``:
    statistics socket of the target of our own that is measured."""

    devices: tuple[str, ...] = ()
    under: Under = NOTHING
    paths: tuple[str, ...] = ()
    nodes: tuple[ProbedNode, ...] = ()
    stats: str | None = None

    def served_by(self, stats: str | None) -> SamplingScope:
        """The same while the layer is served by the target with that statistics socket."""
        nodes = self.nodes or (ProbedNode(),)
        return replace(self, stats=stats, nodes=(replace(nodes[0], stats=stats), *nodes[1:]))


def ports_of(endpoints: Iterable[Endpoint]) -> tuple[int, ...]:
    """The TCP ports that endpoints lead to; none for what is local or behind a unix socket."""
    found: dict[int, None] = {}
    for endpoint in endpoints:
        parts = urlsplit(endpoint.uri)
        port = (parts.port or (endpoint.scheme and endpoint.scheme.port)) if parts.hostname else None
        if port:
            found[port] = None
    return tuple(found)


def sampling_scope_of_endpoints(endpoints: Sequence[Endpoint]) -> SamplingScope:
    """What is under endpoints that are driven without a stack: their devices, file systems, ports and namespaces."""
    under = joined(devices_of(e) for e in endpoints)
    paths = tuple(e.path for e in endpoints if e.kind is EndpointKind.FILE and e.path is not None)
    ports = ports_of(endpoints)
    here = tuple(ProbedNode(netns=netns, ports=ports) for netns in dict.fromkeys(e.netns for e in endpoints))
    return SamplingScope(devices=under.devices, under=under, paths=paths, nodes=here[:1])


def sampling_scope_of(
    stack: Stack, endpoints: Mapping[str, Endpoint], layer: str, paths: Sequence[str] = ()
) -> SamplingScope:
    """This machine, and every node of the stack that is a namespace of it or tells its own counters.

    ``endpoints`` by layer. All look for all ports of the path, and the devices under every layer are sampled: what the
    I/O of one does to the devices of another shows too.
    """
    ports = ports_of(endpoints.values())
    named = [n for n in stack.nodes if n.netns or n.smb_conf or n.counters]
    # Asking a Samba server takes a program that is started anew: only where the layer's requests pass one.
    over = over_smb(stack, endpoints, layer)
    server, stats = stack.stats_from(stack.layer(layer), platform.node()) or (None, None)
    there = (
        ProbedNode(
            name=n.name, netns=n.netns, ports=ports, smb_conf=n.smb_conf if over else None, url=n.counters,
            stats=stats if n == server else None,
        )
        for n in named
    )  # fmt: skip
    found = devices_reached(stack, endpoints)[layer]
    here = ProbedNode(ports=ports, stats=stats if server is None else None)
    return replace(found, paths=tuple(paths), nodes=(here, *there), stats=stats)


def over_smb(stack: Stack, endpoints: Mapping[str, Endpoint], layer: str) -> bool:
    """Whether the layer's requests may pass an SMB server: its own, or that of a layer it stands on."""
    mine = stack.layer(layer)
    return any(_at_smb(endpoints.get(one.name)) for one in (mine, *stack.stands_on(mine)))


def _at_smb(at: Endpoint | None) -> bool:
    if at is None or at.kind is EndpointKind.SMB:
        return at is not None
    if at.kind is not EndpointKind.FILE or at.path is None:
        return False
    mount = mount_of(at.path, Sys())
    return mount is not None and mount.kind in SMB_KINDS


def devices_reached(stack: Stack, endpoints: Mapping[str, Endpoint]) -> dict[str, SamplingScope]:
    """Of each layer the devices alone: those under every layer, and which of them its own requests reach.

    Those are its own, or where it has none (it is remote, or on no device) those of what it stands on.
    """
    sys = Sys()
    own = {layer.name: devices_of(endpoints[layer.name], sys) for layer in stack.layers if layer.name in endpoints}
    everything = joined(own.values()).devices
    reach: dict[str, Under] = {}
    # A stack names what a layer stands on before the layer.
    for layer in stack.layers:
        mine = own.get(layer.name, NOTHING)
        reach[layer.name] = mine if mine.devices else joined(reach[below] for below in layer.on)
    return {name: SamplingScope(devices=everything, under=under) for name, under in reach.items()}


def reached_by(stack: Stack, own: Mapping[str, tuple[str | None, Under]]) -> tuple[LayerDevices, ...]:
    """As `devices_reached`, where the devices may be of several machines. ``own``: by layer the name under which its
    machine is sampled (None: this one), and the devices under the layer there."""
    reach: dict[str, tuple[str | None, Under]] = {}
    # A stack names what a layer stands on before the layer.
    for layer in stack.layers:
        node, mine = own.get(layer.name, (None, NOTHING))
        below = [reach[name] for name in layer.on if reach[name][1].devices]
        if not mine.devices and below:
            # The paths of one request end on one machine: what else there is has rows of its own layers.
            node = below[0][0]
            mine = joined(under for of, under in below if of == node)
        reach[layer.name] = node, mine
    return tuple(
        LayerDevices(layer=name, devices=under.devices, carriers=under.carriers, node=node if under.devices else None)
        for name, (node, under) in reach.items()
    )


def starts_of(devices: Iterable[str]) -> dict[str, int]:
    """Of partitions and of loop devices that begin behind the first byte: at which byte of what is below them."""
    found = {name: block.begins_at(name, Sys()) for name in dict.fromkeys(devices)}
    return {name: at for name, at in found.items() if at}


def speeds_of_cards() -> dict[str, float]:
    """Bytes per second that the links of this machine's cards carry in one direction, where that is known."""
    # Here, as every measurement loads this module and none asks.
    from strata.discover.interfaces import link_rates

    return {name: rate / 8 for name, rate in link_rates(Sys()).items()}


def joined(parts: Iterable[Under]) -> Under:
    """All of them together, each device once."""
    parts = tuple(parts)
    devices = dict.fromkeys(name for part in parts for name in part.devices)
    return Under(devices=tuple(devices), carriers=tuple(dict.fromkeys(n for part in parts for n in part.carriers)))
