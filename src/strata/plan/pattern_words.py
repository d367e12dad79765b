"""Patterns from the words of a command line or a job file, in fio's syntax where fio has one.

Each function appends what cannot be used to ``problems`` and then gives None.
"""

from __future__ import annotations

import math

from strata import units
from strata.errors import UsageError
from strata.model.access import BsShare, BsSplit, ByteRange, Once, Order, Strided, Zipf, Zone, Zones
from strata.model.rw import Rw
from strata.model.workload_options import OPTIONS, THETA_MOST

BS = OPTIONS["bs"]


def size_of(name: str, text: str | int, problems: list[str]) -> int | None:
    """Bytes of ``8k``."""
    try:
        return units.parse_size(text)
    except UsageError as e:
        problems.append(f"{name}={text}: {e.why}" + (f" ({e.hint})" if e.hint else ""))
        return None


def number_of(name: str, text: str, problems: list[str]) -> float | None:
    """A number above or at 0."""
    try:
        value = float(text)
    except ValueError:
        value = -1.0
    if not 0 <= value < float("inf"):
        problems.append(f"{name}: {text!r} is not a number")
        return None
    return value


def bssplit_of(text: str, rw: Rw, problems: list[str]) -> BsSplit | None:
    """``4k/60:64k/40``; reads before a comma, writes after it, where they differ. Shares that are left out are equal
    parts of what the others leave of 100."""
    sides = text.split(",")
    if len(sides) > 2:
        problems.append(f"bssplit={text} has more than two parts; one is for reads, the other for writes")
        return None
    made = [_side(side, problems) for side in sides]
    if any(side is None for side in made):
        return None
    read, write = made[0] or (), made[-1] or ()
    return BsSplit(read=read if rw.reads else (), write=write if rw.writes else ())


def _side(text: str, problems: list[str]) -> tuple[BsShare, ...] | None:
    before = len(problems)
    found: list[tuple[int | None, float | None]] = []
    for part in text.split(":"):
        size, _, share = part.partition("/")
        found.append((size_of("bssplit", size, problems), number_of("bssplit", share, problems) if share else None))
    open_ends = sum(share is None for _, share in found)
    left = 100 - sum(share or 0 for _, share in found)
    if len(problems) == before and (left < -1e-9 or (not open_ends and left > 1e-9)):
        problems.append(f"bssplit={text}: the shares add up to {100 - left:g}, not to 100 percent")
    if len(problems) > before:
        return None
    # Hundredths of a percent: weights are whole numbers.
    weights = [round(100 * (left / open_ends if share is None else share)) for _, share in found]
    sized = [(size, weight) for (size, _), weight in zip(found, weights, strict=True) if size is not None and weight]
    for one, _ in sized:
        if not BS.holds(one) or not BS.in_step(one):
            problems.append(f"bssplit={text}: {one} is not {BS.steps} in {BS.within}")
            return None
    divisor = math.gcd(*(weight for _, weight in sized)) or 1
    return tuple(BsShare(bs=one, weight=weight // divisor) for one, weight in sized)


def distribution_of(text: str, problems: list[str]) -> Order | None:
    """``random`` (None), ``zipf:1.2``, ``zoned:90/10:10/90`` (percent of the I/Os / percent of the range),
    ``zoned_abs:90/1g:10/9g`` (percent of the I/Os / bytes)."""
    kind, _, rest = text.strip().lower().partition(":")
    if kind in ("random", "uniform") and not rest:
        return None
    if kind == "zipf":
        # fio takes a centre behind a second colon; here the hot blocks are scattered.
        theta = number_of("zipf", rest, problems)
        if theta is not None and not 0 < theta <= THETA_MOST:
            problems.append(f"random_distribution={text}: theta must be above 0 and at most {THETA_MOST}")
            return None
        return None if theta is None else Zipf(theta=theta)
    if kind in ("zoned", "zoned_abs"):
        return _zones(text, kind == "zoned_abs", rest, problems)
    problems.append(f"random_distribution={text} is not random, zipf:THETA, zoned:… or zoned_abs:…")
    return None


def _zones(text: str, absolute: bool, rest: str, problems: list[str]) -> Zones | None:
    before = len(problems)
    zones = []
    for part in rest.split(":"):
        access, _, span = part.partition("/")
        share = number_of("zoned", access, problems)
        if absolute:
            size = size_of("zoned_abs", span, problems)
            if share is not None and size is not None:
                zones.append({"access_percent": share, "range_bytes": size})
        else:
            percent = number_of("zoned", span, problems)
            if share is not None and percent is not None:
                zones.append({"access_percent": share, "range_percent": percent})
    if len(problems) > before:
        return None
    try:
        return Zones(zones=tuple(Zone.model_validate(z) for z in zones))
    except ValueError:
        problems.append(
            f"random_distribution={text}: shares of the I/Os and of the range must be percent, up to 100 in total"
        )
        return None


def order_of(
    rw: Rw,
    problems: list[str],
    *,
    distribution: str | None,
    once: bool,
    interlocked: Order | None,
    stride: int | None,
    thread_offset: int | None,
) -> Order | None:
    """The one order that these words ask for; None where they ask for nothing special."""
    asked: list[Order] = [] if interlocked is None else [interlocked]
    if distribution is not None and (drawn := distribution_of(distribution, problems)) is not None:
        asked.append(drawn)
    if once:
        asked.append(Once())
    if stride is not None or thread_offset is not None:
        asked.append(Strided(stride=stride, thread_offset=thread_offset))
    if len(asked) > 1:
        problems.append(f"give one of these orders, not several: {'; '.join(o.words for o in asked)}")
    for order in asked:
        if isinstance(order, Once | Zipf | Zones) != rw.random:
            problems.append(f"order {order.words!r} does not apply to rw={rw.value}")
    return asked[0] if asked else None


def range_of(text: str, problems: list[str]) -> ByteRange | None:
    """``START`` or ``START:LENGTH``."""
    start, _, length = text.partition(":")
    first = size_of("range", start, problems)
    size = size_of("range", length, problems) if length else None
    if first is None or (length and not size):
        if length and size == 0:
            problems.append(f"range={text} is empty")
        return None
    return ByteRange(start=first, length=size)
