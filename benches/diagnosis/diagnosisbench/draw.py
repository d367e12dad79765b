"""Which trials there are: drawn by a number, in mixed order, so that any first part of them is a fair sample.

Of twenty trials each kind has its share. Within a kind everything that can be put in comes once before anything comes
twice (a stratified permutation), each time at the lab that is most due: where it was least often put in so far, then
the one whose stack was drawn least, both by weight. Of each kind half are diagnosed beside a neighbour.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from typing import TypeVar

from diagnosisbench import outside
from diagnosisbench.setups import LATER, NEEDS, SETUPS, VALUES, Setup
from diagnosisbench.split import Split
from diagnosisbench.trial import Kind, Put, Trial
from strata.errors import UsageError
from strata_lab import inject, stacks

FIRST_BASE = 2
"""The row before it was drawn in another way, in which many injections came late: its cases are kept."""
FROZEN = range(6, 50)
"""Rows that are measured in their order from the beginning, at rules that nobody changes meanwhile. Earlier ones were
taken while rules were written, later ones are for whoever tries a rule."""
SEEDS_A_BASE = 100_000
# Of twenty trials; the table asks for 160 of which 40, 16 and 16.
DEALT = {Kind.ONE: 11, Kind.HEALTHY: 5, Kind.TWO: 2, Kind.OUTSIDE: 2}
MORE_PAIRS, WITH_MORE_PAIRS = range(36, 50), {Kind.ONE: 10, Kind.HEALTHY: 5, Kind.TWO: 3, Kind.OUTSIDE: 2}
"""Rows in which three have two limits: in every third of these one hides the other, and it is not scored."""
Whats = tuple[str, ...]
T = TypeVar("T")


def trials(base: int, split: Split) -> Iterator[Trial]:
    """Without end, always the same ones of a base; their seeds begin at ``base · 100 000 + 1``."""
    if base < FIRST_BASE:
        why = f"rows are drawn from {FIRST_BASE} on; what was drawn before is kept as cases"
        raise UsageError("no such row of trials:", str(base), why, f"--base {FIRST_BASE}")
    chance = random.Random(base)
    stacks_drawn: Counter[str] = Counter()
    decks = {kind: _due(kind, base, stacks_drawn, chance) for kind in Kind}
    beside = {kind: _dealt((True, False), chance) for kind in Kind}
    dealt = WITH_MORE_PAIRS if base in MORE_PAIRS else DEALT
    for number, kind in enumerate(_dealt([k for k, n in dealt.items() for _ in range(n)], chance), 1):
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
            neighbour=next(beside[kind]),
        )


def frozen(seed: int, since: int = 0) -> bool:
    """Whether the trial is of a row, from ``since`` on, that was measured in order while nobody changed a rule."""
    return seed // SEEDS_A_BASE in FROZEN and seed // SEEDS_A_BASE >= since


def rows(seeds: Iterable[int]) -> list[tuple[int, int, int]]:
    """Of each base: how many of its trials are among these, and how far along its row the last of them is."""
    by: dict[int, set[int]] = {}
    for seed in seeds:
        base, number = divmod(seed, SEEDS_A_BASE)
        by.setdefault(base, set()).add(number)
    return [(base, len(numbers), max(numbers)) for base, numbers in sorted(by.items())]


def _dealt(cards: Sequence[T], chance: random.Random) -> Iterator[T]:
    """All of them in a mixed order, then all of them in another."""
    while True:
        yield from chance.sample(cards, len(cards))


def _due(kind: Kind, base: int, stacks_drawn: Counter[str], chance: random.Random) -> Iterator[tuple[str, Whats]]:
    """(setup, what is put in). ``stacks_drawn`` counts for all kinds together."""
    labs = _labs(kind, base)
    put_in: Counter[tuple[str, Whats]] = Counter()
    for whats in _dealt(sorted(labs), chance):

        def overdue(name: str, whats: Whats = whats) -> tuple[float, float, float]:
            setup = SETUPS[name]
            here, on_its_stack = put_in[name, whats] + 1, stacks_drawn[setup.stack] + 1
            return here / setup.weight, on_its_stack / setup.weight, chance.random()

        name = min(labs[whats], key=overdue)
        put_in[name, whats] += 1
        stacks_drawn[SETUPS[name].stack] += 1
        yield name, whats


def _labs(kind: Kind, base: int) -> dict[Whats, list[str]]:
    """Where everything of a kind can be put in, in that row."""
    found: dict[Whats, list[str]] = {}
    for name, setup in SETUPS.items():
        of: dict[Kind, list[Whats]] = {
            Kind.HEALTHY: [()],
            Kind.ONE: [(what,) for what in setup.one],
            Kind.TWO: list(setup.two),
            Kind.OUTSIDE: [(what,) for what in setup.outside],
        }
        for whats in (w for w in of[kind] if all(LATER.get(what, 0) <= base for what in w)):
            found.setdefault(whats, []).append(name)
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
