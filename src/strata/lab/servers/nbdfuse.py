"""A remote disk as a file: nbdfuse dials an NBD server from a node and shows what it exports below a directory."""

from __future__ import annotations

from pathlib import Path

from strata.lab.lab import Lab
from strata.lab.nodes import Node
from strata.lab.servers import program
from strata.lab.undo import mounted

CONNECTIONS = 4
"""Requests of one connection are answered by one thread."""


def mount(lab: Lab, node: Node, uri: str, *, name: str, connections: int = CONNECTIONS) -> Path:
    """The file that is ``uri``. Raises `RunFailed` with nbdfuse's words."""
    folder = lab.dir(f"remote/{name}")
    lab.undo("mount", path=str(folder))
    words = [program("nbdfuse", "nbdfuse"), "-C", str(connections), str(folder), uri]
    lab.run(node, words, name=f"nbdfuse-{name}", wait_for=lambda: mounted(str(folder)))
    return folder / "nbd"
