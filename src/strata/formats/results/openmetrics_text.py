"""Courses of metrics as text: OpenMetrics, Prometheus' exposition with times, and what ``promtool tsdb dump`` prints.

Times are s in OpenMetrics and ms in the others; what is above 10^11 is ms. A sample without a time is one scrape, and
is left out. Units are those of ``# UNIT``, else of the name.
"""

from __future__ import annotations

import math
import re

from strata.formats.results import _prometheus
from strata.formats.results._counters import Sampled
from strata.formats.results.source import Misread, Source, begins
from strata.model.imported import Imported

NAME, TITLE, ORDER = "openmetrics-text", "OpenMetrics and Prometheus' text with times (promtool tsdb dump)", 104

_NAME = r"[A-Za-z_:][\w:]{0,255}"
_SAMPLE = re.compile(
    rf"({_NAME})?(?:\{{([^\n]{{0,65536}})\}})?[ \t]+(\S{{1,40}})(?:[ \t]+([\d.eE+-]{{1,40}}))?(?:[ \t]+#.*)?"
)
_LABEL = re.compile(r'([A-Za-z_]\w{0,255})="((?:[^"\\]|\\.)*)"')
_VALUE = re.compile(r"[+-]?(?:\d{1,40}(?:\.\d{0,40})?|\.\d{1,40})(?:[eE][+-]?\d{1,3})?")
_ESCAPED = re.compile(r"\\(.)")
_MILLISECONDS = 1e11


def recognise(head: str) -> bool:
    return begins(
        head, rf"^# TYPE {_NAME} (?:counter|gauge|histogram|summary|untyped|unknown|info|stateset)"
    ) or begins(head, r'^\{__name__="[^"\n]{1,256}"')


def read(source: Source) -> Imported:
    """A series for each name with its labels."""
    sampled, units, instances = Sampled(), dict[str, str](), set[str]()
    untimed = lost = 0
    for n, line in enumerate(source.lines(), 1):
        said = line.strip()
        if said.startswith("# UNIT ") and len(words := said.split()) == 4:
            units[words[2]] = words[3][:40]
        if not said or said[0] == "#":
            continue
        found = _SAMPLE.fullmatch(said)
        if found is None or (found[1] is None and found[2] is None):
            raise Misread("it is no sample: NAME{LABELS} VALUE TIME", n)
        labels = {key: _ESCAPED.sub(_plain, text) for key, text in _LABEL.findall(found[2] or "")}
        if found[1] is not None:
            labels["__name__"] = found[1]
        instances.add(labels.get("instance", ""))
        value = float(found[3]) if _VALUE.fullmatch(found[3]) else math.nan
        if found[4] is None:
            untimed += 1
        elif not math.isfinite(value):
            lost += 1
        else:
            if _VALUE.fullmatch(found[4]) is None:
                raise Misread(f"{found[4]!r} is not a time", n)
            at = float(found[4])
            name = labels.get("__name__", "").removesuffix("_total")
            unit = {"bytes": "B", "seconds": "s"}.get(units[name], units[name]) if name in units else None
            _prometheus.add(sampled, labels, unit, at / 1000 if at > _MILLISECONDS else at, value)
    if untimed and not sampled.held:
        raise Misread(
            "its samples have no times: it is one scrape; give a course, of query_range or promtool tsdb dump"
        )
    left = [f"{lost} samples that are no number (NaN, Inf)"] * bool(lost)
    left += [f"{untimed} samples without a time"] * bool(untimed)
    series = sampled.series({"tool": "prometheus"}, _prometheus.grows)
    return Imported(
        format=NAME, tool="Prometheus", host=_prometheus.host_of(instances), counters=series, left_out=tuple(left),
    )  # fmt: skip


def _plain(found: re.Match[str]) -> str:
    return {"n": "\n"}.get(found[1], found[1])
