"""Which trials there are: drawn by a number, each kind and each cause as often as the others, in mixed order."""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import TypeVar

from diagnosisbench import outside
from diagnosisbench.setups import NEEDS, SETUPS, VALUES, Setup
from diagnosisbench.split import Split
from diagnosisbench.trial import Kind, Put, Trial
from strata.lab import inject, stacks

SEEDS_A_BASE = 100_000
# Of twenty trials; the table asks for 160 of which 40, 16 and 16.
DEALT = {Kind.ONE: 11, Kind.HEALTHY: 5, Kind.TWO: 2, Kind.OUTSIDE: 2}
T = TypeVar("T")


def trials(base: int, split: Split) -> Iterator[Trial]:
    """Without end, always the same ones of a base; their seeds begin at ``base · 100 000 + 1``."""
    chance = random.Random(base)
    decks = {kind: _dealt(_entries(kind), chance) for kind in Kind}
    beside = _dealt((True, False), chance)
    for number, kind in enumerate(_dealt([k for k, n in DEALT.items() for _ in range(n)], chance), 1):
        name, whats = next(decks[kind])
        seed = base * SEEDS_A_BASE + number
        put = tuple(_put(what, SETUPS[name], random.Random(seed + i / 10), split) for i, what in enumerate(whats))
        yield Trial(
            seed=seed,
            kind=kind,
            setup=name,
            stack=SETUPS[name].stack,
            options=_options(SETUPS[name], whats),
            put=put,
            neighbour=next(beside),
        )


def _dealt(cards: Sequence[T], chance: random.Random) -> Iterator[T]:
    """All of them in a mixed order, then all of them in another."""
    while True:
        yield from chance.sample(cards, len(cards))


def _entries(kind: Kind) -> list[tuple[str, tuple[str, ...]]]:
    """(setup, what is put in)."""
    found: list[tuple[str, tuple[str, ...]]] = []
    for name, setup in SETUPS.items():
        match kind:
            case Kind.HEALTHY:
                found += [(name, ())] * setup.weight
            case Kind.ONE:
                found += [(name, (what,)) for what in setup.one]
            case Kind.TWO:
                found += [(name, pair) for pair in setup.two]
            case Kind.OUTSIDE:
                found += [(name, (what,)) for what in setup.outside]
    return found


def _put(what: str, setup: Setup, chance: random.Random, split: Split) -> Put:
    position = round(chance.uniform(split.low, split.high), 3)
    truth = outside.truth_of(what, setup.stack)
    if what in VALUES:
        truth = replace(truth, value=VALUES[what])
    return Put(what=what, position=position, value=float(f"{truth.at(position):.4g}"))


def _options(setup: Setup, whats: Sequence[str]) -> dict[str, str]:
    """The setup's, and over them what each injection needs of a stack."""
    known = stacks.builder(setup.stack).OPTIONS
    found = dict(setup.options)
    for what in whats:
        if what not in outside.ALL:
            needed = inject.injection(what).on(setup.stack).options
            found |= {k: v for k, v in {**needed, **NEEDS.get(what, {})}.items() if k in known}
    return found
