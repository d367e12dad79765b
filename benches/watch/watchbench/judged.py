"""A watching held against what is true of the lab and of its load."""

from __future__ import annotations

import math
import random
from collections.abc import Sequence

from diagnosisbench import score
from diagnosisbench.judge import Judged, Limit, Truth, truths
from diagnosisbench.kept import NO_VERDICT, Verdict
from diagnosisbench.score import SURE, Bar, Row
from diagnosisbench.split import Split

from strata.diagnose.watch.verdict import judge
from strata.model.expect import Expect
from strata.model.finding import Cause, VerdictKind
from strata.model.watch import APPLICATION
from watchbench.case import WatchCase, verdict_of
from watchbench.loads import LOADS, Does

ITSELF = Limit("the load itself", frozenset({Cause.GENERATOR, Cause.CLIENT_PROCESSORS}), frozenset({APPLICATION}))


def replayed(case: WatchCase) -> Verdict:
    """By the rules of today."""
    if case.observed is None:
        return NO_VERDICT
    found = judge(case.observed)
    return verdict_of(found.verdict, found.findings)


def withheld(case: WatchCase, times: int, split: Split) -> list[Judged]:
    """As judged with counters, traces, issuers and the specification taken away at random, the same ones each time."""
    seen = case.observed
    if seen is None:
        return []
    chance, found = random.Random(case.trial.seed), []
    for _ in range(times):
        away = chance.uniform(0.1, 0.7)
        rates = {name: values for name, values in seen.rates.items() if chance.random() >= away}
        layers = tuple(x.model_copy(update={"expect": Expect()}) for x in seen.stack.layers)
        stack = seen.stack.model_copy(update={"layers": layers}) if chance.random() < 0.5 else seen.stack
        less = seen.model_copy(
            update={
                "rates": rates,
                "stack": stack,
                "arrivals": seen.arrivals if chance.random() < 0.5 else (),
                "issuers": seen.issuers if chance.random() < 0.7 else (),
                "ran": seen.ran if chance.random() < 0.7 else None,
            }
        )
        told = judge(less)
        found.append(held(case, verdict_of(told.verdict, told.findings), split))
    return found


def truth_of(case: WatchCase) -> Truth:
    """What is put in, else what the load does to itself."""
    found = truths(case)
    if case.trial.put or LOADS[case.load].does is not Does.ITSELF:
        return found
    return Truth(found.kind, (ITSELF,), found.natural)


def held(case: WatchCase, verdict: Verdict, split: Split) -> Judged:
    """A case with what is said of it."""
    trial = case.trial
    return Judged(
        name=trial.name,
        stack=trial.stack,
        setup=trial.setup,
        truth=truth_of(case),
        verdict=verdict,
        kept=trial.kept(split),
        neighbour=trial.neighbour,
        seconds=math.inf if case.failed else case.seconds,
        layers=len(case.stack.layers) if case.stack else 0,
        seed=trial.seed,
        failed=case.failed is not None,
        health_open=True,
    )


def right_layer(one: Judged) -> bool:
    """The layer that limits the load: of a watching also where its health is left open (the medium limits, at that
    layer).
    """
    return one.right_layer or (one.as_expected and any(limit.placed(one.first) for limit in one.truth.limits))


def missaid(case: WatchCase, verdict: Verdict) -> bool:
    """Whether an idle lab is not said to be idle, or a load is."""
    idle = LOADS[case.load].does is Does.NOTHING
    return idle != (verdict.kind is VerdictKind.IDLE)


def table(found: Sequence[Judged], missed: Sequence[bool]) -> list[Row]:
    """The targets of the issue."""
    limited = [c for c in found if c.truth.limits]
    healthy = [c for c in found if not c.truth.limits]
    return [
        score.share("right layer, first named", limited, right_layer, Bar(0.9, 0.95)),
        score.share("right cause, first named", limited, lambda c: c.right_cause, Bar(0.75, 0.85)),
        score.share("healthy or idle blamed", healthy, lambda c: c.blamed, Bar(0.02, 0.0, most=True)),
        score.share("confident and wrong (0.8 and more)", found, lambda c: c.wrong and c.first.confidence >= SURE,
                    Bar(0.02, 0.0, most=True)),
        score.share("inconclusive", limited, lambda c: not c.decided),
        Row("idle taken for a load, or a load for idle", sum(missed), len(missed), unit="", counted=True),
        Row("trials", len(found), len(found), Bar(120, 160), unit="", counted=True),
    ]  # fmt: skip
