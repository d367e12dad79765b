"""What a run shows while it runs on a terminal, on stderr. It never ends a run: it falls silent with its stream."""

from __future__ import annotations

import atexit
from collections import deque
from collections.abc import Sequence
from operator import attrgetter

from rich.console import Console, Group
from rich.live import Live
from rich.text import Text

from strata import units
from strata.model.progress import ClientNow, DeviceNow, Glance, NodeNow, Progress
from strata.report.plain import PHASE, place, rates, time_left
from strata.report.text_layout import bars, cell_len, clean, fit, left, right

_KEPT = 4
_RUNNING = attrgetter("phase", "step", "layer", "label")
"""What is running: the rates of one are no rates of the next."""
_WIDEST = 132


def sparkline(values: list[float], width: int) -> str:
    """The last ``width`` values from zero to their maximum, so that noise does not look like a cliff."""
    shown = values[-width:] if width > 0 else []
    return bars(shown, 0.0, max(shown, default=0.0))


class Screen:
    """What the live display knows: the last event, the rates of the running step, the last finished steps."""

    def __init__(self) -> None:
        self.last: Progress | None = None
        self.recent: deque[float] = deque(maxlen=_WIDEST)
        self.finished: deque[Progress] = deque(maxlen=_KEPT)

    def take(self, p: Progress) -> None:
        """A new event."""
        before = self.last
        if before is None or _RUNNING(p) != _RUNNING(before):
            self.recent.clear()
        if p.finished or p.error:
            self.finished.append(p)
        elif p.iops is not None:
            self.recent.append(p.iops)
        self.last = p

    def lines(self, width: int) -> list[Text]:
        """The display in at most ``width`` cells; every line fits, nothing wraps."""
        p = self.last
        if p is None:
            return []
        room = min(width, _WIDEST) - 1
        made = [self._head(p, room)]
        if p.step is not None and p.steps:
            made.append(self._bar(p, p.step, p.steps, room))
        if now := rates(p):
            widths = (16, 14, 14)
            text = "".join(right(part, widths[i]) for i, part in enumerate(now))
            line = Text(fit(text, room), style="bold")
            spare = room - len(text) - 3
            if spare > 8:
                line.append("   " + sparkline(list(self.recent), spare), style="cyan")
            made.append(line)
            made += [Text(line, style="dim") for line in [*client_lines(p.now.clients, room), *glances(p.now, room)]]
        elif p.message and (p.layer or p.label):
            made.append(Text(fit(clean(p.message), room), style="dim"))
        return made + [self._done(f, room) for f in self.finished]

    @staticmethod
    def _head(p: Progress, room: int) -> Text:
        start = f"{PHASE[p.phase]}  "
        return Text(start, style="bold cyan").append(fit(place(p), max(room - len(start), 8)), style="bold")

    @staticmethod
    def _bar(p: Progress, step: int, steps: int, room: int) -> Text:
        of_rounds = f"round {p.round} of {p.rounds}" if p.round is not None and p.rounds is not None else ""
        tail = " · ".join(x for x in (of_rounds, f"step {step} of {steps}", time_left(p)) if x)
        if len(tail) + 12 > room:
            tail = fit(f"step {step} of {steps}", max(room - 12, 1))
        size = room - len(tail) - 2
        done = step if p.finished else step - 1
        full = round(size * min(max(done / steps, 0), 1))
        return Text("━" * full, style="cyan").append("━" * (size - full), style="bright_black").append(f"  {tail}")

    @staticmethod
    def _done(p: Progress, room: int) -> Text:
        if p.error:
            return Text(fit(f"✗ {place(p)}: {clean(p.error)}", room), style="red")
        sizes = (13, 11, 12) if room >= 99 else (13, 11)
        end = "  ".join(right(part, size) for part, size in zip(rates(p), sizes, strict=False))
        start = fit(f"✓ {place(p)}", max(room - len(end) - 1, 10))
        return Text(left(start, room - len(end)), style="green").append(end, style="default")


class QuietConsole(Console):
    """A console that falls silent when its stream is closed.

    The library's own answer to a broken pipe is to end the process and to point stdout at /dev/null, which
    would throw away the result of the run.
    """

    def on_broken_pipe(self) -> None:
        """Nothing more is written."""
        self.quiet = True


class LiveView:
    """Redraws a few lines on a terminal and removes them at the end. `close` may come twice."""

    def __init__(self, console: QuietConsole | None = None) -> None:
        self._console = console or QuietConsole(stderr=True)
        self._screen = Screen()
        self._live: Live | None = None
        self._closed = False

    def update(self, progress: Progress) -> None:
        """Shows ``progress``. After `close` it does nothing."""
        self._screen.take(progress)
        if self._closed:
            return
        try:
            if self._live is None:
                # stdout carries the result only: it is never taken over by the display
                live = Live(console=self._console, auto_refresh=False, transient=True, redirect_stdout=False)
                live.start()
                self._live = live
                atexit.register(self.close)
            self._live.update(Group(*self._screen.lines(self._console.width)), refresh=True)
        except (OSError, ValueError):
            self._closed = True

    def close(self) -> None:
        """Removes the display and shows the cursor again."""
        live, self._live, self._closed = self._live, None, True
        if live is None:
            return
        atexit.unregister(self.close)
        try:
            live.stop()
        except (OSError, ValueError):
            return


_CLIENTS = 12


def client_lines(clients: Sequence[ClientNow], room: int) -> list[str]:
    """One for each client, those that are lost or late first where not all have room; then the slowest. One for each
    node instead, where several nodes have several."""
    nodes = list(dict.fromkeys(c.node for c in clients))
    if 1 < len(nodes) < len(clients):
        return _node_lines({node: [c for c in clients if c.node == node] for node in nodes}, room)
    urgent = sorted(clients, key=lambda c: (c.lost is None, -c.late, c.iops))[:_CLIENTS]
    lines = [_line(f"client {c.client}", _client(c), room) for c in sorted(urgent, key=lambda c: c.client)]
    more = len(clients) - len(urgent)
    return [*lines, fit(f"  and {more} more clients, none late, all faster", room)] if more > 0 else lines


def _node_lines(by_node: dict[str, list[ClientNow]], room: int) -> list[str]:
    def urgency(node: str) -> tuple[bool, int, float]:
        own = by_node[node]
        return all(c.lost is None for c in own), -max(c.late for c in own), sum(c.iops for c in own)

    urgent = set(sorted(by_node, key=urgency)[:_CLIENTS])
    lines = [_line(clean(node), _of_node(own), room) for node, own in by_node.items() if node in urgent]
    more = len(by_node) - len(urgent)
    return [*lines, fit(f"  and {more} more nodes, none late, all faster", room)] if more > 0 else lines


def _of_node(own: Sequence[ClientNow]) -> list[str]:
    lost, late = [c for c in own if c.lost is not None], [c for c in own if c.lost is None and c.late]
    running = [c for c in own if c.lost is None and not c.late]
    parts = [f"lost {len(lost)} of {len(own)}: {clean(lost[0].lost or '')}"] if lost else []
    parts += [f"LATE {len(late)} of {len(own)}"] if late else []
    if running:
        parts += [
            f"{units.count(sum(c.iops for c in running))} IOPS",
            units.rate(sum(c.bytes_per_second for c in running)),
        ]
    whole = next((c.node_p99_ns for c in running if c.node_p99_ns is not None), None)
    times = [c.p99_ns for c in running if c.p99_ns is not None]
    if whole is not None:
        parts.append(f"p99 {units.duration(whole)}")
    elif times:
        # Histograms do not travel while it runs, and not all clients of the node are through with the interval.
        parts.append(f"worst p99 {units.duration(max(times))}")
    return [*parts, f"{len(own)} clients"]


def _client(c: ClientNow) -> list[str]:
    if c.lost is not None:
        return [f"lost: {clean(c.lost)}", clean(c.node)]
    if c.late:
        return [f"LATE by {units.plural(c.late, 'interval')}", clean(c.node)]
    if not c.iops and c.p99_ns is None:
        return ["done or idle", clean(c.node)]
    times = [] if c.p99_ns is None else [f"p99 {units.duration(c.p99_ns)}"]
    return [f"{units.count(c.iops)} IOPS", units.rate(c.bytes_per_second), *times, clean(c.node)]


WIRE_IDLE = 100_000.0
"""Bytes per second below which a wire is not worth a word: what any machine chats."""
HERE = "here"
_NAME, _DEVICES, _NODES = 9, 4, 6
_HELD_BACK, _USED = 0.01, 0.005


def glances(now: Glance, room: int) -> list[str]:
    """Devices, this machine, other nodes, each in ``room`` cells: what does not fit is left out whole."""
    told = [(d.name, _device(d)) for d in now.devices[:_DEVICES]]
    machine = []
    if now.busy is not None:
        machine.append(f"CPU {units.percent(now.busy, 2)}")
    if now.own is not None:
        machine.append(f"strata {_cpus(now.own)}")
    told += [(HERE, [*machine, *_node(n)]) for n in now.nodes if n.name is None]
    told += [(n.name, _node(n)) for n in [n for n in now.nodes if n.name is not None][:_NODES] if n.name]
    return [_line(clean(name), parts, room) for name, parts in told if parts]


def _line(name: str, parts: list[str], room: int) -> str:
    line = f"  {left(fit(name, _NAME), _NAME)} {parts[0]}"
    for part in parts[1:]:
        if cell_len(line) + 3 + cell_len(part) <= room:
            line += f" · {part}"
    return fit(line, room)


def _device(d: DeviceNow) -> list[str]:
    parts = []
    if d.depth is not None:
        parts.append(f"depth {units.significant(d.depth, 2) if d.depth >= 0.05 else '0'}")
    parts += [f"{units.count(d.iops)} IOPS", units.rate(d.bytes_per_second)]
    if d.request_s is not None:
        parts.append(f"{units.duration(d.request_s * 1e9)} each")
    return parts


def _node(n: NodeNow) -> list[str]:
    parts = [f"{clean(name)} {_cpus(used)}" for name, used in n.servers if used >= _USED]
    sent, received = n.tx_bytes_per_second, n.rx_bytes_per_second
    if sent is not None and received is not None and max(sent, received) >= WIRE_IDLE:
        parts += [f"out {units.rate(sent)}", f"in {units.rate(received)}"]
    if n.resent:
        parts.append(f"{units.significant(n.resent, 2)} resent/s")
    if n.held_back is not None and n.held_back >= _HELD_BACK:
        parts.append(f"held back {units.significant(n.held_back, 2)} s/s")
    if n.waiting_bytes:
        parts.append(f"{units.size(round(n.waiting_bytes))} waiting")
    if n.rtt_s is not None:
        parts.append(f"rtt {units.duration(n.rtt_s * 1e9)}")
    return parts


def _cpus(used: float) -> str:
    """``0.31 CPUs``."""
    return f"{units.significant(used, 2) if used >= _USED else '0'} CPUs"
