"""What is sampled where, beside a cell that one of the nodes drives.

The node that drives is this machine to the cell: its CPUs, memory and devices carry no label, and neither do those that
other nodes have on the same machine. Its network and its processes, and all that is read on other nodes, carry the name
of the node, as in a run that one host drives.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from strata.app.driven.group import HERE
from strata.app.driven.words import LayersThere
from strata.app.sampling_scope import SamplingScope, joined, over_smb, ports_of
from strata.discover.chain import NOTHING, Under
from strata.model.endpoint import Endpoint, EndpointKind
from strata.model.nodes import NodeInfo
from strata.model.series import Series
from strata.model.stack import Node, Stack
from strata.probes import ProbedNode


class Scopes:
    """Of one stack. ``nodes``: those that have joined; `placed` comes before any question."""

    def __init__(self, stack: Stack, nodes: Mapping[str, NodeInfo], path: str) -> None:
        self._stack, self._nodes, self._path = stack, nodes, path
        self._there: Mapping[str, LayersThere] = {}
        self._endpoints: Mapping[str, Endpoint] = {}
        self._of: Mapping[str, str] = {}

    def placed(
        self, there: Mapping[str, LayersThere], endpoints: Mapping[str, Endpoint], of: Mapping[str, str]
    ) -> None:
        """``of``: by layer the node that drives it."""
        self._there, self._endpoints, self._of = there, endpoints, of

    @property
    def read_here(self) -> tuple[str, ...]:
        """This process, where nodes of the stack have to be read from it."""
        return (HERE,) if self._unjoined() else ()

    def own(self, node: str, layer: str) -> SamplingScope:
        """What the node samples that drives the layer."""
        under = self._reached(node)[layer]
        probed = self._probed(node, layer, drives=True)
        everything = joined(u for at in self._alike(node) for u in self._there[at].under.values())
        return SamplingScope(
            devices=everything.devices, under=under, paths=self._paths(*self._alike(node)), nodes=probed,
            stats=_stats(probed),
        )  # fmt: skip

    def besides(self, node: str, layer: str) -> Iterator[tuple[str, SamplingScope, bool]]:
        """The other nodes, what each samples, and whether of its whole machine."""
        alike = self._alike(node)
        for other in (*self._nodes, HERE):
            if other == node or other not in self._there or (other == HERE and not self.read_here):
                continue
            whole = other not in alike and other != HERE
            devices = joined(self._there[other].under.values()).devices if whole else ()
            probed = self._probed(other, layer)
            paths = self._paths(other) if whole else ()
            yield other, SamplingScope(devices=devices, paths=paths, nodes=probed, stats=_stats(probed)), whole

    def unread(self, layer: str) -> tuple[str, ...]:
        """In words, where nobody reads the statistics of the layer's server."""
        server, near = self._stack.layer(layer).server, (n.name for n in self._unjoined() if n.netns)
        if server is None or server in self._nodes or server in near:
            return ()
        return (f"statistics of the server of {layer}: node {server}, on which it is, has not joined",)

    def devices(self, node: str) -> tuple[str, ...]:
        """Under every layer that the node drives."""
        return joined(self._there[node].under.values()).devices

    def _alike(self, node: str) -> list[str]:
        """The nodes of one machine, that node first."""
        boot = self._there[node].boot
        return [node, *(other for other, found in self._there.items() if found.boot == boot and other != node)]

    def _reached(self, node: str) -> dict[str, Under]:
        """By layer the devices of that node's machine that its requests reach: its own, or those of what it stands
        on."""
        alike = set(self._alike(node))
        reach: dict[str, Under] = {}
        for layer in self._stack.layers:
            at = self._of[layer.name]
            mine = self._there[at].under.get(layer.name, NOTHING) if at in alike else NOTHING
            reach[layer.name] = mine if mine.devices else joined(reach[below] for below in layer.on)
        return reach

    def _probed(self, node: str, layer: str, *, drives: bool = False) -> tuple[ProbedNode, ...]:
        ports = ports_of(self._endpoints.values())
        server = self._stack.layer(layer)
        at = {server.server: server.stats}
        # A server of a run's own is where the layer is driven, and so is one of which nothing else is said.
        stats = self._there[node].stats.get(layer) or at.get(None) if drives else None
        if node == HERE:
            smb = over_smb(self._stack, self._endpoints, layer)
            rest = (
                ProbedNode(
                    name=n.name, netns=n.netns, ports=ports, smb_conf=n.smb_conf if smb else None, url=n.counters,
                    stats=at.get(n.name) if n.netns else None,
                )
                for n in self._unjoined()
            )  # fmt: skip
            own = (ProbedNode(ports=ports, stats=stats),) if HERE in self._of.values() else ()
            return (*own, *rest)
        # A node that is a namespace of its own: whoever listens there serves the path.
        known = next((n for n in self._stack.nodes if n.name == node), Node(name=node))
        conf = known.smb_conf if over_smb(self._stack, self._endpoints, layer) else None
        stats = stats or at.get(node)
        return (ProbedNode(name=node, netns=known.netns, ports=ports, smb_conf=conf, stats=stats),)

    def _unjoined(self) -> list[Node]:
        """Nodes of the stack that this process reads, as it does where it drives everything."""
        known = (n for n in self._stack.nodes if n.name not in self._nodes)
        return [n for n in known if n.netns or n.smb_conf or n.counters]

    def _paths(self, *nodes: str) -> tuple[str, ...]:
        """The file, where one of these nodes has it."""
        there = self._endpoints.items()
        has = any(self._of[name] in nodes and end.kind is EndpointKind.FILE for name, end in there)
        return (self._path,) if has else ()


def _stats(nodes: Sequence[ProbedNode]) -> str | None:
    """The socket of the layer's server, where one of these reads it."""
    return next((node.stats for node in nodes if node.stats is not None), None)


def shifted(series: Sequence[Series], by_ns: int, node: str) -> tuple[Series, ...]:
    """On another node's clock; what carries no label is of ``node``."""
    return tuple(
        s.model_copy(
            update={
                "t_ns": tuple(t + by_ns for t in s.t_ns),
                "labels": s.labels if "node" in s.labels or not node else {**s.labels, "node": node},
            }
        )
        for s in series
    )
