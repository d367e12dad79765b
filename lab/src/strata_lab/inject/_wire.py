"""Whose wire and whose processes an injection acts on."""

from __future__ import annotations

from functools import partial

from strata.errors import RunFailed
from strata_lab.lab import Lab
from strata_lab.nodes import LabNode
from strata_lab.servers import nbd
from strata_lab.truth import Injection

of_the_wire = partial(Injection, kind="wire", layer="top", stack="block-share", everyday=True)
"""An injection into the links of the server, where nothing else is said of these."""
of_the_server = partial(Injection, kind="server", layer="top", stack="block-share")
"""An injection into the server itself."""


def slowed(lab: Lab, hop: str, reduced: tuple[str, str] | None = None) -> None:
    """A hop with these words before each card of the server; a reduced lab: its server with that option instead."""
    if lab.reduced and reduced is not None:
        nbd.reshape(lab, *reduced)
        return
    node = server_node(lab)
    for nic in range(len(node.addresses)):
        lab.hop(node, nic, hop)


def check_alone(lab: Lab, other: str) -> None:
    """Raises `RunFailed` where the other injection is in: it sets the same options of the server, and only the last of
    both would be true."""
    if lab.last_fact("injection", cause=other) is not None:
        why = f"{other} is in it and sets the same options"
        raise RunFailed("cannot change the server of", lab.name, why, "inject it into another lab")


def server_node(lab: Lab) -> LabNode:
    """The node of the last server that was started: what the top layer talks to. Raises `RunFailed` without one."""
    servers = lab.facts("server")
    if not servers:
        raise RunFailed("cannot change the server of", lab.name, "the stack has no server", "strata lab up block-share")
    return lab.node(servers[-1]["node"])


def client_node(lab: Lab) -> LabNode:
    """The first node that is not the server's. Raises `RunFailed` without one."""
    server = server_node(lab)
    for node in lab.nodes:
        if node != server:
            return node
    raise RunFailed("cannot change the client of", lab.name, "the stack has only one node")
