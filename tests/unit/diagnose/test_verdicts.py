"""The verdicts that are not a layer's: impossible, generator, medium, inconclusive, and what they say is missing."""

from __future__ import annotations

import pytest

from strata.diagnose import diagnose, propose
from strata.diagnose.opinion import confidence
from strata.model.analysis import Analysis, CellSummary, Check, Equivalence, NoiseFloor
from strata.model.ends import LatencySplit
from strata.model.estimate import Estimate
from strata.model.experiment import Experiment, Tried
from strata.model.finding import Cause, VerdictKind
from strata.model.stack import Stack
from strata.model.steadiness import Steadiness

from .known import SCENES
from .queueing import Path
from .scenes import demo_stack, everyday_stack, simulate, workload

SLOW_KEY = "read-8KiB-qd8"


def test_an_impossible_figure_outranks_everything() -> None:
    scene = SCENES["slow-wire"]
    broken = Check(kind="rate", layer="path", workload_key="read-8KiB-qd8", impossible=True, message="1 390 is not 138")
    analysis = scene.analysis(seed=1, sd=0.03).model_copy(update={"checks": (broken,)})
    verdict = diagnose(scene.stack, analysis).verdict
    assert (verdict.kind, verdict.layer) == (VerdictKind.IMPOSSIBLE, "path")
    assert "1 390" in verdict.explanation and "read-8KiB-qd8" in verdict.headline


@pytest.mark.parametrize(
    ("kind", "said", "step"),
    [
        ("parts", "Look for the part that is missing.", "Look for the part that is missing."),
        ("utilisation", "Find what the share is of.", "Find what the share is of."),
        ("samples", "Check the columns of these figures.", "Check the columns of these figures."),
        ("little", "Look for the clock.", "Look for the clock."),
        ("tail", "", "Measure again."),
    ],
)
def test_the_next_step_after_an_impossible_figure_is_its_laws(kind: str, said: str, step: str) -> None:
    broken = Check(kind=kind, layer="path", workload_key=None, impossible=True, message="no", next_step=said)
    scene = SCENES["slow-wire"]
    analysis = scene.analysis(seed=1, sd=0.03).model_copy(update={"checks": (broken,)})
    diagnosis = diagnose(scene.stack, analysis)
    assert (diagnosis.verdict.next_step, diagnosis.findings[0].next_step) == (step, step)


def test_a_share_that_beats_its_file_system_is_impossible() -> None:
    paths = {"direct": Path(), "path": Path(service=2e-4)}
    verdict = diagnose(demo_stack(), simulate(demo_stack(), paths, seed=1, sd=0.03)).verdict
    assert verdict.kind is VerdictKind.IMPOSSIBLE
    assert "cache" in verdict.next_step


def test_the_generator_is_named_when_the_slow_cells_are_at_its_ceiling() -> None:
    scene = SCENES["capped-target"]
    analysis = simulate(scene.stack, scene.paths, seed=1, sd=0.03, trips=scene.trips, ceiling=825)
    verdict = diagnose(scene.stack, analysis).verdict
    assert (verdict.kind, verdict.cause) == (VerdictKind.GENERATOR, Cause.GENERATOR)


def test_nothing_measured_says_why() -> None:
    noise = NoiseFloor(between_rounds=0, within_bins=0, tolerance=0.01, rounds=0, cells=0)
    error = Check(kind="errors", layer="path", workload_key=None, impossible=False, message="connection refused")
    empty = Analysis(noise=noise, cells=(), comparisons=(), checks=(error,))
    verdict = diagnose(demo_stack(), empty).verdict
    assert verdict.kind is VerdictKind.INCONCLUSIVE
    assert "connection refused" in verdict.explanation and verdict.missing


def test_one_layer_alone_carries_no_verdict() -> None:
    one = Stack(name="one", layers=demo_stack().layers[:1])
    verdict = diagnose(one, simulate(one, {"direct": Path()}, seed=1, sd=0.03)).verdict
    assert (verdict.kind, verdict.layer) == (VerdictKind.INCONCLUSIVE, "direct")
    assert verdict.missing and "--share" in verdict.next_step


def test_a_layer_without_results_is_said_to_be_missing() -> None:
    stack = everyday_stack()
    analysis = simulate(stack, SCENES["everyday"].paths, seed=1, sd=0.03)
    partial = analysis.model_copy(
        update={
            "cells": tuple(c for c in analysis.cells if c.layer != "share"),
            "comparisons": tuple(c for c in analysis.comparisons if c.layer != "share"),
        }
    )
    verdict = diagnose(stack, partial).verdict
    assert verdict.kind in (VerdictKind.MEDIUM, VerdictKind.HEALTHY)
    assert any("share" in m for m in verdict.missing)
    assert verdict.confidence <= 0.4 and "No results for share" in verdict.explanation and "share" in verdict.next_step


def test_workloads_that_failed_at_a_layer_are_said_to_be_missing() -> None:
    scene = SCENES["healthy"]
    analysis = scene.analysis(seed=1, sd=0.01)
    lost = {c.workload.key for c in analysis.cells if c.layer == "path"} - {"randread-8KiB-qd8"}
    partial = analysis.model_copy(
        update={
            "cells": tuple(c for c in analysis.cells if c.layer != "path" or c.workload.key not in lost),
            "comparisons": tuple(c for c in analysis.comparisons if c.layer != "path" or c.workload_key not in lost),
        }
    )
    verdict = diagnose(scene.stack, partial).verdict
    assert f"{len(lost)} of {len(lost) + 1} workloads at path" in verdict.missing


def test_a_layer_that_answers_nothing_in_time_is_where_to_look_and_no_cause_is_told() -> None:
    scene = SCENES["healthy"]
    analysis = scene.analysis(seed=1, sd=0.01)
    message = "2 measurements failed: no I/O completed within 0.5 s"
    silent = tuple(
        Check(kind="errors", layer="path", workload_key=c.workload.key, impossible=False, message=message)
        for c in analysis.cells
        if c.layer == "path"
    )
    below = {"cells": tuple(c for c in analysis.cells if c.layer != "path"), "comparisons": ()}
    verdict = diagnose(scene.stack, analysis.model_copy(update=below | {"checks": silent})).verdict
    assert (verdict.kind, verdict.layer, verdict.confidence) == (VerdictKind.INCONCLUSIVE, "path", 0.0)
    assert verdict.headline == "inconclusive · path gave no result, direct below it did"
    assert message in verdict.explanation and "IOPS at direct" in verdict.explanation
    assert "--runtime" in verdict.next_step
    # Nobody said why there is nothing: then nothing is said of it either.
    verdict = diagnose(scene.stack, analysis.model_copy(update=below)).verdict
    assert verdict.layer is None and verdict.headline == "inconclusive · no two layers can be compared"


def one_slow(ratio: float, wide: float, spread: float | None = None) -> Analysis:
    """A healthy run but for one workload, which gives so many times the IOPS. ``spread``: of the rate in its time."""
    analysis = SCENES["healthy"].analysis(seed=1, sd=0.005)
    lower, upper = (analysis.summary(layer, SLOW_KEY) for layer in ("direct", "path"))
    assert lower is not None and upper is not None
    rate = {k: getattr(lower.iops, k) * ratio for k in ("value", "low", "high")}
    course = None if spread is None else Steadiness(bin_s=0.05, bins=20, spread=spread)
    slower = upper.model_copy(update={"iops": upper.iops.model_copy(update=rate), "steadiness": course})
    part = Estimate(value=ratio, low=ratio / wide, high=ratio * wide, n=3, unit="ratio")
    return analysis.model_copy(
        update={
            "cells": tuple(slower if c is upper else c for c in analysis.cells),
            "comparisons": tuple(
                c.model_copy(update={"iops": part, "verdict": Equivalence.ABOVE})
                if (c.layer, c.workload_key) == ("path", SLOW_KEY)
                else c
                for c in analysis.comparisons
            ),
        }
    )


@pytest.mark.parametrize(
    ("ratio", "wide", "spread", "said"),
    [
        (0.78, 1.05, None, "none surely 1.25 times as much"),
        (0.55, 1.40, None, "within chance among 8 comparisons"),
        (0.55, 1.27, None, "within chance among 8 comparisons"),
        (0.70, 1.05, None, None),
        (0.70, 1.05, 0.05, None),
        (0.70, 1.05, 0.35, "vary too much"),
        (0.70, 1.05, 1e9, "vary too much"),
    ],
)
def test_a_small_loss_that_nobody_can_explain_blames_no_layer(
    ratio: float, wide: float, spread: float | None, said: str | None
) -> None:
    """One workload beyond the line: it is a finding where it surely costs 1.25 times, and chance gives no such one; nor
    does a rate that goes up and down, of which the rounds agree."""
    found = diagnose(SCENES["healthy"].stack, one_slow(ratio, wide, spread))
    if said is None:
        assert found.findings and found.verdict.layer == "path"
        return
    verdict = found.verdict
    assert (verdict.kind, verdict.cause, found.findings) == (VerdictKind.INCONCLUSIVE, Cause.NONE, ())
    assert "1 workload costs more than expected" in verdict.explanation and said in verdict.explanation
    assert verdict.next_step and verdict.missing


@pytest.mark.parametrize("spread", [0.05, 0.35])
@pytest.mark.parametrize(("gives", "blamed"), [(0.70, True), (0.99, False)])
def test_a_loss_that_nobody_can_explain_is_measured_once_more(spread: float, gives: float, blamed: bool) -> None:
    """Whatever it was at first, it is said where it comes again beside the layer below, and not where it does not."""
    stack, analysis = SCENES["healthy"].stack, one_slow(0.70, 1.05, spread)
    assert bool(diagnose(stack, analysis).findings) is (spread < 0.1)
    asked = _once_more(stack, analysis)
    assert (asked.layer, asked.reference_layer) == ("path", "direct") and asked.workload.key == asked.reference
    lower = analysis.summary("direct", SLOW_KEY)
    assert lower is not None
    rate = {k: getattr(lower.iops, k) * gives for k in ("value", "low", "high")}
    changed = lower.model_copy(update={"layer": "path", "iops": lower.iops.model_copy(update=rate)})
    found = diagnose(stack, analysis, (Tried.of(asked, lower, changed),))
    assert bool(found.findings) is blamed
    if blamed:
        (finding,) = found.findings
        assert (found.verdict.layer, finding.cause) == ("path", Cause.UNEXPLAINED) and finding.confidence <= 0.5
        assert finding.outcome is not None and finding.outcome.holds
    else:
        assert found.verdict.kind is VerdictKind.INCONCLUSIVE and "measured again" in found.verdict.explanation


def test_another_experiment_between_the_two_layers_says_nothing_of_a_loss_without_a_cause() -> None:
    """As a layer on another node is measured beside the one that is blamed: what it predicts is of another cause."""
    stack, analysis = SCENES["healthy"].stack, one_slow(0.70, 1.05)
    lower = analysis.summary("direct", SLOW_KEY)
    assert lower is not None
    asked = _once_more(stack, analysis)
    gains = asked.prediction.model_copy(update={"cause": Cause.REDIRECTED.value, "low": 2.0, "high": 1000.0})
    other = asked.model_copy(update={"key": "owner-node", "prediction": gains, "predictions": (gains,)})
    changed = lower.model_copy(update={"layer": "path"})
    assert diagnose(stack, analysis, (Tried.of(other, lower, changed),)).findings
    assert not diagnose(stack, analysis, (Tried.of(asked, lower, changed),)).findings


def _once_more(stack: Stack, analysis: Analysis) -> Experiment:
    """After whatever else is asked of it, and could not be run."""
    refused: tuple[Experiment, ...] = ()
    while (asked := propose(stack, analysis, (), refused=refused)) is not None:
        if asked.key == "once-more":
            return asked
        refused += (asked,)
    raise AssertionError("it is not measured once more")


def test_layers_without_a_common_workload_cannot_be_compared() -> None:
    analysis = SCENES["healthy"].analysis(seed=1, sd=0.03)
    verdict = diagnose(demo_stack(), analysis.model_copy(update={"comparisons": ()})).verdict
    assert verdict.kind is VerdictKind.INCONCLUSIVE and verdict.missing


def test_one_round_is_not_enough_and_the_rounds_needed_are_said() -> None:
    scene = SCENES["slow-wire"]
    verdict = diagnose(scene.stack, scene.analysis(seed=1, sd=0.03, rounds=1)).verdict
    assert verdict.kind is VerdictKind.INCONCLUSIVE
    assert "rounds" in verdict.missing[0]


def test_wild_noise_ends_inconclusive_with_the_noise_in_words() -> None:
    paths = {"direct": Path(), "path": Path(delay=0.6e-3)}
    wild, quiet = (
        [diagnose(demo_stack(), simulate(demo_stack(), paths, seed=s, sd=sd, rounds=3)).verdict for s in range(6)]
        for sd in (0.5, 0.03)
    )
    for verdict in wild:
        assert (verdict.kind, verdict.cause, verdict.confidence) == (VerdictKind.INCONCLUSIVE, Cause.NONE, 0)
        assert "vary by" in verdict.explanation and "rounds" in verdict.missing[0]
    assert {v.layer for v in quiet} == {"path"} and not any("vary by" in v.explanation for v in quiet)


def test_without_a_round_trip_a_latency_is_not_pinned_on_the_wire() -> None:
    scene = SCENES["far-wire"]
    analysis = simulate(scene.stack, scene.paths, seed=1, sd=0.03)
    verdict = diagnose(scene.stack, analysis).verdict
    assert verdict.kind is VerdictKind.INCONCLUSIVE and verdict.layer == "path"
    assert any("round-trip time" in m for m in verdict.missing)


def test_without_processor_counters_the_processors_are_not_ruled_out() -> None:
    scene = SCENES["capped-target"]
    analysis = scene.analysis(seed=1, sd=0.03)
    blind = analysis.model_copy(
        update={"cells": tuple(c.model_copy(update={"cpu_busy": None, "cpu_busiest": None}) for c in analysis.cells)}
    )
    found = diagnose(scene.stack, blind)
    assert found.verdict.cause is Cause.IOPS_CAP
    assert Cause.PROCESSORS not in {r.cause for r in found.ruled_out}


def test_a_neighbour_that_keeps_the_processors_busy_everywhere_is_no_evidence_against_the_share() -> None:
    scene = SCENES["slow-wire"]
    analysis = scene.analysis(seed=1, sd=0.03)
    loud = analysis.model_copy(
        update={"cells": tuple(c.model_copy(update={"cpu_busy": 0.97, "cpu_busiest": 0.99}) for c in analysis.cells)}
    )
    assert diagnose(scene.stack, loud).verdict.cause is Cause.WIRE_BANDWIDTH


def test_shallow_work_that_does_not_fill_the_medium_is_healthy() -> None:
    paths = {"direct": Path(), "path": Path(base=0.45e-3)}
    stack = Stack.model_validate(demo_stack().model_dump())
    shallow = [workload("randread", 8, 1), workload("randread", 8, 4), workload("read", 64, 4)]
    layers = tuple(
        one.model_copy(update={"expect": one.expect.model_copy(update={"overhead_max": 0.3})}) for one in stack.layers
    )
    stack = stack.model_copy(update={"layers": layers})
    verdict = diagnose(stack, simulate(stack, paths, seed=1, sd=0.03, workloads=shallow)).verdict
    assert (verdict.kind, verdict.cause) == (VerdictKind.HEALTHY, Cause.NONE)


@pytest.mark.parametrize("argument", range(4))
def test_confidence_grows_with_each_argument_and_stays_below_its_ceiling(argument: int) -> None:
    steps: list[list[float]] = [[0.2, 0.6, 1.0], [0, 2, 9], [0, 1, 4], [1, 2, 3]]
    middle: list[float] = [0.8, 3, 1, 2]
    given = []
    for value in steps[argument]:
        args = list(middle)
        args[argument] = value
        given.append(confidence(args[0], args[1], args[2], int(args[3])))
    assert (given == sorted(given) and given[0] < given[-1]) or argument == 3
    assert given[-1] <= 0.75


def told_by_the_server(analysis: Analysis, part: float, note: str = "") -> Analysis:
    """The same where the server of the path tells its side: the time of the layer below, and that part of the rest."""

    def told(cell: CellSummary) -> CellSummary:
        below = analysis.summary("direct", cell.workload.key)
        if cell.layer != "path" or below is None:
            return cell
        mean, least = cell.mean_ns.value, below.mean_ns.value
        server = least + part * max(0.0, mean - least)
        client_ns, server_ns, wire_ns = (
            Estimate(value=v, low=v, high=v, n=3, unit="ns") for v in (mean, server, mean - server)
        )
        one = LatencySplit(
            direction="write" if cell.workload.rw.writes else "read", server="target", client_ns=client_ns,
            server_ns=server_ns, wire_ns=wire_ns, notes=(note,) if note else (),
        )  # fmt: skip
        return cell.model_copy(update={"splits": (one,)})

    return analysis.model_copy(update={"cells": tuple(map(told, analysis.cells))})


@pytest.mark.parametrize(("part", "note", "known"), [(0.9, "", True), (0.2, "", False), (0.9, "of others too", False)])
def test_a_server_that_tells_its_times_stands_for_a_round_trip_that_is_not_known(
    part: float, note: str, known: bool
) -> None:
    scene = SCENES["slow-service"]
    silent = simulate(scene.stack, scene.paths, seed=1, sd=0.03)
    assert diagnose(scene.stack, silent).verdict.missing, "wire or server"
    verdict = diagnose(scene.stack, told_by_the_server(silent, part, note)).verdict
    assert (verdict.cause is Cause.PER_REQUEST_COST and not verdict.missing) == known
    findings = diagnose(scene.stack, told_by_the_server(silent, part, note)).findings
    said = [e.statement for f in findings for e in f.evidence if "at the client" in e.statement]
    assert bool(said) == (not note)
