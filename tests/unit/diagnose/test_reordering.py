"""Sequential requests out of order: named where a trace shows it and the device suffers."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import pytest

from strata.diagnose import choosing, diagnose, order_wanted, propose
from strata.diagnose.case import Case
from strata.diagnose.causes import reordering
from strata.diagnose.layers import findings, to_ask
from strata.diagnose.opinion import Opinion
from strata.diagnose.registry import trials
from strata.diagnose.separation import worth
from strata.diagnose.trying import experiments_of
from strata.diagnose.variants import reshape
from strata.model.analysis import Analysis, Comparison, Equivalence
from strata.model.experiment import Tried
from strata.model.finding import Cause, Diagnosis, VerdictKind
from strata.model.stack import Stack

from .known import OVER_NBD, SCENES
from .queueing import Path
from .scenes import demo_stack, simulate
from .traced import MS, seen, trace


def reason(diagnosis: Diagnosis) -> str:
    """Why reordering is not it."""
    said = [*diagnosis.ruled_out, *(r for f in diagnosis.findings for r in f.ruled_out)]
    return next(r.because for r in said if r.cause is Cause.REORDERING)


def test_named_with_share_threads_and_service_time() -> None:
    _, found = seen("reordering", late=0.41, times=20)
    assert (found.verdict.layer, found.verdict.cause) == ("path", Cause.REORDERING)
    said = " ".join(e.statement for e in found.findings[0].evidence)
    assert "at sdb" in said and "41 % arrive out of order, issued by 2.0 threads" in said and "40.0 ms for each" in said
    assert found.verdict.confidence > 0.5


def test_without_a_trace_it_is_not_named() -> None:
    scene = SCENES["reordering"]
    found = diagnose(scene.stack, scene.analysis(seed=3, sd=0.01))
    assert found.findings[0].cause is Cause.UNEXPLAINED
    assert "--trace" in found.findings[0].next_step


@pytest.mark.parametrize(
    ("late", "times", "because"),
    [(0.0, 20, "at most 0 % of the requests"), (0.4, 1.0, "does not take longer for them")],
)
def test_ruled_out_by_the_trace(late: float, times: float, because: str) -> None:
    _, found = seen("reordering", late, times)
    assert found.findings[0].cause is Cause.UNEXPLAINED
    assert because in reason(found)


def test_another_device_says_nothing() -> None:
    _, found = seen("reordering", late=0.4, times=20, device="sdz")
    assert found.findings[0].cause is Cause.UNEXPLAINED


def test_devices_of_one_name_are_told_apart_by_their_nodes() -> None:
    _, found = seen("reordering", late=0.41, times=20, nodes=("n1", "n1"))
    assert found.verdict.cause is Cause.REORDERING
    assert "at sdb of n1" in " ".join(e.statement for e in found.findings[0].evidence)
    _, found = seen("reordering", late=0.41, times=20, nodes=("n2", "n1"))
    assert found.verdict.cause is not Cause.REORDERING


def test_random_work_that_is_a_little_slow_too_does_not_rule_out_what_the_trace_shows() -> None:
    """Streams lose clearly more than random work: what it loses is another cause's."""
    stack, analysis = out_of_order()
    cells = []
    for cell in analysis.cells:
        late = cell.layer == "path" and not cell.workload.rw.random and cell.workload.rw.writes
        traced = trace(0.4, 40 * MS, 2.0) if late else trace(0.0, 2 * MS, 1.0)
        cells.append(cell.model_copy(update={"traces": (traced,)}))
    slow = {"value": 0.7, "low": 0.68, "high": 0.72}
    rows = tuple(
        c.model_copy(update={"iops": c.iops.model_copy(update=slow), "verdict": Equivalence.ABOVE})
        if c.workload_key.startswith("randwrite")
        else c
        for c in analysis.comparisons
    )
    found = diagnose(stack, analysis.model_copy(update={"cells": tuple(cells), "comparisons": rows}))
    out = {r.cause for r in (*found.ruled_out, *(r for f in found.findings for r in f.ruled_out))}
    assert Cause.REORDERING not in out and Cause.REORDERING in {f.cause for f in found.findings}


@pytest.mark.parametrize("name", ["slow-wire", "capped-target", "slow-service"])
def test_another_cause_stays_what_it_is(name: str) -> None:
    analysis, found = seen(name, late=0.4, times=20)
    before = diagnose(
        SCENES[name].stack, analysis.model_copy(update={"cells": SCENES[name].analysis(seed=3, sd=0.01).cells})
    )
    assert found.verdict.cause is before.verdict.cause is SCENES[name].cause


def over_a_disk(path: Path, seed: int = 3, sd: float = 0.03, **more: Any) -> tuple[Stack, Analysis]:
    """A medium that writes ten times as fast in order, reached through this path."""
    stack = demo_stack()
    paths = {"direct": Path(base=20e-6, reorder=0.1), "path": path}
    return stack, simulate(stack, paths, seed=seed, sd=sd, trips={"direct": 4e-5, "path": 45e-6}, **more)


def counted(
    analysis: Analysis, longer: float | None = None, foreign: float = 1.0, servers: int = 1, log: float = 0.0,
    merged: float = 1.0,
) -> Analysis:  # fmt: skip
    """With what the kernel counts of the disk. ``longer``: times as long as from ``direct`` that it is busy for each
    I/O of a stream of the path; None: as the loss would have it. ``foreign``: times the bytes that the path asks for.
    ``servers``: of the disk, of which a path that asks for one at a time keeps one busy. ``log``: times as long that a
    second disk is busy, which only one I/O of a hundred reaches. ``merged``: requests for each I/O of a stream that the
    disk gets from ``direct``; from the path it gets one.
    """
    below = {c.workload.key: c for c in analysis.cells if c.layer == "direct"}
    cells = []
    for cell in analysis.cells:
        workload, x = cell.workload, cell.iops.value
        x_below, n = below[workload.key].iops.value, workload.outstanding
        stream = cell.layer == "path" and not workload.rw.random
        times = 1.0 if not stream else x_below / x if longer is None else longer
        busy = min(1.0, 0.9 * times * x / x_below)
        waiting = n if busy >= 0.8 or not stream else n * busy
        if servers > 1 and stream:
            busy, waiting = 0.9, min(n, servers * x / x_below)
        kind = "write" if workload.rw.writes else "read"
        moved = x * workload.bs * (foreign if stream else 1.0)
        told = {f"{k}{d}": 0.0 for k in ("read", "write") for d in ("s", "_bytes", "_seconds")}
        requests = x * merged if cell.layer == "direct" and not workload.rw.random else x
        told |= {f"{kind}s": requests, f"{kind}_bytes": moved, f"{kind}_seconds": waiting}
        told |= {"io_seconds": busy, "weighted_seconds": waiting}
        names = {f"blockdev_{k}{{device=sda}}": v for k, v in told.items()}
        if log:
            small = 0.01 * (log if stream else 1.0)
            beside = {k: v * 0.01 for k, v in told.items()} | {"io_seconds": busy * small, f"{kind}_seconds": n * small}
            names |= {f"blockdev_{k}{{device=sdb}}": v for k, v in beside.items()}
        devices = ("sda", "sdb") if log else ("sda",)
        cells.append(cell.model_copy(update={"counters": cell.counters | names, "devices": devices}))
    return analysis.model_copy(update={"cells": tuple(cells)})


def out_of_order(seed: int = 3) -> tuple[Stack, Analysis]:
    """A path that loses most of the order, so that the disk is busy for longer."""
    stack, analysis = over_a_disk(Path(base=OVER_NBD, reorder=0.8), seed)
    return stack, counted(analysis)


@pytest.mark.parametrize(("times", "named"), [(6.0, True), (1.0, False)])
def test_without_a_trace_two_threads_on_the_layer_below_tell_it(times: float, named: bool) -> None:
    stack, analysis = out_of_order()
    # In order no faster than at random: a cap would look the same, and only the experiment tells the two apart.
    before = diagnose(stack, analysis).verdict
    assert before.layer == "path" and before.confidence < 0.8
    experiment = propose(stack, analysis)
    assert experiment is not None and (experiment.key, experiment.layer) == ("two-threads", "direct")
    assert (experiment.workload.threads, experiment.workload.outstanding) == (2, 8)
    reference = analysis.summary("direct", experiment.reference)
    assert reference is not None
    iops = {k: getattr(reference.iops, k) / times for k in ("value", "low", "high")}
    changed = reference.model_copy(update={"iops": reference.iops.model_copy(update=iops)})
    after = diagnose(stack, analysis, (Tried(experiment=experiment, reference=reference, changed=changed),)).verdict
    assert ((after.kind, after.cause) == (VerdictKind.LAYER, Cause.REORDERING)) is named, after.headline
    # That the other cause fell is no proof of this one: what is left has predicted no change.
    assert (after.confidence >= 0.8) is named


LIMITED = {
    "cap": Path(base=60e-6, cap=8000.0),
    "lock": Path(base=60e-6, lock=100e-6),
    "delay": Path(base=60e-6, delay=0.3e-3),
    "wire": Path(base=60e-6, wire=40e6),
    "wire of writes": Path(base=60e-6, wire=40e6, wire_writes_only=True),
}
"""What limits the streams of a disk that is fast in order alone; random work does not reach it."""


def all_experiments(stack: Stack, analysis: Analysis, path: Path) -> tuple[Tried, ...]:
    """All that are proposed, up to six. The disk is sensitive to order: two threads slow it down whatever the path
    does. The rest is what the simulated stack gives."""
    tried: tuple[Tried, ...] = ()
    while len(tried) < 6 and (experiment := propose(stack, analysis, tried)) is not None:
        reference = analysis.summary(experiment.reference_layer or experiment.layer, experiment.reference)
        assert reference is not None
        if experiment.key == "two-threads":
            gives = reference.iops.value / 6
        else:
            _, again = over_a_disk(path, seed=9, workloads=(experiment.workload,))
            cell = again.summary(experiment.layer, experiment.workload.key)
            assert cell is not None
            gives = cell.iops.value
        times = gives / reference.iops.value
        iops = {k: getattr(reference.iops, k) * times for k in ("value", "low", "high")}
        update = {"workload": experiment.workload, "iops": reference.iops.model_copy(update=iops)}
        tried += (Tried(experiment=experiment, reference=reference, changed=reference.model_copy(update=update)),)
    return tried


@pytest.mark.parametrize("sd", [0.03, 0.12])
@pytest.mark.parametrize(
    "seen", ["nothing", "the device waits", "a disk of several servers", "bytes of others", "a log"]
)
@pytest.mark.parametrize("limit", LIMITED)
def test_a_limit_that_only_streams_reach_is_no_lost_order(limit: str, seen: str, sd: float) -> None:
    """That the disk below is fast in order alone shows nothing of what limits the layer above it."""
    path = LIMITED[limit]
    stack, analysis = over_a_disk(path, sd=sd)
    if seen == "the device waits":
        analysis = counted(analysis, longer=1.0)
    elif seen == "a disk of several servers":
        analysis = counted(analysis, longer=1.0, servers=4)
    elif seen == "a log":
        analysis = counted(analysis, longer=1.0, log=6.0)
    elif seen == "bytes of others":
        analysis = counted(analysis, foreign=2.0)
    found = diagnose(stack, analysis, all_experiments(stack, analysis, path))
    assert not any(f.cause is Cause.REORDERING and f.outcome is not None for f in found.findings)
    assert found.verdict.cause is not Cause.REORDERING or found.verdict.kind is VerdictKind.INCONCLUSIVE
    if seen in ("the device waits", "a disk of several servers", "a log"):
        assert found.verdict.cause is not Cause.REORDERING


@pytest.mark.parametrize(("merged", "suspected"), [(1.0, True), (0.7, True), (0.1, False)])
def test_neighbours_that_are_merged_below_and_not_here_are_no_lost_order(merged: float, suspected: bool) -> None:
    """As long for each of its requests as from below, and more of them: the device does not take longer for the order,
    which two threads below would take from it as well, for they are not merged either."""
    path = Path(base=OVER_NBD, reorder=0.8)
    stack, analysis = over_a_disk(path)
    analysis = counted(analysis, merged=merged)
    assert any(p.key == "two-threads" for p in [propose(stack, analysis)] if p) is suspected
    found = diagnose(stack, analysis, all_experiments(stack, analysis, path))
    assert (Cause.REORDERING in {f.cause for f in found.findings}) is suspected
    if not suspected:
        assert "as quickly as from below" in reason(found)


def test_the_order_is_asked_for_where_only_it_would_tell_and_not_once_it_is_known() -> None:
    stack, analysis = out_of_order()
    wanted = order_wanted(stack, analysis)
    assert {layer for layer, _ in wanted} == {"direct", "path"} and len(wanted) <= 4
    assert all(not (s := analysis.summary(*cell)) or not s.workload.rw.random for cell in wanted)
    # Nothing but streams is slow, and no rule knows why.
    scene = SCENES["reordering"]
    untold = scene.analysis(seed=3, sd=0.01)
    asked = order_wanted(scene.stack, untold)
    assert asked and not any("rand" in key for _, key in asked)
    traced, _ = seen("reordering", late=0.41, times=20)
    assert order_wanted(scene.stack, traced) == ()
    for name in ("slow-wire", "slow-service"):
        assert order_wanted(SCENES[name].stack, SCENES[name].analysis(seed=3, sd=0.01)) == (), name


def test_two_threads_may_lose_all_order_and_do_not_refute_it() -> None:
    """What relays lose of the order says not how much there is to lose: at most, a stream becomes random work."""
    stack, analysis = out_of_order()
    experiment = propose(stack, analysis)
    assert experiment is not None and experiment.key == "two-threads"
    mine = next(p for p in experiment.predictions if p.cause == Cause.REORDERING.value)
    stream = analysis.summary("direct", experiment.reference)
    random = analysis.summary("direct", "randwrite-8KiB-qd8-dsync") or analysis.summary("direct", "randwrite-8KiB-qd8")
    assert stream is not None and random is not None
    assert mine.low <= random.iops.value / stream.iops.value < mine.high < 0.9


def widened(analysis: Analysis, rows: dict[str, tuple[float, float]], layer: str = "path") -> Analysis:
    """With these ratios, by the workload, known to so many times as much or as little."""

    def as_told(one: Comparison) -> Comparison:
        if one.layer != layer or one.workload_key not in rows:
            return one
        value, wide = rows[one.workload_key]
        ratio = {"value": value, "low": value / wide, "high": value * wide}
        slow = value * wide < one.line
        verdict = Equivalence.ABOVE if slow else Equivalence.CANNOT_TELL
        return one.model_copy(update={"iops": one.iops.model_copy(update=ratio), "verdict": verdict})

    return analysis.model_copy(update={"comparisons": tuple(map(as_told, analysis.comparisons))})


STREAM, AT_RANDOM, ALONE = "write-8KiB-qd8", "randwrite-8KiB-qd8", "randwrite-8KiB-qd1"


def with_one_alone(analysis: Analysis) -> Analysis:
    """With random writes one at a time, too."""
    like = next(c.workload for c in analysis.cells if c.workload.key == AT_RANDOM)
    one = reshape(like, depth=1 / 8)
    assert one.key == ALONE
    cells = [c.model_copy(update={"workload": one}) for c in analysis.cells if c.workload.key == AT_RANDOM]
    rows = [c.model_copy(update={"workload_key": ALONE}) for c in analysis.comparisons if c.workload_key == AT_RANDOM]
    return analysis.model_copy(
        update={"cells": (*analysis.cells, *cells), "comparisons": (*analysis.comparisons, *rows)}
    )


@pytest.mark.parametrize(
    ("random", "alone", "known", "known_by_the_device"),
    [((0.95, 1.1), (1.0, 1.1), True, True), ((0.95, 3.0), (1.0, 1.1), True, True),
     ((0.95, 5.0), (1.0, 5.0), False, True), ((0.42, 5.0), (1.0, 1.1), False, True),
     ((0.42, 1.1), (1.0, 1.1), False, False)],
)  # fmt: skip
@pytest.mark.parametrize("longer", [1.0, None])
def test_a_stream_is_held_against_all_random_work_of_its_kind(
    random: tuple[float, float],
    alone: tuple[float, float],
    known: bool,
    known_by_the_device: bool,
    longer: float | None,
) -> None:
    """Where the one of its own depth varies too much to tell; not where that one loses as much. Where the device was
    seen to be busy longer for the stream, no limit of one direction slows it: random reads tell of writes, too."""
    stack, analysis = over_a_disk(Path(base=OVER_NBD, reorder=0.8))
    known = known if longer else known_by_the_device
    analysis = counted(with_one_alone(analysis), longer)
    found = widened(analysis, {STREAM: (0.4, 1.4), AT_RANDOM: random, ALONE: alone})
    pair = next(p for p in Case(stack, found).pairs if p.view.layer.name == "path")
    point = next(p for p in pair.view.points if p.key == STREAM)
    extra = reordering.excess(pair, point)
    assert (extra is not None) is known
    assert extra is None or 0.25 < extra <= math.log((1.0 if random[0] < 0.5 else 0.95) / 0.4) + 1e-9


def test_what_chance_may_have_slowed_is_not_said_and_is_asked_of_an_experiment() -> None:
    stack, analysis = out_of_order()
    fine = {c.workload_key: (0.97, 1.05) for c in analysis.comparisons if c.layer == "path"}
    case = Case(stack, widened(analysis, fine | {STREAM: (0.5, 1.5), AT_RANDOM: (0.6, 1.35)}))
    named, (aside,) = findings(case)
    assert not named and aside.finding.cause is Cause.UNEXPLAINED
    remains, order = (Opinion(None, cause=c) for c in (Cause.PER_REQUEST_COST, Cause.REORDERING))
    assert not list(to_ask((replace(aside, standing=(remains,)),)))
    # Where a cause stands beside it that an experiment tells, that is tried.
    assert list(to_ask((replace(aside, standing=(remains, order)),))) == [("path", (order,))]
    case = Case(stack, widened(analysis, fine | {STREAM: (0.5, 1.5)}))
    (pair,) = (p for p in case.pairs if p.view.layer.name == "path")
    told = replace(reordering.judge_pair(pair), cause=Cause.REORDERING)
    asked = choosing.best(case, (), (replace(aside, standing=(remains, told)),), 60.0)
    assert asked is not None and (asked.key, asked.prediction.layer) == ("two-threads", "path")
    without = choosing.best(case, (), (aside,), 60.0)
    assert without is None or without.key != "two-threads"


def two_over_one(against_each_other: float) -> tuple[Stack, Analysis]:
    """Two layers that lose the order of what both stand on, the second one more of it; and what it gives of the
    first."""
    stack, analysis = out_of_order()
    other = stack.layers[-1].model_copy(update={"name": "other", "on": ("direct",), "against": ("direct", "path")})
    both = stack.model_copy(update={"layers": (*stack.layers, other)})
    cells = [c.model_copy(update={"layer": "other"}) for c in analysis.cells if c.layer == "path"]
    rows = [c.model_copy(update={"layer": "other"}) for c in analysis.comparisons if c.layer == "path"]
    rows = list(
        widened(analysis.model_copy(update={"comparisons": tuple(rows)}), {STREAM: (0.1, 1.05)}, "other").comparisons
    )
    beside = [c.model_copy(update={"below": "path"}) for c in rows]
    alike = {c.workload_key: (against_each_other if c.workload_key == STREAM else 1.0, 1.05) for c in rows}
    beside = list(widened(analysis.model_copy(update={"comparisons": tuple(beside)}), alike, "other").comparisons)
    more = {"cells": (*analysis.cells, *cells), "comparisons": (*analysis.comparisons, *rows, *beside)}
    return both, analysis.model_copy(update=more)


def test_two_threads_try_every_layer_that_loses_the_order_of_one_below() -> None:
    """Each by what it loses itself: the outcome shows it of both, and neither refutes the other."""
    stack, analysis = two_over_one(1.0)
    trial = next(t for t in trials() if t.key == "two-threads")
    case, told = Case(stack, analysis), {}
    for layer in ("path", "other"):
        pair = next(p for p in case.pairs if (p.view.layer.name, p.view.below.name) == (layer, "direct"))
        opinion = replace(reordering.judge_pair(pair), cause=Cause.REORDERING, layer=layer)
        made = trial.propose(case, (opinion,))
        assert made is not None and made.prediction.layer == layer
        assert {p.layer for p in made.predictions} == {"path", "other"}
        assert worth(made.predictions, (opinion,)) > 0
        told[layer] = made
    assert told["other"].prediction.high < told["path"].prediction.high
    reference = analysis.summary("direct", told["path"].reference)
    assert reference is not None
    iops = {k: getattr(reference.iops, k) / 4 for k in ("value", "low", "high")}
    changed = reference.model_copy(update={"iops": reference.iops.model_copy(update=iops)})
    done = (Tried(experiment=told["path"], reference=reference, changed=changed),)
    assert all(experiments_of(layer, Cause.REORDERING.value, done).telling for layer in ("path", "other"))


@pytest.mark.parametrize(("ratio", "first"), [(0.97, "path"), (0.4, "other")])
def test_what_slows_two_layers_alike_is_named_where_the_figures_begin_to_depart(ratio: float, first: str) -> None:
    stack, analysis = two_over_one(ratio)
    experiment = propose(stack, analysis)
    assert experiment is not None and experiment.key == "two-threads"
    reference = analysis.summary("direct", experiment.reference)
    assert reference is not None
    iops = {k: getattr(reference.iops, k) / 5 for k in ("value", "low", "high")}
    changed = reference.model_copy(update={"iops": reference.iops.model_copy(update=iops)})
    found = diagnose(stack, analysis, (Tried(experiment=experiment, reference=reference, changed=changed),))
    named = [f.layer for f in found.findings if f.cause is Cause.REORDERING]
    assert named[0] == first and set(named) == {"path", "other"}, named
