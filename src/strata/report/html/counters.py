"""The counters beside the figures: one row per measured cell, only columns that were read anywhere."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from strata import units
from strata.model.analysis import CellSummary
from strata.model.counters import Counter, cgroup, pressure, qdisc, tcp
from strata.model.run import Report
from strata.model.workload import Workload
from strata.report import figures
from strata.report.ladder import Ladder

Reader = Callable[[CellSummary], float | None]


@dataclass(frozen=True)
class CounterColumn:
    """A counter: its heading, what it says, how it is read from a cell and written."""

    name: str
    meaning: str
    read: Reader
    write: Callable[[float], str]
    rare: bool = False
    """Left out where it is 0 everywhere."""


def _rtt(cell: CellSummary) -> float | None:
    # The server's end of the same connection is measured by its own traffic, which is the replies.
    seconds = cell.readings.total(tcp.RTT, end=tcp.CLIENT)
    return None if seconds is None else seconds * 1e9


def _kernel_cycles(cell: CellSummary) -> float | None:
    return next((c.kernel_per_byte.value for c in cell.cycles if c.end == "machine" and c.node is None), None)


def _of(
    name: str, counter: Counter, write: Callable[[float], str], *, rare: bool = False, more: str = "", **where: str
) -> CounterColumn:
    """The column of one counter, over everything that has it, in the catalogue's words."""
    return CounterColumn(
        name, f"{counter.words}{more}", lambda cell: cell.readings.total(counter, **where), write, rare
    )


ALL = (
    CounterColumn("in flight", "rate × mean latency (Little's law)", lambda c: c.outstanding, units.significant),
    CounterColumn("CPU busy", "mean over all CPUs", lambda c: c.cpu_busy, figures.percent),
    CounterColumn("busiest CPU", "the busiest single CPU", lambda c: c.cpu_busiest, figures.percent),
    CounterColumn("CPU steal", "CPU time that the hypervisor gave to others", lambda c: c.cpu_steal, figures.percent),
    CounterColumn("engine CPU/IO", "Strata's own CPU time per I/O", lambda c: c.engine_cpu_ns_per_io, units.duration),
    CounterColumn(
        "in flight at device", "mean number of requests at the device", lambda c: c.device_in_flight, units.significant
    ),
    CounterColumn("device time/IO", "device busy time per I/O", lambda c: c.device_busy_ns_per_io, units.duration),
    CounterColumn(
        "device read B/B",
        "bytes the device read per byte the application read",
        lambda c: c.device_read_bytes_per_byte,
        units.significant,
    ),
    CounterColumn(
        "wire B/B", "bytes on the wire per application byte", lambda c: c.wire_bytes_per_byte, units.significant
    ),
    CounterColumn("cycles/B", "kernel cycles of the whole machine per byte", _kernel_cycles, units.significant),
    CounterColumn("TCP rtt", f"{tcp.RTT.words}, mean", _rtt, units.duration),
    _of("retransmitted", tcp.RESENT, units.significant, rare=True, more=", per second"),
    _of("qdisc drops", qdisc.DROPS, units.significant, rare=True, more=", per second"),
    _of("backlog", qdisc.BACKLOG_BYTES, units.size, rare=True),
    CounterColumn(
        "I/O pressure",
        "share of time in which a task waited for I/O",
        lambda cell: cell.readings.total(pressure.SECONDS, resource="io", kind="some"),
        figures.percent,
    ),
    _of("throttled", cgroup.THROTTLED_SECONDS, figures.percent, rare=True),
    CounterColumn("flush p50", "median time of an fsync or fdatasync", lambda c: c.flush_ns.get("50"), units.duration),
    CounterColumn("flush p99", "99 % of the flushes took no longer", lambda c: c.flush_ns.get("99"), units.duration),
    CounterColumn("errors", "I/Os that failed", lambda c: float(c.errors), lambda v: units.count(round(v))),
)


def columns(report: Report) -> tuple[CounterColumn, ...]:
    """Those that have something to tell in at least one cell."""
    return tuple(c for c in ALL if any(_told(c, cell) for cell in report.analysis.cells))


def _told(column: CounterColumn, cell: CellSummary) -> bool:
    value = column.read(cell)
    return value is not None and not (column.rare and value == 0)


@dataclass(frozen=True)
class CounterRow:
    """One cell. ``first`` opens a workload, whose heading spans ``span`` rows. An absent counter is a dash."""

    workload: Workload
    shape: str
    first: bool
    span: int
    cell: CellSummary
    texts: tuple[str, ...]


def rows(report: Report, table: Ladder) -> tuple[CounterRow, ...]:
    """In the order of the ladder, layers from the medium upward."""
    shown = columns(report)
    made = []
    for row in table.rows:
        found = [report.analysis.summary(layer.name, row.workload.key) for layer in report.run.plan.stack.layers]
        cells = [c for c in found if c is not None]
        for i, cell in enumerate(cells):
            texts = []
            for column in shown:
                value = column.read(cell)
                texts.append("–" if value is None else column.write(value))
            made.append(CounterRow(row.workload, row.shape, i == 0, len(cells), cell, tuple(texts)))
    return tuple(made)
