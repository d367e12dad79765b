"""The safety gate of files on SMB shares: a file that Strata made, or one that it only reads."""

from __future__ import annotations

from contextlib import ExitStack

from strata import units
from strata.app.opened import Target, whole
from strata.engine import PATIENCE_NS, fill_share, make_on_share, read_remote, remove_from_share, size_on_share
from strata.engine.layout import file_segments
from strata.errors import RunFailed, SafetyRefusal, StrataError
from strata.host import registry
from strata.host.mark import MARK_BYTES, Mark, header_bytes, parse_header
from strata.model.endpoint import Endpoint
from strata.model.workload import Workload


def on_share(
    endpoint: Endpoint,
    workload: Workload,
    size: int | None,
    keep: bool,
    made: ExitStack,
    *,
    fill_new: bool = True,
    patience_ns: int = PATIENCE_NS,
) -> Target:
    """What of the file may be driven. One that does not exist is made, filled, and removed by ``made`` unless kept.

    Raises `SafetyRefusal` where the workload would write to a file that Strata did not create.
    """
    there = size_on_share(endpoint, patience_ns)
    if there is None:
        return _new(endpoint, workload, size, keep, made, fill_new, patience_ns)
    if not workload.rw.writes:
        return Target(segments=(whole(there),))
    if _mark(endpoint, there, patience_ns) is None:
        raise SafetyRefusal(
            "will not write to",
            endpoint.uri,
            "the file does not carry Strata's mark, so Strata did not create it",
            "name a file that does not exist: it is made, filled and removed again",
        )
    return Target(segments=file_segments(there))


def clean_shares() -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Removes from shares what earlier processes left there: the addresses removed, and what cannot be reached now.

    Only a file that begins with the mark it was given goes. A file that is gone or another one is struck off the list.
    """
    removed, left = [], []
    for entry in registry.abandoned():
        if not entry.path.startswith("smb://"):
            continue
        endpoint = Endpoint.parse(entry.path)
        if entry.netns is not None:
            endpoint = endpoint.seen_from(entry.netns)
        try:
            size = size_on_share(endpoint)
            mark = None if size is None else _mark(endpoint, size, PATIENCE_NS)
            if mark is not None and mark.uuid == entry.uuid and remove_from_share(endpoint, header_bytes(mark)):
                removed.append(entry.path)
        except SafetyRefusal as e:
            left.append(e.headline)
            continue
        except RunFailed as e:
            left.append(e.headline)
            continue
        registry.forget_uuid(entry.uuid)
    return tuple(removed), tuple(left)


def _new(
    endpoint: Endpoint,
    workload: Workload,
    size: int | None,
    keep: bool,
    made: ExitStack,
    fill_new: bool,
    patience_ns: int,
) -> Target:
    wanted = size or 256 * units.MIB
    mark = Mark.new(wanted - wanted % units.MIB)
    header = header_bytes(mark)
    # On the list before it is made: only a file that carries this very mark is ever removed.
    registry.add(registry.Entry.of_remote(endpoint.uri, endpoint.netns, mark))
    try:
        make_on_share(endpoint, mark.size, header, patience_ns)
    except StrataError:
        registry.forget(mark)
        raise
    if not keep:
        made.callback(_remove, endpoint, mark)
    if fill_new:
        fill_share(endpoint, mark.size, workload.seed, header)
    if keep:
        # Only now: what a failure left half filled is still for `strata clean`.
        registry.forget(mark)
    return Target(segments=file_segments(mark.size))


def _remove(endpoint: Endpoint, mark: Mark) -> None:
    remove_from_share(endpoint, header_bytes(mark))
    registry.forget(mark)


def _mark(endpoint: Endpoint, size: int, patience_ns: int) -> Mark | None:
    return parse_header(read_remote(endpoint, 0, MARK_BYTES, patience_ns)) if size >= MARK_BYTES else None
