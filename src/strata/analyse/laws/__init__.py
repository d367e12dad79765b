"""The laws every result is checked against, our own and others' alike: one law, one file, found because it lies here.

`check_table` asks them of figures as they were printed, `check_run` of one of our own runs: its figures become a table
for the same laws, and the laws that need more than figures (series, builds, proofs of identity) see the run itself.

A law's docstring is its page. It says of itself:

``NAME``, ``TITLE``, ``SAYS``   its key, its heading, and what it says when it does not hold
``ORDER``                       its place among all laws: they are asked and told in this order
``check(table)``                asked of a table of figures; yields None, too, wherever it had the figures that it needs
``of_run(run)``                 asked of one of our own runs; a law has one of them or both
``NEXT``, ``NEXT_OF_RUN``       what to do first: where a flag does not say; in a run, whatever the flag says
``OF_NULL``                     it means something where nothing is driven; all others speak of a target
``ONLY_CAVEAT``                 it never makes a figure of our own impossible
"""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable
from dataclasses import dataclass
from types import ModuleType

from strata.analyse.laws.base import Answers, RunView
from strata.analyse.laws.own import table_of
from strata.model.analysis import Check
from strata.model.figures import Flag, Table
from strata.model.plugins import modules

__all__ = ["Law", "LawsAsked", "RunView", "ask", "ask_run", "check_run", "check_table", "laws"]


@dataclass(frozen=True)
class Law:
    """``name`` is its key everywhere, ``page`` what a user reads. ``table`` and ``run`` are what it is asked of."""

    name: str
    title: str
    says: str
    order: float
    page: str
    table: Callable[[Table], Answers] | None
    run: Callable[[RunView], Answers] | None
    next_step: str
    next_of_run: str
    of_null: bool
    only_caveat: bool

    def answers(self, table: Table, run: RunView | None = None) -> list[Flag] | None:
        """What it finds in a table, and in the run that the table is of. None where it lacks the figures it needs."""
        said = [] if self.table is None else list(self.table(table))
        if run is not None and self.run is not None:
            said += [None, *self.run(run)]
        named = {"law": self.name, "title": self.title}
        found = [f.model_copy(update=named | {"next_step": f.next_step or self.next_step}) for f in said if f]
        return found if said else None


@functools.cache
def laws() -> tuple[Law, ...]:
    """Every law, in the order in which they are asked and told."""
    return tuple(sorted(map(_law, modules(sys.modules[__name__], "NAME")), key=lambda law: law.order))


def _law(module: ModuleType) -> Law:
    return Law(
        name=module.NAME,
        title=module.TITLE,
        says=module.SAYS,
        order=module.ORDER,
        page=module.__doc__ or "",
        table=getattr(module, "check", None),
        run=getattr(module, "of_run", None),
        next_step=getattr(module, "NEXT", ""),
        next_of_run=getattr(module, "NEXT_OF_RUN", ""),
        of_null=getattr(module, "OF_NULL", False),
        only_caveat=getattr(module, "ONLY_CAVEAT", False),
    )


@dataclass(frozen=True)
class LawsAsked:
    """``asked`` are the names of the laws that had the figures they need, ``flags`` what does not hold, contradictions
    first."""

    asked: tuple[str, ...]
    flags: tuple[Flag, ...]


def ask(table: Table, run: RunView | None = None) -> LawsAsked:
    """Every law, asked of a table, and of the run that it is of."""
    told = {law.name: found for law in laws() if (found := law.answers(table, run)) is not None}
    flags = sorted((flag for found in told.values() for flag in found), key=lambda f: not f.broken)
    return LawsAsked(tuple(told), tuple(flags))


def check_table(table: Table) -> tuple[Flag, ...]:
    """Everything that does not hold in a table, contradictions first."""
    return ask(table).flags


def ask_run(run: RunView) -> LawsAsked:
    """Every law, asked of one of our own runs."""
    return ask(table_of(run), run)


def check_run(run: RunView) -> tuple[Check, ...]:
    """The same as checks of the analysis, the impossible first.

    A broken law makes our figure impossible, except for laws that are only a caveat: what was run otherwise than
    planned was still run.
    """
    by_name = {law.name: law for law in laws()}
    checks = [
        Check(
            kind=flag.law,
            title=flag.title,
            layer=flag.words.get("layer", ""),
            workload_key=flag.words.get("workload"),
            impossible=flag.broken and not by_name[flag.law].only_caveat,
            message=flag.reason,
            next_step=by_name[flag.law].next_of_run or flag.next_step,
        )
        for flag in ask_run(run).flags
    ]
    return tuple(sorted(checks, key=lambda c: not c.impossible))
