"""The laws every result is held against, our own and others' alike: one law, one file, found because it lies here.

`check_table` asks them of figures as they were printed, `check_run` of one of our own runs: its figures become a table
for the same laws, and the laws that need more than figures (series, builds, proofs of identity) see the run itself.

A law's docstring is its page. It says of itself:

``NAME``, ``TITLE``, ``SAYS``   its key, its heading, and what it says when it does not hold
``ORDER``                       its place among all laws: they are asked and told in this order
``check(table)``                asked of a table of figures; ``of_run(run)`` of one of our own runs; one of them or both
``NEXT``, ``NEXT_OF_RUN``       what to do first: where a flag does not say; in a run, whatever the flag says
``OF_NULL``                     it means something where nothing is driven; all others speak of a target
``COLOURS``                     it never makes a figure of our own impossible
"""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import chain
from types import ModuleType

from strata.analyse.laws.base import RunView
from strata.analyse.laws.own import table_of
from strata.model.analysis import Check
from strata.model.figures import Flag, Table
from strata.model.plugins import modules

__all__ = ["Law", "RunView", "check_run", "check_table", "flags_of_run", "laws"]


@dataclass(frozen=True)
class Law:
    """``name`` is its key everywhere, ``page`` what a user reads. ``table`` and ``run`` are what it is asked of."""

    name: str
    title: str
    says: str
    order: float
    page: str
    table: Callable[[Table], Iterator[Flag]] | None
    run: Callable[[RunView], Iterator[Flag]] | None
    next_step: str
    next_of_run: str
    of_null: bool
    colours: bool

    def asked(self, table: Table, run: RunView | None = None) -> Iterator[Flag]:
        """What it finds in a table, and in the run that the table is of."""
        of_table = () if self.table is None else self.table(table)
        for flag in chain(of_table, () if self.run is None or run is None else self.run(run)):
            said = {"law": self.name, "title": self.title, "next_step": flag.next_step or self.next_step}
            yield flag.model_copy(update=said)


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
        colours=getattr(module, "COLOURS", False),
    )


def check_table(table: Table) -> tuple[Flag, ...]:
    """Everything that does not hold in a table, contradictions first."""
    return tuple(sorted((flag for law in laws() for flag in law.asked(table)), key=lambda f: not f.broken))


def flags_of_run(run: RunView) -> tuple[Flag, ...]:
    """Everything that did not hold in one of our own runs, contradictions first."""
    return tuple(flag for _, flag in _found(run))


def check_run(run: RunView) -> tuple[Check, ...]:
    """The same as checks of the analysis, the impossible first.

    A broken law makes our figure impossible, but for those that only colour it: what was run otherwise than planned was
    still run.
    """
    checks = [
        Check(
            kind=flag.law,
            title=flag.title,
            layer=flag.words.get("layer", ""),
            workload_key=flag.words.get("workload"),
            impossible=flag.broken and not law.colours,
            message=flag.reason,
            next_step=law.next_of_run or flag.next_step,
        )
        for law, flag in _found(run)
    ]
    return tuple(sorted(checks, key=lambda c: not c.impossible))


def _found(run: RunView) -> list[tuple[Law, Flag]]:
    table = table_of(run)
    return sorted(((law, flag) for law in laws() for flag in law.asked(table, run)), key=lambda f: not f[1].broken)
