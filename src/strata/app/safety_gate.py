"""The safety gate of everything that drives one endpoint: what may be driven, and what is made for it."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path

from strata import units
from strata.app.options import check_size
from strata.engine import PATIENCE_NS, Piece, claim, content, fill, remote_file, remote_size
from strata.engine.layout import file_segments
from strata.engine.native import endpoint_size
from strata.errors import SafetyRefusal, UsageError
from strata.host import registry, testfile
from strata.host.heldfile import HeldFile
from strata.host.mark import header_bytes
from strata.host.proc import usable_cpus
from strata.host.rawcheck import check_raw_read, open_raw_write
from strata.model.base import Value
from strata.model.endpoint import SCHEMES, Endpoint, EndpointKind
from strata.model.plan import HEAD, Segment
from strata.model.workload import Workload
from strata.model.workload_options import NEW_FILE_BYTES

VOLUMES = (EndpointKind.BLOCK, *(EndpointKind(scheme.name) for scheme in SCHEMES.values() if not scheme.file))
"""What is overwritten as a whole, and is no file that could be made or kept."""


def _nothing() -> None:
    return None


class Target(Value):
    """What may be driven, after the safety gate: where, which blocks, and whether a device may be opened for writing.

    ``endpoint`` holds the descriptor that was checked, where the engine must open that and no other.
    """

    endpoint: Endpoint
    segments: tuple[Segment, ...]
    allow_write: bool = False
    mark: str | None = None
    """The uuid of the mark, of a file of this machine that is Strata's own."""
    still_ours: Callable[[], None] = _nothing
    """Raises `SafetyRefusal` when it is not Strata's own any more that was checked; asked before a step that writes."""
    remove: Callable[[], None] = _nothing
    """Removes a file of this machine that is Strata's own."""
    gone: Callable[[], str | None] = _nothing
    """In words, when the name does not lead any more to the file that is driven."""


def whole(size: int) -> Segment:
    """All of a target of so many bytes."""
    return Segment(start=0, length=size, target=0)


class Targets:
    """The targets of a run's one layer, driven together: where a runner measures without a stack."""

    def __init__(self, targets: Sequence[Target]) -> None:
        self.targets = targets
        self.allow_write = all(t.allow_write for t in targets)

    @property
    def size(self) -> int:
        """Bytes of them all that may be driven."""
        return sum(s.length for t in self.targets for s in t.segments)

    def pieces(self, _layer: str) -> tuple[Piece, ...]:
        """One for each."""
        return tuple(Piece(endpoint=t.endpoint, segments=t.segments) for t in self.targets)

    def check_still_ours(self, _layer: str) -> None:
        """As `Target.still_ours`."""
        for target in self.targets:
            target.still_ours()

    def cpus(self, _layer: str) -> tuple[int, ...]:
        """Those of this process."""
        return usable_cpus()

    def gone(self) -> str | None:
        """What `Target.gone` says of them all; None where every name leads where it led."""
        return "; ".join(said for target in self.targets if (said := target.gone())) or None


def endpoints_of(uris: Sequence[str]) -> list[Endpoint]:
    """What one workload drives together. Raises `UsageError` where they are not different ones of one kind."""
    found = [Endpoint.parse(uri) for uri in uris]
    if len({(e.kind, e.uri) for e in found}) < len(found) or len({e.kind for e in found}) > 1:
        raise UsageError("cannot load together:", ", ".join(uris), "targets must be different endpoints of one kind")
    return found


def check_together(endpoints: Sequence[Endpoint], workload: Workload) -> None:
    """Raises `UsageError` where one client would load several exports, files or units of servers: an engine loads one.

    Here, and not by the engine: its clients would refuse it one by one, after their files were made. A workload without
    shares drives the first of them (a sweep over disks begins so).
    """
    if len(workload.shares) > 1 and endpoints[0].remote and workload.deal != "client":
        where = ", ".join(e.uri for e in endpoints)
        why = "one client loads one export, file or unit of a server at a time"
        hint = f"give each client one of them: --deal client --clients {len(endpoints)}; or measure each by itself"
        raise UsageError("cannot load together:", where, why, hint)


def check_words(endpoint: Endpoint, workload: Workload, *, keep: bool, destructive: str | None) -> None:
    """Raises where the user said ``--keep`` or ``--destructive`` of something that they change nothing of."""
    if keep and endpoint.kind in (*VOLUMES, EndpointKind.NULL):
        raise UsageError("cannot use --keep with", endpoint.uri, "no test file is made there", "leave --keep out")
    if destructive is None:
        return
    if endpoint.kind not in VOLUMES:
        why = "no option lets Strata write to a file that it did not create"
        raise SafetyRefusal(
            "cannot use --destructive with", endpoint.uri, why, "leave it out; it applies to devices and volumes"
        )
    if not workload.rw.writes:
        hint = "leave --destructive out, or choose a workload that writes: --rw randwrite"
        raise UsageError("cannot use --destructive with", workload.label, "it writes nothing", hint)


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
                target = Target(endpoint=endpoint, segments=(whole(size or units.GIB),))
            case EndpointKind.FILE:
                target = _file(endpoint, workload, size, keep, made, fill_new)
            case EndpointKind.BLOCK:
                target = _block(endpoint, workload, destructive, made)
            case kind if kind in VOLUMES:
                target = _device_of_a_server(endpoint, workload, destructive, patience_ns)
            case _:
                target = _file_of_a_server(endpoint, workload, size, keep, made, fill_new, patience_ns)
        _check_room(endpoint.uri, workload, target)
        yield target


@contextmanager
def opened_together(
    endpoints: Sequence[Endpoint], workload: Workload, size: int | None, keep: bool, destructive: str | None, *,
    asked: int | None,
) -> Iterator[Targets]:  # fmt: skip
    """As `opened`, of all that one workload drives. ``asked``: the size that what is there already must have."""
    check_together(endpoints, workload)
    for one in endpoints:
        check_words(one, workload, keep=keep, destructive=destructive)
    with ExitStack() as held:
        targets = [held.enter_context(opened(e, workload, size, keep, destructive)) for e in endpoints]
        for one, target in zip(endpoints, targets, strict=True):
            check_size(one.uri, asked, sum(s.length for s in target.segments))
        yield Targets(targets)


def _new_size(uri: str, workload: Workload, asked: int | None) -> int:
    """Bytes of a new test file. Raises `UsageError` where behind its mark not even one block fits; nothing is made."""
    wanted = asked or NEW_FILE_BYTES
    size = wanted - wanted % units.MIB
    least = workload.bs + HEAD
    if size < least:
        enough = max(8, -(-least // units.MIB))
        why = f"a test file needs at least {enough} MiB for its mark and a block, and {units.size(wanted)} is given"
        hint = f"--size {enough}m"
        raise UsageError(f"too small for blocks of {units.size(workload.bs)}:", uri, why, hint)
    return size


def _check_room(uri: str, workload: Workload, target: Target) -> None:
    """Raises `UsageError` where not even one block fits into what is there."""
    room = max((segment.length for segment in target.segments), default=0)
    if room < workload.bs:
        why = f"it holds {units.size(room)}" if room > 0 else "it is empty"
        hint = "give a larger one; lsblk -p and ls -l show sizes"
        raise UsageError(f"too small for blocks of {units.size(workload.bs)}:", uri, why, hint)


def _file(
    endpoint: Endpoint, workload: Workload, size: int | None, keep: bool, made: ExitStack, fill_new: bool
) -> Target:
    path = Path(endpoint.path or "")
    there = path.exists() or path.is_symlink()
    if not there:
        held, segments = _new_file(path, workload, size, keep, made, fill_new)
    elif workload.rw.writes:
        held = made.enter_context(testfile.own(path))
        segments = file_segments(held.size)
    else:
        held = made.enter_context(testfile.look(path))
        # Of a file of ours the same bytes as when it was made, so that the two measurements can be compared.
        ours = held.mark is not None and held.size > HEAD
        segments = file_segments(held.size) if ours else (whole(held.size),)
    if workload.rw.discards and (there or keep):
        known = registry.entry_of(held.own.uuid)
        made.callback(_fill_again, held, workload, kept=keep or (known is not None and known.kept))
        held.adopt()
    elif keep and held.mark is not None:
        # Only now: what a failure left half filled is still for `strata clean`.
        held.keep()
    return Target(
        endpoint=endpoint.beside(held.fd),
        segments=segments,
        mark=held.mark and held.mark.uuid,
        still_ours=held.check_still_ours,
        remove=held.remove,
        gone=held.gone,
    )


def _new_file(
    path: Path, workload: Workload, size: int | None, keep: bool, made: ExitStack, fill_new: bool
) -> tuple[HeldFile, tuple[Segment, ...]]:
    held = made.enter_context(testfile.new(path, _new_size(f"file:{path}", workload, size)))
    mark = held.own
    if not keep:
        made.callback(held.remove)
    if fill_new:
        header = header_bytes(mark)
        fill(str(path), mark.size, workload.seed, header, direct=workload.direct, fd=held.fd)
    return held, file_segments(mark.size)


def _fill_again(held: HeldFile, workload: Workload, *, kept: bool) -> None:
    """What was trimmed is data again before it is read: a hole is read from no medium.

    Until then the file is one for `strata clean`. Raises as `fill`, and `SafetyRefusal` where it is not ours any more.
    """
    held.check_still_ours()
    header = header_bytes(held.own)
    fill(str(held.path), held.own.size, workload.seed, header, direct=workload.direct, fd=held.fd)
    if kept:
        held.keep()


def _block(endpoint: Endpoint, workload: Workload, destructive: str | None, made: ExitStack) -> Target:
    device = endpoint.path or ""
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
        held = endpoint.beside(claim)
        return Target(endpoint=held, segments=(whole(endpoint_size(held.opened)),), allow_write=True)
    check_raw_read(device)
    return Target(endpoint=endpoint, segments=(whole(endpoint_size(device)),))


def _device_of_a_server(endpoint: Endpoint, workload: Workload, destructive: str | None, patience_ns: int) -> Target:
    size = remote_size(endpoint, patience_ns)
    if not workload.rw.writes:
        return Target(endpoint=endpoint, segments=(whole(size),))
    mark, why = claim(endpoint, patience_ns)
    if mark is not None:
        return Target(endpoint=endpoint, segments=file_segments(size))
    if destructive is None:
        hint = f"if everything on it may be lost: --destructive {endpoint.uri}"
        raise SafetyRefusal("will not write to", endpoint.uri, why, hint)
    if destructive != endpoint.uri:
        why, hint = f"it names {destructive}", f"--destructive {endpoint.uri}"
        raise UsageError("cannot use --destructive with", endpoint.uri, why, hint)
    # As with a device of this machine: the word is for an empty one. What uses it over there cannot be seen from here.
    if found := content(endpoint, patience_ns):
        problems = tuple(f"it has a signature: {name}" for name in found)
        why = problems[0] if len(problems) == 1 else f"{len(problems)} signatures are on it"
        hint = "if they are no longer needed, wipe them on the server (wipefs --all); otherwise choose an empty one"
        raise SafetyRefusal("refused to write to", endpoint.uri, why, hint, problems)
    return Target(endpoint=endpoint, segments=(whole(size),))


def _file_of_a_server(
    endpoint: Endpoint,
    workload: Workload,
    size: int | None,
    keep: bool,
    made: ExitStack,
    fill_new: bool,
    patience_ns: int,
) -> Target:
    there = remote_file.exists(endpoint, patience_ns)
    if there and not workload.rw.writes:
        return Target(endpoint=endpoint, segments=(whole(remote_size(endpoint, patience_ns)),))
    if there:
        mark = remote_file.check_own(endpoint, patience_ns)
    else:
        mark = remote_file.create(endpoint, _new_size(endpoint.uri, workload, size))
        if not keep:
            made.callback(remote_file.remove, endpoint, mark)
        if fill_new:
            remote_file.fill(endpoint, mark, workload.seed)
    if keep:
        registry.forget(mark.uuid)
    return Target(endpoint=endpoint, segments=file_segments(mark.size))
