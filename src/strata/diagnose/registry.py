"""Causes and experiments, found by lying in their folders: a new one is a new file."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import lru_cache

from strata.diagnose import causes, experiments
from strata.diagnose.case import Case, Pair
from strata.diagnose.opinion import Opinion
from strata.model.experiment import Experiment
from strata.model.finding import Cause
from strata.model.plugins import modules

Range = tuple[float, float]


@dataclass(frozen=True)
class Rule:
    """One cause as its module declares it. ``page`` is what a user reads, ``sides`` are `strata.diagnose.sides`."""

    cause: Cause
    page: str
    precedence: float
    judge_pair: Callable[[Pair], Opinion | None] | None
    judge: Callable[[Case], Iterable[Opinion]] | None
    predict: Callable[[Case, Opinion, Experiment], Range | None] | None
    sides: tuple[str, ...]


@dataclass(frozen=True)
class ExperimentKind:
    """One kind of experiment: ``propose(case, standing)`` gives it filled in, or None where it could tell nothing.

    It tells those of ``about`` and those on one of ``sides`` from others, but none of ``untold``.
    """

    key: str
    page: str
    propose: Callable[[Case, tuple[Opinion, ...]], Experiment | None]
    about: frozenset[Cause]
    sides: tuple[str, ...]
    untold: frozenset[Cause]

    def tells(self, rule: Rule) -> bool:
        """Whether it tells this cause from others."""
        return rule.cause not in self.untold and (rule.cause in self.about or not {*self.sides}.isdisjoint(rule.sides))


@lru_cache
def rules() -> tuple[Rule, ...]:
    """Every cause, the most specific first."""
    made = [
        Rule(
            cause=module.CAUSE,
            page=module.__doc__ or "",
            precedence=getattr(module, "PRECEDENCE", 50.0),
            judge_pair=getattr(module, "judge_pair", None),
            judge=getattr(module, "judge", None),
            predict=getattr(module, "predict", None),
            sides=getattr(module, "SIDES", ()),
        )
        for module in modules(causes)
    ]
    return tuple(sorted(made, key=lambda r: r.precedence))


def rule(cause: Cause) -> Rule | None:
    """The rule of a cause; None where it has none yet."""
    return next((r for r in rules() if r.cause is cause), None)


@lru_cache
def trials() -> tuple[ExperimentKind, ...]:
    """Every kind of experiment."""
    return tuple(
        ExperimentKind(
            key=module.__name__.rpartition(".")[2].replace("_", "-"),
            page=module.__doc__ or "",
            propose=module.propose,
            about=getattr(module, "ABOUT", frozenset()),
            sides=getattr(module, "SIDES", ()),
            untold=getattr(module, "UNTOLD", frozenset()),
        )
        for module in modules(experiments)
    )
