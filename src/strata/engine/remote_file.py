"""Strata's test file behind a network: made, marked, filled and removed through the protocol it is measured through.

A remote file is known to be Strata's by its mark alone: who owns it, what else uses it and how its blocks lie is the
server's to know. It is registered like one of this machine, so that `strata clean` finds what a crash left behind.
"""

from __future__ import annotations

import errno
from pathlib import Path

from strata import _core
from strata.engine.cluster import ask
from strata.engine.native import finish_fill
from strata.engine.remote import PATIENCE_NS, claim, own_mark, remote_size, unreachable
from strata.errors import RunFailed, SafetyRefusal
from strata.host import netns, registry
from strata.host.mark import Mark, header_bytes
from strata.host.shutdown import at_most
from strata.model.endpoint import CLUSTER, SCHEMES, Endpoint, EndpointKind

SLOWEST_NS_PER_BYTE = 1000
"""A server that takes less than a megabyte a second while its file is filled has stopped."""


def _longest(size: int) -> int:
    """Nanoseconds after which a file of ``size`` bytes that is not full never will be."""
    return PATIENCE_NS + size * SLOWEST_NS_PER_BYTE


def _whole(endpoint: Endpoint) -> bool:
    return endpoint.scheme is not None and endpoint.scheme.whole


FILES = frozenset(EndpointKind(scheme.name) for scheme in SCHEMES.values() if scheme.file)
"""Kinds of remote endpoints that are files, which can be made and removed."""

ADDRESSES = tuple(f"{kind.value}:" for kind in FILES)
"""How their addresses begin."""


def exists(endpoint: Endpoint, patience_ns: int = PATIENCE_NS) -> bool:
    """Whether there is such a file. Raises `RunFailed` when the server cannot be asked."""
    try:
        remote_size(endpoint, patience_ns)
    except RunFailed as e:
        if isinstance(e.__cause__, FileNotFoundError) and not netns.closed(endpoint.netns):
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
    """Makes and registers a file of ``size`` bytes (mark included); its blocks are not reserved, unless its data has to
    come with it.

    `SafetyRefusal` when anything is there already; `RunFailed` when the server refuses.
    """
    mark = Mark.new(size)
    # Before it is made: from its first instant on a crash leaves nothing that `strata clean` does not know.
    registry.add(registry.Entry.of_remote(endpoint.uri, endpoint.netns, mark))
    header = header_bytes(mark)
    try:
        if endpoint.kind in CLUSTER:
            ask(endpoint, "create", PATIENCE_NS, size=size, header=header)
        else:
            patience_ns = _longest(size) if _whole(endpoint) else PATIENCE_NS
            _core.remote_create(endpoint.uri, size, header, patience_ns, endpoint.netns, endpoint.password)
    except FileExistsError as e:
        registry.forget(mark.uuid)
        why, hint = "a file of this name exists", "remove it, or give another path"
        raise SafetyRefusal("will not create the test file", endpoint.uri, why, hint) from e
    except (OSError, ValueError) as e:
        registry.forget(mark.uuid)
        raise unreachable("cannot create the test file", endpoint, e) from e
    return mark


def fill(endpoint: Endpoint, mark: Mark, seed: int) -> None:
    """Writes the whole file once: the mark, then incompressible data, then a flush. Raises `RunFailed`.

    What was made with its data has it.
    """
    if _whole(endpoint):
        return
    size, header = mark.size, header_bytes(mark)
    if endpoint.kind not in CLUSTER:
        uri, netns, password = endpoint.uri, endpoint.netns, endpoint.password
        finish_fill(lambda: _core.remote_fill(uri, size, seed, header, netns, password), uri, _longest(size))
        return
    try:
        ask(endpoint, "fill", _longest(size), size=size, seed=seed, header=header)
    except OSError as e:
        raise unreachable("cannot fill the test file", endpoint, e) from e


def remove(endpoint: Endpoint, mark: Mark) -> None:
    """Removes the file when it still carries ``mark``; one already gone is fine.

    `SafetyRefusal` for anything else. The protocol removes by name: the mark is looked at right before.
    """
    if exists(endpoint):
        there = own_mark(endpoint)
        if there != mark:
            why = f"it carries the mark {there.uuid if there else None}, not {mark.uuid}"
            raise SafetyRefusal("refused to remove", endpoint.uri, why)
        header, patience_ns = header_bytes(mark), at_most(PATIENCE_NS)
        try:
            if endpoint.kind in CLUSTER:
                ask(endpoint, "remove", patience_ns, header=header)
            else:
                # Where the protocol can, through the handle that the mark is read on.
                _core.remote_remove(endpoint.uri, header, patience_ns, endpoint.netns, endpoint.password)
        except (OSError, ValueError) as e:
            failure = unreachable("cannot remove the test file", endpoint, e)
            if isinstance(e, OSError) and e.errno in (errno.EPERM, errno.EBUSY):
                raise SafetyRefusal(failure.what, failure.where, failure.why, failure.hint) from e
            raise failure from e
    registry.forget(mark.uuid)


def clean() -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Removes what earlier processes left behind on servers: the addresses removed, and why others were left.

    What cannot be reached now, or is in use, stays on the list; what is there and is not ours is left and struck off.
    """
    removed: list[str] = []
    left: list[str] = []
    for entry in registry.abandoned():
        if not entry.remote or not entry.path.startswith(ADDRESSES):
            continue
        endpoint = Endpoint.parse(entry.path)
        if endpoint.kind not in FILES:
            continue
        if entry.netns is not None:
            if not Path(entry.netns).exists():
                # The machine it was reached from is gone: a lab that was taken down.
                registry.forget(entry.uuid)
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
        registry.forget(entry.uuid)
    return tuple(removed), tuple(left)
