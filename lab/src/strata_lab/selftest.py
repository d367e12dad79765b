"""Every stack up, I/O through every layer, every injection's promised signature, and nothing left of any of it."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from fnmatch import fnmatch
from functools import partial

from strata.errors import InconclusiveError, StrataError, UsageError
from strata.model.base import Value
from strata.model.stack import Layer
from strata_lab import inject, shipped, stacks, where
from strata_lab.client import layers_of, measure
from strata_lab.down import down
from strata_lab.lab import Lab
from strata_lab.leftovers import leftovers
from strata_lab.prove import Proof, put_in
from strata_lab.truth import InjectionSeverity, ProofCell
from strata_lab.up import up

Say = Callable[[str], None]
_WIRE_SHARE = 0.9


class TrialVerdict(StrEnum):
    """Of one trial."""

    AS_PROMISED = "as promised"
    FAILED = "failed"
    NOT_TOLD = "could not be told"
    """The machine was too busy for the healthy twin: nothing was shown, neither for nor against."""


class SelftestOutcome(Value):
    """One thing that was tried. ``seconds`` counts from building to removed."""

    what: str
    verdict: TrialVerdict
    seconds: float
    said: tuple[str, ...]


@dataclass(frozen=True)
class SelftestCase:
    """What is tried: a stack, and what is done in it once it is up."""

    what: str
    stack: str
    options: Mapping[str, str]
    do: Callable[[Lab], tuple[str, ...]]


def trials(quick: bool, only: Sequence[str] = ()) -> tuple[SelftestCase, ...]:
    """Everything there is to try. ``only``: what one of these patterns names (``slow-medium:*``, ``local*``).

    ``quick``: each stack in one form, and one injection of each kind in its middle severity. Raises `UsageError` when
    nothing is left.
    """
    found = [t for t in _trials(quick) if not only or any(fnmatch(t.what, p) for p in only)]
    if not found:
        raise UsageError("no trial matches", ", ".join(only), "", "--list shows every trial")
    return tuple(found)


def _trials(quick: bool) -> Iterator[SelftestCase]:
    for stack in shipped.stacks():
        if quick and stacks.heavy(stack):
            continue
        for options in stacks.variants(stack)[: 1 if quick else None]:
            if not where.is_root() and _refused_without_root(stack, options):
                continue
            label = " ".join([stack, *(f"{k}={v}" for k, v in options.items())])
            yield SelftestCase(label, stack, options, _every_layer)
    if not where.is_root():
        return
    for cause in shipped.injections():
        truth = inject.injection(cause)
        if quick and not truth.everyday:
            continue
        for severity in (InjectionSeverity.MARKED,) if quick else tuple(InjectionSeverity):
            asked = inject.InjectionAsked(cause, severity)
            yield SelftestCase(str(asked), truth.stack, truth.options, partial(_proven, asked))
            for other in () if quick else truth.elsewhere:
                there = truth.on(other)
                yield SelftestCase(f"{asked} on {other}", other, there.options, partial(_proven, asked))


def selftest(chosen: Sequence[SelftestCase], say: Say) -> Iterator[SelftestOutcome]:
    """One outcome after the other; what fails is told in it and removed all the same."""
    for trial in chosen:
        yield _tried(trial, say)


def _tried(trial: SelftestCase, say: Say) -> SelftestOutcome:
    say(trial.what)
    begun, lab = time.monotonic(), None
    said: tuple[str, ...] = ()
    verdict = TrialVerdict.AS_PROMISED
    try:
        # A name of this process's own: a self-test beside others' labs disturbs none.
        lab = up(trial.stack, f"st{os.getpid() % 10**8}", trial.options)
        said = trial.do(lab)
    except InconclusiveError as e:
        said, verdict = (e.headline, *e.problems), TrialVerdict.NOT_TOLD
    except StrataError as e:
        said, verdict = (e.headline, *e.problems), TrialVerdict.FAILED
    finally:
        if lab is not None:
            down(lab)
    if lab is not None and (left := leftovers(lab.name, lab.token)):
        said, verdict = (*said, *(f"left behind: {x}" for x in left)), TrialVerdict.FAILED
    return SelftestOutcome(what=trial.what, verdict=verdict, seconds=round(time.monotonic() - begun, 1), said=said)


def _every_layer(lab: Lab) -> tuple[str, ...]:
    """Reads at each layer, from its node; what must cross a wire is seen there. Raises `StrataError`."""
    said = []
    for layer in layers_of(lab):
        try:
            _ = layer.target
        except UsageError as e:
            said.append(f"{layer.name}: not measured, {e.why}")
            continue
        seen = measure(lab, ProofCell(layer.name, "randread", "8k", 4, runtime="400ms"))
        said.append(f"{layer.name}: {seen.iops:,.0f} IOPS")
        if seen.iops <= 0:
            raise UsageError("no I/O at the layer", layer.name, f"of {lab.stack}")
        if _crosses(lab, layer):
            received = sum(v for k, v in seen.figures.items() if k.startswith(f"wire.{layer.node}.") and "rx" in k)
            if received < _WIRE_SHARE * seen.moved_bytes:
                why = f"{layer.node} received {received:,.0f} bytes, the application {seen.moved_bytes:,.0f}"
                raise UsageError("the network did not carry the I/O of", layer.name, why)
    return tuple(said)


def _crosses(lab: Lab, layer: Layer) -> bool:
    node = lab.node(layer.node) if layer.node else None
    return node is not None and node.netns is not None and not node.owner and "://" in layer.endpoint


def _proven(asked: inject.InjectionAsked, lab: Lab) -> tuple[str, ...]:
    proof: Proof = put_in(lab, asked)
    return (proof.line,)


def _refused_without_root(stack: str, options: Mapping[str, str]) -> bool:
    return stack not in ("local", "block-share") or options.get("protocol", "nbd") != "nbd"
