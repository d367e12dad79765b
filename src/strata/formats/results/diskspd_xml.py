"""diskspd's XML (``-Rxml``), 2.0.15 to 2.2.

It has no totals: they are the sum of all threads and targets. Latencies stand there with ``-L`` only, IOPS over time
with ``-D`` only. Caching is two elements since 2.0.17 and one (``DisableAllCache``) before.
"""

from __future__ import annotations

from strata import parsing
from strata.formats.results._diskspd import SPANS_MOST, WHEN, DiskspdTarget, asked_of
from strata.formats.results._measured import printed, together, unix_ns
from strata.formats.results.source import Misread, Source
from strata.model.figures import Dimension, Figure, exact
from strata.model.imported import Imported, ImportedCell, ImportedInterval, Measured
from strata.parsing import XmlElement

NAME, TITLE, ORDER = "diskspd-xml", "diskspd's XML (-Rxml)", 20

_SIDES = (("read", "Read"), ("write", "Write"))
POINTS_MOST = 100_000


def recognise(head: str) -> bool:
    return "<Results>" in head and any(word in head for word in ("<Profile>", "<System>", "<TestTimeSeconds>"))


def read(source: Source) -> Imported:
    """One cell for each time span that has results."""
    text = source.text()
    # Warnings may stand before it, and a note of whoever kept it behind.
    start, end = text.find("<Results>"), text.rfind("</Results>")
    before = text[:start]
    root = parsing.xml_of(text[start : end + len("</Results>")] if end > start else text[start:])
    down = before.count("\n")
    profile = root.first("Profile")
    asked = [] if profile is None else [s for t in profile.every("TimeSpans") for s in t.every("TimeSpan")]
    spans = root.every("TimeSpan")
    if len(spans) > SPANS_MOST:
        raise Misread(f"more than {SPANS_MOST} time spans")
    system = root.first("System")
    started = None if system is None else unix_ns(system.said("RunTime") or "", WHEN)
    left: list[str] = []
    cells = []
    for number, span in enumerate(spans, 1):
        wanted = asked[number - 1] if number <= len(asked) else None
        if span.said("TestTimeSeconds") is None:
            left.append(f"timespan {number}: {span.said('Error') or 'no results found'}")
            continue
        cells.append(_cell(span, wanted, number, down, started))
    settings = _settings(asked[0]) if asked else {}
    targets = (g for t in spans for thread in t.every("Thread") for g in thread.every("Target"))
    sizes = {size for g in targets if (size := _whole(g, "FileSize"))}
    if len(sizes) == 1:
        settings["file_bytes"] = sizes.pop()
    notes = ["diskspd prints no totals here: they are the sum of its threads and targets"]
    if system is not None and system.said("Tool", "VersionDate"):
        notes.append(f"diskspd of {system.said('Tool', 'VersionDate')}")
    return Imported(
        format=NAME,
        tool="diskspd",
        version=("" if system is None else system.said("Tool", "Version") or "")[:40],
        host=("" if system is None else system.said("ComputerName") or "")[:256],
        command=("" if profile is None else profile.said("CommandLine") or "")[:4000],
        cells=tuple(cells),
        started_unix_ns=started,
        settings=settings,
        notes=tuple(notes),
        left_out=tuple(left),
    )


def _cell(span: XmlElement, asked: XmlElement | None, number: int, down: int, started: int | None) -> ImportedCell:
    seconds = _number(span, "TestTimeSeconds")
    targets = [] if asked is None else [_target(t) for ts in asked.every("Targets") for t in ts.every("Target")]
    own = None if asked is None else _whole(asked, "ThreadCount")
    depth = None if asked is None else _whole(asked, "RequestCount")
    words, wrong, labels = asked_of(targets, own or None, depth or None)
    parts = [
        _part(thread, target, seconds, down) for thread in span.every("Thread") for target in thread.every("Target")
    ]
    if not parts:
        raise Misread("a time span without threads", span.line + down)
    sides: dict[str, Measured] = {}
    for side, word in _SIDES:
        there = [p.sides[side] for p in parts if side in p.sides]
        if there:
            sides[side] = _spoken(together(there)[0], span, word)
    whole = _spoken(together(list(sides.values()))[0], span, "Total") if len(sides) > 1 else None
    return ImportedCell(
        name=f"timespan {number}", line=span.line + down, asked=words, incomplete=wrong,
        words={k: v for k, v in labels.items() if v}, seconds=seconds, sides=sides, total=whole, cpu=_cpu(span),
        points=_points(span), parts=tuple(parts) if len(parts) > 1 else (), started_unix_ns=started,
    )  # fmt: skip


def _part(thread: XmlElement, target: XmlElement, seconds: float | None, down: int) -> ImportedCell:
    sides = {}
    for side, word in _SIDES:
        ios, size = _whole(target, f"{word}Count"), _whole(target, f"{word}Bytes")
        if not ios:
            continue
        figures = {"ios": exact(ios)}
        if size is not None:
            figures["bytes"] = exact(size, Dimension.BYTES)
        if seconds:
            # The time is printed to a hundredth of a second.
            figures["iops"] = _over(ios, seconds, Dimension.PLAIN)
            if size is not None:
                figures["rate"] = _over(size, seconds, Dimension.RATE)
        if (mean := _printed(target, f"Average{word}LatencyMilliseconds")) is not None:
            figures["time.mean"] = mean
        deviation = {}
        if (sd := _printed(target, f"{word}LatencyStdev")) is not None:
            deviation["time"] = sd
        sides[side] = Measured(figures=figures, deviation=deviation)
    path = target.said("Path")
    return ImportedCell(
        name=f"thread {thread.said('Id') or '?'}", line=target.line + down,
        words={} if path is None else {"target": path[:256]}, seconds=seconds, sides=sides,
    )  # fmt: skip


def _over(value: float, seconds: float, dimension: Dimension) -> Figure:
    low, high = value / (seconds + 0.005), value / max(seconds - 0.005, 1e-9)
    return exact(value / seconds, dimension, low=low, high=high)


def _spoken(measured: Measured, span: XmlElement, word: str) -> Measured:
    """With the mean and the percentiles that stand beside all threads."""
    latency = span.first("Latency")
    if latency is None:
        return measured
    figures: dict[str, Figure] = {}
    if (mean := _printed(latency, f"Average{word}Milliseconds")) is not None:
        figures["time.mean"] = mean
    for bucket in latency.every("Bucket"):
        percentile, value = _number(bucket, "Percentile"), _printed(bucket, f"{word}Milliseconds")
        if percentile is not None and value is not None:
            key = {0.0: "time.min", 100.0: "time.max"}.get(percentile, f"time.p{percentile:.12g}")
            figures[key] = value
    deviation = dict(measured.deviation)
    if (sd := _printed(latency, "LatencyStdev" if word == "Total" else f"{word}LatencyStdev")) is not None:
        deviation["time"] = sd
    iops = span.first("Iops")
    name = "IopsStdDev" if word == "Total" else f"{word}IopsStdDev"
    if iops is not None and (found := iops.said(name)) is not None and (sd := printed(found)) is not None:
        deviation["iops"] = sd
    return measured.model_copy(update={"figures": {**measured.figures, **figures}, "deviation": deviation})


def _points(span: XmlElement) -> tuple[ImportedInterval, ...]:
    iops = span.first("Iops")
    made = []
    before = 0
    for bucket in ([] if iops is None else iops.every("Bucket"))[:POINTS_MOST]:
        end = int(bucket.attributes.get("SampleMillisecond", "0")[:15]) * 1_000_000
        sides = {}
        for side, word in _SIDES:
            if (rate := printed(bucket.attributes.get(word, ""))) is not None:
                sides[side] = {"iops": rate.value}
        if end > before:
            made.append(ImportedInterval(start_ns=before, end_ns=end, sides=sides))
            before = end
    return tuple(made)


def _cpu(span: XmlElement) -> dict[str, Figure]:
    found = {}
    for name, word in (("busy", "Usage"), ("user", "User"), ("system", "Kernel"), ("idle", "Idle")):
        said = span.said("CpuUtilization", "Average", f"{word}Percent")
        if said is not None and (figure := printed(said, "%", Dimension.SHARE)) is not None:
            found[name] = figure
    return found


def _target(t: XmlElement) -> DiskspdTarget:
    align, stride = _whole(t, "Random"), _whole(t, "StrideSize")
    block, share = _whole(t, "BlockSize"), t.first("Throughput")
    ceiling = None if share is None else printed(share.text)
    by_iops = share is not None and share.attributes.get("unit", "").upper() == "IOPS"
    value = ceiling.value if ceiling is not None and ceiling.value else None
    everything = _said(t, "DisableAllCache")
    return DiskspdTarget(
        path=(t.said("Path") or "")[:256],
        block=block,
        write=_whole(t, "WriteRatio"),
        random=align is not None or t.said("RandomRatio") == "100",
        align=align or stride,
        apart=_whole(t, "ThreadStride"),
        interlocked=_said(t, "InterlockedSequential"),
        depth=_whole(t, "RequestCount"),
        threads=_whole(t, "ThreadsPerFile"),
        direct=everything or _said(t, "DisableOSCache") or _said(t, "DisableLocalCache"),
        through=everything or _said(t, "WriteThrough"),
        size=_whole(t, "FileSize"),
        ceiling=value if by_iops else None,
        # Bytes per millisecond.
        ceiling_bytes=value * 1000 if value is not None and not by_iops else None,
        mapped=_said(t, "MemoryMappedIo"),
        spread=t.first("Distribution") is not None or t.said("RandomRatio") not in (None, "100"),
    )


def _settings(span: XmlElement) -> dict[str, float]:
    found = {"ramp_s": _number(span, "Warmup"), "runtime_s": _number(span, "Duration")}
    return {key: value for key, value in found.items() if value is not None}


def _said(t: XmlElement, tag: str) -> bool:
    return (t.said(tag) or "").lower() == "true"


def _number(t: XmlElement, tag: str) -> float | None:
    said = t.said(tag)
    found = None if said is None else printed(said)
    if said is not None and found is None:
        raise Misread(f"{tag} is {said[:40]!r}, which is not a number", t.line)
    return None if found is None else found.value


def _whole(t: XmlElement, tag: str) -> int | None:
    said = t.said(tag)
    if said is None:
        return None
    if not said.isdecimal() or len(said) > 20:
        raise Misread(f"{tag} is {said[:40]!r}, which is not a count", t.line)
    return int(said)


def _printed(t: XmlElement, tag: str) -> Figure | None:
    said = t.said(tag)
    return None if said is None else printed(said, "ms", Dimension.TIME)
