"""What several clients did together, for the terminal and for Markdown: the sum, each of them, how alike they were."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from strata import units
from strata.model.clients import Clients, Done, OneClient, clients_of
from strata.model.result import CellResult
from strata.report import figures

SHOWN = 16
"""Of more clients than these the slowest are shown; JSON has all of them."""
HEAD = ("client", "node", "IOPS", "bandwidth", "mean", "p99", "first I/O after", "own run")


def client_lines(found: Clients, *, each: bool = True) -> Iterator[tuple[str, str]]:
    """(label, text) of each line, in words; ``each``: a line for each client that is shown, too."""
    if found.together is None:
        yield "clients", f"no total: {found.why_not}"
    else:
        t = found.together
        rates = f"{units.count(t.iops)} IOPS · {units.rate(t.bytes_per_second)}"
        yield "clients", f"{len(t.clients)} at once for {t.seconds:.3g} s, total {rates}"
    yield from _fair(found)
    if (skew := found.start_skew) is not None:
        clocks = f"; clock bound {units.duration(skew.bound_ns)}" if skew.bound_ns else ""
        yield "starts", f"the first I/Os of all threads within {units.duration(skew.ns)}{clocks}"
    if found.first_done is not None and found.last_done is not None:
        yield "first done", _done(found.first_done)
        yield "last done", _done(found.last_done)
    for one in shown(found) if each else ():
        yield f"client {one.client}", " · ".join(f"{name} {text}".strip() for name, text in _of(one))
    if each and (more := len(found.each) - SHOWN) > 0:
        yield "", f"and {figures.plural(more, 'faster client')}; --json shows all"
    yield from _lost(found)


def _fair(found: Clients) -> Iterator[tuple[str, str]]:
    if (f := found.fairness) is not None:
        text = f"Jain's index {f.jain:.3f} · spread {units.percent(f.spread, 2)} of the mean rate"
        yield "fairness", f"{text} · slowest client {f.slowest} at {units.percent(f.slowest_share, 3)} of the median"
        if f.starved:
            yield "starved", f"below half of the median rate: {_names(f.starved)}"
    for one in found.outliers:
        value, middle = (one.value, one.median)
        said = [f"{units.count(x)} IOPS" if one.of == "rate" else units.duration(x) for x in (value, middle)]
        yield "differs", f"client {one.client} on {one.node}: {one.of} {said[0]}, the median of all is {said[1]}"


def _lost(found: Clients) -> Iterator[tuple[str, str]]:
    for one in found.lost:
        last = one.intervals[-1].end_ns / 1e9 if one.intervals else 0.0
        yield "lost", f"client {one.client} on {one.node}, last heard {last:.3g} s into the measurement: {one.why}"
    if (before := found.before_loss) is not None:
        rates = f"{units.count(before.iops)} IOPS · {units.rate(before.bytes_per_second)}"
        yield "", f"while all {len(before.clients)} ran, {before.seconds:.3g} s: {rates}"


def _done(done: Done) -> str:
    rates = f"{units.count(done.iops)} IOPS · {units.rate(done.bytes_per_second)}"
    return f"after {done.seconds:.3g} s: {units.count(done.ops)} I/Os · {units.size(done.bytes)} · {rates}"


def shown(found: Clients) -> Sequence[OneClient]:
    """Those that have a line: all where they are few, else the slowest, in their order."""
    if len(found.each) <= SHOWN:
        return found.each
    slowest = sorted(found.each, key=lambda one: one.whole_iops)[:SHOWN]
    return sorted(slowest, key=lambda one: one.client)


def _of(one: OneClient) -> Iterator[tuple[str, str]]:
    yield "", one.node
    if one.iops is not None and one.bytes_per_second is not None:
        yield "", f"{units.count(one.iops)} IOPS"
        yield "", units.rate(one.bytes_per_second)
    if one.mean_ns is not None:
        yield "mean", units.duration(one.mean_ns)
    if one.p99_ns is not None:
        yield "p99", units.duration(one.p99_ns)
    if one.after_ns:
        yield "first I/O", f"{units.duration(one.after_ns)} after the first client's"
    if one.iops is None or abs(one.whole_iops - one.iops) > 0.01 * one.iops:
        yield "own run", f"{units.count(one.whole_iops)} IOPS in {one.whole_seconds:.3g} s"
    if one.stop_reason != "runtime":
        yield "ended by", one.stop_reason


def table(found: Clients, *, every: bool = False) -> list[list[str]]:
    """A row for each client that is shown, or ``every`` one, under `HEAD`."""

    def text(value: float | None, say: Callable[[float], str]) -> str:
        return "–" if value is None else say(value)

    return [
        [
            str(one.client),
            one.node,
            text(one.iops, units.count),
            text(one.bytes_per_second, units.rate),
            text(one.mean_ns, units.duration),
            text(one.p99_ns, units.duration),
            text(one.after_ns, units.duration),
            f"{units.count(one.whole_iops)} IOPS, {one.whole_seconds:.3g} s",
        ]
        for one in (found.each if every else shown(found))
    ]


def of_results(results: Sequence[CellResult]) -> list[tuple[str, Clients]]:
    """Of each step that several clients measured: its name, and what they did."""
    found = [(r, None if r.result is None else clients_of(r.result)) for r in results]
    several = len({r.cell for r, clients in found if clients is not None})
    return [(f"{r.cell}, round {r.round + 1}" if several > 1 else r.cell, c) for r, c in found if c is not None]


def _names(clients: Sequence[int]) -> str:
    return ", ".join(f"client {client}" for client in clients)
