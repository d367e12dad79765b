"""Strata's test file behind a network: made, marked, filled and removed through the protocol it is measured through.

A remote file is known to be Strata's by its mark alone: who owns it, what else uses it and how its blocks lie is the
server's to know. It is registered like one of this machine, so that `strata clean` finds what a crash left behind.
"""

from __future__ import annotations

import errno
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from strata import _core
from strata.engine.cluster import ask
from strata.engine.native import finish_fill
from strata.engine.remote import PATIENCE_NS, claim, own_mark, remote_size, unreachable
from strata.errors import RunFailed, SafetyRefusal
from strata.host import registry
from strata.host.hurry import at_most
from strata.host.mark import Mark, header_bytes
from strata.model.endpoint import Endpoint, EndpointKind


@dataclass(frozen=True)
class _Way:
    """How files of a kind are managed: (endpoint, size, header), (endpoint, size, seed, header), (endpoint, header).

    ``remove`` raises EPERM or EBUSY for a file that is another one by now or in use.
    """

    create: Callable[[Endpoint, int, bytes], object]
    fill: Callable[[Endpoint, int, int, bytes], object]
    remove: Callable[[Endpoint, bytes], object]


SLOWEST_NS_PER_BYTE = 1000
"""A server that takes less than a megabyte a second while its file is filled has stopped."""


def _longest(size: int) -> int:
    """Nanoseconds after which a file of ``size`` bytes that is not full never will be."""
    return PATIENCE_NS + size * SLOWEST_NS_PER_BYTE


def _fill_cluster(endpoint: Endpoint, size: int, seed: int, header: bytes) -> None:
    try:
        ask(endpoint, "fill", _longest(size), size=size, seed=seed, header=header)
    except OSError as e:
        raise unreachable("cannot fill the test file", endpoint, e) from e


_OF_A_CLUSTER = _Way(
    lambda at, size, header: ask(at, "create", PATIENCE_NS, size=size, header=header),
    _fill_cluster,
    lambda at, header: ask(at, "remove", at_most(PATIENCE_NS), header=header),
)

_WAYS = {
    EndpointKind.RBD: _OF_A_CLUSTER,
    EndpointKind.GLUSTER: _OF_A_CLUSTER,
    EndpointKind.NFS: _Way(
        lambda at, size, header: _core.nfs_create(at.uri, size, header, PATIENCE_NS, at.netns),
        lambda at, size, seed, header: finish_fill(
            lambda: _core.nfs_fill(at.uri, size, seed, header, at.netns), at.uri, _longest(size)
        ),
        lambda at, _header: _core.nfs_remove(at.uri, at_most(PATIENCE_NS), at.netns),
    ),
    EndpointKind.SMB: _Way(
        lambda at, size, header: _core.smb_create(at.uri, at.password, size, header, PATIENCE_NS, at.netns),
        lambda at, size, seed, header: finish_fill(
            lambda: _core.smb_fill(at.uri, at.password, size, seed, header, at.netns), at.uri, _longest(size)
        ),
        # Through the handle that the mark is read on.
        lambda at, header: _core.smb_remove(at.uri, at.password, header, at_most(PATIENCE_NS), at.netns),
    ),
}

FILES = frozenset(_WAYS)
"""Kinds of remote endpoints that are files, which can be made and removed."""

SCHEMES = tuple(f"{kind.value}:" for kind in FILES)
"""How their addresses begin."""


def exists(endpoint: Endpoint, patience_ns: int = PATIENCE_NS) -> bool:
    """Whether there is such a file. Raises `RunFailed` when the server cannot be asked."""
    try:
        remote_size(endpoint, patience_ns)
    except RunFailed as e:
        if isinstance(e.__cause__, FileNotFoundError) and "network namespace" not in str(e):
            return False
        raise
    return True


def check_own(endpoint: Endpoint, patience_ns: int = PATIENCE_NS) -> Mark:
    """The mark of Strata's own file. Raises `SafetyRefusal` where it does not carry one."""
    mark, why = claim(endpoint, patience_ns)
    if mark is None:
        hint = "give a path that does not exist: Strata creates a file there and removes it at the end"
        raise SafetyRefusal("refused to write to", endpoint.uri, f"it exists, and {why}", hint)
    return mark


def create(endpoint: Endpoint, size: int) -> Mark:
    """Makes and registers a file of ``size`` bytes (mark included); its blocks are not reserved.

    `SafetyRefusal` when anything is there already; `RunFailed` when the server refuses.
    """
    mark = Mark.new(size)
    # Before it is made: from its first instant on a crash leaves nothing that `strata clean` does not know.
    registry.add(registry.Entry.of_remote(endpoint.uri, endpoint.netns, mark))
    try:
        _WAYS[endpoint.kind].create(endpoint, size, header_bytes(mark))
    except FileExistsError as e:
        registry.forget(mark)
        why, hint = "a file of this name exists", "remove it, or give another path"
        raise SafetyRefusal("will not create the test file", endpoint.uri, why, hint) from e
    except (OSError, ValueError) as e:
        registry.forget(mark)
        raise unreachable("cannot create the test file", endpoint, e) from e
    return mark


def fill(endpoint: Endpoint, mark: Mark, seed: int) -> None:
    """Writes the whole file once: the mark, then incompressible data, then a flush. Raises `RunFailed`."""
    _WAYS[endpoint.kind].fill(endpoint, mark.size, seed, header_bytes(mark))


def remove(endpoint: Endpoint, mark: Mark) -> None:
    """Removes the file when it still carries ``mark``; one already gone is fine.

    `SafetyRefusal` for anything else. The protocol removes by name: the mark is looked at right before.
    """
    if exists(endpoint):
        there = own_mark(endpoint)
        if there != mark:
            why = f"it carries the mark {there.uuid if there else None}, not {mark.uuid}"
            raise SafetyRefusal("refused to remove", endpoint.uri, why)
        try:
            _WAYS[endpoint.kind].remove(endpoint, header_bytes(mark))
        except OSError as e:
            failure = unreachable("cannot remove the test file", endpoint, e)
            if e.errno in (errno.EPERM, errno.EBUSY):
                raise SafetyRefusal(failure.what, failure.where, failure.why, failure.hint) from e
            raise failure from e
    registry.forget(mark)


def clean() -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Removes what earlier processes left behind on servers: the addresses removed, and why others were left.

    What cannot be reached now, or is in use, stays on the list; what is there and is not ours is left and struck off.
    """
    removed: list[str] = []
    left: list[str] = []
    for entry in registry.abandoned():
        if not entry.remote or not entry.path.startswith(SCHEMES):
            continue
        endpoint = Endpoint.parse(entry.path)
        if endpoint.kind not in FILES:
            continue
        if entry.netns is not None:
            if not Path(entry.netns).exists():
                # The machine it was reached from is gone: a lab that was taken down.
                registry.forget_uuid(entry.uuid)
                continue
            endpoint = endpoint.seen_from(entry.netns)
        try:
            there = own_mark(endpoint) if exists(endpoint) else None
            if there is not None and there.uuid == entry.uuid:
                remove(endpoint, there)
                removed.append(entry.path)
                continue
        except (SafetyRefusal, RunFailed) as e:
            left.append(e.headline)
            continue
        registry.forget_uuid(entry.uuid)
    return tuple(removed), tuple(left)
