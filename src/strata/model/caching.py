"""What was asked of caches and of durability, what was in force, and where the two differ.

Buffered I/O without more says nothing: whether memory or the medium answered depends on what was there before.
So the pages of the measured blocks that are in memory are counted before and after, and stay with the figures.
"""

from __future__ import annotations

from strata import units
from strata.errors import UsageError
from strata.model.base import Value
from strata.model.endpoint import Endpoint, EndpointKind
from strata.model.workload import Cache, Sync, Workload

COLD_AT_MOST, WARM_AT_LEAST = 0.01, 0.99
"""Share of pages in memory up to which a cache is cold, and from which it is warm."""

READ_AGAIN = 0.10
"""From this share of bytes that were read twice, a cold measurement is partly one of memory."""

DIRECT_GROWTH = 0.05
"""Direct I/O leaves the page cache as it was; beyond this growth somebody used it."""


class Residency(Value):
    """Pages of the measured blocks in the page cache: ``resident`` of ``pages``, each of ``page_bytes`` bytes.

    At most ``unwritten`` of the resident ones are not on the medium yet (the kernel counts a folio as a whole); None
    where it does not say (before 6.5).
    """

    pages: int
    resident: int
    unwritten: int | None
    page_bytes: int

    @property
    def fraction(self) -> float:
        """0 (cold) to 1 (warm)."""
        return min(1.0, self.resident / self.pages) if self.pages else 0.0

    @property
    def words(self) -> str:
        """``41 % of 65 536 pages``."""
        return f"{units.percent(self.fraction, 2)} of {units.count(self.pages)} pages"


class CachingState(Value):
    """O_DIRECT or not, how writes are made durable, and the state the page cache is in."""

    direct: bool
    sync: str
    cache: str


class Caching(Value):
    """Beside a measurement: asked, in force, the page cache before and after, and every difference in words.

    ``in_force.cache`` is ``cold``, ``warm`` or ``mixed`` by what was in memory at the start, ``none`` where this end
    has no page cache, ``unknown`` where it could not be read back (``unknown`` of this value says why).
    """

    asked: CachingState
    in_force: CachingState
    before: Residency | None = None
    after: Residency | None = None
    unknown: str | None = None
    departures: tuple[str, ...] = ()


def check(endpoint: Endpoint, workload: Workload) -> None:
    """Raises `UsageError` where `refusal` says why not."""
    if why := _of_mode(endpoint, workload):
        hint = "choose one that reads: --rw randread or read" if _fixed(endpoint) else ""
        raise UsageError(f"cannot measure with rw={workload.rw.value} at", endpoint.uri.rstrip(":"), why, hint)
    if why := refusal(endpoint, workload):
        raise UsageError(f"cannot measure with a {workload.cache} cache at", endpoint.uri.rstrip(":"), why)


def refusal(endpoint: Endpoint, workload: Workload, *, read_only: bool = False) -> str | None:
    """Why a workload cannot be asked of an endpoint, or of a layer that is only read; None where it can.

    Either its mode is not for it, or the cache cannot be brought into the state that is asked.
    """
    if why := _of_mode(endpoint, workload, read_only=read_only):
        return why
    if workload.cache is Cache.AS_FOUND:
        return None
    if endpoint.scheme is not None:
        return f"{endpoint.scheme.caches} cannot be made {workload.cache} from here"
    match endpoint.kind:
        case EndpointKind.NULL:
            return "nothing is read or written, so there is no cache"
        case EndpointKind.BLOCK if workload.cache is Cache.COLD:
            return (
                "emptying the cache of a block device (BLKFLSBUF) needs root and affects every user of the device; "
                "measure a file on it, or use direct I/O"
            )
        case _:
            return None


def _of_mode(endpoint: Endpoint, workload: Workload, *, read_only: bool = False) -> str | None:
    if workload.rw.writes and _fixed(endpoint):
        return "it is made as a whole, and none of its blocks can be changed later"
    return workload.rw.refusal(endpoint.kind, read_only=read_only)


def _fixed(endpoint: Endpoint) -> bool:
    return endpoint.scheme is not None and endpoint.scheme.whole


def compare(
    workload: Workload,
    *,
    direct: bool,
    sync: str,
    before: Residency | None,
    after: Residency | None,
    unknown: str | None,
    read_bytes: int,
    local: bool = True,
) -> Caching:
    """Asked against in force. ``direct`` and ``sync`` are what the engine read back, ``read_bytes`` what was read;
    ``local`` False: this end has no page cache, and O_DIRECT means nothing to it."""
    asked = CachingState(direct=workload.direct, sync=workload.sync.value, cache=workload.cache.value)
    state = "none" if not local else "unknown" if before is None else _state(before)
    found: list[str] = []
    if local and workload.direct and not direct:
        found.append("O_DIRECT was requested but is not in effect")
    if sync != workload.sync.value:
        found.append(f"sync={workload.sync.value} was requested, but sync={sync} was in effect")
    if workload.cache is not Cache.AS_FOUND and unknown is not None:
        found.append(f"a {workload.cache.value} cache was requested, but its state could not be verified: {unknown}")
    if before is not None and after is not None:
        found += _cache(workload, before, after, read_bytes)
    return Caching(
        asked=asked,
        in_force=CachingState(direct=direct, sync=sync, cache=state),
        before=before,
        after=after,
        unknown=unknown,
        departures=tuple(found),
    )


def sync_in_effect(effective: str, refused: bool) -> str:
    """RWF_DSYNC cannot be read back: a kernel or file system without it refuses the writes that carry it."""
    return Sync.NONE.value if effective == Sync.RWF_DSYNC.value and refused else effective


def _state(before: Residency) -> str:
    if before.fraction <= COLD_AT_MOST:
        return Cache.COLD.value
    return Cache.WARM.value if before.fraction >= WARM_AT_LEAST else "mixed"


def _cache(workload: Workload, before: Residency, after: Residency, read_bytes: int) -> list[str]:
    grown = (after.resident - before.resident) * before.page_bytes
    if workload.direct:
        if after.fraction - before.fraction <= DIRECT_GROWTH:
            return []
        return [
            f"O_DIRECT was requested, but the page cache grew from {units.percent(before.fraction, 2)} to "
            f"{after.words}: the file system or another reader used it"
        ]
    if workload.cache is Cache.COLD:
        if before.fraction > COLD_AT_MOST:
            return [
                f"a cold cache was requested, but {before.words} were in memory at the start: another process maps "
                "or reads the file"
            ]
        again = 1 - grown / read_bytes if read_bytes else 0.0
        if not workload.rw.writes and again > READ_AGAIN:
            return [
                f"the cache was cold at the start, but {units.percent(again, 2)} of the bytes read had been read "
                f"before in the same measurement ({after.words} at its end) and came from memory; use a larger --size "
                "or a shorter --runtime"
            ]
    if workload.cache is Cache.WARM:
        least = min(before, after, key=lambda r: r.fraction)
        if least.fraction < WARM_AT_LEAST:
            when = "start" if least is before else "end"
            return [
                f"a warm cache was requested, but only {least.words} were in memory at the {when}: there is not enough "
                "memory, or something else uses it"
            ]
    return []
