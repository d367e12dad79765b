"""Courses of metrics as text: OpenMetrics, Prometheus' exposition with times, and what ``promtool tsdb dump`` prints.

Times are s in OpenMetrics and ms in the others; what is above 10^11 is ms. A sample without a time is one scrape, and
is left out. Units are those of ``# UNIT``, else of the name.
"""

from __future__ import annotations

import math

from strata.formats.results import _prometheus
from strata.formats.results._counters import Sampled
from strata.formats.results.source import Misread, Source, begins
from strata.model.imported import Imported
from strata.parsing.exposition import Parser

NAME, TITLE, ORDER = "openmetrics-text", "OpenMetrics and Prometheus' text with times (promtool tsdb dump)", 104

_NAME = r"[A-Za-z_:][\w:]{0,255}"
_MILLISECONDS = 1e11


def recognise(head: str) -> bool:
    return begins(
        head, rf"^# TYPE {_NAME} (?:counter|gauge|histogram|summary|untyped|unknown|info|stateset)"
    ) or begins(head, r'^\{__name__="[^"\n]{1,256}"')


def read(source: Source) -> Imported:
    """A series for each name with its labels."""
    sampled, units, instances = Sampled(), dict[str, str](), set[str]()
    parser, untimed, lost = Parser(), 0, 0
    for n, line in enumerate(source.lines(), 1):
        said = line.strip()
        if said.startswith("# UNIT ") and len(words := said.split()) == 4:
            units[words[2]] = words[3][:40]
        if not said or said[0] == "#":
            continue
        if parser.full:
            parser.forget()
        try:
            head, value, at = parser.sample(said)
        except ValueError as e:
            raise Misread(str(e), n) from e
        name, own = parser.heads[head]
        instances.add(own.get("instance", ""))
        if at is None:
            untimed += 1
        elif not math.isfinite(value):
            lost += 1
        else:
            plain = name.removesuffix("_total")
            unit = {"bytes": "B", "seconds": "s"}.get(units[plain], units[plain]) if plain in units else None
            at_s = at / 1000 if at > _MILLISECONDS else at
            _prometheus.add(sampled, {**own, "__name__": name}, unit, at_s, value)
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
