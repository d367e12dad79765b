"""A sweep that somebody printed: rows that differ in their threads alone, each series with its curve."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path

from strata import units
from strata.app.check import read_figures
from strata.errors import InconclusiveError
from strata.model.axis import Axis
from strata.model.ends import CycleCost
from strata.model.estimate import Estimate
from strata.model.figures import Row, Table
from strata.model.scale import Busy, ScaleAsk, ScaledTask, ScalePoint, ScaleResult


def scale_table(path: Path, columns: Mapping[str, str], what_if: tuple[str, ...], worth: float) -> ScaleResult:
    """The curves of a table's series. Raises `UsageError` where it cannot be read, `InconclusiveError` where no series
    of it grows."""
    # Here: a sweep that is measured needs none of it.
    from strata.analyse.scaling.result import answered
    from strata.analyse.scaling.table import courses

    table = read_figures(path, columns)
    found, tasks = tuple(courses(table)), tuple(tasks_of(table))
    if not found and not tasks:
        why = "it has no three rows that differ only in their threads and cover at least twice the load"
        hint = "a sweep needs columns threads and iops or rate; tasks count.before and count.after, before and after"
        raise InconclusiveError("no sweep in", str(path), why, hint)
    points = tuple(p for course in found for p in _points(table, course.name, course))
    values = tuple(sorted({p.value for p in points})) or (1,)
    ask = ScaleAsk(
        axis=Axis.THREADS, values=values, budget_s=1.0, target=0.05, worth=worth, open_loop=False, what_if=what_if
    )  # fmt: skip
    curves, answers = answered(ask, tuple(c.name for c in found), points)
    return ScaleResult(
        where=str(path), ask=ask, layers=tuple(c.name for c in found), points=points, curves=curves, what_if=answers,
        tasks=tasks, ended="read from a table",
    )  # fmt: skip


def tasks_of(table: Table) -> Iterator[ScaledTask]:
    """Every figure before and after, with the part of it that scales."""
    from strata.analyse.elasticity import answers, task_of

    of = table.words.get("scaled", "of them")
    for one in answers(table):
        printed = (one.row.figures.get(key) for key in ("before", "after"))
        before, after = (None if figure is None else figure.base for figure in printed)
        yield task_of(one.row.name, of, one.factor, one.times, one.part, one.span, before, after)


def _points(table: Table, name: str, course: object) -> Iterator[ScalePoint]:
    from strata.analyse.conclusions.scaled import named
    from strata.analyse.scaling.table import LoadSeries

    assert isinstance(course, LoadSeries)
    stated = table.figures.get("noise")
    for p in course.points:
        size = p.row.figures.get("size")
        bytes_printed = "iops" not in p.row.figures and "rate" in p.row.figures
        printed = p.row.figures.get("rate" if bytes_printed else "iops")
        rate = p.rate if printed is None else printed.base
        iops = rate / size.base if bytes_printed and size is not None else rate
        outstanding = p.row.figures.get("outstanding")
        spread = 0.0 if stated is None else stated.base
        yield ScalePoint(
            layer=name,
            value=round(p.load),
            outstanding=round(p.load if outstanding is None else outstanding.base),
            iops=_estimate(iops, spread, "IOPS"),
            bytes_per_second=None if size is None else _estimate(iops * size.base, spread, "B/s"),
            latency_ns=dict(_times(p.row)),
            cycles=tuple(_cost(p.row)),
            busy=tuple(
                sorted(
                    (
                        Busy(
                            name=resource, of=named(resource), share=share, servers=1.0,
                            demand_ns=_estimate(share / iops * units.NS_PER_S, 0.0, "ns"),
                        )
                        for resource, share in p.used.items() if share > 0
                    ),
                    key=lambda b: -b.share,
                )
            ),
        )  # fmt: skip


def _estimate(value: float, spread: float, unit: str) -> Estimate:
    """With what equal measurements of the table differ by, where it says so."""
    if spread <= 0:
        return Estimate(value=value, low=None, high=None, n=1, unit=unit)
    return Estimate(value=value, low=value * (1 - 1.96 * spread), high=value * (1 + 1.96 * spread), n=1, unit=unit)


def _times(row: Row) -> Iterator[tuple[str, Estimate]]:
    for key, figure in row.figures.items():
        kind, _, of = key.partition(".")
        if kind == "time" and of.startswith("p") and figure.base > 0:
            yield of.removeprefix("p"), Estimate(value=figure.base, low=None, high=None, n=1, unit="ns")


def _cost(row: Row) -> Iterator[CycleCost]:
    cost, size = row.figures.get("cost"), row.figures.get("size")
    if cost is not None and size is not None:
        yield CycleCost(
            end="machine", source="as printed",
            kernel_per_byte=Estimate(value=cost.base, low=None, high=None, n=1, unit="cycles/B"),
            kernel_per_io=Estimate(value=cost.base * size.base, low=None, high=None, n=1, unit="cycles"),
        )  # fmt: skip
