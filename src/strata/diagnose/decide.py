"""From the analysis to one verdict, and to the experiment that would tell most. Pure: values in, values out."""

from __future__ import annotations

import math
from functools import lru_cache

from strata.diagnose import calibrated, choosing, verdicts
from strata.diagnose.case import Case
from strata.diagnose.causes import generator, impossible, medium, reordering
from strata.diagnose.further import worth_saying
from strata.diagnose.identity_key import IdentityKey
from strata.diagnose.layers import NamedFinding, findings, measured_again
from strata.diagnose.losses import with_shares
from strata.diagnose.trying import beside_their_reference, story
from strata.model.analysis import Analysis, Equivalence
from strata.model.experiment import Experiment, Tried
from strata.model.finding import Diagnosis, Finding, VerdictKind
from strata.model.stack import Stack

Named = tuple[NamedFinding, ...]
SURE, MOST_TRACED = 0.8, 2
"""From there on people act on it. So many workloads are traced at two layers: each is a measurement by itself."""


def diagnose(stack: Stack, analysis: Analysis, tried: tuple[Tried, ...] = ()) -> Diagnosis:
    """Names the layer and the cause, or says what is missing. ``tried``: what experiments gave so far.

    In this order: figures that cannot be true; nothing measured; a layer that costs more than expected (and whether
    that is the generator), or that shows a fault by itself; nothing that does (medium or healthy); not enough to tell.
    """
    case, named, aside = _known(IdentityKey(stack, analysis, tried))
    judged = _judged(case, named)
    told = with_shares(named, _with_next(case, named, aside, judged))
    found = judged.model_copy(update={"findings": told, "story": story(case.tried)})
    first = next((f.id for f in found.findings), None)
    return calibrated.told(found, any(n.alone and n.finding.id == first for n in named))


def propose(
    stack: Stack,
    analysis: Analysis,
    tried: tuple[Tried, ...] = (),
    seconds: float = 90.0,
    refused: tuple[Experiment, ...] = (),
) -> Experiment | None:
    """The experiment that best separates the causes still standing per second; None where none fits into ``seconds``.

    Each is proposed once; ``refused`` are those that could not be run here.
    """
    if not analysis.cells:
        return None
    return _following(*_known(IdentityKey(stack, analysis, tried)), seconds, refused)


def _following(
    case: Case, named: Named, aside: Named, seconds: float, refused: tuple[Experiment, ...] = ()
) -> Experiment | None:
    broken = impossible.broken(case.analysis)
    if not broken:
        return choosing.best(case, named, aside, seconds, refused)
    # What else would be tried compares figures that are none of the layers'.
    why = tuple(n for n in named if impossible.reason(case.stack, broken, [n.finding]) is not None)[:1]
    found = choosing.best(case, why, (), seconds, refused) if why else None
    mine = {(n.finding.layer, n.finding.cause.value) for n in why}
    return found if found is not None and mine & {(p.layer, p.cause) for p in found.predictions} else None


def order_wanted(stack: Stack, analysis: Analysis, tried: tuple[Tried, ...] = ()) -> tuple[tuple[str, str], ...]:
    """(layer, key of the workload) of the cells to trace: where the verdict is about a layer, is not sure, and a lost
    order is suspected, which only the order at the device would tell."""
    if impossible.broken(analysis) or not analysis.cells:
        return ()
    case, *_ = _known(IdentityKey(stack, analysis, tried))
    verdict = diagnose(stack, analysis, tried).verdict
    if verdict.kind not in (VerdictKind.LAYER, VerdictKind.INCONCLUSIVE) or verdict.confidence >= SURE:
        return ()
    wanted = [
        (name, point.key)
        for pair in case.pairs
        if pair.view.layer.name == verdict.layer
        for point in reordering.to_trace(pair)[:MOST_TRACED]
        for name in (pair.view.below.name, pair.view.layer.name)
    ]
    return tuple(dict.fromkeys(wanted))


def _with_next(case: Case, named: Named, aside: Named, told: Diagnosis) -> tuple[Finding, ...]:
    """The first finding has the experiment that would tell most of it, where none has told yet."""
    first = next(iter(told.findings), None)
    if first is None or first.experiment is not None or told.verdict.kind is VerdictKind.IMPOSSIBLE:
        return told.findings
    following = _following(case, named, aside, math.inf)
    if following is None or first.layer not in {p.layer for p in following.predictions}:
        return told.findings
    return (first.model_copy(update={"experiment": following}), *told.findings[1:])


@lru_cache(maxsize=2)
def _known(of: IdentityKey) -> tuple[Case, Named, Named]:
    """The case and its `findings`: asked for the verdict, and again for the next experiment."""
    stack, analysis, tried = of.values
    assert isinstance(stack, Stack) and isinstance(analysis, Analysis) and isinstance(tried, tuple)
    case = Case(stack, analysis, beside_their_reference(analysis, tried))
    return case, *(findings(case) if analysis.cells else ((), ()))


def _judged(case: Case, named: Named) -> Diagnosis:
    stack, analysis = case.stack, case.analysis
    if broken := impossible.broken(analysis):
        told = [n for n in named if n.finding.cause in impossible.WHY and n.finding.stands and not n.withdrawn]
        # A cause that is not sure yet is said, but figures that cannot be true stay the verdict.
        if (why := impossible.reason(stack, broken, (n.finding for n in told if not n.missing))) is not None:
            return verdicts.too_good(broken, why)
        return verdicts.impossible(broken, next((n.finding for n in told), None))
    if not analysis.cells:
        return verdicts.nothing_measured(analysis)
    above = [c for c in analysis.comparisons if c.verdict is Equivalence.ABOVE]
    if named:
        cells = [s for c in above if (s := analysis.summary(c.layer, c.workload_key)) is not None]
        if cells and generator.limits(analysis, cells):
            return verdicts.generator(analysis, cells)
        return verdicts.layer(worth_saying(analysis, named))
    last = [c for c in analysis.cells if c.layer == medium.bottom(stack).name]
    if generator.limits(analysis, last):
        return verdicts.generator(analysis, last)
    if above:
        return verdicts.slight(analysis, above, measured_again(case))
    if not analysis.comparisons and len(stack.layers) > 1:
        return verdicts.nothing_compared(stack, analysis)
    return verdicts.unaffected(case)
