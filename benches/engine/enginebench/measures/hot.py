"""4 KiB random reads of a file in the page cache: processor time for each I/O and I/Os a second of one core."""

from __future__ import annotations

from .. import fio, ours, tio
from ..context import Context, Leg, say
from ..estimate import paired
from ..rows import Row
from ..sample import Sample

TIO = "t/io_uring"


def rows(ctx: Context) -> list[Row]:
    """Depth 32 and depth 1."""
    return [row for depth in (32, 1) for row in _at(ctx, depth)]


def _at(ctx: Context, depth: int) -> list[Row]:
    say(f"hot file, depth {depth}")
    legs: dict[str, Leg] = {
        "ours": lambda: ours.sample(ctx, ours.on_file(ctx, direct=False, iodepth=depth)),
        "fio, defaults": lambda: fio.sample(ctx, fio.words(ctx, "io_uring", depth, False)),
        "fio, registered": lambda: fio.sample(ctx, fio.words(ctx, "io_uring", depth, False, *fio.best(depth))),
        TIO: lambda: tio.sample(ctx, depth, False),
    }
    if depth == 1:
        legs["fio, psync"] = lambda: fio.sample(ctx, fio.words(ctx, "psync", 1, False))
    got, absent = ctx.rounds_of(legs)
    made = []
    fios = [name for name in got if name.startswith("fio")]
    cheapest = min(fios, key=lambda name: _mean(got[name], "cpu_ns"), default="fio, registered")
    fastest = max(fios, key=lambda name: _mean(got[name], "iops"), default="fio, registered")
    made += [_ratio(got, absent, f"total CPU/IO, hot file, depth {depth}", "cpu_ns", cheapest, "<=", 0.80)]
    made += [_ratio(got, absent, f"total CPU/IO, hot file, depth {depth}", "cpu_ns", TIO, "<=", 1.07)]
    made += [_ratio(got, absent, f"IOPS of one core, hot file, depth {depth}", "iops", fastest, ">=", 1.25)]
    made += [_ratio(got, absent, f"IOPS of one core, hot file, depth {depth}", "iops", TIO, ">=", 0.95)]
    return made


def _ratio(
    got: dict[str, list[Sample]], absent: dict[str, str], measure: str, key: str, peer: str, sense: str, limit: float
) -> Row:
    if why := absent.get("ours") or absent.get(peer):
        return Row(measure, peer, "×", sense, limit, why_not=why)
    estimate = paired([getattr(s, key) for s in got["ours"]], [getattr(s, key) for s in got[peer]])
    unit = "ns" if key == "cpu_ns" else "/s"
    note = f"{_mean(got['ours'], key):,.0f} {unit} against {_mean(got[peer], key):,.0f}"
    return Row(measure, peer, "×", sense, limit, estimate, note)


def _mean(samples: list[Sample], key: str) -> float:
    return float(sum(getattr(s, key) for s in samples) / len(samples))
