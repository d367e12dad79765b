"""`block-cluster`: block services of a cluster as a guest uses them, one target on each node and sessions to all.

What stands for what: ``n1`` … ``n3`` are nodes of a cluster that all reach the same disk, as the controllers of a
hyperconverged cluster do; each runs a target of its own (tgt over iSCSI, or `strata target` over NBD) for the same
blocks. ``client`` is the guest with its initiator: a layer for each path. `shrink` takes the target of the last node
away as if the node had died, `grow` brings it back; the paths to the others stay.
"""

from __future__ import annotations

from collections.abc import Mapping

from strata.errors import UsageError
from strata_lab.lab import Lab
from strata_lab.nodes import LabNode
from strata_lab.servers import LabServer, nbd, tgtd
from strata_lab.stacks import Options, remote_layer, write_stack
from strata_lab.stacks.volume import OPTIONS as VOLUME
from strata_lab.stacks.volume import volume

TITLE = "three nodes serve the same blocks; a client with several sessions to each; a node is taken away"
OPTIONS = {
    **VOLUME,
    "nodes": ("3", "nodes that serve: 2 to 4"),
    "sessions": ("2", "iSCSI sessions, or NBD connections, of the client to each node: 1 to 8"),
    "server": ("tgt", "tgt (iSCSI) or strata (NBD)"),
}
VARIANTS: tuple[Mapping[str, str], ...] = ({}, {"server": "strata"})
MOST_NODES, MOST_SESSIONS = 4, 8


def build(lab: Lab, options: Options) -> None:
    """A volume on the first node, a target on every node, a client."""
    if lab.reduced:
        raise UsageError("cannot build", "block-cluster", "its nodes need root", "strata lab up block-share, or sudo")
    count, sessions = _number(options, "nodes", 2, MOST_NODES), _number(options, "sessions", 1, MOST_SESSIONS)
    if options["server"] not in ("tgt", "strata"):
        raise UsageError("there is no server", repr(options["server"]), "", "server=tgt or server=strata")
    nodes = [lab.add_node(f"n{i + 1}", owner=i == 0) for i in range(count)]
    client = lab.add_node("client")
    made = volume(lab, nodes[0], options)
    lab.fact("cluster", server=options["server"], nodes=[n.name for n in nodes])
    servers = [_serve(lab, n) for n in nodes]
    paths = [
        remote_layer(f"through {s.node.name}", client, f"{s.uri}?connections={sessions}", served=s) for s in servers
    ]
    below = made.layers.format(owner=nodes[0].name) + f"expect.nodes = {count}\n"
    write_stack(lab, "block-cluster", volume=below, shares="\n".join(paths))


def shrink(lab: Lab) -> str:
    """The target of the last node that serves ends at once, with all its sessions; the node's name."""
    serving = _serving(lab)
    if len(serving) < 2:
        raise UsageError("cannot shrink the lab", lab.name, "one node serves, which is the minimum")
    name = serving[-1]
    server = lab.last_fact("server", node=name)
    assert server is not None, "a node that serves has a server"
    lab.stop(lab.process(server["process"]))
    lab.fact("serving", nodes=serving[:-1])
    return name


def grow(lab: Lab) -> str:
    """The target of the node that was taken away last serves again; its name."""
    fact, serving = lab.last_fact("cluster"), _serving(lab)
    assert fact is not None
    if len(serving) == len(fact["nodes"]):
        raise UsageError("cannot grow the lab", lab.name, f"all {len(serving)} nodes serve")
    name = fact["nodes"][len(serving)]
    _serve(lab, lab.node(name))
    lab.fact("serving", nodes=[*serving, name])
    return str(name)


def _serving(lab: Lab) -> list[str]:
    fact = lab.last_fact("serving") or lab.last_fact("cluster")
    assert fact is not None
    return list(fact["nodes"])


def _serve(lab: Lab, node: LabNode) -> LabServer:
    """The same blocks through a target on that node."""
    made, cluster = lab.last_fact("volume"), lab.last_fact("cluster")
    assert made is not None and cluster is not None
    if cluster["server"] == "strata":
        return nbd.start(lab, node, made["file"], kind="strata", port=nbd.PORT)
    return tgtd.start(lab, node, made["file"])


def _number(options: Options, key: str, least: int, most: int) -> int:
    if not options[key].isdigit() or not least <= int(options[key]) <= most:
        why = f"it is not a number from {least} to {most}"
        raise UsageError("cannot build block-cluster with", f"{key}={options[key]}", why)
    return int(options[key])
