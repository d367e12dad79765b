"""The servers of a lab, one file each.

``start(lab, node, …) -> Server`` writes the configuration into the lab's directory, starts the daemon in the foreground
in the node's network and returns when it answers.
"""

from __future__ import annotations

import socket
from collections.abc import Callable
from dataclasses import dataclass

from strata.errors import RunFailed
from strata.host import programs
from strata_lab.inside import on_a_thread_in
from strata_lab.nodes import LabNode
from strata_lab.proc import LabProcess


@dataclass(frozen=True)
class LabServer:
    """A server that answers: ``uri`` is what a client in another node of the lab gives.

    ``stats``: the socket at which it tells the time of each request, where it does.
    """

    child: LabProcess
    node: LabNode
    port: int
    uri: str
    stats: str | None = None


def program(name: str, package: str) -> str:
    """The path of a program of the system. Raises `RunFailed` naming the package that brings it."""
    found = programs.find(name)
    if found is None:
        raise RunFailed("the lab needs", name, "it is not installed", f"apt-get install {package}")
    return found


def nbdkit() -> list[str]:
    """The words that nbdkit begins with: in the foreground, and nobody's child but the lab's.

    In the foreground it asks to end with its parent (PR_SET_PDEATHSIG), which must not be the command that builds the
    lab: a shell stands between.
    """
    return ["sh", "-c", '"$@"; exit $?', "sh", program("nbdkit", "nbdkit"), "--foreground"]


def answers(node: LabNode, port: int) -> Callable[[], bool]:
    """A function that is true when something accepts connections on that port of the node."""

    def ask() -> bool:
        try:
            on_a_thread_in(node.netns, lambda: socket.create_connection((node.address, port), timeout=1.0).close())
        except (RunFailed, OSError):
            return False
        return True

    return ask


def free_port(node: LabNode, wanted: int) -> int:
    """``wanted`` in a node of its own; any free port where all nodes share the loopback."""
    if node.netns is not None:
        return wanted
    with socket.create_server((node.address, 0)) as s:
        return int(s.getsockname()[1])
