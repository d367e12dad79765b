"""Runs that went wrong in every way a run can: analysed, diagnosed and drawn without a crash, NaN or infinity."""

from __future__ import annotations

import math
import random
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import pytest
from analyse.material import cell_result, counter, engine_result, plan_of, workload
from sample_report import build
from tiers import rest_in_ci

from strata.analyse import analyse
from strata.diagnose import diagnose
from strata.diagnose.decide import propose
from strata.model.finding import Diagnosis, VerdictKind
from strata.model.result import CellResult, EngineResult
from strata.model.run import NoiseProbe, Report
from strata.model.stack import Layer, Stack
from strata.model.workload import OpenLoop, Workload
from strata.report import json_, markdown, terminal
from strata.report.html import page as html

DISK = Layer(name="disk", endpoint="block:/dev/x")
FILE = Layer(name="file", endpoint="file:/x", on=("disk",))
SHARE = Layer(name="share", endpoint="nbd://127.0.0.1:1/x", on=("file",))
LAYERS = (DISK, FILE, SHARE)
WORKLOADS = (
    workload(depth=1),
    workload(depth=8),
    workload(depth=32),
    workload("read", 128, 8),
    workload("randwrite"),
    workload("randrw", rwmixread=70),
)

NO_NUMBER = re.compile(r"(?<![\w-])(nan|inf|NaN|Infinity)(?![\w-])")

Make = Callable[[str, Workload, int], EngineResult | None]


def figure(layer: str, w: Workload, number: int) -> float:
    """IOPS with 3 % of noise, each layer a little slower."""
    noise = random.Random(f"{layer}{w.key}{number}").gauss(1, 0.03)
    return noise * {"disk": 1.0, "file": 0.98, "share": 0.9}[layer] * 1000 * w.outstanding**0.8


def plain(layer: str, w: Workload, number: int) -> EngineResult | None:
    x = figure(layer, w, number)
    return engine_result(w, x, rates=[x * 0.99, x * 1.01, x, x])


def failing(which: Callable[[str, Workload, int], bool], instead: Callable[[Workload], EngineResult | None]) -> Make:
    """As `plain`, with something else where ``which`` says so."""
    return lambda layer, w, n: instead(w) if which(layer, w, n) else plain(layer, w, n)


def nothing(w: Workload) -> None:
    return None


def no_ios(w: Workload) -> EngineResult:
    one = engine_result(w, 100, rates=[0, 0, 0, 0])
    none = one.read.model_copy(update={"ops": 0, "bytes": 0, "service_sum_ns": 0})
    return one.model_copy(update={"read": none, "write": none, "errored": 7, "stuck": 8, "completed": 0})


def no_time(w: Workload) -> EngineResult:
    return engine_result(w, 100).model_copy(update={"measured_ns": 0})


def one_io(w: Workload) -> EngineResult:
    return engine_result(w, 0.5, rates=[0, 0, 0, 0.5])


def instant(w: Workload) -> EngineResult:
    return engine_result(w, 1e9, mean_ns=0, rates=[1e9] * 4)


def late(w: Workload) -> EngineResult:
    """Nothing for most of the span, then a burst: what a stall looks like."""
    return engine_result(w, 500, rates=[0, 0, 0, 2000])


@dataclass
class Edge:
    """One odd run."""

    make: Make = plain
    layers: Sequence[Layer] = LAYERS
    workloads: Sequence[Workload] = WORKLOADS
    rounds: int = 3
    counters: bool = False
    first: NoiseProbe | None = None
    more: dict[str, Any] = field(default_factory=dict)


def always(*_: object) -> bool:
    return True


EDGES = {
    "ordinary": Edge(),
    "with counters": Edge(counters=True),
    "one round": Edge(rounds=1),
    "two rounds": Edge(rounds=2),
    "one layer": Edge(layers=(DISK,)),
    "one layer, one round, one workload": Edge(layers=(DISK,), rounds=1, workloads=WORKLOADS[:1]),
    "one workload": Edge(workloads=WORKLOADS[1:2]),
    "everything failed": Edge(make=failing(always, nothing)),
    "nothing completed": Edge(make=failing(always, no_ios)),
    "no span at all": Edge(make=failing(always, no_time)),
    "one I/O each": Edge(make=failing(always, one_io)),
    "no time at all": Edge(make=failing(always, instant)),
    "stalls everywhere": Edge(make=failing(always, late)),
    "a cell without I/Os in one round": Edge(make=failing(lambda la, w, n: n == 1 and w is WORKLOADS[1], no_ios)),
    "a stall in one round": Edge(make=failing(lambda la, w, n: n == 1 and la == "file", late)),
    "a layer whose cells all failed": Edge(make=failing(lambda la, w, n: la == "share", nothing)),
    "the layer in between failed": Edge(make=failing(lambda la, w, n: la == "file", nothing)),
    "the lowest layer failed": Edge(make=failing(lambda la, w, n: la == "disk", no_ios)),
    "no round in common": Edge(make=failing(lambda la, w, n: (n == 1) == (la == "file"), nothing)),
    "only the first round": Edge(make=failing(lambda la, w, n: n > 0, nothing)),
    "one round of one layer": Edge(make=failing(lambda la, w, n: la == "share" and n > 0, nothing)),
    "one I/O at one layer": Edge(make=failing(lambda la, w, n: la == "share", one_io)),
    "no time at one layer": Edge(make=failing(lambda la, w, n: la == "disk", instant)),
    "one pair only": Edge(make=failing(lambda la, w, n: w is not WORKLOADS[0] and la != "disk", nothing)),
    "open loop only": Edge(workloads=tuple(w.model_copy(update={"arrival": OpenLoop(iops=500)}) for w in WORKLOADS)),
    "a still first look": Edge(
        first=NoiseProbe(
            layer="disk", workload_key="x", repeats=1, seconds=0.5, bin_ns=1, between=0.0, within_bins=0.0, iops=0.0
        ),
        rounds=1,
    ),
}


def report_of(edge: Edge) -> Report:
    stack = Stack(name="edge", layers=tuple(edge.layers))
    plan = plan_of(stack, edge.workloads, edge.rounds)
    sampled = [counter("cpu_seconds", v, cpu="all", mode=m) for m, v in (("user", 0.0), ("idle", 0.0))]
    sampled += [counter("blockdev_read_bytes", 0.0, device="x"), counter("blockdev_write_bytes", 0.0, device="x")]
    results: list[CellResult] = []
    for number in range(edge.rounds):
        for layer in edge.layers:
            for w in edge.workloads:
                got = edge.make(layer.name, w, number)
                results.append(
                    cell_result(
                        layer.name,
                        w,
                        number,
                        got,
                        sampled if edge.counters else (),
                        error=None if got is not None else "it broke",
                    )
                )
    analysis = analyse(plan, results, first_noise=edge.first)
    diagnosis: Diagnosis = diagnose(stack, analysis)
    propose(stack, analysis)
    sample = build()
    run = sample.run.model_copy(
        update={"plan": plan, "survey": None, "data": None, "generator": None, "remotes": (), "noise": edge.first}
    )
    return Report(run=run, results=tuple(results), analysis=analysis, diagnosis=diagnosis)


def numbers(value: object, at: str = "$") -> Iterator[tuple[str, float]]:
    """Every number of a dumped value with its place."""
    if isinstance(value, dict):
        for key, item in value.items():
            yield from numbers(item, f"{at}.{key}")
    elif isinstance(value, (list, tuple)):
        for i, item in enumerate(value):
            yield from numbers(item, f"{at}[{i}]")
    elif isinstance(value, float):
        yield at, value


@pytest.mark.parametrize("name", rest_in_ci(EDGES, every_day=10))
@pytest.mark.filterwarnings("error")
def test_an_odd_run_is_analysed_and_drawn(name: str) -> None:
    report = report_of(EDGES[name])
    odd = [(at, v) for at, v in numbers(report.model_dump()) if not math.isfinite(v)]
    assert not odd
    texts = [terminal.render(report, width, False) for width in (80, 200)]
    texts += [markdown.render(report), json_.render(report), html.render(report)]
    assert all(NO_NUMBER.search(text) is None for text in texts)


@pytest.mark.parametrize("name", ["one I/O each", "one round", "everything failed", "no round in common"])
def test_what_carries_no_verdict_gets_none(name: str) -> None:
    assert report_of(EDGES[name]).diagnosis.verdict.kind is VerdictKind.INCONCLUSIVE


def test_more_rounds_are_asked_for_only_where_they_would_be_more() -> None:
    (need,) = report_of(EDGES["one round of one layer"]).diagnosis.verdict.missing
    assert need == "3 rounds in which every layer is measured"
    (need,) = report_of(EDGES["one round"]).diagnosis.verdict.missing
    assert need == "about 3 rounds instead of 1"


def test_what_was_counted_is_written_whole() -> None:
    report = report_of(EDGES["nothing completed"])
    assert "21 I/Os failed" in report.diagnosis.verdict.explanation


def test_a_rise_from_a_stall_is_no_factor() -> None:
    (first, *_) = [c.message for c in report_of(EDGES["stalls everywhere"]).analysis.checks if c.kind == "unsteady"]
    assert first.startswith("IOPS rose from next to nothing from the first")
