"""Holding an injection to its word: the same lab, the same cell, measured before and after it is put in."""

from __future__ import annotations

import os
import stat
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from strata.errors import InconclusiveError, RunFailed
from strata.host.heldfile import settle
from strata.host.mark import read_mark_fd
from strata_lab import inject
from strata_lab.bound import bound
from strata_lab.client import CellMeasured, layer_of, measure
from strata_lab.lab import Lab
from strata_lab.truth import ImpactMetric, Injection, Signal

_MOST_ROUNDS = 5
_WRITTEN = os.O_RDWR | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC


@dataclass(frozen=True)
class Proof:
    """``impact`` is the ratio that its `ImpactMetric` names; ``missing`` are promised signals that were not seen."""

    asked: inject.InjectionAsked
    truth: Injection
    healthy: CellMeasured
    injected: CellMeasured
    impact: float
    missing: tuple[Signal, ...]

    @property
    def line(self) -> str:
        """In one line."""
        truth = self.truth
        rates = f"{self.healthy.iops:,.0f} -> {self.injected.iops:,.0f} IOPS"
        if truth.hurts is ImpactMetric.TAIL:
            rates = f"p99 {self.healthy.p99_ns / 1e6:.2f} -> {self.injected.p99_ns / 1e6:.2f} ms"
        words = {ImpactMetric.IOPS: "slower", ImpactMetric.TAIL: "longer tail", ImpactMetric.FLATTERS: "too good"}[
            truth.hurts
        ]
        return f"{self.asked}: {self.impact:.2f}x {words} ({rates}; {truth.cell.text})"


def measured(lab: Lab, asked: inject.InjectionAsked, truth: Injection | None = None) -> Proof:
    """Measures twice, injects, and measures again as often: what came of it, whatever was promised.

    ``truth`` instead of the injection of that name as it is on this stack: with another cell, or of a bench's own.
    """
    truth = truth or asked.injection.on(lab.stack)
    truth.prepare(lab)
    limit = bound(truth, asked.severity, lab)
    twins = [measure(lab, truth.cell), measure(lab, truth.cell)]
    # What else this machine does makes a twin slower, never faster than its medium: more of them can only help.
    while limit and len(twins) < _MOST_ROUNDS and not any(limit.lets(twin) for twin in twins):
        twins.append(measure(lab, truth.cell))
    asked.apply(lab, truth)
    # As often as the twin, and the less disturbed of each counts: else a disturbance would pass for the injection.
    cells = [measure(lab, truth.cell) for _ in (twins[:1] if truth.fades else twins)]
    return proven(lab, asked, truth, twins, cells)


def proven(
    lab: Lab,
    asked: inject.InjectionAsked,
    truth: Injection,
    twins: Sequence[CellMeasured],
    cells: Sequence[CellMeasured],
) -> Proof:
    """The proof that the healthy and the injected cells make, which the lab keeps as a fact."""
    healthy, injected = _less_disturbed(truth.hurts, twins), _less_disturbed(truth.hurts, cells)
    impact = _impact(truth.hurts, healthy, injected)
    # A reduced lab has no eyes of its own: there the impact has to do.
    promised = () if lab.reduced else truth.signals
    missing = tuple(s for s in promised if not s.holds(healthy.figures.get(s.figure), injected.figures.get(s.figure)))
    lab.fact(
        "proof",
        cause=asked.cause,
        word=str(asked),
        cell=truth.cell.text,
        hurts=truth.hurts.value,
        healthy_iops=healthy.iops,
        injected_iops=injected.iops,
        impact=impact,
    )
    _settle(lab)
    return Proof(asked, truth, healthy, injected, impact, missing)


def _settle(lab: Lab) -> None:
    """What the injection and the servers behind it wrote to the lab's own test file is the lab's: it is dated again.

    Else a diagnosis would take it for somebody else's writing, and refuse the file.
    """
    volume = lab.last_fact("volume")
    if volume is None:
        return
    try:
        fd = os.open(volume["file"], _WRITTEN)
    except OSError:
        # Gone, or another thing by now: nothing of the lab's to be dated, and the proof stands.
        return
    try:
        mark = read_mark_fd(fd) if stat.S_ISREG(os.fstat(fd).st_mode) else None
        if mark is not None:
            settle(fd, mark)
    finally:
        os.close(fd)


def put_in(lab: Lab, asked: inject.InjectionAsked, say: Callable[[str], None] = lambda _: None) -> Proof:
    """Injects as `measured` does, holds it to its word, and writes the truth beside the stack file.

    Raises `RunFailed` when the promised cell does not suffer as promised or a promised signal is absent: an injection
    that changes nothing is no ground truth. Raises `InconclusiveError` when the healthy twin was too slow for the
    promise to be kept at all: then something else than its own limit held it.
    """
    limit = bound(asked.injection.on(lab.stack), asked.severity, lab)
    proof = measured(lab, asked)
    truth, least = proof.truth, proof.truth.least(asked.severity)
    impact, missing, healthy, injected = proof.impact, proof.missing, proof.healthy, proof.injected
    if (impact < least or missing) and limit and not limit.lets(healthy) and limit.holds(injected):
        why, hint = f"{proof.line}: {limit.text}", "try again when the machine is less busy"
        raise InconclusiveError("the effect is inconclusive, the machine is busy", "", why, hint)
    if impact < least:
        why = f"{proof.line}: expected is at least {least:g}x"
        raise RunFailed(
            "the injection has too little effect", "", why, "check whether something else is the limit there"
        )
    # Signatures are promised for the values that have a name.
    if missing and asked.severity is not None:
        why = f"{len(missing)} of {len(truth.signals)} expected signals are absent"
        raise RunFailed("the injection lacks its signature:", str(asked), why, "", _told(missing, healthy, injected))
    with (lab.data / "truth.toml").open("a", encoding="utf-8") as f:
        how = "Strata's own server limits itself" if lab.reduced else None
        f.write(truth.toml(asked.cause, asked.severity, asked.value(truth), layer_of(lab, "top").name, how))
        f.write(f"impact = {impact:.3f}\n\n")
    say(proof.line)
    return proof


def _less_disturbed(hurts: ImpactMetric, cells: Sequence[CellMeasured]) -> CellMeasured:
    if hurts is ImpactMetric.TAIL:
        return min(cells, key=lambda m: m.p99_ns)
    return max(cells, key=lambda m: m.iops)


def _impact(hurts: ImpactMetric, healthy: CellMeasured, injected: CellMeasured) -> float:
    match hurts:
        case ImpactMetric.TAIL:
            return injected.p99_ns / healthy.p99_ns if healthy.p99_ns else 0.0
        case ImpactMetric.FLATTERS:
            return injected.iops / healthy.iops
    return healthy.iops / injected.iops


def _told(missing: tuple[Signal, ...], healthy: CellMeasured, injected: CellMeasured) -> tuple[str, ...]:
    return tuple(
        f"{s.figure} {s.how.value} {s.by:g}: was {healthy.figures.get(s.figure)}, is {injected.figures.get(s.figure)}"
        for s in missing
    )
