"""The verdicts in words: short sentences, numbers with units, the next step."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from strata import units
from strata.analyse.laws import errors
from strata.diagnose import equal, over_time
from strata.diagnose.case import Case
from strata.diagnose.causes import generator as generator_rule
from strata.diagnose.causes import impossible as impossible_rule
from strata.diagnose.causes import iops_cap, medium, stalls
from strata.diagnose.evidence import operational
from strata.diagnose.layers import NamedFinding, confirmed, interventional
from strata.diagnose.opinion import CEILING, UNCERTAIN, confidence
from strata.diagnose.over_time import LayerEpisodes
from strata.diagnose.own_limits import SLOW
from strata.diagnose.paused import KINDS
from strata.diagnose.slight import as_it_varies, surely_slow
from strata.diagnose.slow_writes import SlowWrite, slow_writes
from strata.diagnose.trying import experiments_of, outcome
from strata.model.analysis import Analysis, CellSummary, Check, Comparison
from strata.model.finding import Cause, Diagnosis, Evidence, Finding, RuledOut, Verdict, VerdictKind
from strata.model.stack import Stack

MOST_WITHOUT_RESULT, MOST_WITHOUT_LAYER = 0.6, 0.4
"""Of "as expected", where a workload gave no result at a layer, or no workload did."""


def _verdict(kind: VerdictKind, finding: Finding, headline: str, **other: Any) -> Verdict:
    """What a finding says as the verdict; ``other``: where the verdict says otherwise, and what is missing."""
    same = {name: getattr(finding, name) for name in ("layer", "cause", "confidence", "explanation", "next_step")}
    return Verdict(kind=kind, headline=headline, **(same | other))


def impossible(checks: tuple[Check, ...], why: Finding | None = None) -> Diagnosis:
    """At least one figure cannot be true; ``why``: the cause that makes some of them so, where one is shown."""
    finding, where = _figures(checks)
    nothing = f"{finding.explanation} Nothing is concluded from the other figures."
    verdict = _verdict(VerdictKind.IMPOSSIBLE, finding, f"the result is impossible · {where}", explanation=nothing)
    if why is None:
        return Diagnosis(verdict=verdict, findings=(finding,), ruled_out=())
    named = {
        "layer": why.layer,
        "cause": why.cause,
        "headline": f"the result is impossible · {why.layer} · {why.title}",
        "explanation": f"{why.explanation} {verdict.explanation}",
        "next_step": why.next_step,
    }
    return Diagnosis(verdict=verdict.model_copy(update=named), findings=(why, finding), ruled_out=())


def too_good(checks: tuple[Check, ...], why: Finding) -> Diagnosis:
    """Figures that cannot be those of the layer, all of them by the cause ``why``: the verdict is that cause."""
    finding, _ = _figures(checks)
    explanation = f"{why.explanation} {finding.explanation} Nothing is concluded from the other figures."
    verdict = _verdict(VerdictKind.LAYER, why, f"{why.layer} · {why.title}", explanation=explanation)
    return Diagnosis(verdict=verdict, findings=(why, finding), ruled_out=why.ruled_out)


def _figures(checks: tuple[Check, ...]) -> tuple[Finding, str]:
    """What breaks a law, as a finding, and where the first of it is."""
    first = checks[0]
    where = f"{first.layer}, {first.workload_key}" if first.workload_key else first.layer
    others = (
        (f" {len(checks) - 1} more figure{'s' * (len(checks) > 2)} break{'s' * (len(checks) == 2)} a law.")
        if len(checks) > 1
        else ""
    )
    evidence = tuple(
        operational(f"{c.layer}: {c.message}", (f"{c.layer}/{c.workload_key}",) if c.workload_key else ())
        for c in checks
    )
    finding = Finding(
        id=f"impossible-{first.kind}",
        layer=first.layer,
        cause=Cause.IMPOSSIBLE,
        title=f"{where}: {first.message}",
        explanation=f"{where}: {first.message}.{others}",
        confidence=impossible_rule.confidence(checks),
        evidence=evidence,
        next_step=impossible_rule.next_step(first),
    )
    return finding, where


def nothing_measured(analysis: Analysis) -> Diagnosis:
    """Every cell failed."""
    why = "; ".join(dict.fromkeys(f"{c.layer}: {c.message}" for c in analysis.checks[:3]))
    return inconclusive(
        "nothing was measured",
        f"No cell completed an I/O. {why}".strip(),
        "Fix the first of these errors, then measure again.",
        ("a measured cell",),
    )


def nothing_compared(stack: Stack, analysis: Analysis) -> Diagnosis:
    """No pair of layers has a workload in common."""
    have = {c.layer for c in analysis.cells}
    absent = [layer.name for layer in stack.layers if layer.name not in have]
    failed = [c for c in _failed(analysis) if c.layer in absent]
    for layer, below in stack.pairs:
        for check in failed:
            if check.layer == layer.name and (figure := analysis.summary(below.name, check.workload_key or "")):
                return _no_result(check, figure)
    what = f"results of {', '.join(absent)}" if absent else "a closed-loop workload that two layers share"
    return inconclusive(
        "no two layers can be compared",
        f"No two layers were measured with the same workload: {what} missing.",
        "Measure the same workloads at every layer.",
        (what,),
    )


def _no_result(check: Check, below: CellSummary) -> Diagnosis:
    """Every measurement at a layer failed, and the layer below it gives a figure for the same workload."""
    layer = check.layer
    return inconclusive(
        f"{layer} gave no result, {below.layer} below it did",
        f"{below.workload.label}: {units.count(below.iops.value)} IOPS at {below.layer}; {layer}: {check.message}. "
        f"Look at {layer} and the way to it; without a figure no cause can be told from another.",
        f"Fix what {layer} reports. If it only takes long, measure for longer than a request takes (--runtime).",
        (f"results of {layer}",),
        layer=layer,
    )


def slight(analysis: Analysis, above: Sequence[Comparison], again: frozenset[str] = frozenset()) -> Diagnosis:
    """Workloads cost more than expected: too little, or too few of them, for a layer to be blamed.

    ``again``: keys of those that may have lost nothing when an experiment measured them once more.
    """
    worst = min(above, key=lambda c: c.iops.value)
    ratio, count = worst.iops, len(above)
    value, low, high = (
        units.significant(ratio.value if x is None else x, 2) for x in (ratio.value, ratio.low, ratio.high)
    )
    what = "1 workload costs" if count == 1 else f"{count} workloads cost"
    why = f"and none surely {units.significant(SLOW, 3)} times as much"
    what_loss = "a small loss"
    if sure := [c for c in above if surely_slow(c)]:
        what_loss = "a loss that may be chance"
        why = f"which is within chance among {len(analysis.comparisons)} comparisons"
        sides = ([analysis.summary(name, c.workload_key) for name in (c.layer, c.below)] for c in sure)
        if not any(surely_slow(as_it_varies(c, *cells)) for c, cells in zip(sure, sides, strict=True)):
            why = "but their rates vary too much within a measurement for that to be sure"
    if worst.workload_key in again:
        what_loss, why = "a loss that may not have come again", "and measured again it may have lost nothing"
    return inconclusive(
        f"{what_loss} at {worst.layer}, cause not known",
        f"{what} more than expected, {why}. The worst gives {value} ({low}–{high}) times the IOPS of {worst.below}; "
        f"expected: {units.significant(worst.line, 2)}.",
        "Measure longer (--budget) if this loss matters, or state what the layer may cost (expect.overhead_max).",
        ("a larger loss, or a longer measurement",),
        layer=worst.layer,
    )


def layer(named: Sequence[NamedFinding]) -> Diagnosis:
    """A layer costs more than expected."""
    found = tuple(n.finding for n in named)
    first, strongest = named[0], named[0].finding
    if first.withdrawn:
        return _withdrawn(first, found)
    if first.missing:
        verdict = _verdict(
            VerdictKind.INCONCLUSIVE,
            strongest,
            f"inconclusive · {strongest.layer} is slow, cause uncertain",
            confidence=min(strongest.confidence, 0.4),
            explanation=f"{strongest.explanation}{UNCERTAIN}",
            next_step="Run the proposed experiment." if strongest.experiment else strongest.next_step,
            missing=first.missing,
        )
    else:
        unknown = ("a trace of the requests at both layers",) if strongest.cause is Cause.UNEXPLAINED else ()
        headline = f"{strongest.layer} · {strongest.title}"
        verdict = _verdict(VerdictKind.LAYER, strongest, headline, missing=unknown)
    return Diagnosis(verdict=verdict, findings=found, ruled_out=strongest.ruled_out)


def generator(analysis: Analysis, cells: Sequence[CellSummary]) -> Diagnosis:
    """The generator is the limit in these cells."""
    seen = generator_rule.observation(analysis, cells)
    assert seen is not None
    held = generator_rule.starved(cells)
    top = max(share for _, share in generator_rule.shares(analysis, cells)) if held is None else held[1]
    sure = round(CEILING * min(1.0, top), 3)
    step = "Use more threads, a greater depth or a machine with more cores; a debug build is slower by itself."
    if held is not None:
        step = f"Raise the quota of {held[0].group} (CPUQuota=, cpu.max, a container's limit), or run outside of it."
    finding = Finding(
        id="generator",
        layer=cells[0].layer,
        cause=Cause.GENERATOR,
        title="the load generator is the limit",
        explanation=f"{seen.statement}.",
        confidence=sure,
        evidence=(seen,),
        next_step=step,
    )
    explanation = f"{finding.explanation} The figures show the generator, not the storage."
    verdict = _verdict(VerdictKind.GENERATOR, finding, finding.title, layer=None, explanation=explanation)
    return Diagnosis(verdict=verdict, findings=(finding,), ruled_out=())


def _withdrawn(first: NamedFinding, found: tuple[Finding, ...]) -> Diagnosis:
    """What was blamed predicted an experiment wrongly, and nothing else is known that could be it."""
    finding = first.finding
    verdict = _verdict(
        VerdictKind.INCONCLUSIVE,
        finding,
        f"inconclusive · {finding.layer} is slow, and no known cause agrees with the experiments",
        cause=Cause.UNEXPLAINED,
        confidence=round(0.5 * finding.confidence, 3),
        explanation=f"{finding.explanation} The causes that fit the figures predicted an experiment wrongly.",
        missing=("a cause that agrees with the experiments",),
    )
    return Diagnosis(verdict=verdict, findings=found, ruled_out=finding.ruled_out)


def unaffected(case: Case) -> Diagnosis:
    """No layer costs more than expected: medium, healthy, or not enough to tell."""
    stack, analysis = case.stack, case.analysis
    doubts = equal.doubts(analysis)
    if doubts:
        return _doubtful(analysis, doubts, medium.capped(stack, analysis))
    if course := over_time.stopped(case):
        return _stopped(course)
    for kind in KINDS.values():
        if course := next(over_time.only_above(case, kind), None):
            return _interrupted(course)
    for course in over_time.seen(case, "stalls"):
        if course.by_requests and course.share >= stalls.LEAST_LOST:
            return _late(course)
    if slow := slow_writes(case):
        return _unlike_reads(slow)
    low = medium.bottom(stack)
    seen = medium.evidence(stack, analysis)
    if len(stack.layers) == 1:
        known = " ".join(f"{e.statement}." for e in seen)
        return inconclusive(
            "a single layer cannot be compared with anything",
            f"Only {low.name} was measured. {known}".rstrip(),
            "Add a layer: the disk below (may need root), a share (--share), or further ones in a stack file.",
            ("a second layer to compare with",),
            layer=low.name,
        )
    out = _nothing_above(stack, analysis)
    absent = [x.name for x in stack.layers if x.name not in {c.layer for c in analysis.cells}]
    failed = tuple(f"{c.workload_key} at {c.layer}, which gave no result" for c in _failed(analysis))
    missing = (*(f"results of {name}" for name in absent), *_gaps(stack, analysis), *failed)
    silent = f" No results for {', '.join(absent)}." if absent else ""
    again = (
        f"Make {' and '.join(absent)} measurable (the checks show what failed), then measure again." if absent else ""
    )
    differential = equal.evidence(analysis)
    kinds = {e.kind for e in (*seen, *differential)}
    sure = confidence(1.0, 3.0 * len(seen), equal.margin(analysis), len(kinds))
    if failed:
        sure = min(sure, MOST_WITHOUT_RESULT)
    if absent:
        sure = min(sure, MOST_WITHOUT_LAYER)
    if not seen:
        depths = "" if low.name in absent else f" The measured depths do not saturate {low.name}."
        verdict = Verdict(
            kind=VerdictKind.HEALTHY,
            layer=None,
            cause=Cause.NONE,
            confidence=sure,
            headline=f"nothing {'measured ' if absent else ''}above {low.name} costs more than expected",
            explanation=f"{'. '.join(e.statement for e in differential)}.{depths}{silent}",
            next_step=again or "Nothing. To find its limit, measure at greater depths.",
            missing=missing,
        )
        return Diagnosis(verdict=verdict, findings=(), ruled_out=out)
    cap = medium.capped(stack, analysis)
    specified = medium.promised(case)
    told = (*seen, *((specified,) if specified else ()))
    unknown = "Nothing, if it is as fast as media of its kind should be; compare it with its specification or a peer."
    known = "Nothing: it is as fast as specified. Only a faster medium makes this path faster."
    step = again or (iops_cap.NEXT_STEP if cap is not None else known if specified else unknown)
    texts = ". ".join(e.statement for e in (*differential, *told))
    finding = Finding(
        id="medium",
        layer=low.name,
        cause=Cause.MEDIUM,
        title=f"{low.name} is the limit, as expected" if cap is None else f"{low.name} is capped on IOPS",
        explanation=f"{texts}.{silent}",
        confidence=sure,
        evidence=(*differential, *told),
        ruled_out=out,
        next_step=step,
    )
    tested = experiments_of(low.name, Cause.MEDIUM.value, case.tried)
    if tested.fell:
        return inconclusive(
            f"{low.name} looked saturated, but an experiment disagreed",
            f"{finding.explanation} {outcome(tested.fell[-1]).statement[:1].upper()}"
            f"{outcome(tested.fell[-1]).statement[1:]}.",
            "Measure at greater depths.",
            ("depths at which the lowest layer gives no more IOPS",),
            layer=low.name,
        )
    if tested.telling:
        sure = min(confirmed(sure), MOST_WITHOUT_RESULT if failed else 1.0)
        finding = finding.model_copy(
            update={
                "confidence": sure,
                "evidence": (*finding.evidence, *interventional(tested)),
                "experiment": tested.telling[-1].experiment,
                "outcome": outcome(tested.telling[-1]),
            }
        )
    limit = "the medium is the limit, as expected" if cap is None else "the medium is the limit, and looks capped"
    verdict = _verdict(VerdictKind.MEDIUM, finding, limit, missing=missing)
    return Diagnosis(verdict=verdict, findings=(finding,), ruled_out=out)


def _stopped(course: LayerEpisodes) -> Diagnosis:
    """The machine under test does not run at times, and what it measures stands still with it."""
    layer = course.station.layer.name
    return inconclusive(
        "the host of this machine stops it at times",
        f"{layer} completes little for {units.duration(course.length_s * 1e9)} at a time, "
        f"{units.percent(course.share, 2)} of the time, and the hypervisor gives the CPUs of this machine to others "
        "meanwhile (steal). What the layers share costs no more than expected.",
        "Check the CPU credit, the quota and the overcommitment of this virtual machine (steal in vmstat), then "
        "measure again.",
        ("a machine that has its CPUs all the time",),
        layer=layer,
    )


def _interrupted(course: LayerEpisodes) -> Diagnosis:
    """Workloads that were measured at one layer alone are held up at times."""
    layer, count = course.station.layer.name, course.count
    what = "stops" if course.factor is None else f"is {units.significant(course.factor, 2)} times slower"
    which = ", ".join(c.workload.label for c, _ in course.told)
    return inconclusive(
        f"{layer} {what} at times in workloads that no layer below was measured with",
        f"{which} at {layer}: {count} interruptions of {units.duration(course.length_s * 1e9)} on average, "
        f"{units.percent(course.share, 2)} of the time. What the layers share costs no more than expected.",
        "Measure the same workloads at the layer below, or trace them there.",
        (f"these workloads at the layer below {layer}",),
        layer=layer,
    )


def _late(course: LayerEpisodes) -> Diagnosis:
    """Requests that meet a stall, or what looks like one, and no evidence which."""
    layer, late = course.station.layer.name, units.duration(course.length_s * 1e9)
    return inconclusive(
        f"some requests of {layer} take {late}, whatever is asked, and the cause is not known",
        f"In {len(course.told)} of {len(course.looked)} workloads: {units.percent(course.share, 2)} of the time. A "
        "server that stalls, one that a CPU quota holds back and packets that are lost look the same. What the layers "
        "share costs no more than expected.",
        f"Let Strata read the TCP counters and the processes of the node that serves {layer}, then measure again.",
        (f"the retransmitted segments and the CPU time of the server of {layer}",),
        layer=layer,
    )


def _unlike_reads(slow: Sequence[SlowWrite]) -> Diagnosis:
    """Writes that only an upper layer was measured with are far slower than its reads, and no cause explains it."""
    one = slow[0]
    layer, times = one.station.layer.name, units.significant(one.times, 2)
    w = one.write.workload
    return inconclusive(
        f"writes at {layer} are {times} times slower than reads, and the cause is not known",
        f"{w.label}: {units.count(one.write.iops.value)} IOPS at {layer}, where reads of this size and depth give "
        f"{units.count(one.read.iops.value)}; no layer below was measured with writes. What the layers share costs no "
        "more than expected.",
        f"Compare the writes of {layer} with its specification, an earlier run or a peer; write until the rate is "
        "steady (--precondition 60s) in case a cache is full.",
        (f"the writes of {layer} at the layer below",),
        layer=layer,
    )


def _failed(analysis: Analysis) -> tuple[Check, ...]:
    """Of each layer and workload of which every measurement failed, why."""
    return tuple(
        c
        for c in analysis.checks
        if c.kind == errors.NAME and c.workload_key and analysis.summary(c.layer, c.workload_key) is None
    )


def _gaps(stack: Stack, analysis: Analysis) -> tuple[str, ...]:
    """Workloads that were measured below a layer and gave nothing at it: what it does to them is not known."""
    have: dict[str, set[str]] = {}
    for cell in analysis.cells:
        have.setdefault(cell.layer, set()).add(cell.workload.key)
    return tuple(
        f"{len(lost)} of {len(have[below.name])} workloads at {layer.name}"
        for layer, below in stack.pairs
        if layer.name in have and (lost := have.get(below.name, set()) - have[layer.name])
    )


def _nothing_above(stack: Stack, analysis: Analysis) -> tuple[RuledOut, ...]:
    out = []
    for name, text, detail in equal.statements(analysis):
        wired = stack.layer(name).target.remote
        causes = (Cause.WIRE_BANDWIDTH, Cause.WIRE_LATENCY, Cause.IOPS_CAP) if wired else (Cause.PER_REQUEST_COST,)
        out += [RuledOut(cause=cause, because=f"{name} gives {text}", detail=detail) for cause in causes]
    return tuple(out)


def _doubtful(analysis: Analysis, doubts: Sequence[equal.InconclusivePair], cap: Evidence | None) -> Diagnosis:
    worst = doubts[0]
    rounds = max(d.rounds_needed for d in doubts)
    many = math.isinf(rounds) or rounds > 100
    if many:
        need = "far more rounds than is practical"
    elif rounds <= analysis.noise.rounds:
        need = f"{int(rounds)} rounds in which every layer is measured"
    else:
        need = f"about {int(rounds)} rounds instead of {analysis.noise.rounds}"
    return inconclusive(
        "the figures vary too much between rounds",
        f"{worst.text}. {len(doubts)} comparison{'s are' if len(doubts) != 1 else ' is'} inconclusive; identical "
        f"measurements vary by {units.percent(analysis.noise.between_rounds, 2)} here."
        + (f" Observed: {cap.statement}." if cap else ""),
        "Make the machine quiet, or allow longer measurements."
        if many
        else f"Measure {need}, or on a quieter machine.",
        (need,),
        layer=worst.layer,
    )


def inconclusive(
    title: str, explanation: str, step: str, missing: tuple[str, ...], layer: str | None = None
) -> Diagnosis:
    """There is a result, and it does not carry a verdict."""
    verdict = Verdict(
        kind=VerdictKind.INCONCLUSIVE,
        layer=layer,
        cause=Cause.NONE,
        confidence=0.0,
        headline=f"inconclusive · {title}",
        explanation=explanation,
        next_step=step,
        missing=missing,
    )
    return Diagnosis(verdict=verdict, findings=(), ruled_out=())
