"""Every stack up, I/O through every layer, every injection's promised signature, and nothing left of any of it."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator, Mapping
from functools import partial

from strata.errors import StrataError, UsageError
from strata.lab import inject, stacks, where
from strata.lab.client import layers_of, measure
from strata.lab.down import down
from strata.lab.lab import Lab
from strata.lab.leftovers import leftovers
from strata.lab.prove import Proof, put_in
from strata.lab.truth import Cell, Severity
from strata.lab.up import up
from strata.model.base import Value
from strata.model.stack import Layer

Say = Callable[[str], None]
_WIRE_SHARE = 0.9


class Outcome(Value):
    """One thing that was tried. ``seconds`` counts from building to removed."""

    what: str
    ok: bool
    seconds: float
    said: tuple[str, ...]


def selftest(quick: bool, say: Say) -> Iterator[Outcome]:
    """One outcome after the other; what fails is told in it and removed all the same.

    ``quick``: each stack in one form, and one injection of each kind in its middle severity.
    """
    for stack in stacks.stack_names():
        if quick and stacks.heavy(stack):
            continue
        for options in stacks.variants(stack)[: 1 if quick else None]:
            if not where.is_root() and _refused_without_root(stack, options):
                continue
            label = " ".join([stack, *(f"{k}={v}" for k, v in options.items())])
            yield _tried(label, stack, options, _every_layer, say)
    if not where.is_root():
        return
    for cause in inject.cause_names():
        truth = inject.injection(cause)
        if quick and not truth.everyday:
            continue
        for severity in (Severity.MARKED,) if quick else tuple(Severity):
            asked = inject.Asked(cause, severity)
            yield _tried(str(asked), truth.stack, truth.options, partial(_proven, asked), say)


def _tried(
    what: str, stack: str, options: Mapping[str, str], do: Callable[[Lab], tuple[str, ...]], say: Say
) -> Outcome:
    say(what)
    begun, lab = time.monotonic(), None
    said: tuple[str, ...] = ()
    ok = True
    try:
        # A name of this process's own: a self-test beside others' labs disturbs none.
        lab = up(stack, f"st{os.getpid() % 10**8}", options)
        said = do(lab)
    except StrataError as e:
        said, ok = (e.headline, *e.problems), False
    finally:
        if lab is not None:
            down(lab)
    if lab is not None and (left := leftovers(lab.name, lab.token)):
        said, ok = (*said, *(f"left behind: {x}" for x in left)), False
    return Outcome(what=what, ok=ok, seconds=round(time.monotonic() - begun, 1), said=said)


def _every_layer(lab: Lab) -> tuple[str, ...]:
    """Reads at each layer, from its node; what must cross a wire is seen there. Raises `StrataError`."""
    said = []
    for layer in layers_of(lab):
        try:
            _ = layer.target
        except UsageError as e:
            said.append(f"{layer.name}: not driven, {e.why}")
            continue
        seen = measure(lab, Cell(layer.name, "randread", "8k", 4, runtime="400ms"))
        said.append(f"{layer.name}: {seen.iops:,.0f} IOPS")
        if seen.iops <= 0:
            raise UsageError("no I/O at the layer", layer.name, f"of {lab.stack}")
        if _crosses(lab, layer):
            received = sum(v for k, v in seen.figures.items() if k.startswith(f"wire.{layer.node}.") and "rx" in k)
            if received < _WIRE_SHARE * seen.moved_bytes:
                why = f"{layer.node} received {received:,.0f} bytes, the application {seen.moved_bytes:,.0f}"
                raise UsageError("the wire did not carry the I/O of", layer.name, why)
    return tuple(said)


def _crosses(lab: Lab, layer: Layer) -> bool:
    node = lab.node(layer.node) if layer.node else None
    return node is not None and node.netns is not None and not node.owner and "://" in layer.endpoint


def _proven(asked: inject.Asked, lab: Lab) -> tuple[str, ...]:
    proof: Proof = put_in(lab, asked)
    return (proof.line,)


def _refused_without_root(stack: str, options: Mapping[str, str]) -> bool:
    return stack not in ("local", "block-share") or options.get("protocol", "nbd") != "nbd"
