"""One case in words: what was put in, what the proof saw, what is said of it now and then."""

from __future__ import annotations

from diagnosisbench import split
from diagnosisbench.judge import Judged, judged
from diagnosisbench.kept import Case, Verdict, verdict_of
from diagnosisbench.replay import diagnosed
from diagnosisbench.score import sure
from diagnosisbench.split import Split
from strata.errors import UsageError
from strata.model.finding import Diagnosis

KEPT_APART = "(kept apart: what was said of it is not shown)"


def line(case: Case, rules: Split) -> str:
    """A row of the running table."""
    begin = f"{case.trial.seed:6} {case.trial.setup:14} {case.trial.what:32} "
    impact = "×".join(f"{p.impact:.2f}" for p in case.proofs) or "-"
    if case.verdict is None:
        return f"{begin}{impact:9} FAILED {case.failed}"
    now = judged(case, case.verdict, rules)
    marks = " ".join(filter(None, (_mark(case, now), "kept" if now.kept else "", "beside" if now.neighbour else "")))
    said = "; ".join(f"{s.layer}: {s.cause} {s.confidence:.2f}" for s in case.verdict.said[:3])
    return f"{begin}{impact:9} {case.seconds:5.0f} s  {marks:14} {KEPT_APART if now.kept else said}"


def _mark(case: Case, now: Judged) -> str:
    if not case.counts:
        return "unfelt"
    if now.right_cause:
        return "right+WRONG" if sure(now.all_wrong) else "right"
    return "WRONG" if now.wrong else "layer" if now.right_layer else "silent"


def case(one: Case, look: bool = False) -> str:
    """Everything. Of a case that is kept from tuning only to who says that he looks: that is noted, and it is kept no
    longer. Raises `UsageError` else."""
    trial = one.trial
    if trial.kept(split.read()):
        if not look:
            why = f"it is kept from tuning ({', '.join(sorted(trial.kept(split.read())))})"
            hint = f"--explain {trial.name} --look, and it counts as tuned from now on ({split.LOOKED.name})"
            raise UsageError("cannot explain", trial.name, why, hint)
        split.look(trial.name)
    parts = [str(trial), f"options {trial.options}", *(f"proof   {p.line}" for p in one.proofs)]
    machine = one.machine
    parts.append(
        f"live    {one.seconds:.0f} s at {one.revision}, load {machine.load[0]:g} to {machine.load[1]:g}, others used "
        f"{machine.others:.0%} of {machine.processors} processors"
    )
    if machine.stolen is not None:
        parts[-1] += f", {machine.stolen:.1%} was stolen"
    if machine.beside is not None:
        parts[-1] += f", the neighbour {'ran to the end' if machine.beside else 'ENDED EARLY'}"
    for before in one.earlier:
        said = _said("before", before.verdict) if before.verdict else f"before  {before.failed}"
        parts.append(f"{said} (at {before.revision})")
    if one.failed:
        parts.append(f"failed  {one.failed}")
    if one.verdict is None:
        return "\n".join(parts)
    now = diagnosed(one)
    told = judged(one, verdict_of(now), split.read())
    parts.append(f"mark    {_mark(one, told)}{', kept apart: ' + ', '.join(sorted(told.kept)) if told.kept else ''}")
    for limit in told.truth.limits:
        parts.append(f"truth   {limit.what}: {', '.join(sorted(limit.causes))} at {', '.join(sorted(limit.layers))}")
    return "\n".join([*parts, _said("then", one.verdict), _said("now", told.verdict), *_rows(one), *_whole(now)])


def _said(when: str, verdict: Verdict) -> str:
    found = "; ".join(f"{s.layer}: {s.cause} {s.confidence:.2f} (confirmed: {s.holds})" for s in verdict.said)
    return f"{when:7} {verdict.kind}: {verdict.headline} · {found}"


def _rows(one: Case) -> list[str]:
    """The table of layers, as ratios to what each is held against."""
    assert one.analysis is not None
    lines = ["", "rows"]
    for cell in one.analysis.cells:
        tail = cell.latency_ns.get("99")
        p99 = f", p99 {tail.value / 1e6:.2f} ms" if tail else ""
        mean = cell.mean_ns.value / 1e6
        lines.append(f"  {cell.layer:20} {cell.workload.key:28} {cell.iops.value:9.0f} IOPS, {mean:.2f} ms{p99}")
    for c in one.analysis.comparisons:
        ratio = f"{c.iops.value:.2f} ({c.iops.low:.2f} to {c.iops.high:.2f})"
        lines.append(f"  {c.layer:20} {c.workload_key:28} over {c.below}: {ratio} {c.verdict.value}")
    return [*lines, *(f"  {check.kind}: {check.layer}: {check.message}" for check in one.analysis.checks)]


def _whole(now: Diagnosis) -> list[str]:
    lines = ["", f"verdict {now.verdict.headline}", f"  {now.verdict.explanation}"]
    lines += [f"  missing: {m}" for m in now.verdict.missing]
    for finding in now.findings:
        lines += [
            "",
            f"finding {finding.layer}: {finding.title} · {finding.confidence:.2f}",
            f"  {finding.explanation}",
        ]
        lines += [f"  {e.kind.value}: {e.statement}" for e in finding.evidence]
        lines += [f"  ruled out {r.cause.value}: {r.because}" for r in finding.ruled_out]
        if finding.outcome is not None:
            lines.append(f"  experiment: {finding.outcome.statement} (holds: {finding.outcome.holds})")
    lines += [f"  ruled out {r.cause.value}: {r.because}" for r in now.ruled_out]
    return lines
