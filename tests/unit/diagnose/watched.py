"""Loads as they would be observed, for the rules of `strata watch`: a queue that is worked out, and its counters."""

from __future__ import annotations

import heapq
from collections.abc import Callable, Mapping, Sequence

from strata.diagnose.watch.verdict import Judged
from strata.model.counters import blockdev, cpu, net, tcp
from strata.model.counters.readings import stored_name
from strata.model.finding import Cause, VerdictKind
from strata.model.stack import Stack
from strata.model.trace import OrderSummary, TraceSummary
from strata.model.watch import Arrival, Issuer, LayerDevices, Observed, Ran, Requests, Sharer, ThreadTime

APP = 100
BINS = tuple(float(i) / 2 for i in range(21))
STACK = """
[stack]
name = "s"

[[layer]]
name = "disk"
endpoint = "block:/dev/sda"
{expect}

[[layer]]
name = "file system"
endpoint = "file:/mnt/a.dat"
on = ["disk"]
"""
SPEC = 'expect.iops = 1644\nexpect.latency = "2.43ms"\nexpect.bandwidth = "179MB/s"'

SHARE = """
[stack]
name = "s"

[[node]]
name = "n2"

[[layer]]
name = "disk"
endpoint = "block:/dev/sda"
{expect}

[[layer]]
name = "share"
node = "n2"
endpoint = "nbd://10.0.0.1:10809/x"
on = ["disk"]
"""
ON = {"node": "n2"}
TO = {"peer": "10.0.0.1", "end": "client", "connection": "1", **ON}
CARD = {"interface": "eth0", **ON}
FULL = {"in_flight": 15.9, "busy": 1.0}
"""A device with sixteen requests all the time."""


def queue(
    outstanding: int,
    servers: int,
    service_us: Callable[[int, int], float],
    count: int = 800,
    sizes: Sequence[int] = (8192,),
    gap_us: Callable[[int], float] = lambda _: 0.0,
) -> Requests:
    """A closed loop of so many on so many servers, first come first served; ``gap_us``: a limit's pace by bytes."""
    free = [0.0] * servers
    slots = [0.0] * outstanding
    paced = 0.0
    rows = []
    for n in range(count):
        issued = heapq.heappop(slots)
        size = sizes[n % len(sizes)]
        paced = max(issued, paced) + gap_us(size)
        begins = max(paced, heapq.heappop(free))
        done = begins + service_us(n, size)
        heapq.heappush(free, done)
        heapq.heappush(slots, done)
        rows.append((issued, done - issued, size))
    rows.sort()
    return Requests(
        device="sda", from_s=0.0, fresh=True,
        issued_us=tuple(round(r[0]) for r in rows), took_us=tuple(round(r[1]) for r in rows),
        bytes=tuple(r[2] for r in rows), writes=(False,) * count,
    )  # fmt: skip


def side(requests: int, sequential: float = 0.0, size: int = 8192) -> OrderSummary:
    """One direction of a trace."""
    return OrderSummary(
        requests=requests, entered=requests, bytes=requests * size, strict_share=sequential, windowed_share=sequential,
        backward_share=0.5, reordered_share=None, mean_extent=None, max_extent=0, service_mean_ns=None,
        service_p99_ns=None,
    )  # fmt: skip


def arrival(requests: Requests, *, sharers: tuple[Sharer, ...] = (), splits: int = 0, **more: object) -> Arrival:
    """What was traced, with these requests in it."""
    n = requests.count
    summary = TraceSummary(
        device="sda", role="device", seconds=1.0, whole=True, read=side(n), write=side(0), splits=splits, merges=0,
        mean_depth=8.0, dispatchers=1.0, threads=1,
    )  # fmt: skip
    told = sharers or (Sharer(pid=APP, name="app", share=1.0),)
    fields = {"device": "sda", "from_s": 1.0, "seconds": 1.0, "summary": summary, "sharers": told, **more}
    return Arrival.model_validate({**fields, "requests": requests})


def disk(iops: float, in_flight: float, busy: float, size: int = 8192, **more: float) -> dict[str, float]:
    """Counters of the device; ``more`` by the names of `blockdev`."""
    found = {
        blockdev.READS: iops, blockdev.WRITES: 0.0, blockdev.READ_BYTES: iops * size, blockdev.WRITE_BYTES: 0.0,
        blockdev.READ_SECONDS: in_flight, blockdev.WRITE_SECONDS: 0.0, blockdev.IO_SECONDS: busy,
        blockdev.WEIGHTED_SECONDS: in_flight, blockdev.STALLS: 0.0, blockdev.STALLED_SECONDS: 0.0,
    }  # fmt: skip
    found |= {getattr(blockdev, name): value for name, value in more.items()}
    return {stored_name(counter.name, {"device": "sda"}): value for counter, value in found.items()}


def issuer(storage: int = 90, sleeping: int = 0, running: int = 10, **more: object) -> Issuer:
    """The application, which is the command."""
    states = {"storage": storage, "sleeping": sleeping, "running": running}
    threads = ThreadTime(threads=1, looks=sum(states.values()), **states)
    fields = {"pid": APP, "name": "app", "read_bytes": 1e7, "write_bytes": 0.0, "watched": True, "threads": threads}
    return Issuer.model_validate({**fields, **more})


def observed(
    counters: Mapping[str, float],
    arrivals: Sequence[Arrival] = (),
    issuers: Sequence[Issuer] | None = None,
    expect: str = SPEC,
    seconds: float = 10.0,
    toml: str = STACK,
) -> Observed:
    """With the same rates in every piece of the time."""
    stack = Stack.from_toml(toml.format(expect=expect), "test")
    reached = tuple(LayerDevices(layer=x.name, devices=("sda",), carriers=("sda",)) for x in stack.layers)
    return Observed(
        where="/mnt", began_unix_ns=0, seconds=seconds, stack=stack, reached=reached, bins=BINS,
        rates={name: (value,) * (len(BINS) - 1) for name, value in counters.items()},
        issuers=(issuer(),) if issuers is None else tuple(issuers), arrivals=tuple(arrivals),
        ran=Ran(command=("app",), seconds=seconds, status=0),
    )  # fmt: skip


def wire(rtt_s: float = 0.0002, **more: float) -> dict[str, float]:
    """Counters of the client's node and its connection."""
    found = {
        stored_name(tcp.RTT.name, TO): rtt_s * 1.1, stored_name(tcp.MIN_RTT.name, TO): rtt_s,
        stored_name(tcp.SEGMENTS.name, {"direction": "out", **ON}): 3000.0, stored_name(tcp.RESENT.name, ON): 0.0,
        stored_name(net.BYTES.name, {**CARD, "direction": "rx"}): 3.3e6,
        stored_name(net.BYTES.name, {**CARD, "direction": "tx"}): 1e5,
    }  # fmt: skip
    found |= {stored_name(cpu.SECONDS.name, {"cpu": "all", "mode": m}): v for m, v in (("user", 0.4), ("idle", 1.6))}
    return found | more


def said(found: Judged) -> tuple[VerdictKind, str | None, Cause]:
    return found.verdict.kind, found.verdict.layer, found.verdict.cause
