"""Nodes: network namespaces joined by bridges in a namespace of the lab's own, each link shaped at both ends.

The root namespace gets no interface at all, so two labs cannot meet and nothing of the machine's network changes. A
node's cards are ``eth0`` and ``eth1``; the other ends are ports of bridge ``brA`` and ``brB`` in the switch, where
``n1`` has ``n1a`` and ``n1b``.
"""

from __future__ import annotations

import array
import fcntl
import socket
import struct
from collections.abc import Iterable
from dataclasses import dataclass

from pyroute2 import IPRoute

from strata.errors import RunFailed
from strata_lab.inside import create, on_a_thread_in, within
from strata_lab.ledger import Ledger
from strata_lab.namespaces import NETNS_DIR, mounted_names

FABRICS = "ab"
_MIN_BURST_BYTES = 64 * 1024
_MAX_BURST_BYTES = 256 * 1024
_SIOCETHTOOL, _ETHTOOL_STSO, _IFNAMSIZ = 0x8946, 0x1F, 16
# How long a full queue before the shaper takes to drain: what a switch of that speed would buffer.
_QUEUE_S = 0.032


@dataclass(frozen=True)
class LabNode:
    """A node of a lab: ``netns`` is the path of its namespace, None where a reduced lab runs on loopback."""

    name: str
    netns: str | None
    addresses: tuple[str, ...]
    owner: bool = False

    @property
    def address(self) -> str:
        """The address of its first card."""
        return self.addresses[0]

    def own_netns(self, doing: str) -> str:
        """Its namespace. Raises `RunFailed` where all nodes share the loopback: what is to be done needs a card."""
        if self.netns is None:
            why = "a reduced lab has no network cards"
            raise RunFailed(f"cannot {doing}", self.name, why, "run the lab as root")
        return self.netns


def add_netns(ledger: Ledger, name: str) -> str:
    """A new network namespace of that name; its path. Raises `RunFailed` when the name is taken."""
    path = NETNS_DIR / name
    # Also where something covers it.
    if path.exists() or name in mounted_names():
        raise RunFailed("cannot create the namespace", name, "one with that name exists, and it is not of this lab")
    ledger.append({"undo": "netns", "name": name})
    create(path)
    ledger.append({"undo": "netns", "name": name, "inode": path.stat().st_ino})
    return str(path)


def add_switch(ledger: Ledger, name: str, fabrics: int) -> str:
    """The namespace that holds the bridges; its path."""
    path = add_netns(ledger, name)

    def bridges(ns: IPRoute) -> None:
        for fabric in FABRICS[:fabrics]:
            ns.link("add", ifname=_bridge(fabric), kind="bridge")
            ns.link("set", index=_index(ns, _bridge(fabric)), state="up")

    within(path, bridges)
    return path


def add_node(ledger: Ledger, switch: str, ns_name: str, name: str, addresses: Iterable[str]) -> str:
    """A node with one card for each address (``10.77.0.1``, all /24), joined to the switch; its namespace's path."""
    path = add_netns(ledger, ns_name)
    addresses = tuple(addresses)

    def ports(sw: IPRoute) -> None:
        with open(path) as namespace:  # noqa: PTH123  (its number is what counts)
            for number, fabric in enumerate(FABRICS[: len(addresses)]):
                # Made with both ends in place: an interface is never in a namespace in which others could see it.
                peer = {"ifname": f"eth{number}", "net_ns_fd": namespace.fileno()}
                sw.link("add", ifname=f"{name}{fabric}", kind="veth", peer=peer)
                port = _index(sw, f"{name}{fabric}")
                sw.link("set", index=port, master=_index(sw, _bridge(fabric)), state="up")

    def cards(ns: IPRoute) -> None:
        ns.link("set", index=1, state="up")
        for number, address in enumerate(addresses):
            card = _index(ns, f"eth{number}")
            ns.addr("add", index=card, address=address, prefixlen=24)
            ns.link("set", index=card, state="up")

    within(switch, ports)
    within(path, cards)
    return path


def shape(switch: str, node: LabNode, nic: int, bytes_per_s: float | None) -> None:
    """Limits one card of a node, in both directions, to so many bytes a second; None takes the limit away."""
    netns = node.own_netns("limit the rate of")

    def limit(ns: IPRoute, card: str) -> None:
        index = _index(ns, card)
        if bytes_per_s is None:
            if any(q.get_attr("TCA_KIND") == "tbf" for q in ns.get_qdiscs(index=index)):
                ns.tc("del", index=index, root=True)
            return
        # A frame of 64 KiB (segmentation happens later) has to fit into the bucket.
        burst = int(min(max(bytes_per_s * 0.002, _MIN_BURST_BYTES + 4096), _MAX_BURST_BYTES))
        queue = int(max(bytes_per_s * _QUEUE_S, 2 * burst))
        ns.tc("replace", "tbf", index, handle="1:", rate=int(bytes_per_s), burst=burst, limit=queue)

    within(netns, lambda ns: limit(ns, f"eth{nic}"))
    within(switch, lambda ns: limit(ns, f"{node.name}{FABRICS[nic]}"))


def cut_in(switch: str, node: LabNode, nic: int) -> tuple[str, str]:
    """Takes the port of a card off the bridge and puts a new pair there; the two interfaces that a hop has to join.

    The node's connections stay: it notices nothing until the hop forwards again.
    """
    node.own_netns("delay")
    port = f"{node.name}{FABRICS[nic]}"

    def rewire(ns: IPRoute) -> None:
        bridge = _index(ns, _bridge(FABRICS[nic]))
        ns.link("add", ifname=f"{port}h", kind="veth", peer={"ifname": f"{port}g"})
        ns.link("set", index=_index(ns, port), master=0)
        ns.link("set", index=_index(ns, f"{port}g"), master=bridge, state="up")
        ns.link("set", index=_index(ns, f"{port}h"), state="up")

    within(switch, rewire)
    return port, f"{port}h"


def cut_into_segments(switch: str, node: LabNode, nic: int) -> None:
    """What comes to the hop that was cut in there has frames of the wire's size: one that is lost or overtakes is then
    one segment, not the 45 that TCP hands over at once. A hop carries half as many bytes of them."""
    segmented(node.own_netns("delay"), f"eth{nic}")
    segmented(switch, f"{node.name}{FABRICS[nic]}g")


def segmented(netns: str, card: str) -> None:
    """What goes out at that card is cut into segments before (``ethtool -K CARD tso off``)."""

    def off() -> None:
        value = array.array("I", [_ETHTOOL_STSO, 0])
        request = struct.pack(f"{_IFNAMSIZ}sP16x", card.encode(), value.buffer_info()[0])
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as any_socket:
            fcntl.ioctl(any_socket, _SIOCETHTOOL, request)

    on_a_thread_in(netns, off)


def route_by(node: LabNode, address: str, nic: int) -> None:
    """Sends what goes to ``address`` out at that card, whatever network the address is in."""
    within(
        node.own_netns("route from"),
        lambda ns: ns.route("replace", dst=f"{address}/32", oif=_index(ns, f"eth{nic}"), scope="link"),
    )


def _bridge(fabric: str) -> str:
    return f"br{fabric.upper()}"


def _index(ns: IPRoute, name: str) -> int:
    found = ns.link_lookup(ifname=name)
    if not found:
        raise RunFailed("there is no interface", name, "in the namespace of this lab")
    return int(found[0])
