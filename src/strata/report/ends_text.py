"""Bytes, cycles and times at both ends of the path, in words: the same for the terminal and the page."""

from __future__ import annotations

from collections.abc import Callable

from strata import units
from strata.model.analysis import CellSummary
from strata.model.ends import CycleCost, LatencySplit
from strata.model.estimate import Estimate
from strata.model.groups import grouped
from strata.report import figures
from strata.report.text_layout import clean


def at(node: str | None) -> str:
    """`` at n1``; nothing for this machine."""
    return f" at {node}" if node else ""


def flows_line(s: CellSummary) -> str:
    """All places in a row, each with its directions: ``device vda write 1.00 · wire lo rx 1.02, tx 1.02``."""
    told = ((f"{f.place}{at(f.node)}", f"{f.direction} {figures.ratio(f.per_byte)}") for f in s.flows)
    places = grouped(told)
    return clean(" · ".join(f"{place} {', '.join(parts)}" for place, parts in places.items()))


def cost_words(cost: CycleCost) -> str:
    """``kernel 13.6 + user 52.7 per byte, 111 000 + 432 000 per I/O``."""
    byte = _pair(cost.kernel_per_byte, cost.user_per_byte, units.significant)
    each = _pair(cost.kernel_per_io, cost.user_per_io, lambda v: units.count(round(v, -2) if v >= 1e4 else v))
    return f"{byte} per byte, {each} per I/O"


def _pair(kernel: Estimate, user: Estimate | None, say: Callable[[float], str]) -> str:
    text = f"{say(kernel.value)} kernel"
    return text if user is None else f"{text} + {say(user.value)} user"


def end_words(cost: CycleCost) -> str:
    """``machine``, ``server smbd at n2``."""
    return clean(f"{cost.end}{at(cost.node)}")


def split_words(split: LatencySplit) -> str:
    """``read: 534 µs = 212 µs target + 322 µs wire``, each with its interval's half-width where there is one."""
    parts = [figures.measured(e) for e in (split.client_ns, split.server_ns, split.wire_ns)]
    text = f"{split.direction}: {parts[0]} = {parts[1]} {split.server} + {parts[2]} wire"
    return text if split.null_ns is None else f"{text} ({figures.measured(split.null_ns)} with a null server)"


def percentile_words(split: LatencySplit) -> str:
    """``p99 1.20 ms at the client, 410 µs at the target``; empty without percentiles at both ends."""
    return " · ".join(
        f"p{p.percentile} {units.duration(p.client_ns.value)} at the client, "
        f"{units.duration(p.server_ns.value)} at the {split.server}"
        for p in split.percentiles
    )
