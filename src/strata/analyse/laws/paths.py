"""Every node is reached by a path of its own.

What it claims
    A client of storage that lies on several nodes has as many paths (sessions, connections to different addresses) as
    there are nodes.
Why it matters
    Data of a node without a path of its own comes by way of another node: one hop more for each request, twice the
    bytes on the wires between the nodes, and a card that carries two nodes' data.
Evidence
    `count.paths` and `count.nodes` of a row.
What rules it out
    As many paths as nodes, or more. Whether each path leads to another node is not in the two numbers.
Source
    RFC 7143, 4.4 (iSCSI: a session joins an initiator to one portal group of a target); the forced flow law,
    V = X_k ÷ X (Denning and Buzen, ACM Computing Surveys 10, 1978).
"""

from __future__ import annotations

from strata import units
from strata.analyse.laws.base import Answers, flag, measured
from strata.model.figures import Table

NAME, TITLE, ORDER = "paths", "paths and nodes", 296
SAYS = "fewer paths than nodes: some nodes are reached by way of others"
NEXT = "Add a session or connection to each node, and measure again."


def check(table: Table) -> Answers:
    for row in measured(table, "count.paths", "count.nodes"):
        paths, nodes = (row.figures[key].base for key in ("count.paths", "count.nodes"))
        yield None
        if 0 < paths < nodes:
            text = f"{paths:g} paths lead to {nodes:g} nodes: where the data is spread evenly, "
            text += f"{units.percent(1 - paths / nodes)} of it comes by way of another node"
            yield flag(row, text, column="count.paths", numbers={"paths": paths, "nodes": nodes})
