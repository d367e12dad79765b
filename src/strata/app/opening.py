"""The safety gate of everything that drives one endpoint: what may be driven, and what is made for it."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

from strata import units
from strata.app.opened import Target, whole
from strata.engine import PATIENCE_NS, claim, content, fill, remote_file, remote_size
from strata.engine.layout import HEAD, file_segments
from strata.engine.native import endpoint_size
from strata.errors import SafetyRefusal, UsageError
from strata.host import safety, testfile
from strata.host.rawcheck import check_raw_read, open_raw_write
from strata.model.endpoint import Endpoint, EndpointKind
from strata.model.workload import Workload


@contextmanager
def opened(
    endpoint: Endpoint,
    workload: Workload,
    size: int | None,
    keep: bool,
    destructive: str | None,
    *,
    fill_new: bool = True,
    patience_ns: int = PATIENCE_NS,
) -> Iterator[Target]:
    """The safety gate of everything that drives one endpoint: what may be driven, for as long as the block lasts.

    A file that does not exist is made, filled unless ``fill_new`` is false, and removed again unless kept. A server is
    waited for ``patience_ns``.
    """
    with ExitStack() as made:
        match endpoint.kind:
            case EndpointKind.NULL:
                yield Target(segments=(whole(size or units.GIB),))
            case EndpointKind.FILE:
                yield _file(Path(endpoint.path or ""), workload, size, keep, made, fill_new)
            case EndpointKind.BLOCK:
                yield _block(endpoint.path or "", workload, destructive, made)
            case EndpointKind.NBD | EndpointKind.ISCSI:
                yield _device_of_a_server(endpoint, workload, destructive, patience_ns)
            case EndpointKind.NFS | EndpointKind.SMB | EndpointKind.RBD | EndpointKind.GLUSTER:
                yield _file_of_a_server(endpoint, workload, size, keep, made, fill_new, patience_ns)


def _file(path: Path, workload: Workload, size: int | None, keep: bool, made: ExitStack, fill_new: bool) -> Target:
    there = path.exists() or path.is_symlink()
    target = _file_there(path, workload) if there else _new_file(path, workload, size, keep, made, fill_new)
    if keep and (mark := testfile.read_mark(path)) is not None:
        # Only now: what a failure left half filled is still for `strata clean`.
        testfile.keep(mark)
    return target


def _file_there(path: Path, workload: Workload) -> Target:
    if workload.rw.writes:
        safety.check_own_file(path)
        return Target(segments=file_segments(path.stat().st_size))
    if not path.is_file():
        raise SafetyRefusal("will not drive", str(path), "it is not a regular file", "name a file or a device")
    size = path.stat().st_size
    # Of a file of ours the same bytes as when it was made, so that the two measurements can be compared.
    ours = size > HEAD and testfile.read_mark(path) is not None
    return Target(segments=file_segments(size) if ours else (whole(size),))


def _new_file(path: Path, workload: Workload, size: int | None, keep: bool, made: ExitStack, fill_new: bool) -> Target:
    wanted = size or 256 * units.MIB
    mark = testfile.create(path, wanted - wanted % units.MIB)
    if not keep:
        made.callback(testfile.remove, path, mark)
    if fill_new:
        fill(str(path), mark.size, workload.seed, testfile.header_bytes(mark), direct=workload.direct)
    return Target(segments=file_segments(mark.size))


def _block(device: str, workload: Workload, destructive: str | None, made: ExitStack) -> Target:
    if workload.rw.writes:
        if destructive is None:
            raise SafetyRefusal(
                "will not write to",
                device,
                "raw devices are read-only",
                f"if everything on it may be lost: --destructive {device}",
            )
        # Held exclusively until the end: nobody can mount it meanwhile, and the engine opens what was checked.
        claim = open_raw_write(device, destructive)
        made.callback(os.close, claim)
        opened = f"/proc/self/fd/{claim}"
        return Target(segments=(whole(endpoint_size(opened)),), allow_write=True, opened=opened)
    check_raw_read(device)
    return Target(segments=(whole(endpoint_size(device)),))


def _device_of_a_server(endpoint: Endpoint, workload: Workload, destructive: str | None, patience_ns: int) -> Target:
    size = remote_size(endpoint, patience_ns)
    if not workload.rw.writes:
        return Target(segments=(whole(size),))
    mark, why = claim(endpoint, patience_ns)
    if mark is not None:
        return Target(segments=file_segments(size))
    if destructive is None:
        hint = f"if everything on it may be lost: --destructive {endpoint.uri}"
        raise SafetyRefusal("will not write to", endpoint.uri, why, hint)
    if destructive != endpoint.uri:
        raise UsageError("the name after --destructive differs from the endpoint", destructive, f"not {endpoint.uri}")
    # As with a device of this machine: the word is for an empty one. What uses it over there cannot be seen from here.
    if found := content(endpoint, patience_ns):
        problems = tuple(f"it carries a signature: {name}" for name in found)
        why = problems[0] if len(problems) == 1 else f"{len(problems)} signatures stand on it"
        hint = "where they are of no use any more, wipe them on the server (wipefs --all); else choose an empty one"
        raise SafetyRefusal("refused to write to", endpoint.uri, why, hint, problems)
    return Target(segments=(whole(size),))


def _file_of_a_server(
    endpoint: Endpoint,
    workload: Workload,
    size: int | None,
    keep: bool,
    made: ExitStack,
    fill_new: bool,
    patience_ns: int,
) -> Target:
    if not remote_file.exists(endpoint, patience_ns):
        wanted = size or 256 * units.MIB
        mark = remote_file.create(endpoint, wanted - wanted % units.MIB)
        if not keep:
            made.callback(remote_file.remove, endpoint, mark)
        if fill_new:
            remote_file.fill(endpoint, mark, workload.seed)
        if keep:
            testfile.keep(mark)
        return Target(segments=file_segments(mark.size))
    if workload.rw.writes:
        mark = remote_file.check_own(endpoint, patience_ns)
        if keep:
            testfile.keep(mark)
        return Target(segments=file_segments(mark.size))
    return Target(segments=(whole(remote_size(endpoint, patience_ns)),))
