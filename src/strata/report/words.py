"""The words for what the vocabulary names by a key."""

from __future__ import annotations

from collections import Counter
from collections.abc import Container

from strata import units
from strata.model.analysis import NoiseFloor
from strata.model.experiment import Outcome
from strata.model.finding import EvidenceKind, Verdict, VerdictKind
from strata.model.percentiles import PERCENTILES, needed
from strata.model.plan import Plan
from strata.model.run import NoiseProbe, Report, Run, RunStatus
from strata.report import figures

KIND = {
    VerdictKind.MEDIUM: "the medium is the limit, as expected",
    VerdictKind.LAYER: "this layer costs more than expected",
    VerdictKind.GENERATOR: "the load generator is the limit",
    VerdictKind.IMPOSSIBLE: "the result is impossible",
    VerdictKind.HEALTHY: "nothing above the medium costs more than expected",
    VerdictKind.INCONCLUSIVE: "inconclusive",
    VerdictKind.APPLICATION: "the application itself is the limit",
    VerdictKind.IDLE: "nothing is requested",
}

EVIDENCE = {
    EvidenceKind.DIFFERENTIAL: "layer comparison",
    EvidenceKind.OPERATIONAL: "counters and Little's law",
    EvidenceKind.INTERVENTIONAL: "experiment",
}


def rounds(plan: Plan) -> str:
    """``5 interleaved rounds``, or ``2 to 6 interleaved rounds`` where some cells were measured again."""
    counts = Counter(s.cell for s in plan.steps).values()
    most = max(counts, default=plan.rounds)
    told = figures.plural(max(most, plan.rounds), "interleaved round")
    return told if most <= plan.rounds else f"{plan.rounds} to {told}"


def head(report: Report, common: str) -> str:
    """``demo · 8 KiB · 5 interleaved rounds · noise floor ±1.1 %``; ``common``: what all its workloads share."""
    plan = report.run.plan
    return " · ".join(filter(None, (plan.stack.name, common, rounds(plan), noise_floor(report.analysis.noise))))


def debug_build(report: Report) -> bool:
    """Whether any figure comes from an engine compiled without optimisation."""
    measured = any(r.result is not None and r.result.debug_build for r in report.results)
    return measured or report.run.environment.build.get("profile") == "debug"


def incomplete(report: Report) -> str | None:
    """What to say when the run did not get to its end; None when it did."""
    if report.run.status is RunStatus.DONE:
        return None
    done = sum(1 for r in report.results if r.result is not None)
    head = f"{done} of {figures.plural(len(report.run.plan.steps), 'step')} measured"
    state = {RunStatus.RUNNING: "still running", RunStatus.STOPPED: "stopped", RunStatus.FAILED: "failed"}
    why = f": {report.run.message}" if report.run.message else ""
    return f"run {state[report.run.status]}, {head}{why}"


def noise_floor(noise: NoiseFloor) -> str:
    """``noise floor ±1.1 %``; one round says nothing about the noise, and that is said."""
    if noise.rounds < 2:
        return "noise floor unknown (one round)"
    return f"noise floor ±{figures.percent(noise.between_rounds)}"


def first_noise(probe: NoiseProbe) -> str:
    """``6 repeats at disk: ±1.2 % between repeats, ±3.6 % between 50 ms bins``."""
    bins = units.duration(probe.bin_ns)
    return (
        f"{figures.plural(probe.repeats, 'repeat')} at {probe.layer}: "
        f"±{figures.percent(probe.between)} between repeats, ±{figures.percent(probe.within_bins)} between {bins} "
        "bins"
    )


def hidden(shown: Container[str], ios: int, *, by_moments: bool = False) -> str:
    """``p99 hidden: needs 10 000 I/Os · p99.9: 100 000``: every percentile that is not ``shown``; empty where all are.

    ``by_moments``: those that the number of I/Os would carry were held back because the slow ones came in few moments.
    """
    missing = [p for p in PERCENTILES if p not in shown]
    lumped = [p for p in missing if ios >= needed(p)] if by_moments else []
    said = [f"p{p} hidden: its slow I/Os fell into few moments; measure longer" for p in lumped[:1]]
    short = [p for p in missing if ios < needed(p)]
    said += [f"p{p} hidden: needs {units.count(needed(p))} I/Os" for p in short[:1]]
    return " · ".join([*said, *(f"p{p}:\u00a0{units.count(needed(p))}" for p in short[1:])])


def needs(percentile: str) -> str:
    """``p99 needs 10 000 I/Os``."""
    return f"p{percentile} needs {units.count(needed(percentile))} I/Os"


def note(run: Run) -> str | None:
    """What a finished run has to say about itself; the reason of an unfinished one is told with its state."""
    return run.message if run.message and run.status is RunStatus.DONE else None


def verdict_cause(verdict: Verdict) -> str:
    """The cause in words for a layer; for every other kind the verdict in words."""
    return verdict.cause.words if verdict.kind is VerdictKind.LAYER else KIND[verdict.kind]


def verdict_title(verdict: Verdict) -> str:
    """``share · wire bandwidth``; a layer called medium is not named twice."""
    said = verdict_cause(verdict)
    return f"{verdict.layer} · {said}" if verdict.layer and verdict.layer not in said else said


def outcome(result: Outcome) -> str:
    """What the experiment did to the finding."""
    if result.holds is None:
        return "Undecided"
    return "Confirmed" if result.holds else "Refuted"
