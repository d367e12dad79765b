"""The result of a fio run (``fio --output-format=json``) as a table.

One row for each job; a mixed job also has one for each direction. ``time.mean`` is fio's ``lat`` (submit to completion
seen). fio's percentiles are of ``clat``, which lacks the submission: they are taken only where that is at most a tenth
of the mean, so that mean and percentiles are of one clock. Sizes of jobs that mix block sizes are absent.
"""

from __future__ import annotations

from typing import Any

from strata import parsing, units
from strata.errors import UsageError
from strata.model.figures import Dimension, Figure, Row, Table, exact

SUBMIT_SHARE = 0.1
_SIDES = ("read", "write")
_PATTERNS = {
    "read": "sequential read",
    "write": "sequential write",
    "randread": "random read",
    "randwrite": "random write",
    "rw": "sequential mixed",
    "readwrite": "sequential mixed",
    "randrw": "random mixed",
}


def read_fio(text: str, name: str) -> Table:
    """The jobs of a fio result. Raises `UsageError` where it is none, or no job did an I/O."""
    # Messages of fio may stand before the document when both went to one file.
    start = text.find("{")
    try:
        document = parsing.json_of(text[start:] if start > 0 else text)
    except parsing.Malformed as e:
        raise UsageError("cannot read", name, str(e), "write it with fio --output-format=json") from e
    if not isinstance(document, dict) or not isinstance(document.get("jobs"), list):
        raise UsageError("cannot read", name, "it is not a fio result: it has no jobs", "fio --output-format=json")
    common = document.get("global options", {})
    try:
        rows = [row for job in document["jobs"] for row in _job(job, common, len(document["jobs"]))]
    except UsageError as e:
        raise UsageError("cannot read", name, e.headline, e.hint) from e
    except (KeyError, TypeError, ValueError, AttributeError, OverflowError) as e:
        raise UsageError(
            "cannot read", name, f"a job does not have the format of fio ({e!r})", "fio --output-format=json"
        ) from e
    if not rows:
        raise UsageError("nothing to check in", name, "no job completed an I/O")
    return Table(name=name, rows=tuple(rows), words={"tool": str(document.get("fio version", "fio"))})


def _job(job: dict[str, Any], common: dict[str, Any], jobs: int) -> list[Row]:
    asked = {**common, **job.get("job options", {})}
    sides = [s for s in _SIDES if job.get(s, {}).get("total_ios")]
    if not sides:
        return []
    rw = str(asked.get("rw", asked.get("readwrite", "read"))).partition(":")[0]
    words = {"job": str(job["jobname"]), "pattern": _PATTERNS.get(rw, rw)}
    words["caching"] = "off" if _on(asked.get("direct")) else "on"
    if asked.get("ioengine") == "null":
        words["engine"] = "nothing"
    alike = int(asked.get("numjobs", 1))
    together = "group_reporting" in asked or jobs == 1
    settings = {"depth": exact(int(asked.get("iodepth", 1))), "threads": exact(alike if together else 1)}
    size = _size(asked)
    if size is not None:
        settings["size"] = exact(size, Dimension.BYTES)
    rate = str(asked.get("rate_iops", "")).strip(",")
    if rate.isdigit() and int(rate) > 0 and len(sides) == 1:
        settings["cap"] = exact(int(rate) * settings["threads"].value)
        words["loop"] = "open"
    if len(sides) == 1:
        return [Row(name=words["job"], words=words, figures=settings | _figures(job[sides[0]]))]
    both: dict[str, Figure] = {}
    rows = []
    for side in sides:
        figures = _figures(job[side])
        both |= {f"{k}.{side}": figures[k] for k in ("iops", "rate", "time.mean") if k in figures}
        single = words | {"direction": side, "loop": "open"}
        some = {k: v for k, v in settings.items() if k == "size"}
        rows.append(Row(name=f"{words['job']}, {side}", words=single, figures=some | figures))
    return [Row(name=words["job"], words=words, figures=settings | both), *rows]


def _figures(side: dict[str, Any]) -> dict[str, Figure]:
    figures = {
        "iops": exact(float(side["iops"])),
        "rate": exact(float(side["bw_bytes"]), Dimension.RATE),
        "ios": exact(int(side["total_ios"])),
        "bytes": exact(int(side["io_bytes"]), Dimension.BYTES),
    }
    mean = float(side.get("lat_ns", {}).get("mean", 0))
    if mean <= 0:
        return figures
    figures["time.mean"] = exact(mean, Dimension.TIME)
    total = side["lat_ns"].get("percentile", {})
    submit = float(side.get("slat_ns", {}).get("mean", 0))
    times = total or (side.get("clat_ns", {}).get("percentile", {}) if submit <= SUBMIT_SHARE * mean else {})
    return figures | {f"time.p{float(p):.10g}": exact(float(ns), Dimension.TIME) for p, ns in times.items()}


def _size(asked: dict[str, Any]) -> int | None:
    """The one block size of the job, None where it has several."""
    if any(k in asked for k in ("bsrange", "blocksize_range", "bssplit", "bs_unaligned")):
        return None
    text = str(asked.get("bs", asked.get("blocksize", "4096")))
    # fio's own "4kb" and "4ki" are 4096 unless it is told otherwise.
    text = text.lower().removesuffix("ib").removesuffix("b").removesuffix("i")
    return units.parse_size(text) if text.replace(".", "", 1).rstrip("kmgt").isdigit() else None


def _on(value: object) -> bool:
    return str(value).lower() in ("1", "true", "yes")
