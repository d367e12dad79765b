"""Findings about layers: every cause is asked, the strongest that holds is named, the rest is asked again."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

from strata import units
from strata.diagnose import members
from strata.diagnose.apart import between_episodes
from strata.diagnose.behind import behind
from strata.diagnose.case import Case, Pair
from strata.diagnose.causes import generator, unexplained
from strata.diagnose.explained import contradiction, cover, rows_of
from strata.diagnose.models import Fit, LimitKind
from strata.diagnose.opinion import CEILING, Opinion, Weight, confidence, ruled_out, separation
from strata.diagnose.own_limits import owns
from strata.diagnose.predict import of_model, predicted
from strata.diagnose.ready import waiting
from strata.diagnose.registry import rule, rules
from strata.diagnose.sides import CauseSide, on
from strata.diagnose.slight import is_slight
from strata.diagnose.trying import CauseTests, after, experiments_of, holds, measured, outcome
from strata.diagnose.view import Point
from strata.model.counters import cpu
from strata.model.experiment import Tried
from strata.model.finding import Cause, Evidence, EvidenceKind, Finding, RuledOut

MOST_FINDINGS = 3
LEAST_LEFT = 0.05
CONFIRMED_PART = 0.8
MOST_NOISE = 0.2
"""Between rounds: beyond it one layer's rates tell nothing of the layer where no shape explains them."""
CEILING_CONFIRMED = 0.97
CEILING_UNKNOWN = 0.48
"""Of a layer that is slow for no known cause, however surely."""
NEAR = 3.84
"""In chi-square units: 95 of 100 values of one more degree of freedom are less. A shape that is no worse by more is not
told from the best one by the figures."""


def least_lead(noise: float) -> float:
    """The lead a cause needs over the next one to be a verdict, in chi-square units.

    Half a unit up to a noise of 10 % between rounds, 3 at 20 %: a loud machine has heavier tails than the model of its
    noise, so the same lead is worth less there.
    """
    return 0.5 + 25 * max(0.0, noise - 0.10)


REMAINS = frozenset({Cause.PER_REQUEST_COST, Cause.LIMITED_QUEUE})
"""Causes that are what is left when others are ruled out: the comparison alone suggests them."""


@dataclass(frozen=True)
class NamedFinding:
    """A finding with what the verdict must know of it: whether it may be a verdict, and why not.

    ``keys`` are the workloads it accounts for, ``loss`` what it costs: the mean over the layer's workloads of −ln of
    what is left. ``standing``: the causes that could still be it, the favourite first. ``withdrawn``: an experiment
    disagreed with what was named before, and nothing else stands. ``one_row``: a shape fitted to one workload alone.
    ``alone``: a counter shows it, what else would look so was counted too, and no other cause stands. ``own_loss``:
    what it costs by the layer's own figures, where the layer shows it by itself.
    """

    finding: Finding
    missing: tuple[str, ...]
    loss: float
    keys: frozenset[str]
    standing: tuple[Opinion, ...] = ()
    withdrawn: bool = False
    one_row: bool = False
    alone: bool = False
    own_loss: float | None = None


def findings(case: Case) -> tuple[tuple[NamedFinding, ...], tuple[NamedFinding, ...]]:
    """(what makes layers slow, the costliest first, empty when nothing does; what is not said of the slow rows: the
    comparison is all there is of it, and chance may be the reason)."""
    own = by_themselves(case)
    found: list[NamedFinding] = []
    aside: list[NamedFinding] = []
    for pair in case.pairs:
        for n in of_pair(pair, own):
            unsaid = _only_compared(case, n) and (_unsure(pair, n) or _gone(pair, n))
            (aside if unsaid else found).append(n)
    # What a pair has named already is not said again.
    told = {(n.finding.layer, n.finding.cause) for n in found}
    for layer in dict.fromkeys(o.layer for o in own):
        mine = [o for o in own if o.layer == layer and (layer, o.cause) not in told]
        found += _of_layer(case, mine)
    found += _of_no_known_cause(case, own, {n.finding.layer for n in found})
    # A cost that is surely known comes before a greater one of which little can be said.
    found.sort(key=lambda n: -n.loss * n.finding.confidence)
    return tuple(_where_it_begins(case, found)), tuple(aside)


def _where_it_begins(case: Case, found: Sequence[NamedFinding]) -> list[NamedFinding]:
    """The same, but what makes two layers slow alike comes first at the one that the other is held against, where it
    may be a verdict there and the other loses nothing more: there the figures begin to depart."""
    ordered: list[NamedFinding] = []
    for one in found:
        place = next((i for i, other in enumerate(ordered) if _begins(case, one, other)), len(ordered))
        ordered.insert(place, one)
    return ordered


def _begins(case: Case, one: NamedFinding, other: NamedFinding) -> bool:
    """Whether the cause of ``other`` is seen at ``one``'s layer already, and its own layer loses no more."""
    if one.finding.cause is not other.finding.cause or one.missing:
        return False
    over = [p for p in case.pairs if (p.view.layer.name, p.view.below.name) == (other.finding.layer, one.finding.layer)]
    return bool(over) and not any(p.key in other.keys for pair in over for p in pair.view.affected)


def to_ask(aside: Iterable[NamedFinding]) -> Iterator[tuple[str, tuple[Opinion, ...]]]:
    """(layer, causes) of slow rows of which nothing is said, where an experiment may show what they come from."""
    for one in aside:
        known = tuple(o for o in one.standing if o.cause not in REMAINS)
        if known:
            yield one.finding.layer, known


def _only_compared(case: Case, named: NamedFinding) -> bool:
    """Whether the comparison is all there is: no cause, or a time for each request, which is what remains when others
    are ruled out, or a number of requests at once, and no experiment has told these from others."""
    layer, cause = named.finding.layer, named.finding.cause
    if cause in REMAINS:
        return not experiments_of(layer, cause.value, case.tried).telling
    return cause is Cause.UNEXPLAINED


def _unsure(pair: Pair, named: NamedFinding) -> bool:
    """Whether little may be lost, or that by chance, and no workload was as slow when it was measured once more."""
    again = unexplained.measured_again(pair)
    return is_slight(pair, named.keys) and not any(again.get(key) for key in named.keys)


def _gone(pair: Pair, named: NamedFinding) -> bool:
    """Whether each of its workloads was measured again beside an experiment and may then have lost nothing: on a busy
    machine other programs take one workload's time in every round, and no second one's."""
    slow = [p for p in pair.view.affected if p.key in named.keys]
    return bool(slow) and all(_not_again(pair, p) for p in slow)


def _not_again(pair: Pair, point: Point) -> bool:
    again = unexplained.measured_again(pair)
    if point.key in again:
        return not again[point.key]
    as_reference = [
        t.reference.iops
        for t in pair.case.tried
        if (t.experiment.reference_layer or t.experiment.layer) == pair.view.layer.name
        and t.experiment.reference == point.key
    ]
    line = point.comparison.line * point.lower.iops.value
    last = as_reference[-1] if as_reference else None
    return last is not None and (last.value if last.high is None else last.high) >= line


def measured_again(case: Case) -> frozenset[str]:
    """Slow workloads that may have lost nothing when an experiment measured them once more."""
    return frozenset(p.key for pair in case.pairs for p in pair.view.affected if _not_again(pair, p))


def _of_no_known_cause(case: Case, opinions: Sequence[Opinion], named: set[str]) -> Iterator[NamedFinding]:
    """Layers that are slower than is promised of them, and of which nothing else was said; not on a machine that slows
    whatever it measures now and then: then every layer is slower than promised by no fault of its own."""
    for one in owns(case) if case.analysis.noise.between_rounds <= MOST_NOISE else ():
        layer = one.station.layer.name
        if one.slow and layer not in named:
            mine = [o for o in opinions if o.layer == layer]
            out = ruled_out(mine)
            chosen = unexplained.of_medium(one)
            found = _named(case, layer, chosen, standing(mine), [], 0.0, out)
            yield replace(found, loss=chosen.loss, keys=chosen.cells)


def by_themselves(case: Case) -> list[Opinion]:
    """What layers show by themselves or against their reference, as experiments left it."""
    own = [replace(o, cause=r.cause) for r in rules() if r.judge is not None for o in r.judge(case)]
    return [after(o, o.layer, case.tried) for o in own]


def suspected(case: Case) -> tuple[Opinion, ...]:
    """What may be so, and needs an experiment before it may be said: the lowest layer's first."""
    order = [s.layer.name for s in case.stations]
    found = [o for o in by_themselves(case) if o.holds is None and o.evidence]
    return tuple(sorted(found, key=lambda o: order.index(o.layer)))


def of_pair(pair: Pair, own: Sequence[Opinion] = ()) -> tuple[NamedFinding, ...]:
    """What makes one layer slower than what it is compared with, the strongest cause first."""
    found: list[NamedFinding] = []
    before: tuple[Opinion, ...] = ()
    whole, rest = pair, between_episodes(pair, own)
    if rest is not whole:
        # They are out of the rows: what the layer shows by itself is told beside them.
        pair, own = rest, [o for o in own if o.cause not in on(CauseSide.EPISODES)]
    while rest.view.affected and len(found) < MOST_FINDINGS:
        opinions = _opinions(rest, own)
        chosen = choose(opinions) or unexplained.judge_pair(rest)
        if chosen.cause is Cause.UNEXPLAINED and found:
            break
        named = _finding(rest, chosen, opinions, before)
        again = next((n for n in found if n.finding.cause is chosen.cause), None)
        if again is not None and (not chosen.holds or named.missing):
            break
        if again is not None:
            # The same cause in more cells: one finding, with what it costs there too.
            found[found.index(again)] = replace(again, loss=again.loss + named.loss, keys=again.keys | named.keys)
            break
        found.append(named)
        before += (chosen,) if chosen.adds else ()
        done = set(chosen.cells) & {p.key for p in rest.view.affected}
        if chosen.cause is Cause.UNEXPLAINED or not done:
            break
        rest = behind(rest, chosen) if chosen.adds else rest.without(set(chosen.cells))
        if not rest.view.points:
            break
    return _with_what_is_left(pair, [_without(n, {f.finding.cause for f in found}) for n in found])


def _without(one: NamedFinding, also: set[Cause]) -> NamedFinding:
    """What was ruled out as all of it and is named for a part is not ruled out."""
    out = tuple(r for r in one.finding.ruled_out if r.cause not in also)
    return replace(one, finding=one.finding.model_copy(update={"ruled_out": out}))


def _with_what_is_left(pair: Pair, found: list[NamedFinding]) -> tuple[NamedFinding, ...]:
    """Slow rows that no finding of the layer explains take confidence with them, by their part of its loss."""
    told = {key for n in found for key in n.keys}
    rest = [p for p in pair.view.affected if p.key not in told]
    lost = sum(p.loss for p in rest) / (sum(p.loss for p in pair.view.affected) or 1.0)
    if lost < LEAST_LEFT:
        return tuple(found)
    left = tuple(pair.view.cell(p) for p in rest)
    return tuple(
        replace(
            n,
            finding=n.finding.model_copy(
                update={"left": left, "confidence": round(n.finding.confidence * (1 - lost / 2), 3)}
            ),
        )
        for n in found
    )


def _opinions(pair: Pair, own: Sequence[Opinion]) -> list[Opinion]:
    """Of every rule about this pair, and of what the layer shows by itself where that is about its slow cells."""
    slow, layer = {p.key for p in pair.view.affected}, pair.view.layer.name
    asked = [(r, r.judge_pair(pair)) for r in rules() if r.judge_pair is not None and r.cause is not Cause.UNEXPLAINED]
    held = [_held(pair, replace(o, cause=r.cause)) for r, o in asked if o is not None]
    judged = [after(o, layer, pair.case.tried) for o in held]
    return judged + [o for o in own if o.layer == layer and o.cells & slow]


def _held(pair: Pair, opinion: Opinion) -> Opinion:
    """A shape that some row contradicts is not accepted: the row says so."""
    if opinion.model is None or not opinion.holds or opinion.weight is Weight.SHOWN:
        return opinion
    row = contradiction(pair, opinion.model)
    if row is None:
        return opinion
    because = f"{row.cell} gives {units.count(row.measured)} IOPS, more than the {units.count(row.high)} it allows"
    return replace(
        opinion, holds=None, because=because, missing=(*opinion.missing, f"the reason why {row.cell} gives more")
    )


def choose(opinions: Sequence[Opinion]) -> Opinion | None:
    """The one that holds, by weight and then by precedence, else one that could hold with more evidence."""
    return next(iter(standing(opinions)), None)


def standing(opinions: Sequence[Opinion]) -> tuple[Opinion, ...]:
    """Those that hold, the favourite first, then those that could with more evidence."""
    alive = [o for o in opinions if o.holds or (o.holds is None and o.evidence)]
    return tuple(sorted(alive, key=lambda o: (not o.holds, o.weight, _precedence(o))))


def _precedence(opinion: Opinion) -> float:
    found = rule(opinion.cause)
    return found.precedence if found else 50.0


def _finding(pair: Pair, chosen: Opinion, opinions: Sequence[Opinion], before: Sequence[Opinion]) -> NamedFinding:
    """``before``: what was named of the pair already and adds to every other limit."""
    view = pair.view
    worst = view.affected[0]
    mine = [p for p in view.affected if p.key in chosen.cells]
    missing = []
    noise = view.analysis.noise.between_rounds
    if chosen.lead < least_lead(noise) and chosen.cause is not Cause.UNEXPLAINED:
        missing.append(_too_near(chosen.lead, noise))
    out = ruled_out(o for o in opinions if o is not chosen)
    if chosen.model is not None and not chosen.rows:
        rows = rows_of(pair, chosen.model, mine)
        chosen = replace(chosen, rows=rows, strength=min(chosen.strength, cover(rows, mine, view.layer.name)))
    apart, near = separation(view), _nearly_as_well(pair, chosen)
    named = _named(pair.case, view.layer.name, chosen, standing(opinions), missing, apart, out, before, near)
    finding = named.finding.model_copy(
        update={
            "effect": worst.comparison.iops,
            "worst": view.cell(worst),
            # What a layer shows by itself is there without the layer below, too.
            "lifts": not chosen.layer,
            "ruled_out": (*named.finding.ruled_out, *_generator(pair)),
        }
    )
    part = {row.cell: row.share for row in chosen.rows} if chosen.adds else {}
    loss = sum(p.loss * part.get(view.cell(p), 1.0) for p in mine) / len(view.everything)
    return replace(named, finding=finding, loss=loss, keys=frozenset(p.key for p in mine))


def _too_near(lead: float, noise: float) -> str:
    """What would tell the next cause from this one: on a quiet machine the lead would do, or it would not."""
    if lead >= least_lead(0.0):
        return f"a quieter machine or more rounds: with {units.percent(noise, 2)} noise another cause may look the same"
    return "workloads that differ in block size and depth: another cause explains these nearly as well"


def _of_layer(case: Case, opinions: Sequence[Opinion]) -> tuple[NamedFinding, ...]:
    """What one layer shows by itself: each cause that holds is a finding of its own."""
    found = []
    alive = standing(opinions)
    counted = [o for o in alive if o.holds and o.weight is Weight.SHOWN and o.cause not in on(CauseSide.EPISODES)]
    shown, cost = frozenset(key for o in counted for key in o.cells), sum(o.loss for o in counted)
    for chosen in alive:
        # What a counter shows of all its cells, and of most of what is lost, comes before what their figures suggest.
        told = chosen.weight is not Weight.SHOWN and chosen.cells and chosen.cells <= shown
        if not chosen.holds or (told and cost >= chosen.loss / 2):
            continue
        out = ruled_out(opinions)
        others = tuple(o for o in alive if o is not chosen and o.cells & chosen.cells)
        named = _named(case, chosen.layer, chosen, (chosen, *others), [], max(0.0, chosen.lead), out)
        found.append(replace(named, loss=chosen.loss, keys=chosen.cells))
    return tuple(found)


def _named(
    case: Case,
    layer: str,
    chosen: Opinion,
    alive: tuple[Opinion, ...],
    missing: list[str],
    apart: float,
    out: list[RuledOut],
    before: Sequence[Opinion] = (),
    near: Sequence[Fit] = (),
) -> NamedFinding:
    """``near``: shapes of other causes that the figures do not tell from the chosen one's."""
    known = experiments_of(layer, chosen.cause.value, case.tried)
    # What a limit that is named already gives by itself shows no second one; and what another shape gives too, that
    # the figures fit nearly as well, does not show this one.
    told_by_others = [
        t for t in known.telling
        if any(_gives(case, o, layer, t) for o in before) or any(_fits(case, f, layer, t) for f in near)
    ]  # fmt: skip
    known = replace(known, telling=tuple(t for t in known.telling if t not in told_by_others))
    shape = chosen.model is not None and chosen.weight is Weight.SUGGESTED
    one_row = shape and len(chosen.cells) == 1
    if one_row or chosen.alike:
        # A shape through a single row is any shape: an experiment tells two of them apart, and not the others.
        known = replace(known, telling=())
    evidence = (*chosen.evidence, *interventional(known))
    kinds = {e.kind for e in evidence}
    missing = [*chosen.missing, *missing] if not known.telling else list(chosen.missing)
    if len(kinds) < 2:
        missing.append("a second kind of evidence: counters, or an experiment")
    sure = confidence(chosen.strength, chosen.lead, apart, len(kinds))
    if chosen.holds is None:
        sure = min(sure, 0.4)
    if known.telling:
        sure = confirmed(sure, chosen.strength)
    if chosen.cause is Cause.UNEXPLAINED:
        sure = min(sure, CEILING_UNKNOWN)
    unseen = _unseen(case, layer, chosen.cells)
    if shape and unseen:
        sure = min(sure, CEILING)
    shown = chosen.holds is True and chosen.weight is Weight.SHOWN and not unseen
    shown_alone = shown and len(alive) == 1 and _waits_seen(case, layer, chosen.cells)
    slug = re.sub(r"[^a-z0-9]+", "-", layer.lower()).strip("-")
    told = known.telling[-1] if known.telling else None
    finding = Finding(
        id=f"{slug}-{chosen.cause.value}",
        layer=layer,
        cause=chosen.cause,
        title=chosen.title,
        explanation=chosen.explanation,
        confidence=sure,
        evidence=evidence,
        ruled_out=tuple(dict.fromkeys(out)),
        next_step=chosen.next_step,
        experiment=told.experiment if told else None,
        outcome=outcome(told, layer, chosen.cause.value) if told else None,
        rows=chosen.rows,
    )
    blocking = tuple(missing) if chosen.cause is not Cause.UNEXPLAINED or len(kinds) < 2 else ()
    gone = chosen.cause is Cause.UNEXPLAINED and any(_fell(layer, r.cause, case) for r in out)
    alone = shown_alone and not missing
    named = NamedFinding(finding, blocking, 0.0, frozenset(), alive, withdrawn=gone, one_row=one_row, alone=alone)
    return replace(named, own_loss=chosen.loss) if chosen.layer and chosen.loss > 0 else named


def _gives(case: Case, opinion: Opinion, layer: str, tried: Tried) -> bool:
    """Whether the outcome may be what this cause alone brings about."""
    mine = predicted(case, opinion, layer, tried.experiment)
    return mine is not None and holds(mine, measured(tried, mine.metric)) is not False


def _nearly_as_well(pair: Pair, chosen: Opinion) -> tuple[Fit, ...]:
    mine = chosen.model
    if mine is None or chosen.lead >= NEAR:
        return ()
    times = {LimitKind.DELAY, LimitKind.SERIAL}
    own = times if mine.shape in times else {mine.shape}
    return tuple(f for f in pair.fits if f.shape not in own and f.total < mine.total + NEAR)


def _fits(case: Case, fit: Fit, layer: str, tried: Tried) -> bool:
    """Whether the outcome may be what a limit of this shape brings about."""
    said = of_model(case, fit, layer, tried.experiment)
    return said is not None and holds(said.beside(tried.reference), measured(tried, said.metric)) is not False


def _unseen(case: Case, layer: str, keys: frozenset[str]) -> bool:
    """Whether what else would look so was not counted in these cells: of a remote layer the connections and the server
    (the device lies below the layer that it is compared with, too), of another one its own devices."""
    station = case.station(layer)
    cells = [c for c in station.cells if c.workload.key in keys] if station is not None else []
    if station is None or not cells:
        return True
    if station.layer.target.remote:
        return not any(c.resources.resent and c.resources.servers for c in cells)
    return not all(map(members.counted, cells))


def _waits_seen(case: Case, layer: str, keys: frozenset[str]) -> bool:
    """Whether it was counted in all of these cells how long threads waited for a CPU, the generator's and of a remote
    layer its servers': who waits for one looks like a limit of whatever he serves."""
    station = case.station(layer)
    cells = [c for c in station.cells if c.workload.key in keys] if station is not None else []
    if station is None or not cells or any(c.readings.total(cpu.OWN_RUN_DELAY) is None for c in cells):
        return False
    return not station.layer.target.remote or all(waiting(c) is not None for c in cells)


def _fell(layer: str, cause: Cause, case: Case) -> bool:
    return bool(experiments_of(layer, cause.value, case.tried).fell)


def confirmed(before: float, strength: float = 1.0) -> float:
    """Four fifths of the way to 0.97 of the part that it explains: an experiment told it from another cause."""
    most = CEILING_CONFIRMED * min(1.0, strength)
    return round(before + CONFIRMED_PART * max(0.0, most - before), 3)


def interventional(known: CauseTests) -> tuple[Evidence, ...]:
    """What experiments gave that the cause had predicted, and another that stood had not."""
    gave = [outcome(one, known.layer, known.cause) for one in known.telling]
    return tuple(
        Evidence(
            kind=EvidenceKind.INTERVENTIONAL,
            statement=one.statement,
            cells=(f"{one.experiment.layer}/{one.experiment.workload.key}",),
            value=one.measured,
        )
        for one in gave
    )


def _generator(pair: Pair) -> list[RuledOut]:
    cells, analysis = [p.upper for p in pair.view.affected], pair.case.analysis
    room = generator.headroom(analysis, cells)
    if room is None or generator.limits(analysis, cells):
        return []
    return [RuledOut(cause=Cause.GENERATOR, because=room)]
