"""A folder that fio-plot draws: for every layer and block size a folder, in it each cell's json+ and logs.

fio-plot takes a file for one cell, whose jobs it adds up, and tells cells by pattern, depth and jobs alone. So the
rounds of a cell are one job, and of cells that differ in something else each gets a folder of its own. The logs have
the rounds one after the other.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import chain, count

from strata import units
from strata.errors import UsageError
from strata.formats.exports.fio import SIDES, document, intervals, job
from strata.formats.exports.tables import MeasuredRun
from strata.model.groups import grouped
from strata.model.result import EngineResult

NAME, TITLE, TABULAR = "fio-plot", "a folder of json+ and logs, which fio-plot draws", False


def write(runs: Sequence[MeasuredRun]) -> dict[str, str]:
    """The texts of the files by their paths. Raises `UsageError` where there is nothing that fio-plot can draw."""
    made: dict[str, str] = {}
    for of in runs:
        known = of.workloads
        measured = (c for c in of.results if c.kind == "measure" and c.workload_key in known)
        cells = grouped(((c.layer, c.workload_key), c.result) for c in measured if c.result is not None)
        for (layer, key), results in cells.items():
            workload = known[key]
            found = job(of.run, layer, workload, results, f"{layer}/{key}")
            if _drawn(found):
                name = f"{workload.rw.value}-iodepth-{workload.arrival.iodepth}-numjobs-{workload.threads}"
                above = (of.run.id, layer) if len(runs) > 1 else (layer,)
                folders = chain((str(workload.bs), key), (f"{key}-{n}" for n in count(2)))
                tried = (_path(*above, folder, name) for folder in folders)
                at = next(path for path in tried if f"{path}.json" not in made)
                made |= {f"{at}.json": document([found], of.run.created_unix_ns), **dict(_logs(at, results))}
    if not made:
        why = "no cell has its times, CPU time and two intervals, which fio-plot needs"
        raise UsageError("cannot export for", "fio-plot", why, "measure longer, or with shorter intervals: --interval")
    return made


def _path(*parts: str) -> str:
    """No name leads out of the folder."""
    return "/".join(re.sub(r"[^A-Za-z0-9_-]", "_", part)[:100] for part in parts)


def _drawn(found: dict[str, object]) -> bool:
    """Whether it has all that fio-plot asks of a job."""
    sides = [side for side in (found[name] for name in SIDES) if isinstance(side, dict) and side["total_ios"]]
    told = all({"iops_stddev", "lat_ns"} <= side.keys() for side in sides)
    return bool(sides) and told and {"usr_cpu", "sys_cpu", "latency_ns"} <= found.keys()


def _logs(at: str, results: Sequence[EngineResult]) -> Iterator[tuple[str, str]]:
    """fio's logs with windows: ms from the beginning, value, direction, and zeroes for what a window has not."""
    lines: dict[str, list[str]] = {"iops": [], "bw": [], "lat": []}
    for which, side in enumerate(SIDES):
        ns = 0
        for one in results:
            for length, part in intervals(one, side):
                ns += length
                if part.ops:
                    tail = f"{which}, 0, 0"
                    at_ms = round(ns / units.NS_PER_MS)
                    lines["iops"].append(f"{at_ms}, {round(part.ops * units.NS_PER_S / length)}, {tail}")
                    lines["bw"].append(f"{at_ms}, {round(part.bytes * units.NS_PER_S / length / units.KIB)}, {tail}")
                    if part.service_sum_ns:
                        lines["lat"].append(f"{at_ms}, {round(part.service_sum_ns / part.ops)}, {tail}")
    for kind, said in lines.items():
        if said:
            # Both directions in the order of time, as fio writes them.
            said.sort(key=lambda line: int(line.partition(",")[0]))
            yield f"{at}_{kind}.1.log", "".join(f"{line}\n" for line in said)
