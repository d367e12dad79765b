"""fio's normal text, 2.x and 3.x.

Figures are scaled and cut to four digits (``IOPS=20.9k``, ``BW=163MiB/s``); I/Os are counted exactly. In 2.x
``io=162.3MB`` and ``bw=…KB/s`` mean 2^20 and 2^10; in 3.x the binary unit stands first. Latencies bring their unit in
brackets. Settings stand in the lines before the jobs start; whether the page cache was bypassed is not among them.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from strata import units
from strata.formats.results import _fio
from strata.formats.results._measured import printed, unix_ns, whole
from strata.formats.results.source import Misread, Source, begins, room
from strata.model.figures import Dimension, Figure, Rounding, exact
from strata.model.imported import COMPLETION, Imported, ImportedCell, Measured

NAME, TITLE, ORDER = "fio-text", "fio's text", 60

_ASKED = re.compile(
    r"^(?P<name>[^\n]{1,256}?): \(g=(?P<group>\d+)\): rw=(?P<rw>\w+),\s*(?P<rest>bs=.*ioengine=(?P<engine>[\w/.-]+),\s*"
    r"iodepth=(?P<depth>\d+))"
)
_SIZES = re.compile(r"(\d[\d.]*[A-Za-z]*)-(\d[\d.]*[A-Za-z]*)")
_JOB = re.compile(r"^(?P<name>[^\n]{1,256}?): \(groupid=(?P<group>\d+), jobs=(?P<jobs>\d+)\): err=\s*(?P<error>\d+)")
_WHEN = re.compile(r"pid=\d+: (\w{3} \w{3} [ \d]\d \d\d:\d\d:\d\d \d{4})")
_WHEN_FORM = "%a %b %d %H:%M:%S %Y"
"""Of a clock whose zone is not said: taken as UTC."""
_SIDE = re.compile(r"^\s{2}(read|write|trim)\s*:\s*(.*)$")
_TIMES = re.compile(r"^\s{4,5}(slat|clat|lat) \((nsec|usec|msec)\)\s*:(.*)$")
_NEW = re.compile(r"IOPS=([\d.]+)([kM]?), BW=([\d.]+)([KMGT]i?)?B/s \([^)]*\)\s*\(([\d.]+)([KMGTP]i?)?B?/(\d+)msec\)")
_OLD = re.compile(
    r"io=([\d.]+)([KMGT]?)B,\s*bw=([\d.]+)([KMGT]?)B/s,\s*iops=\s*([\d.]+)([kM]?)\s*,\s*runt=\s*(\d+)msec"
)
_HEAD = re.compile(r"^\s{4}(clat|lat) percentiles \((nsec|usec|msec)\):")
_PERCENTILE = re.compile(r"(\d{1,3}\.\d+)th=\[\s*(\d+)\]")
_VALUE = re.compile(r"\b(min|max|avg|stdev)=\s*(\d[\d.]*[kKMG]?)")
_ISSUED = re.compile(r"^\s+issued\s*(?:rwts?)?\s*:\s*total=(\S+?),? short=(\S+?),? drop(?:ped)?=(\S+)")
_ISSUED_2 = re.compile(r"total=r=(\d+)/w=(\d+)/d=(\d+)")
_UNITS = {"nsec": ("ns", 1.0), "usec": ("us", 1e3), "msec": ("ms", 1e6)}
_SCALES = {"": 1.0, "k": 1e3, "K": 1e3, "M": 1e6, "G": 1e9}
JOBS_MOST = 10_000


def recognise(head: str) -> bool:
    return begins(head, r"^.{1,256}: \(groupid=\d+, jobs=\d+\): err=") or (
        begins(head, r"^.{1,256}: \(g=\d+\): rw=\w+, ?bs=") and begins(head, r"^fio-\d")
    )


@dataclass
class _Side:
    figures: dict[str, Figure] = field(default_factory=dict)
    deviation: dict[str, Figure] = field(default_factory=dict)
    ms: float = 0.0
    submit: float = 0.0
    lat: bool = False
    ends: dict[str, Figure] = field(default_factory=dict)
    percentiles: dict[str, tuple[float, float]] = field(default_factory=dict)
    of: str = "clat"


@dataclass
class _Job:
    name: str
    group: str
    jobs: int
    line: int
    error: str
    started: int | None
    sides: dict[str, _Side] = field(default_factory=dict)
    cpu: dict[str, Figure] = field(default_factory=dict)
    ios: dict[str, int] = field(default_factory=dict)
    short: dict[str, int] = field(default_factory=dict)


class _Reader:
    def __init__(self) -> None:
        self.asked: dict[tuple[str, str], dict[str, str]] = {}
        self.jobs: list[_Job] = []
        self.version = ""
        self.notes: list[str] = []
        self._side: _Side | None = None
        self._unit = ("us", 1e3)
        self._percentiles = False

    def take(self, n: int, line: str) -> None:
        if (found := _JOB.match(line)) is not None:
            room(self.jobs, JOBS_MOST, "jobs", n)
            when = _WHEN.search(line)
            job = _Job(
                found["name"], found["group"], int(found["jobs"][:6]), n, found["error"],
                unix_ns(when[1], _WHEN_FORM) if when else None,
            )  # fmt: skip
            self.jobs.append(job)
            self._side = None
        elif (found := _ASKED.match(line)) is not None:
            self.asked[(found["name"], found["group"])] = found.groupdict()
        elif (version := re.match(r"^fio[- ](\d[\w.-]{0,40})\s*$", line)) is not None:
            self.version = version[1]
        elif line.startswith("Run status group"):
            self._side = None
        elif self.jobs:
            self._of_job(self.jobs[-1], n, line)

    def _of_job(self, job: _Job, n: int, line: str) -> None:
        if (found := _SIDE.match(line)) is not None:
            self._side = job.sides.setdefault(found[1], _Side())
            self._counts(self._side, found[2], n)
        elif (issued := _ISSUED.match(line)) is not None:
            _issued(job, issued)
        elif (cpu := re.match(r"^\s+cpu\s*:\s*usr=([\d.]+)%, sys=([\d.]+)%", line)) is not None:
            for name, text in zip(("user", "system"), cpu.groups(), strict=True):
                if (share := printed(text, "%", Dimension.SHARE)) is not None:
                    job.cpu[name] = share
        elif self._side is not None:
            self._times(self._side, line)

    def _counts(self, side: _Side, text: str, n: int) -> None:
        new, old = _NEW.search(text), _OLD.search(text)
        if new is not None:
            iops, k, rate, r, size, s, ms = new.groups()
        elif old is not None:
            size, s, rate, r, iops, k, ms = old.groups()
            self.notes.append("KB and MB are 2^10 and 2^20 bytes, as fio before 3.0 prints them")
        else:
            raise Misread(f"{text[:60]!r} are no figures of a direction as fio prints them", n)
        side.ms = float(ms[:12])
        side.figures["iops"] = _scaled(iops, _SCALES[k], Dimension.PLAIN)
        side.figures["rate"] = _scaled(rate, _binary(r), Dimension.RATE)
        side.figures["bytes"] = _scaled(size, _binary(s), Dimension.BYTES)

    def _times(self, side: _Side, line: str) -> None:
        if (found := _TIMES.match(line)) is not None:
            self._percentiles = False
            unit = _UNITS[found[2]]
            values = {name: _plain(text) for name, text in _VALUE.findall(found[3])}
            if found[1] == "slat":
                side.submit = (values.get("avg") or 0.0) * unit[1]
                return
            if found[1] == "lat":
                side.lat = True
            if "avg" in values:
                side.figures["time.mean"] = _time(values["avg"], unit[0], 0.01)
            for name in ("min", "max"):
                if found[1] == "clat" and name in values:
                    side.ends[f"time.{name}"] = _time(values[name], unit[0], 1.0)
            if "stdev" in values:
                side.deviation["time"] = _time(values["stdev"], unit[0], 0.01)
        elif (head := _HEAD.match(line)) is not None:
            self._percentiles, self._unit, side.of = True, _UNITS[head[2]], head[1]
        elif self._percentiles and line.lstrip().startswith("|"):
            for p, value in _PERCENTILE.findall(line):
                ns = float(value[:18]) * self._unit[1]
                side.percentiles[f"time.p{float(p):.10g}"] = (ns, self._unit[1])
        else:
            self._percentiles = False
            iops = re.match(r"^\s{3}iops\s*:.*stdev=\s*([\d.]+)", line)
            if iops is not None and (sd := printed(iops[1])) is not None:
                side.deviation["iops"] = sd


def read(source: Source) -> Imported:
    """One cell for each job, or group of jobs."""
    reader = _Reader()
    for n, line in enumerate(source.text().split("\n"), 1):
        reader.take(n, line)
    left = [] if reader.jobs else ["no job has results"]
    cells = tuple(_cell(reader, job) for job in reader.jobs)
    return Imported(
        format=NAME, tool="fio", version=reader.version, cells=cells, notes=tuple(dict.fromkeys(reader.notes)),
        left_out=tuple(left),
    )  # fmt: skip


def _cell(reader: _Reader, job: _Job) -> ImportedCell:
    asked, wrong, words = _settings(reader, job)
    sides = {name: _side(job, name, side) for name, side in job.sides.items()}
    spans = [side.ms / 1000 for side in job.sides.values() if side.ms]
    if job.error != "0":
        reader.notes.append(f"{job.name}: fio ended it with error {job.error}; its figures are of the part before")
    return ImportedCell(
        name=job.name, line=job.line, asked=asked, incomplete=wrong, words=words, seconds=max(spans, default=None),
        sides=sides, total=whole(sides) if len(sides) > 1 else None, cpu=job.cpu, started_unix_ns=job.started,
    )  # fmt: skip


def _settings(reader: _Reader, job: _Job) -> tuple[dict[str, object], tuple[str, ...], dict[str, str]]:
    there = reader.asked.get((job.name, job.group))
    if there is None:
        return {}, ("its settings are not in the text",), {}
    wrong = []
    sizes = {text for pair in _SIZES.findall(there["rest"].partition("ioengine=")[0]) for text in pair}
    words: dict[str, object] = {"rw": there["rw"].lower(), "iodepth": int(there["depth"][:9])}
    if _fio.one_at_a_time({"ioengine": there["engine"]}):
        words["iodepth"] = 1
    if job.jobs > 1:
        words["threads"] = job.jobs
    bytes_ = {size for text in sizes if (size := _bytes(text)) is not None}
    if len(bytes_) == 1:
        words["bs"] = bytes_.pop()
    else:
        wrong.append("several block sizes")
    # The text does not name the files: whether jobs share one is not known.
    return words, tuple(wrong), {"engine": there["engine"], "ranges": "unknown"}


def _side(job: _Job, name: str, side: _Side) -> Measured:
    figures = dict(side.figures)
    if name in job.ios:
        figures["ios"] = exact(job.ios[name])
    mean = figures.get("time.mean")
    near = mean is not None and side.submit <= 0.1 * mean.base
    if not side.lat or side.of == "lat" or near:
        submit = side.submit if side.lat and side.of == "clat" else 0.0
        most = side.ends["time.max"].base if "time.max" in side.ends else None
        figures |= side.ends
        figures |= {
            key: _fio.of_bucket(ns, step, submit_ns=submit, most_ns=most)
            for key, (ns, step) in side.percentiles.items()
        }
    return Measured(
        figures=figures, deviation=side.deviation, short=job.short.get(name) or None,
        clock="" if side.lat else COMPLETION,
    )  # fmt: skip


def _issued(job: _Job, issued: re.Match[str]) -> None:
    old = _ISSUED_2.search(issued[0])
    total = old.groups() if old is not None else tuple(issued[1].split(","))
    short = re.findall(r"\d+", issued[2])
    for name, text in zip(("read", "write", "trim"), total, strict=False):
        if text.isdecimal() and int(text[:19]):
            job.ios[name] = int(text[:19])
    for name, text in zip(("read", "write", "trim"), short, strict=False):
        job.short[name] = int(text[:19])


def _plain(text: str) -> float:
    scale = _SCALES.get(text[-1:], 1.0)
    return float(text.rstrip("kKMG")) * scale


def _scaled(text: str, scale: float, dimension: Dimension) -> Figure:
    """Printed with so many places of a unit: within one of the last place."""
    places = len(text.partition(".")[2])
    value, step = float(text) * scale, scale * 10.0**-places
    return exact(value, dimension, low=max(0.0, value - step), high=value + step)


def _binary(unit: str | None) -> float:
    return {"": 1.0, "K": units.KIB, "M": units.MIB, "G": units.GIB, "T": units.TIB, "P": 1024.0 * units.TIB}[
        (unit or "")[:1]
    ]


def _bytes(text: str) -> int | None:
    found = re.fullmatch(r"(\d{1,15})([KMGT]?)(?:i?B)?", text)
    return None if found is None else int(found[1]) * int(_binary(found[2]))


def _time(value: float, unit: str, step: float) -> Figure:
    return Figure(dimension=Dimension.TIME, value=value, unit=unit, step=step, rounding=Rounding.UNKNOWN)
