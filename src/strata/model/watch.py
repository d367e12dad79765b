"""What `strata watch` saw of somebody else's load, and what it says of it. Watching issues no I/O."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Field

from strata.model.base import CommandLine, Value, sparse
from strata.model.counters import Readings
from strata.model.finding import Cause, Finding, RuledOut, Verdict, VerdictKind
from strata.model.live import LiveLayer
from strata.model.stack import Stack
from strata.model.trace import TraceSummary

APPLICATION = "application"
"""The layer above all others: whoever issues the load."""
CALLS = "calls"
"""The kind of a row of system calls; it follows processes, which come and go."""
LOOKS_FEWEST = 20
"""At the threads of a process, below which their states are no share."""
ISSUERS_MOST = 12
"""Issuers that are told of all machines together; of more nobody knows what the others did."""


class LayerDevices(Value):
    """The block devices under a layer, the first upper; ``carriers``: those that share its data; ``node``: under which
    name their machine was sampled, None for this one.
    """

    layer: str
    devices: tuple[str, ...] = ()
    carriers: tuple[str, ...] = ()
    node: str | None = sparse(None)


class ThreadTime(Value):
    """How often the threads of a process that issue I/O were found in which state, of ``looks``.

    ``running``: on a CPU or ready for one; ``storage``: waiting for I/O; ``sleeping``: in a sleep that they asked for;
    ``other``: for a lock, a pipe, a socket, an event. ``threads``: those that were looked at, at most at once.
    """

    threads: int
    looks: int
    running: int = 0
    storage: int = 0
    sleeping: int = 0
    other: int = 0

    def share(self, state: Literal["running", "storage", "sleeping", "other"]) -> float:
        """Of all looks."""
        value: int = getattr(self, state)
        return value / self.looks if self.looks else 0.0


class Issuer(Value):
    """A process that issued I/O. Per second: ``read_bytes`` and ``write_bytes`` of its own to storage, ``asked_bytes``
    through its system calls, page cache included, in ``asked_ios`` calls (None: not counted). ``cores``: CPUs at work;
    ``waiting``: CPUs it would have used more.

    ``group``: its control group; ``kind``: process, container, vm or kernel. ``watched``: it is the command or below
    it. ``throttled``: share of the periods in which a CPU quota of its group was used up. ``node``: on which other
    machine, by the name of its node.
    """

    pid: int
    name: str
    kind: str = "process"
    group: str = ""
    read_bytes: float
    write_bytes: float
    asked_bytes: float = 0.0
    asked_ios: float | None = sparse(None)
    cores: float = 0.0
    waiting: float | None = None
    watched: bool = False
    throttled: float | None = sparse(None)
    threads: ThreadTime | None = sparse(None)
    node: str | None = sparse(None)

    @property
    def label(self) -> str:
        """``fio/4711 of n2``; of this machine only ``fio/4711``."""
        return f"{self.name}/{self.pid}" if self.node is None else f"{self.name}/{self.pid} of {self.node}"


class Sharer(Value):
    """Who had requests at a device, by a trace: ``share`` of them."""

    pid: int
    name: str
    share: float
    kernel: bool = False


class Requests(Value):
    """A stretch of the requests of one device in the order of their issue, none left out: when (µs from the beginning
    of the stretch), how long (µs), bytes, whether a write. ``from_s``: since the watching began; ``fresh``: nothing was
    in flight when it began.
    """

    device: str
    from_s: float
    fresh: bool = False
    issued_us: tuple[int, ...]
    took_us: tuple[int, ...]
    bytes: tuple[int, ...]
    writes: tuple[bool, ...]

    @property
    def count(self) -> int:
        """How many."""
        return len(self.issued_us)


class Arrival(Value):
    """What reached one device in a short trace: ``from_s`` to ``from_s + seconds`` of the watching.

    ``lengths``: (bytes, how many) of what entered. ``done``: requests completed in each ``bin_s``, ``flying``: in
    flight at the end of each.
    """

    device: str
    from_s: float
    seconds: float
    summary: TraceSummary
    lengths: tuple[tuple[int, int], ...] = ()
    range_bytes: tuple[int, int] | None = None
    depths: tuple[tuple[int, int], ...] = ()
    sharers: tuple[Sharer, ...] = ()
    bin_s: float = 0.02
    done: tuple[int, ...] = ()
    flying: tuple[int, ...] = ()
    requests: Requests | None = sparse(None)
    node: str | None = sparse(None)
    """Whose device it is, and whose processes the sharers are; None: this machine's."""

    @property
    def label(self) -> str:
        """``sdb of n1``; of this machine only ``sdb``."""
        return self.device if self.node is None else f"{self.device} of {self.node}"


class DeclaredLoad(Value):
    """What the command says of itself, where it is understood: I/Os that it keeps outstanding at the most."""

    outstanding: int | None = None


class Ran(Value):
    """The command, from its start to its end. ``status``: its exit code, negative for a signal; None: it was ended."""

    command: CommandLine
    seconds: float
    status: int | None
    asked: DeclaredLoad | None = sparse(None)


class Observed(Value):
    """All the evidence of one watching, from which the verdict is made by rules alone: it can be judged again.

    ``bins``: seconds from the beginning at which the pieces begin, and the end of the last one; ``rates``: each
    counter by its name, with what it says in each piece. ``servers``: processes that serve the path, whose requests are
    the load's; ``family``: the command and all below it, also those that are gone; ``serving``: those that serve the
    command, as a database its client, and ``serving_untold`` why they are not known. ``starts``: at which byte of what
    is below it a device begins. ``speeds``: bytes per second that a card's link carries in one direction, where it is
    known. ``absent``: what was not seen, and why.
    """

    schema_version: Literal["strata.observed/1"] = Field(default="strata.observed/1", alias="schema")
    where: str
    began_unix_ns: int
    seconds: float
    stack: Stack
    reached: tuple[LayerDevices, ...]
    bins: tuple[float, ...]
    rates: dict[str, tuple[float | None, ...]]
    issuers: tuple[Issuer, ...] = ()
    servers: tuple[int, ...] = ()
    family: tuple[int, ...] = sparse(())
    serving: tuple[int, ...] = sparse(())
    serving_untold: str = sparse("")
    arrivals: tuple[Arrival, ...] = ()
    starts: dict[str, int] = {}
    speeds: dict[str, float] = sparse({})
    ran: Ran | None = None
    absent: tuple[str, ...] = ()
    sampling_share: float | None = None

    def reaches(self, layer: str) -> LayerDevices:
        """The devices under it."""
        return next((r for r in self.reached if r.layer == layer), LayerDevices(layer=layer))

    def readings(self, first: int = 0, end: int | None = None) -> Readings:
        """Every counter over some of the pieces, each by its length; what was not read in half of them is left out."""
        span = range(first, len(self.bins) - 1 if end is None else end)
        length = [self.bins[i + 1] - self.bins[i] for i in span]
        whole = sum(length)
        found: dict[str, float] = {}
        for name, values in self.rates.items():
            known = [(values[i], s) for i, s in zip(span, length, strict=True) if values[i] is not None]
            seen = sum(s for _, s in known)
            if known and 2 * seen >= whole > 0:
                found[name] = sum((v or 0.0) * s for v, s in known) / seen
        return Readings(found)


class WatchedLayer(Value):
    """What one layer did: ``in_flight`` and ``request_ns`` by Little's law (X · R = N), rates per second.

    ``busy``: share of the time with a request in it, of a card share of its link's speed; ``demand_ns``: of its time
    for each I/O of the device (busy ÷ I/Os per second). ``what``: the device, card, queue or process that it is, on
    ``node`` where that is not this machine; ``bs``: mean bytes of a request; ``sequential``: share of the requests that
    go on where one of the last 16 ended. ``untold``: why its requests are not counted here.
    """

    layer: str
    what: str
    kind: str
    iops: float | None = None
    bytes_per_second: float | None = None
    in_flight: float | None = None
    request_ns: float | None = None
    busy: float | None = None
    demand_ns: float | None = None
    bs: float | None = None
    writes: float | None = None
    sequential: float | None = None
    splits: float | None = None
    p50_ns: float | None = sparse(None)
    p99_ns: float | None = sparse(None)
    node: str | None = sparse(None)
    untold: str | None = sparse(None)


class Confirmation(Value):
    """What would prove it: the command, the workload as it was observed, bytes it would write and its time.

    ``open_questions``: what the observation leaves open of the workload. ``verdict`` and ``run``: what the diagnosis
    said, where it was run at once.
    """

    command: str
    workload: str
    workload_key: str
    profile: str | None = None
    writes_bytes: int | None = None
    seconds: float | None = None
    open_questions: tuple[str, ...] = ()
    verdict: Verdict | None = sparse(None)
    run: str | None = sparse(None)


class WatchEvent(Value):
    """A change of level: at which layer, when, from what to what."""

    at_unix_ns: int
    layer: str
    what: str
    metric: str
    before: float
    after: float
    says: str


class SliceIssuer(Value):
    """Who issued I/O in a slice; ``kind`` and ``group`` as of `Issuer`, None where they were not kept."""

    label: str
    kind: str | None = None
    group: str = sparse("")


def _issuers(kept: Any) -> Any:
    """Lines of before 2026-11-26 have labels alone."""
    return tuple({"label": one} if isinstance(one, str) else one for one in kept)


class Slice(Value):
    """A piece of a watching that goes on: what is said of it, and the places of the requests; what the ring on disk
    keeps. ``absent``: nodes that are sampled no more, and why.

    ``stack``: its layers, the medium first, and ``here`` which of its nodes this machine is; ``proof``: the command
    that would prove what is said.
    """

    at_unix_ns: int
    seconds: float
    kind: VerdictKind
    layer: str | None = None
    cause: Cause
    confidence: float
    headline: str
    layers: tuple[WatchedLayer, ...]
    issuers: Annotated[tuple[SliceIssuer, ...], BeforeValidator(_issuers)] = ()
    events: tuple[WatchEvent, ...] = ()
    absent: tuple[str, ...] = sparse(())
    explanation: str = sparse("")
    evidence: tuple[str, ...] = sparse(())
    missing: tuple[str, ...] = sparse(())
    ruled_out: tuple[RuledOut, ...] = sparse(())
    next_step: str = sparse("")
    proof: str | None = sparse(None)
    stack: tuple[LiveLayer, ...] = sparse(())
    here: str | None = sparse(None)


class LookBack(Value):
    """What a watching that went on has kept of a time, with the changes of level in it.

    ``gaps``: stretches without a slice (the watching did not run), as (from, to) in ns since the epoch.
    """

    schema_version: Literal["strata.watch-history/1"] = Field(default="strata.watch-history/1", alias="schema")
    where: str
    from_unix_ns: int
    to_unix_ns: int
    slices: tuple[Slice, ...]
    events: tuple[WatchEvent, ...] = ()
    gaps: tuple[tuple[int, int], ...] = ()


class WatchResult(Value):
    """A watching as it is printed."""

    schema_version: Literal["strata.watch/1"] = Field(default="strata.watch/1", alias="schema")
    where: str
    began_unix_ns: int
    seconds: float
    verdict: Verdict
    findings: tuple[Finding, ...] = ()
    ruled_out: tuple[RuledOut, ...] = ()
    layers: tuple[WatchedLayer, ...] = ()
    issuers: tuple[Issuer, ...] = ()
    arrivals: tuple[Arrival, ...] = ()
    events: tuple[WatchEvent, ...] = ()
    ran: Ran | None = None
    absent: tuple[str, ...] = ()
    confirm: Confirmation | None = None
    sampling_share: float | None = None
