"""A waterfall in words and rows, for the terminal, the page and other viewers alike."""

from __future__ import annotations

from dataclasses import dataclass

from strata import units
from strata.model.waterfall import (
    Deed,
    NotFollowed,
    PartKind,
    PathKind,
    PathLayer,
    RequestGroup,
    SubmittedBy,
    Waterfall,
)

_WAYS = {
    SubmittedBy.CALL: "by system call",
    SubmittedBy.IO_URING: "by io_uring",
    SubmittedBy.AIO: "by kernel AIO",
    SubmittedBy.EXCHANGE: "over TCP",
}
_DEEDS = {Deed.READ: "read", Deed.WRITE: "write", Deed.SYNC: "sync", Deed.OTHER: "request"}
_KINDS = {
    PathKind.CLIENT: "client",
    PathKind.WIRE: "wire",
    PathKind.FAR: "wire and server",
    PathKind.SERVER: "server",
    PathKind.CALL: "system call",
}


@dataclass(frozen=True)
class PathRow:
    """One part of one layer. ``start_ns``: the means of the rows above it together."""

    layer: int
    name: str
    part: PartKind
    start_ns: float
    mean_ns: float
    share: float
    p50_ns: int
    p99_ns: int | None
    count: int
    unknown_ns: float = 0.0


def layer_name(layer: PathLayer) -> str:
    """``loop0``, ``wire``, ``system call (nbdkit)``."""
    if layer.kind is PathKind.DEVICE:
        return layer.name
    name = _KINDS[layer.kind]
    # A wire leads to one server; its own name is enough unless there are several.
    return f"{name} ({layer.of})" if layer.of and layer.kind is not PathKind.WIRE else name


def group_name(group: RequestGroup) -> str:
    """``2 000 reads over TCP``."""
    name = f"{_many(group.total.count, _DEEDS[group.deed])} {_WAYS[group.way]}"
    return f"{name}, the server undivided" if group.undivided else name


def _many(n: int, word: str) -> str:
    return f"{units.count(n)} {word}{'' if n == 1 else 's'}"


def rows_of(waterfall: Waterfall, group: RequestGroup) -> list[PathRow]:
    """Upper before lower, in a layer waiting before work."""
    found: list[PathRow] = []
    start = 0.0
    for one in group.layers:
        for part in one.parts:
            found.append(
                PathRow(
                    layer=one.layer,
                    name=layer_name(waterfall.layers[one.layer]),
                    part=part.part,
                    start_ns=start,
                    mean_ns=part.mean_ns,
                    share=part.mean_ns / group.total.mean_ns if group.total.mean_ns else 0.0,
                    p50_ns=part.times.p50_ns,
                    p99_ns=part.times.p99_ns if part.times.count >= 1000 else None,
                    count=part.times.count,
                    unknown_ns=part.unknown_ns,
                )
            )
            start += part.mean_ns
    return found


_REASONS = (
    ("overlapping", "{} sent before the reply to the previous one had arrived, and without headers that were read: "
     "above depth 1 the bytes of a connection do not show which reply belongs to which request"),
    ("unmatched", "{} or replies whose header was read but whose counterpart was not found"),
    ("ambiguous", "{} below which an I/O may belong to another request"),
    ("undivided", "{} whose server is shown as one part, because an I/O below it may belong to another request"),
    ("inconsistent", "{} without a matching arrival at the other end"),
    ("handed_over", "{} of io_uring that a worker of the kernel carried out"),
    ("under_way", "{} not completed at the end of the window"),
    ("above_devices", "{} answered without reaching a traced device (page cache, other files)"),
    ("by_kernel", "{} at the device that no system call made: write-back, journal, read-ahead"),
    ("forgotten", "{} forgotten because too many were in flight"),
)  # fmt: skip


def missing_lines(missing: NotFollowed) -> list[str]:
    """What is not in the figures, each reason with its number."""
    numbers = missing.model_dump()
    return [text.format(_many(numbers[key], "request")) for key, text in _REASONS if numbers[key]]


def clock_lines(waterfall: Waterfall) -> list[str]:
    """What two clocks leave open; nothing on one clock."""
    c = waterfall.clock
    if c is None:
        return []
    to, back = (units.count(n) for n in c.messages)
    ahead = f"{units.duration(abs(c.offset_ns))} {'ahead' if c.offset_ns >= 0 else 'behind'}"
    bound = units.duration(c.bound_ns)
    said = (
        f"the server's clock is {ahead}, ±{bound}, and gains {c.rate_ppm:.1f} ±{c.rate_bound_ppm:.1f} ppm, from {to} "
        f"messages to the server and {back} from it"
    )
    if not c.exchanges:
        return [said]
    there, home = units.duration(c.there_ns), units.duration(c.back_ns)
    ways = (
        f"of the wire {there} ±{bound} are on the way to the server and {home} ±{bound} on the way back; together they "
    )
    return [said, ways + "are known as well as the times of the other layers"]


def total_words(group: RequestGroup) -> str:
    """Median, tail and mean of whole requests."""
    t = group.total
    p99 = f", p99 {units.duration(t.p99_ns)}" if t.count >= 1000 else ""
    return f"p50 {units.duration(t.p50_ns)}{p99}, mean {units.duration(t.mean_ns)}, at most {units.duration(t.max_ns)}"
