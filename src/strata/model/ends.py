"""What crosses from one end of the path to the other: bytes, time and cycles."""

from __future__ import annotations

from strata.model.base import Value, sparse
from strata.model.estimate import Estimate


class Flow(Value):
    """Bytes that passed one place in one direction, for each byte the application moved; of a device requests too.

    ``place``: ``device vda``, ``wire eth0``, ``member sda of md0`` …; ``node``: whose, None: this machine's.
    ``direction``: read or write at a device, rx or tx on a wire. ``per_byte`` has the unit 1; ``of`` says which of the
    application's bytes it is divided by (read, write, or all where both are meant). ``per_io``: requests at a device
    for each I/O of that kind (merged and split ones count as they reached it, a flush of its own counts as a write
    without bytes); None at other places.
    """

    place: str
    direction: str
    of: str
    per_byte: Estimate
    per_io: Estimate | None = sparse(None)
    device: str | None = sparse(None)
    """The block device, where the place is one or a member of one; None in runs of earlier versions."""
    member: str | None = sparse(None)
    node: str | None = None

    @property
    def kind(self) -> str:
        """``device``, ``member``, ``target`` or ``wire``."""
        return self.place.partition(" ")[0]

    @property
    def name(self) -> str:
        """``vda`` of ``device vda``."""
        return self.place.partition(" ")[2]


class CycleCost(Value):
    """CPU cycles at one end, kernel and user apart; ``user`` parts are None where only the kernel is known.

    ``end``: ``machine`` (everything that ran, as the sources define it), ``generator`` (Strata itself) or
    ``server NAME``. ``source`` says how the cycles were come by: counted by the CPUs, or CPU time × clock.
    """

    end: str
    node: str | None = None
    kernel_per_byte: Estimate
    user_per_byte: Estimate | None = None
    kernel_per_io: Estimate
    user_per_io: Estimate | None = None
    clock_hz: float | None = None
    source: str


class PercentileSplit(Value):
    """One percentile at both ends, in ns. Percentiles do not add: ``difference`` is no percentile of the wire."""

    percentile: str
    client_ns: Estimate
    server_ns: Estimate
    difference_ns: Estimate


class LatencySplit(Value):
    """client = wire + server, of one direction's I/Os, in ns. Means add, so ``wire_ns`` is the wire's mean.

    ``server`` says whose counters the far end's time is from. ``null_ns`` is the same wire with nothing behind it,
    measured apart; None where it was not.
    """

    direction: str
    server: str
    client_ns: Estimate
    server_ns: Estimate
    wire_ns: Estimate
    null_ns: Estimate | None = None
    percentiles: tuple[PercentileSplit, ...] = ()
    notes: tuple[str, ...] = ()
