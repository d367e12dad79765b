"""Network namespaces of a test's own: two nodes on one wire, taken down by their names."""

from __future__ import annotations

import subprocess
import uuid
from collections.abc import Iterator, Sequence
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


@contextmanager
def star(names: Sequence[str]) -> Iterator[dict[str, str]]:
    """A namespace with a bridge, and one for each name on a wire to it; nobody has a way out."""
    ip, tag = need("ip"), uuid.uuid4().hex[:6]
    spaces = {name: f"stest-{tag}-{name}" for name in ("hub", *names)}
    try:
        for space in spaces.values():
            run(ip, "netns", "add", space)
            run(ip, "-n", space, "link", "set", "lo", "up")
        hub = spaces["hub"]
        run(ip, "-n", hub, "link", "add", "bridge", "type", "bridge")
        run(ip, "-n", hub, "address", "add", "10.213.8.1/24", "dev", "bridge")
        run(ip, "-n", hub, "link", "set", "bridge", "up")
        for i, name in enumerate(names):
            run(
                ip,
                "-n",
                hub,
                "link",
                "add",
                f"to-{name}",
                "type",
                "veth",
                "peer",
                "name",
                "wire",
                "netns",
                spaces[name],
            )
            run(ip, "-n", hub, "link", "set", f"to-{name}", "master", "bridge", "up")
            run(ip, "-n", spaces[name], "address", "add", f"10.213.8.{i + 2}/24", "dev", "wire")
            run(ip, "-n", spaces[name], "link", "set", "wire", "up")
        yield {name: f"/run/netns/{space}" for name, space in spaces.items()}
    finally:
        for space in spaces.values():
            subprocess.run([ip, "netns", "delete", space], env=ENV, check=False, capture_output=True)
