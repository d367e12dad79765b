"""fio's JSON, from 2.0 to 3.4x, with json+ and its latency bins.

Several documents may stand in one file, alone or with text around them; those of ``--status-interval`` are snapshots of
the same jobs, of which the last is the result and the others its course. Times are in ns since 3.0 (``lat_ns``), in µs
before (``lat``); ``io_bytes`` is in KiB before 3.0; ``bw`` is always in KiB/s, and cut off. Jobs of one group with the
same options ran together and are one cell.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from strata import parsing
from strata.formats.results import _fio
from strata.formats.results._measured import cut, finely, number, whole
from strata.formats.results.source import Misread, Source, place
from strata.model import histogram
from strata.model.figures import Dimension, Figure, Rounding, exact
from strata.model.imported import COMPLETION, Imported, ImportedCell, ImportedInterval, Measured
from strata.units import NS_PER_S

NAME, TITLE, ORDER = "fio-json", "fio's JSON (--output-format=json or json+)", 10

_DIRECTIONS = ("read", "write", "trim")
_JOBS_MOST = 20_000
_NOISE = re.compile(r"^(?![ \t{}\[\]\",]).+$", re.MULTILINE)
"""A line that is no part of fio's JSON: a message that got between its lines."""
_NEVER = 1 << 63
"""A least time of no I/O at all."""


def recognise(head: str) -> bool:
    return re.search(r'"fio version"\s*:', head) is not None or (
        '"jobs"' in head and '"jobname"' in head and "{" in head
    )


def read(source: Source) -> Imported:
    """The jobs of all documents."""
    text = source.text()
    found, broken = parsing.json_documents(text)
    documents, notes = [], []
    if broken is not None and not any(_is_result(d) for _, d in found):
        found, again = parsing.json_documents(_NOISE.sub("", text))
        if any(_is_result(d) for _, d in found):
            notes.append("messages between the lines of the JSON were passed over")
        broken = again
    for at, document in found:
        for one in document if isinstance(document, list) else [document]:
            if _is_result(one):
                documents.append((at, one))
    if not documents:
        if broken is not None:
            raise Misread(f"the JSON breaks off or is damaged: {broken[1]}", *place(text, broken[0]))
        raise Misread("its JSON has no jobs")
    if broken is not None and broken[0] > documents[-1][0]:
        notes.append(f"what follows line {place(text, broken[0])[0]} is damaged and left out: {broken[1]}")
    lines = _Lines(text)
    cells: list[ImportedCell] = []
    left: list[str] = []
    settings: dict[str, float] = {}
    for at, document, earlier in _runs(documents):
        # A snapshot has the jobs' names before those of the last document.
        reader = _Reader(document, lines, place(text, at)[0], notes, left)
        cells += reader.cells([_Reader(d, None, 0, [], []) for d in earlier])
        settings |= reader.settings
        if earlier:
            notes.append(
                f"{len(earlier)} earlier documents are cumulative snapshots of the same jobs (--status-interval)"
            )
    last = documents[-1][1]
    return Imported(
        format=NAME,
        tool="fio",
        version=_fio.version_of(last.get("fio version", "")) if last.get("fio version") else "",
        cells=tuple(cells),
        settings=settings,
        notes=tuple(dict.fromkeys(notes)),
        left_out=tuple(dict.fromkeys(left)),
    )


def _is_result(document: object) -> bool:
    return isinstance(document, dict) and (
        isinstance(document.get("jobs"), list) or isinstance(document.get("client_stats"), list)
    )


class _Lines:
    """The lines of the jobs' names, in the order of the text."""

    def __init__(self, text: str) -> None:
        self._left = iter(re.finditer(r'"jobname"\s*:', text))
        self._text, self._at, self._line = text, 0, 1

    def next(self, default: int) -> int:
        """The line of the next job."""
        found = next(self._left, None)
        if found is None:
            return default
        self._line += self._text.count("\n", self._at, found.start())
        self._at = found.start()
        return self._line


def _runs(documents: Sequence[tuple[int, Any]]) -> Iterator[tuple[int, Any, list[Any]]]:
    """(where, the last document, its earlier snapshots) of each run."""
    earlier: list[Any] = []
    for (at, document), after in zip(documents, [*documents[1:], (0, None)], strict=True):
        if after[1] is not None and _goes_on(document, after[1]):
            earlier.append(document)
            continue
        yield at, document, earlier
        earlier = []


def _goes_on(before: Mapping[str, Any], after: Mapping[str, Any]) -> bool:
    """Whether the second document is a later state of the jobs of the first."""
    one, other = _jobs(before), _jobs(after)
    if len(one) != len(other) or before.get("global options") != after.get("global options"):
        return False
    for a, b in zip(one, other, strict=True):
        if a.get("jobname") != b.get("jobname") or a.get("job options") != b.get("job options"):
            return False
        if any(_done(a, d) > _done(b, d) for d in _DIRECTIONS):
            return False
    passed = (number(after, "timestamp_ms") or 0) - (number(before, "timestamp_ms") or 0)
    ran = [(number(j, "job_runtime") or 0) for j in (one[0], other[0])] if one else [0, 0]
    # Two runs one after the other begin anew: their run time does not grow by the time between them.
    return abs((ran[1] - ran[0]) - passed) <= 2000 and ran[1] > ran[0]


def _done(job: Mapping[str, Any], direction: str) -> float:
    side = job.get(direction)
    return (number(side, "io_kbytes") or number(side, "io_bytes") or 0) if isinstance(side, dict) else 0


def _jobs(document: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Jobs, or those of clients; what sums up all clients is left out."""
    found = document.get("jobs") or document.get("client_stats") or []
    if len(found) > _JOBS_MOST:
        raise Misread(f"it has {len(found)} jobs, at most {_JOBS_MOST} are read")
    return [job for job in found if isinstance(job, dict)]


class _Reader:
    def __init__(
        self, document: Mapping[str, Any], lines: _Lines | None, line: int, notes: list[str], left: list[str]
    ) -> None:
        self.document, self.lines, self.line, self.notes, self.left = document, lines, line, notes, left
        self.common: dict[str, Any] = document.get("global options") or {}
        self.settings: dict[str, float] = _fio.settings_of(self.common)

    def cells(self, earlier: Sequence[_Reader]) -> list[ImportedCell]:
        """What ran together as one cell; ``earlier`` are snapshots of the same jobs."""
        before = [dict(enumerate(r.jobs())) for r in earlier]
        made: list[tuple[tuple[Any, ...], ImportedCell]] = []
        for n, (key, cell) in enumerate(self.jobs()):
            course = [b[n][1] for b in before if n in b]
            points = _points([*course, cell]) if course else ()
            made.append((key, cell.model_copy(update={"points": points})))
        return [cell for cell in _fio.grouped(made) if cell.sides or cell.errors]

    def jobs(self) -> list[tuple[tuple[Any, ...], ImportedCell]]:
        """Each job and what is the same of those that ran with it."""
        found = []
        for job in _jobs(self.document):
            line = self.line if self.lines is None else self.lines.next(self.line)
            name = str(job.get("jobname", "a job"))[:256]
            if "client_stats" in self.document and name == "All clients":
                self.left.append("the sum of all clients, which fio also prints: it is calculated here")
                continue
            found.append(self._job(job, name, line))
        return found

    def _job(self, job: dict[str, Any], name: str, line: int) -> tuple[tuple[Any, ...], ImportedCell]:
        own = job.get("job options")
        options = {**self.common, **(own if isinstance(own, dict) else {})}
        self.settings |= {k: v for k, v in _fio.settings_of(options).items() if k not in self.settings}
        known = isinstance(own, dict) or bool(self.common)
        asked, complaints = _fio.asked_of(name, options) if known else ({}, ())
        sides = {d: m for d in _DIRECTIONS if (m := self._side(job, d)) is not None}
        words = _fio.labels_of(options)
        if job.get("hostname"):
            words["host"] = str(job["hostname"])[:256]
        if "mixed" in job and not sides and (mixed := self._side(job, "mixed")) is not None:
            self.notes.append("reads and writes are one figure (unified_rw_reporting)")
            total: Measured | None = mixed
        else:
            total = whole(sides)
        if (flushes := self._flushes(job)) is not None:
            sides["sync"] = flushes
        alike = asked.get("threads", 1)
        together = "group_reporting" in options or len(_jobs(self.document)) == 1
        if isinstance(alike, int) and alike > 1 and not together:
            # Here a job is one of them; what they are together is put together from all.
            asked["threads"] = alike
        seconds = _span(job)
        if asked and (many := _merged_by_fio(job, seconds)) > int(asked.get("threads", 1)):
            # Those of the others may differ: how many I/Os were kept in flight is not known.
            asked = {key: value for key, value in asked.items() if key not in ("iodepth", "threads")}
            complaints += (f"{many} jobs are one figure (group_reporting), with the settings of the first alone",)
        errors = int(number(job, "total_err") or 0)
        if number(job, "error"):
            self.notes.append(f"{name}: fio ended it with error {job['error']}; its figures are of the part before")
        stamp = number(self.document, "timestamp_ms") or (number(self.document, "timestamp") or 0) * 1000
        begun = number(job, "job_start") or (stamp - (number(job, "job_runtime") or (seconds or 0) * 1000))
        cell = ImportedCell(
            name=name, line=line, asked=asked, incomplete=complaints, words=words, seconds=seconds, sides=sides,
            total=total if len(sides) != 1 or total is None else None, cpu=_cpu(job), errors=errors or None,
            started_unix_ns=round(begun * 1e6) if stamp > 0 and begun > 0 else None,
        )  # fmt: skip
        same = tuple(sorted((str(k), str(v)) for k, v in options.items()))
        return (job.get("groupid", 0), name, same, words.get("host", ""), None if known else line), cell

    def _side(self, job: dict[str, Any], direction: str) -> Measured | None:
        side = job.get(direction)
        if not isinstance(side, dict):
            return None
        ios, said = number(side, "total_ios"), number(side, "io_bytes")
        if not ios and not said and not number(side, "iops"):
            return None
        figures: dict[str, Figure] = {}
        if ios is not None:
            figures["ios"] = exact(ios)
        if said is not None:
            figures["bytes"] = self._bytes(side, said)
        if (iops := number(side, "iops")) is not None:
            figures["iops"] = exact(iops) if isinstance(side["iops"], float) else cut(iops)
        if (rate := number(side, "bw_bytes")) is not None:
            figures["rate"] = cut(rate, "B/s", Dimension.RATE)
        elif (rate := number(side, "bw")) is not None:
            figures["rate"] = cut(rate, "KiB/s", Dimension.RATE)
        times = _times(side)
        if times.pop("lost", False):
            self.left.append(
                "percentiles of completion (clat) where the submission is more than a tenth of the time: "
                "they are of another clock than the mean (fio --lat_percentiles=1 prints those of it)"
            )
        short = number(side, "short_ios")
        more = {"deviation": _deviation(side), "short": int(short) if short else None}
        return Measured(**{**times, **more, "figures": {**figures, **times["figures"]}})

    def _bytes(self, side: Mapping[str, Any], said: float) -> Figure:
        """``io_bytes`` was in KiB before 3.0: `bw` and the run time, or `io_kbytes`, tell which it is."""
        if "io_kbytes" in side or "bw_bytes" in side:
            return exact(said, Dimension.BYTES)
        by_rate = (number(side, "bw") or 0) * (number(side, "runtime") or 0) / 1000
        in_kib = said < 32 * by_rate if by_rate else not str(self.document.get("fio version", "")).startswith("fio-3")
        if not in_kib:
            return exact(said, Dimension.BYTES)
        self.notes.append("io_bytes is in KiB, as fio before 3.0 prints it: bw × run time says so")
        return cut(said, "KiB", Dimension.BYTES)

    def _flushes(self, job: Mapping[str, Any]) -> Measured | None:
        side = job.get("sync")
        if not isinstance(side, dict) or not number(side, "total_ios"):
            return None
        return Measured(figures={"ios": exact(number(side, "total_ios") or 0)} | _times(side)["figures"])


def _span(job: Mapping[str, Any]) -> float | None:
    """Seconds: the longest of its directions."""
    sides = (job[d] for d in (*_DIRECTIONS, "mixed") if isinstance(job.get(d), dict))
    spans = [ms for side in sides if (ms := number(side, "runtime"))]
    return max(spans) / 1000 if spans else None


def _merged_by_fio(job: Mapping[str, Any], seconds: float | None) -> int:
    """How many jobs are behind one: ``job_runtime`` is the sum of their run times, its directions have the longest."""
    ran = number(job, "job_runtime")
    return round(ran / 1000 / seconds) if ran and seconds else 1


def _cpu(job: Mapping[str, Any]) -> dict[str, Figure]:
    found = {}
    for name, key in (("user", "usr_cpu"), ("system", "sys_cpu")):
        if (share := number(job, key)) is not None:
            found[name] = finely(share, "%", Dimension.SHARE)
    return found


def _deviation(side: Mapping[str, Any]) -> dict[str, Figure]:
    found = {}
    if number(side, "iops_samples") and (sd := number(side, "iops_stddev")) is not None:
        found["iops"] = exact(sd)
    if number(side, "bw_samples") and (sd := number(side, "bw_dev")) is not None:
        found["rate"] = Figure(dimension=Dimension.RATE, value=sd, unit="KiB/s")
    times, scale = _clock(side, "lat")
    if times is not None and (sd := number(times, "stddev")):
        found["time"] = exact(sd * scale, Dimension.TIME)
    return found


def _clock(side: Mapping[str, Any], which: str) -> tuple[Mapping[str, Any] | None, float]:
    """(the block of times, ns of its unit): ns since 3.0, µs before."""
    for key, scale in ((f"{which}_ns", 1.0), (which, 1000.0)):
        found = side.get(key)
        # fio prints the block with zeros where it was told to measure none.
        if isinstance(found, dict) and (number(found, "mean") or number(found, "max")):
            return found, scale
    return None, 1.0


SUBMIT_SHARE = 0.1
"""Of the mean time: up to which the submission may be, for percentiles of completion to stand beside it."""


def _times(side: Mapping[str, Any]) -> dict[str, Any]:
    """Figures, histogram and clock: of lat where fio measured it, else of clat.

    Percentiles of clat stand beside the mean of lat only where the submission is a small part of it.
    """
    lat, scale = _clock(side, "lat")
    clat, clat_scale = _clock(side, "clat")
    slat, slat_scale = _clock(side, "slat")
    times, by = (lat, scale) if lat is not None else (clat, clat_scale)
    if times is None:
        return {"figures": {}}
    figures: dict[str, Figure] = {}
    for name in ("mean", "min", "max"):
        value = number(times, name)
        if value is not None and value < _NEVER:
            figures[f"time.{name}"] = _time(value, by)
    clock = "" if lat is not None else COMPLETION
    whole_mean = (number(times, "mean") or 0.0) * by
    submit = (number(slat, "mean") or 0.0) * slat_scale if slat is not None else 0.0
    from_, ns = (lat, scale) if lat is not None and _percentiles(lat) else (clat, clat_scale)
    if from_ is not None and (from_ is times or submit <= SUBMIT_SHARE * whole_mean):
        # Ends of the clock of the percentiles: the least of lat may be above the first of clat.
        for name in ("min", "max"):
            if _percentiles(from_) and (end := number(from_, name)) is not None and end < _NEVER:
                figures[f"time.{name}"] = _time(end, ns)
        beside = submit if lat is not None and from_ is clat else 0.0
        most = (number(from_, "max") or 0.0) * ns
        figures |= {
            f"time.p{p}": _fio.of_bucket(v * ns, submit_ns=beside, most_ns=most) for p, v in _percentiles(from_).items()
        }
    lost = from_ is not None and bool(_percentiles(from_)) and not any(k.startswith("time.p") for k in figures)
    made: dict[str, Any] = {"figures": figures, "clock": clock, "lost": lost}
    for block, block_ns in ((lat, scale), (clat, clat_scale)):
        if block is not None and (bins := _bins(block, block_ns)):
            made["histogram"] = histogram.from_bins(bins)
            if block is clat and submit > SUBMIT_SHARE * whole_mean:
                made["clock"] = COMPLETION
            break
    return made


def _time(value: float, scale: float) -> Figure:
    """In ns; what was printed in µs keeps its unit and its rounding."""
    if scale == 1.0:
        return exact(value, Dimension.TIME)
    step = 1.0 if float(value).is_integer() else 0.01
    return Figure(dimension=Dimension.TIME, value=value, unit="us", step=step, rounding=Rounding.NEAREST)


def _percentiles(times: Mapping[str, Any]) -> dict[str, float]:
    """By ``99.9``; fio 3.1 repeats the key 0.00, and older ones fill unused places with it."""
    found = times.get("percentile")
    if not isinstance(found, dict):
        return {}
    read = {f"{float(p):.10g}": float(number(found, p) or 0) for p in found if re.fullmatch(r"\d{1,3}(\.\d+)?", p)}
    return {p: v for p, v in read.items() if 0 < float(p) <= 100}


def _bins(times: Mapping[str, Any], scale: float) -> dict[int, int]:
    found = times.get("bins")
    if not isinstance(found, dict):
        return {}
    return {max(1, round(int(ns) * scale)): int(n) for ns, n in found.items() if int(n) > 0}


def _points(states: Sequence[ImportedCell]) -> tuple[ImportedInterval, ...]:
    """The intervals between cumulative states of one job, the last one its end."""
    made: list[ImportedInterval] = []
    before: ImportedCell | None = None
    for state in states:
        start, end = (0.0 if before is None else before.seconds or 0.0), state.seconds or 0.0
        sides = {}
        for name, now in state.sides.items():
            then = None if before is None else before.sides.get(name)
            ios = (now.base("ios") or 0.0) - ((then.base("ios") or 0.0) if then is not None else 0.0)
            size = (now.base("bytes") or 0.0) - ((then.base("bytes") or 0.0) if then is not None else 0.0)
            if ios >= 0 and size >= 0 and "ios" in now.figures:
                sides[name] = {"ios": ios, "bytes": size}
        if end > start:
            made.append(ImportedInterval(start_ns=round(start * NS_PER_S), end_ns=round(end * NS_PER_S), sides=sides))
            before = state
    return tuple(made)
