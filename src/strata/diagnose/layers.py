"""Findings about one layer: every rule is asked, the strongest that holds is named, the rest is asked again."""

from __future__ import annotations

import re
from dataclasses import dataclass

from strata.diagnose.models import fit_all
from strata.diagnose.opinion import Case, Opinion, confidence, separation
from strata.diagnose.rules import LAST_RESORT, LAYER_RULES, generator
from strata.diagnose.view import View
from strata.model.finding import Cause, Finding, RuledOut

MOST_FINDINGS = 3


def least_lead(noise: float) -> float:
    """The lead a cause needs over the next one to be a verdict, in chi-square units.

    Half a unit up to a noise of 10 % between rounds, 3 at 20 %: a loud machine has heavier tails than the model of its
    noise, so the same lead is worth less there.
    """
    return 0.5 + 25 * max(0.0, noise - 0.10)


@dataclass(frozen=True)
class Named:
    """A finding with what the verdict must know of it: whether it may be a verdict, and why not.

    ``keys`` are the workloads it accounts for, ``loss`` the sum of their −ln(ratio).
    """

    finding: Finding
    missing: tuple[str, ...]
    loss: float
    keys: frozenset[str]


def findings(view: View) -> tuple[Named, ...]:
    """What makes this layer slow, the strongest cause first; empty when nothing costs more than expected."""
    found: list[Named] = []
    rest = view
    while rest.affected and len(found) < MOST_FINDINGS:
        case = Case(rest, fit_all(rest))
        opinions = [rule(case) for rule in LAYER_RULES.values()]
        chosen = choose(opinions) or LAST_RESORT(case)
        if chosen.cause is Cause.UNEXPLAINED and found:
            break
        found.append(_finding(rest, chosen, opinions))
        done = set(chosen.cells) & {p.key for p in rest.affected}
        if chosen.cause is Cause.UNEXPLAINED or not done:
            break
        rest = rest.without(set(chosen.cells))
        if not rest.points:
            break
    return tuple(sorted(found, key=lambda n: -n.loss))


def choose(opinions: list[Opinion]) -> Opinion | None:
    """The first that holds (the registry has direct evidence first), else one that could hold with more evidence."""
    holding = [o for o in opinions if o.holds]
    if holding:
        return holding[0]
    return next((o for o in opinions if o.holds is None and o.evidence), None)


def _finding(view: View, chosen: Opinion, opinions: list[Opinion]) -> Named:
    kinds = {e.kind for e in chosen.evidence}
    missing = list(chosen.missing)
    if len(kinds) < 2:
        missing.append("a second kind of evidence: counters, or an experiment")
    if chosen.lead < least_lead(view.analysis.noise.between_rounds) and chosen.cause is not Cause.UNEXPLAINED:
        missing.append("workloads that differ in block size and depth: another cause explains these nearly as well")
    sure = confidence(chosen.strength, chosen.lead, separation(view), len(kinds))
    if chosen.cause is Cause.UNEXPLAINED:
        sure = min(sure, 0.5)
    elif chosen.holds is None:
        sure = min(sure, 0.4)
    worst = view.affected[0]
    out = [RuledOut(cause=o.cause, because=o.because) for o in opinions if o.holds is False and o is not chosen]
    out += _generator(view)
    slug = re.sub(r"[^a-z0-9]+", "-", view.layer.name.lower()).strip("-")
    finding = Finding(
        id=f"{slug}-{chosen.cause.value}",
        layer=view.layer.name,
        cause=chosen.cause,
        title=chosen.title,
        explanation=chosen.explanation,
        effect=worst.comparison.iops,
        worst=view.cell(worst),
        confidence=sure,
        evidence=chosen.evidence,
        ruled_out=tuple(out),
        next_step=chosen.next_step,
        experiment=chosen.experiment,
    )
    blocking = tuple(missing) if chosen.cause is not Cause.UNEXPLAINED or len(kinds) < 2 else ()
    mine = [p for p in view.affected if p.key in chosen.cells]
    return Named(finding, blocking, sum(p.loss for p in mine), frozenset(p.key for p in mine))


def _generator(view: View) -> list[RuledOut]:
    cells = [p.upper for p in view.affected]
    room = generator.headroom(view.analysis, cells)
    if room is None or generator.limits(view.analysis, cells):
        return []
    return [RuledOut(cause=Cause.GENERATOR, because=room)]
