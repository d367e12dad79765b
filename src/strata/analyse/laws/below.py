"""No layer is faster than the one it stands on.

What it claims
    A layer adds work, so beyond the noise it does not give more IOPS than the layer below it, with the same workload.
Why it matters
    If it does, a cache answers, the layers do not reach the same data, or a figure is in the wrong place.
Evidence
    Rows of two layers with the same workload (the label `below` names the lower one), or their ratio with its
    interval. For Strata's own runs: the layers that a layer stands `on`, not those it is only compared with
    (`against`).
What rules it out
    The noise, 5 % where it is not stated. Up to 10 % beyond it, and wherever a cache may answer, it is a caveat; from
    there on, with caching off, it cannot be true. Where the intervals of both IOPS overlap, the ratio of their rounds
    is a caveat, too: few rounds may agree by chance. It is no finding where the stack gives a reason: `expect.faster`
    (a cache, several queues, paths or members), more connections than the layer below has, several layers to stand on,
    of the layer itself or of one between the two, a server that makes several writes durable with one flush (group
    commit), or a read from a local copy where the layer below read from one behind a wire (a mirror).
Source
    The operational bound X ≤ 1 ÷ D_max: adding a demand does not raise it (Denning and Buzen, 1978).
"""

from __future__ import annotations

from strata import units
from strata.analyse.laws.base import Answers, flag, groups, measured, noise
from strata.model.figures import Row, Table

NAME, TITLE, ORDER = "faster-than-below", "faster than the layer below", 160
SAYS = "a layer is faster than one it stands on, and the stack gives no reason for it"
NEXT = "Find the cache (write cache, page cache at the remote end) or the other volume, then measure again without it."
IMPOSSIBLE = 0.10


def check(table: Table) -> Answers:
    for row in measured(table, "ratio.below"):
        if row.words.get("bound") == "no":
            continue
        figure = row.figures["ratio.below"]
        yield from _beyond(table, row, row.words.get("below", "the layer"), figure.bounds()[0], figure.base)
    rows = [r for r in measured(table, "iops") if "layer" in r.words]
    for alike in groups(rows, "layer", "below").values():
        by = {(r.words["layer"], *_settings(r)): r for r in alike}
        for row in alike:
            for name in row.words.get("below", "").split(" + "):
                lower = by.get((name, *_settings(row)))
                if lower is not None and lower is not row and lower.figures["iops"].base > 0:
                    a, b = row.figures["iops"].bounds(), lower.figures["iops"].bounds()
                    ratio = row.figures["iops"].base / lower.figures["iops"].base
                    yield from _beyond(table, row, name, a[0] / b[1], ratio)


def _settings(row: Row) -> tuple[float | None, ...]:
    return tuple(row.figures[k].base if k in row.figures else None for k in ("size", "depth", "threads"))


def _beyond(table: Table, row: Row, below: str, low: float, ratio: float) -> Answers:
    yield None
    allowed = 1 + noise(table)
    if low <= allowed:
        return
    broken = low > allowed + IMPOSSIBLE and table.word(row, "caching") == "off"
    broken = broken and table.word(row, "apart") != "no"
    text = f"{units.significant(ratio)} times the IOPS of {below}, which it stands on"
    text += ": a cache answers, or the layers do not reach the same data" if broken else ": check for a cache"
    yield flag(row, text, broken=broken, column="iops", numbers={"ratio": ratio})
