"""The answers of Prometheus' ``query_range``: a matrix of series, with times in s and values as texts."""

from __future__ import annotations

import math

from strata.formats.results import _prometheus
from strata.formats.results._counters import Sampled
from strata.formats.results.source import Misread, Source, documents_with
from strata.model.imported import Imported

NAME, TITLE, ORDER = "prometheus-json", "Prometheus' JSON (query_range)", 102


def recognise(head: str) -> bool:
    return '"resultType"' in head and '"status"' in head


def read(source: Source) -> Imported:
    """Series of every result in it."""
    sampled, left, instances = Sampled(), dict[str, None](), set[str]()
    lost = 0
    for document in documents_with(source, "data", dict, "it has no data"):
        data = document["data"]
        if data["resultType"] != "matrix":
            raise Misread(f"it is of one moment ({str(data['resultType'])[:40]}): ask for a course, with query_range")
        for one in data["result"]:
            labels = {str(k): str(v) for k, v in one["metric"].items()}
            instances.add(labels.get("instance", ""))
            if "histograms" in one:
                left["native histograms"] = None
            for at, said in one.get("values", []):
                value = float(said)
                if not math.isfinite(value) or isinstance(at, bool):
                    lost += 1
                    continue
                _prometheus.add(sampled, labels, None, at, value)
    if lost:
        left[f"{lost} samples that are no number (NaN, Inf)"] = None
    named = any(metric == _prometheus.NAMELESS for metric, _, _ in sampled.held)
    series = sampled.series({"tool": "prometheus"}, _prometheus.grows)
    return Imported(
        format=NAME, tool="Prometheus", host=_prometheus.host_of(instances), counters=series, left_out=tuple(left),
        notes=("what a query calculated has no name, and its unit is not known: it is called query",) if named else (),
    )  # fmt: skip
