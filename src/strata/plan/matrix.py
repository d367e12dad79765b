"""The axes of a matrix, its workloads, and what it may write.

* ``full``: 7 depths × 8 sizes × 5 patterns, both axes in doublings, so that neighbours are as near as they can be.
* ``published``: the 280 cells of the published method (depths 1, 4 and 16 to 256, sizes without 32 KiB and up to 1
  MiB).
* ``small``: every second doubling, 80 cells.
* ``bs=4k,64k;iodepth=1,8;rw=randread,randrw:70``: as the words say; a mix has its share of reads behind a colon.
"""

from __future__ import annotations

from strata import units
from strata.errors import UsageError, choices
from strata.model.axes import MATRICES
from strata.model.matrix import Grid
from strata.model.rw import Rw
from strata.model.workload import ClosedLoop, Sync, Workload
from strata.model.workload_options import CLOSED_DEPTH, MIX_READS, OPTIONS
from strata.plan.cost import ASSUMED_WRITE_BPS, bytes_written

BS, DEPTH = OPTIONS["bs"], OPTIONS["iodepth"]
PATTERNS: tuple[str, ...] = ("read", "randread", "randrw:70", "write", "randwrite")
MOST = 1000
EXAMPLE = "for example: --matrix 'bs=4k,64k;iodepth=1,8;rw=randread,randwrite'"


def matrix_of(
    text: str, *, direct: bool = True, sync: Sync = Sync.DSYNC, seed: int = 1, read_only: bool = False
) -> tuple[Grid, tuple[Workload, ...]]:
    """The axes and one workload a cell, pattern by pattern; ``sync`` is that of workloads that write.

    Raises `UsageError` with everything that cannot be used.
    """
    words = text.strip().lower()
    if words in MATRICES:
        (depths, sizes), patterns = MATRICES[words], PATTERNS
    else:
        depths, sizes, patterns = _axes(text)
    kinds = [(name, *_kind(name, text)) for name in patterns]
    kinds = [k for k in kinds if not (read_only and k[1].writes)]
    if not kinds:
        raise UsageError(
            "nothing to measure in the matrix", text, "all its patterns write, and --read-only excludes them"
        )
    made = tuple(
        Workload(
            rw=rw, bs=bs, arrival=ClosedLoop(iodepth=depth), rwmixread=mix, direct=direct,
            sync=sync if rw.carries else Sync.NONE, seed=seed,
        )
        for _, rw, mix in kinds
        for depth in depths
        for bs in sizes
    )  # fmt: skip
    if len(made) > MOST:
        raise UsageError("the matrix is too large:", f"{len(made)} cells", f"at most {MOST} per layer", EXAMPLE)
    named = tuple(dict.fromkeys(w.pattern for w in made))
    name = words if words in MATRICES else units.plural(len(made), "cell")
    return Grid(name=name, depths=depths, sizes=sizes, patterns=named), made


def most_written(workloads: tuple[Workload, ...], layers: int, budget_s: float, file_size: int) -> int:
    """Upper bound of the bytes a matrix writes, the file's own fill included: all of the budget on the cells that
    write.

    No measurement: `ASSUMED_WRITE_BPS` is a bound for one drive. What was written is counted and the matrix ends there.
    """
    writing = [w for w in workloads if w.rw.writes]
    most = max((bytes_written(w, budget_s, ASSUMED_WRITE_BPS) for w in writing), default=0)
    return file_size + most * bool(layers)


def _axes(text: str) -> tuple[tuple[int, ...], tuple[int, ...], tuple[str, ...]]:
    given: dict[str, list[str]] = {}
    for part in filter(None, (p.strip() for p in text.split(";"))):
        name, equals, values = part.partition("=")
        if not equals or name.strip() not in ("bs", "iodepth", "rw") or name.strip() in given:
            why = f"{part!r} is neither bs=…, iodepth=… or rw=… (each once) nor the name of a matrix"
            raise UsageError("cannot use the matrix", text, why, f"{choices(text, MATRICES)}, or {EXAMPLE}")
        given[name.strip()] = [v.strip() for v in values.split(",") if v.strip()]
    try:
        sizes = sorted({units.parse_size(v) for v in given.get("bs", [BS.default])})
        depths = sorted({int(v) for v in given.get("iodepth", [CLOSED_DEPTH])})
    except ValueError as e:
        raise UsageError("cannot use the matrix", text, f"iodepth: {e}", EXAMPLE) from e
    if not sizes or any(not BS.holds(s) or not BS.in_step(s) for s in sizes):
        why = f"each bs must be {BS.steps} in {BS.within}"
        raise UsageError("cannot use the matrix", text, why, EXAMPLE)
    if not depths or not all(map(DEPTH.holds, depths)):
        raise UsageError("cannot use the matrix", text, f"iodepth must be in {DEPTH.within}", EXAMPLE)
    patterns = tuple(dict.fromkeys(given.get("rw", list(PATTERNS))))
    return tuple(depths), tuple(sizes), patterns


def _kind(name: str, text: str) -> tuple[Rw, int | None]:
    word, _, share = name.partition(":")
    try:
        rw = Rw.of(word)
        mix = int(share) if share else None
    except ValueError as e:
        raise UsageError("cannot use the matrix", text, f"{name!r} is not a pattern", EXAMPLE) from e
    if rw.alone is not None:
        raise UsageError("cannot use the matrix", text, f"{name!r}: {rw.alone}", EXAMPLE)
    mixed = rw.mixed
    if (share and not mixed) or (mix is not None and not 0 <= mix <= 100):
        raise UsageError(
            "cannot use the matrix", text, f"{name!r}: a percentage of reads (0 to 100) needs rw or randrw", EXAMPLE
        )
    return rw, (MIX_READS if mix is None else mix) if mixed else None
