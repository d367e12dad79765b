"""Network namespaces of a test's own: two nodes on one wire, taken down by their names."""

from __future__ import annotations

import subprocess
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from loops import ENV, need, run


@dataclass(frozen=True)
class Nodes:
    """Paths of the namespaces, and the address that each has on the wire between them."""

    first: str
    second: str
    first_address: str = "10.213.7.1"
    second_address: str = "10.213.7.2"


@contextmanager
def two_nodes() -> Iterator[Nodes]:
    """Both have a loopback, and a veth between them."""
    ip, tag = need("ip"), uuid.uuid4().hex[:6]
    names = [f"stest-{tag}-{n}" for n in (1, 2)]
    nodes = Nodes(*(f"/run/netns/{name}" for name in names))
    try:
        for name in names:
            run(ip, "netns", "add", name)
            run(ip, "-n", name, "link", "set", "lo", "up")
        run(ip, "-n", names[0], "link", "add", "wire", "type", "veth", "peer", "name", "wire", "netns", names[1])
        for name, address in zip(names, (nodes.first_address, nodes.second_address), strict=True):
            run(ip, "-n", name, "address", "add", f"{address}/24", "dev", "wire")
            run(ip, "-n", name, "link", "set", "wire", "up")
        yield nodes
    finally:
        for name in names:
            subprocess.run([ip, "netns", "delete", name], env=ENV, check=False, capture_output=True)


@contextmanager
def one_node() -> Iterator[str]:
    """The path of a namespace with a loopback and nothing else."""
    ip, name = need("ip"), f"stest-{uuid.uuid4().hex[:6]}"
    try:
        run(ip, "netns", "add", name)
        run(ip, "-n", name, "link", "set", "lo", "up")
        yield f"/run/netns/{name}"
    finally:
        subprocess.run([ip, "netns", "delete", name], env=ENV, check=False, capture_output=True)


def inside(netns: str) -> list[str]:
    """What to put before a command so that it runs there."""
    return [need("nsenter"), f"--net={netns}", "--"]
