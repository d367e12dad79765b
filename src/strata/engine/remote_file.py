"""Strata's test file behind a network: made, marked, filled and removed through the protocol it is measured through.

A remote file is known to be Strata's by its mark alone: who owns it, what else uses it and how its blocks lie is the
server's to know. It is registered like one of this machine, so that `strata clean` finds what a crash left behind.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from strata import _core
from strata.engine.native import finish_fill
from strata.engine.remote import PATIENCE_NS, read_remote, remote_size, unreachable
from strata.errors import RunFailed, SafetyRefusal
from strata.host import registry
from strata.host.mark import MARK_BYTES, Mark, header_bytes, parse_header
from strata.model.endpoint import Endpoint, EndpointKind


@dataclass(frozen=True)
class _Way:
    """How files of a kind are managed: the compiled client's functions."""

    create: Callable[[str, int, bytes, str | None], str]
    fill: Callable[[str, int, int, bytes, str | None], _core.Run]
    remove: Callable[[str, str | None], None]


_WAYS = {EndpointKind.NFS: _Way(_core.nfs_create, _core.nfs_fill, _core.nfs_remove)}

FILES = frozenset(_WAYS)
"""Kinds of remote endpoints that are files, which can be made and removed."""


def exists(endpoint: Endpoint, patience_ns: int = PATIENCE_NS) -> bool:
    """Whether there is such a file. Raises `RunFailed` when the server cannot be asked."""
    try:
        remote_size(endpoint, patience_ns)
    except RunFailed as e:
        if isinstance(e.__cause__, FileNotFoundError) and "network namespace" not in str(e):
            return False
        raise
    return True


def own_mark(endpoint: Endpoint, patience_ns: int = PATIENCE_NS) -> Mark | None:
    """The mark of Strata's own file, with the size it states; None for anything else. Raises `RunFailed`."""
    size = remote_size(endpoint, patience_ns)
    if size < MARK_BYTES:
        return None
    mark = parse_header(read_remote(endpoint, 0, MARK_BYTES, patience_ns))
    return mark if mark is not None and mark.size == size else None


def check_own(endpoint: Endpoint, patience_ns: int = PATIENCE_NS) -> Mark:
    """The mark of Strata's own file. Raises `SafetyRefusal` where it does not carry one."""
    mark = own_mark(endpoint, patience_ns)
    if mark is None:
        why = "it exists and does not carry Strata's mark"
        hint = "give a path that does not exist: Strata makes its own file there and removes it at the end"
        raise SafetyRefusal("refused to write to", endpoint.uri, why, hint)
    return mark


def create(endpoint: Endpoint, size: int) -> Mark:
    """Makes and registers a file of ``size`` bytes (mark included); its blocks are not reserved.

    `SafetyRefusal` when anything is there already; `RunFailed` when the server refuses.
    """
    mark = Mark.new(size)
    # Before it is made: from its first instant on a crash leaves nothing that `strata clean` does not know.
    registry.add(registry.Entry.remote(endpoint.uri, endpoint.netns, mark))
    try:
        _WAYS[endpoint.kind].create(endpoint.uri, size, header_bytes(mark), endpoint.netns)
    except FileExistsError as e:
        registry.forget(mark)
        why, hint = "something is there already", "remove it, or give another path"
        raise SafetyRefusal("refused to make the test file", endpoint.uri, why, hint) from e
    except (OSError, ValueError) as e:
        registry.forget(mark)
        raise unreachable("cannot make the test file", endpoint, e) from e
    return mark


def fill(endpoint: Endpoint, mark: Mark, seed: int) -> None:
    """Writes the whole file once: the mark, then incompressible data, then a flush. Raises `RunFailed`."""
    way = _WAYS[endpoint.kind]
    finish_fill(lambda: way.fill(endpoint.uri, mark.size, seed, header_bytes(mark), endpoint.netns), endpoint.uri)


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
            _WAYS[endpoint.kind].remove(endpoint.uri, endpoint.netns)
        except OSError as e:
            raise unreachable("cannot remove", endpoint, e) from e
    registry.forget(mark)


def clean() -> tuple[str, ...]:
    """Removes what earlier processes left behind on servers, and returns the addresses removed.

    What cannot be reached now stays on the list; what is there and is not ours is left and struck off.
    """
    removed = []
    for entry in registry.abandoned():
        if not entry.is_remote:
            continue
        endpoint = Endpoint.parse(entry.path)
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
        except SafetyRefusal:
            pass
        except RunFailed:
            continue
        registry.forget_uuid(entry.uuid)
    return tuple(removed)
