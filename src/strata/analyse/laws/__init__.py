"""The laws every result is held against, our own and others' alike: one law, one file.

`check_table` asks them of figures as they were printed, `check_run` of one of our own runs: its figures become a table
for the same laws, and the laws that need more than figures (series, builds, proofs of identity) see the run itself.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from types import ModuleType

from strata.analyse.laws import (
    below,
    build,
    cache,
    caching,
    cap,
    change,
    constant,
    copies,
    cost,
    counters,
    criterion,
    directions,
    errors,
    execution,
    generator,
    identity,
    interleaved,
    little,
    nearness,
    overload,
    parts,
    percentiles,
    pieces,
    pinned,
    quantised,
    quotes,
    rate,
    scaling,
    seed,
    tail,
    threads,
    unit_label,
    unsteady,
    utilisation,
)
from strata.analyse.laws.own import table_of
from strata.analyse.laws.view import RunView
from strata.model.analysis import Check, CheckKind
from strata.model.figures import Flag, Table

__all__ = ["LAWS", "Law", "RunView", "check_run", "check_table", "flags_of_run"]


@dataclass(frozen=True)
class Law:
    """``name`` is its key everywhere, ``page`` what a user reads. ``table`` and ``run`` are what it is asked of."""

    name: str
    title: str
    page: str
    table: Callable[[Table], Iterator[Flag]] | None
    run: Callable[[RunView], Iterator[Check]] | None
    next_step: str = ""


_MODULES: tuple[ModuleType, ...] = (
    little,
    rate,
    unit_label,
    parts,
    utilisation,
    percentiles,
    tail,
    unsteady,
    generator,
    overload,
    cap,
    execution,
    interleaved,
    seed,
    errors,
    below,
    cache,
    caching,
    threads,
    scaling,
    pinned,
    cost,
    change,
    quotes,
    constant,
    quantised,
    pieces,
    directions,
    copies,
    nearness,
    criterion,
    identity,
    build,
    counters,
)


def _law(module: ModuleType) -> Law:
    return Law(
        name=module.NAME,
        title=module.TITLE,
        page=module.__doc__ or "",
        table=getattr(module, "check", None),
        run=getattr(module, "of_run", None),
        next_step=getattr(module, "NEXT", ""),
    )


LAWS: tuple[Law, ...] = tuple(_law(m) for m in _MODULES)
"""Every law, in the order in which they are asked and told."""


def check_table(table: Table) -> tuple[Flag, ...]:
    """Everything that does not hold in a table, contradictions first."""
    found = [flag for law in LAWS if law.table is not None for flag in law.table(table)]
    return tuple(sorted(found, key=lambda f: not f.broken))


def flags_of_run(run: RunView) -> tuple[Flag, ...]:
    """Everything that did not hold in one of our own runs, contradictions first."""
    table = table_of(run)
    found: list[Flag] = []
    for law in LAWS:
        found += law.table(table) if law.table is not None else []
        found += [_as_flag(law, c) for c in law.run(run)] if law.run is not None else []
    return tuple(sorted(found, key=lambda f: not f.broken))


def check_run(run: RunView) -> tuple[Check, ...]:
    """The same as checks of the analysis, the impossible first.

    A broken law makes our figure impossible, but for one: what was run otherwise than planned was still run.
    """
    checks = [
        Check(
            kind=CheckKind(flag.law),
            layer=flag.words.get("layer", ""),
            workload_key=flag.words.get("workload"),
            impossible=flag.broken and flag.law != execution.NAME,
            message=flag.reason,
            next_step=flag.next_step,
        )
        for flag in flags_of_run(run)
    ]
    return tuple(sorted(checks, key=lambda c: not c.impossible))


def _as_flag(law: Law, check: Check) -> Flag:
    words = {"layer": check.layer} if check.layer else {}
    words |= {"workload": check.workload_key} if check.workload_key else {}
    return Flag(
        law=check.kind.value,
        row="/".join(words.values()),
        broken=check.impossible,
        reason=check.message,
        next_step=law.next_step,
        words=words,
    )
