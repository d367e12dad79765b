"""Clusters that nobody here wrote: GlusterFS and Ceph, as the lab builds them, and an object of Strata's own there."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from absent import absent

from strata.engine import remote_file
from strata.errors import RunFailed
from strata.model.endpoint import Endpoint
from strata.model.stack import Stack
from strata_lab.down import down
from strata_lab.lab import Lab
from strata_lab.up import up

ENGINE_OF = {"gluster": "gluster", "rbd": "ceph"}


@contextmanager
def cluster(kind: str) -> Iterator[Lab]:
    """The lab with the cluster behind endpoints of that kind."""
    if os.geteuid() != 0:
        absent("needs root (namespaces)")
    name = f"p{os.getpid() % 10**7}{kind[0]}"
    try:
        lab = up("mirrored", name, {"engine": ENGINE_OF[kind], "client": "library", "data": "16m", "medium": "fast"})
    except RunFailed as e:
        if "the lab needs" in str(e):
            absent(str(e))
        raise
    try:
        yield lab
    finally:
        down(lab)


def endpoint_of(lab: Lab, name: str) -> Endpoint:
    """Beside the object that all layers of the lab reach, another of this name, from the node without a copy."""
    stack = Stack.from_toml((Path(lab.data) / "stack.toml").read_text())
    there = stack.endpoint_of(stack.layer("other node by library"))
    was = "strata.dat" if there.kind.value == "gluster" else "volume"
    netns = there.netns
    assert netns is not None
    return Endpoint.parse(there.uri.replace(f"/{was}", f"/{name}", 1)).seen_from(netns)


@contextmanager
def object_of(kind: str, size: int) -> Iterator[Endpoint]:
    """One of Strata's own of that size, filled."""
    with cluster(kind) as lab:
        endpoint = endpoint_of(lab, "own.dat")
        mark = remote_file.create(endpoint, size)
        remote_file.fill(endpoint, mark, 1)
        yield endpoint
