"""A profile as the TOML text that `profile_of` reads: derived ones are written for people to go on with."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from strata.errors import UsageError
from strata.model.access import BsShare, BsSplit, Interlocked, Once, Order, Strided, Zipf, Zones
from strata.model.profile import Goal, Profile, ProfileWorkload
from strata.model.workload import Cache, OpenLoop, Sync, Workload
from strata.model.workload_options import OPTIONS
from strata.plan.profiles import profile_of
from strata.text import toml


def toml_of(profile: Profile, head: Iterable[str] = ()) -> str:
    """The text, with ``head`` as comments before it.

    Raises `UsageError` for a workload that words cannot say exactly (parts of a mix finer than 0.01 percent).
    """
    comments = "".join(f"# {' '.join(toml.comment(line, ' ').split())}\n" for line in head)
    first = comments + toml.lines({"title": profile.title, "source": profile.source})
    text = "\n".join([first, *(f"[[workload]]\n{toml.lines(_table(one))}" for one in profile.workloads)])
    back = profile_of(text, profile.name, "as it would be written")
    differ = [a.name for a, b in zip(profile.workloads, back.workloads, strict=True) if a != b]
    if differ or back != profile:
        raise UsageError(
            "cannot write the profile",
            profile.name,
            f"these cannot be written exactly: {', '.join(differ)}",
            "give shares in hundredths of a percent, and zones of one kind",
        )
    return text


def words_of(w: Workload) -> dict[str, Any]:
    """The words that `workload_from_words` would be given; without those that say nothing."""
    words: dict[str, Any] = {"rw": w.rw.value, "bs": w.bs, "iodepth": w.arrival.iodepth}
    if isinstance(w.arrival, OpenLoop):
        words |= {"rate_iops": w.arrival.iops, "process": w.arrival.process, "burst": w.arrival.burst}
    elif (limits := w.arrival.limits) is not None:
        words |= {"limit_iops": limits.iops, "limit_bytes": _whole(limits.bytes_per_s)}
        if limits.think_ns:
            words |= {"thinktime": f"{limits.think_ns}ns", "thinktime_blocks": limits.think_every}
    words |= {"rwmixread": w.rwmixread, **{row.name: value for row, value in w.asked()}}
    if w.cache is not Cache.AS_FOUND:
        words["cache"] = w.cache.value
    elif not w.direct:
        words["direct"] = False
    if w.sync is not Sync.NONE:
        words["sync"] = w.sync.value
    if w.range is not None:
        words["range"] = str(w.range.start) + ("" if w.range.length is None else f":{w.range.length}")
    if w.data is not None:
        compress, dedupe = w.data.compress_percent or None, w.data.dedupe_percent or None
        words |= {"compress_percent": compress, "dedupe_percent": dedupe, "refill": compress is dedupe is None}
    words |= {"bssplit": None if w.bssplit is None else _split(w.bssplit), "shares": list(w.shares) or None}
    words |= _order(w.order)
    return {key: value for key, value in words.items() if value is not None and value != OPTIONS[key].default}


def _order(order: Order | None) -> dict[str, Any]:
    match order:
        case Interlocked():
            return {"interlocked": True}
        case Strided():
            return {"stride": order.stride, "offset_increment": order.thread_offset}
        case Once():
            return {"randommap": True}
        case Zipf():
            return {"random_distribution": f"zipf:{order.theta!r}"}
        case Zones():
            absolute = any(zone.range_bytes is not None for zone in order.zones)
            spans = [
                f"{z.access_percent!r}/{z.range_bytes if absolute else repr(z.range_percent)}" for z in order.zones
            ]
            return {"random_distribution": f"{'zoned_abs' if absolute else 'zoned'}:{':'.join(spans)}"}
    return {}


def _split(split: BsSplit) -> str:
    read, write = (_side(side) for side in (split.read, split.write))
    return read or write if read == write or not (read and write) else f"{read},{write}"


def _side(side: tuple[BsShare, ...]) -> str:
    total = sum(s.weight for s in side)
    # The last has no share: it is what the others leave.
    parts = [f"{s.bs}/{round(10_000 * s.weight / total) / 100!r}" for s in side[:-1]]
    return ":".join([*parts, *(str(s.bs) for s in side[-1:])])


def _whole(value: float | None) -> int | None:
    return None if value is None else round(value)


def _table(one: ProfileWorkload) -> dict[str, Any]:
    table = {"name": one.name, **words_of(one.workload)}
    if one.why:
        table["why"] = one.why
    if one.goals:
        table["goals"] = [_goal(goal) for goal in one.goals]
    return table


def _goal(goal: Goal) -> dict[str, Any]:
    return {key: value for key, value in goal.model_dump().items() if value is not None}
