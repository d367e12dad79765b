"""What is asked of an endpoint, in fio's vocabulary."""

from __future__ import annotations

from collections.abc import Iterator
from enum import StrEnum
from functools import cache, cached_property
from typing import Annotated, Any, Literal

from pydantic import Field, model_validator

from strata import units
from strata.model.access import SEQUENTIAL, BsSplit, ByteRange, Once, Order, Strided, WriteData
from strata.model.base import Value, sparse
from strata.model.rw import Rw
from strata.model.workload_options import (
    BLOCKS,
    DURABILITY,
    OPEN_DEPTH,
    OPTIONS,
    PACE,
    PATTERN,
    PLAIN,
    Distribution,
    Process,
    WorkloadOption,
    bounds,
)
from strata.model.workload_options import Sync as Sync  # noqa: PLC0414 - declared where every --help can load it


class Cache(StrEnum):
    """The state the page cache is brought into before each measurement: not touched, emptied, or filled."""

    AS_FOUND = "as-found"
    COLD = "cold"
    WARM = "warm"


class Limits(Value):
    """What holds a closed loop back: ceilings over all threads and pauses. An I/O is late or not at all, never due.

    ``think_ns``: after ``think_every`` I/Os a thread waits until all of them are done, then so long (fio's
    ``thinktime``, ``thinktime_blocks``).
    """

    iops: float | None = Field(default=None, **bounds("limit_iops"))
    bytes_per_s: float | None = Field(default=None, **bounds("limit_bytes"))
    think_ns: int = Field(default=0, **bounds("thinktime"))
    think_every: int = Field(default=1, **bounds("thinktime_blocks"))

    @model_validator(mode="after")
    def _holds_back(self) -> Limits:
        if self.iops is None and self.bytes_per_s is None and not self.think_ns:
            raise ValueError("limits need limit_iops, limit_bytes or thinktime")
        return self

    @property
    def key(self) -> str:
        """Part of a workload's key."""
        bits = [] if self.iops is None else [f"max{self.iops:.12g}iops"]
        bits += [] if self.bytes_per_s is None else [f"max{self.bytes_per_s:.12g}Bps"]
        bits += [f"think{self.think_ns}ns" + (f"x{self.think_every}" if self.think_every > 1 else "")] * bool(
            self.think_ns
        )
        return "-".join(bits)

    @property
    def words(self) -> str:
        """For people."""
        bits = [] if self.iops is None else [f"at most {units.count(self.iops)} IOPS"]
        bits += [] if self.bytes_per_s is None else [f"at most {units.rate(self.bytes_per_s)}"]
        every = f" after every {self.think_every}" if self.think_every > 1 else ""
        bits += [f"thinks {units.duration(self.think_ns)}{every}"] * bool(self.think_ns)
        return ", ".join(bits)


class ClosedLoop(Value):
    """``iodepth`` I/Os are kept outstanding by each thread; the next is issued when one completes.

    ``limits`` hold it back.
    """

    kind: Literal["closed"] = "closed"
    iodepth: int = Field(**bounds("iodepth"))
    limits: Limits | None = sparse(None)


class OpenLoop(Value):
    """I/Os start at ``iops`` (total over threads) whether or not earlier ones are done, up to ``iodepth`` a thread.

    ``burst``: so many starts of a thread share an instant; the rate stays what it is.
    """

    kind: Literal["open"] = "open"
    iops: float = Field(**bounds("rate_iops"))
    process: Process = OPTIONS["process"].default
    iodepth: int = Field(default=OPEN_DEPTH, **bounds("iodepth"))
    burst: int = sparse(1, **bounds("burst"))


Arrival = Annotated[ClosedLoop | OpenLoop, Field(discriminator="kind")]


_DEALT: dict[Distribution, tuple[str, str]] = {
    "share": ("", ""),
    "thread": ("-dealt", ", one target per thread"),
    "client": ("-each", ", one target per client"),
}


class Workload(Value):
    """Pattern, block size (bytes), arrival, threads and caching of one measurement.

    ``bs`` is the longest of ``bssplit`` where there is one. ``align``: I/Os begin at multiples of so many bytes (None:
    of their size); ``misalign``: so many bytes behind such a multiple. ``fsync``, ``fdatasync``: a flush of the target
    after so many writes of a thread to it (0: never). ``shares``: weights of several targets of one kind; ``deal``
    says whether every thread goes to all of them or to one, or every client to one. ``clients``: so many processes,
    each with ``threads`` and its own part of the data; rates and ceilings are totals over all of them.
    """

    rw: Rw
    bs: int = Field(**bounds("bs"))
    arrival: Arrival
    threads: int = Field(default=1, **bounds("threads"))
    rwmixread: int | None = Field(default=None, **bounds("rwmixread"))
    direct: bool = True
    sync: Sync = Sync.NONE
    cache: Cache = sparse(Cache.AS_FOUND)
    seed: int = 1
    order: Order | None = sparse(None)
    bssplit: BsSplit | None = sparse(None)
    rwmix_run: int = sparse(1, **bounds("rwmix_run"))
    align: int | None = sparse(None, **bounds("blockalign"))
    misalign: int = sparse(0, **bounds("misalign"))
    range: ByteRange | None = sparse(None)
    fsync: int = sparse(0, **bounds("fsync"))
    fdatasync: int = sparse(0, **bounds("fdatasync"))
    data: WriteData | None = sparse(None)
    zero_buffers: bool = sparse(False)
    clients: int = sparse(1, **bounds("clients"))
    shares: tuple[Annotated[int, Field(ge=0)], ...] = sparse(())
    deal: Distribution = sparse(OPTIONS["deal"].default)

    @model_validator(mode="after")
    def _sound(self) -> Workload:
        if problems := self._problems():
            raise ValueError("; ".join(problems))
        return self

    def _problems(self) -> list[str]:
        mixed = self.rw.mixed
        found = []
        if (self.rwmixread is not None) != mixed:
            found.append("rw=rw and rw=randrw need rwmixread, and no other pattern takes it")
        if not OPTIONS["bs"].in_step(self.bs):
            found.append(f"bs={self.bs} is not {OPTIONS['bs'].steps}")
        if self.direct and self.cache is not Cache.AS_FOUND:
            found.append(f"a {self.cache} cache needs buffered I/O: O_DIRECT bypasses it")
        if self.rwmix_run > 1 and not mixed:
            found.append("rwmix_run applies to rw=rw and rw=randrw only")
        if self.order is not None and isinstance(self.order, SEQUENTIAL) == self.rw.random:
            found.append(f"order {self.order.words} does not apply to rw={self.rw.value}")
        found += self._size_problems()
        if self.fsync and self.fdatasync:
            found.append("give fsync or fdatasync, not both")
        if (self.fsync or self.fdatasync or self.data is not None) and not self.rw.carries:
            found.append(f"fsync, fdatasync and data apply to writes, and rw={self.rw.value} has none")
        if self.zero_buffers and not self.rw.carries:
            found.append(f"zero_buffers applies to writes, and rw={self.rw.value} has none")
        if self.zero_buffers and self.data is not None and self.data != WriteData():
            found.append("zero_buffers contradicts a share of data that compresses or repeats")
        if self.shares and not sum(self.shares):
            found.append("at least one target needs a share above 0")
        if self.deal == "thread" and self.threads < len(self.shares):
            found.append(f"{len(self.shares)} targets need at least {len(self.shares)} threads")
        if self.deal == "client" and self.clients < (least := max(2, len(self.shares))):
            found.append(f"deal=client with {units.plural(len(self.shares), 'target')} needs at least {least} clients")
        return found

    def _size_problems(self) -> list[str]:
        found = []
        if (split := self.bssplit) is not None:
            if split.longest != self.bs:
                found.append(f"bs={self.bs} is not the largest size of bssplit, {split.longest}")
            if bool(split.read) != self.rw.reads or bool(split.write) != self.rw.writes:
                found.append(f"the directions of bssplit do not match rw={self.rw.value}")
            if isinstance(self.order, Once):
                found.append("randommap needs a single block size, not bssplit")
        gaps = [self.order.stride, self.order.thread_offset] if isinstance(self.order, Strided) else []
        if self.align is not None and any(gap % self.align for gap in gaps if gap):
            found.append(f"stride and offset are not multiples of align={self.align}")
        if self.misalign >= (self.align or self.bs):
            found.append(f"misalign={self.misalign} must be below the block distance (blockalign, or else bs)")
        return found

    @property
    def outstanding(self) -> int:
        """I/Os kept in flight over all threads of all clients in a closed loop (the N of Little's law)."""
        return self.arrival.iodepth * self.threads * self.clients

    @property
    def saturates(self) -> bool:
        """Whether every slot is always taken: a closed loop that nothing holds back."""
        return isinstance(self.arrival, ClosedLoop) and self.arrival.limits is None

    @property
    def flushes(self) -> bool:
        """Whether flushes stand between the writes."""
        return self.fsync > 0 or self.fdatasync > 0

    @property
    def durable(self) -> bool:
        """Whether a write waits until it, or every few of them, is durable."""
        return self.rw.carries and (self.sync is not Sync.NONE or self.flushes)

    @property
    def read_share(self) -> float:
        """Of the I/Os, 0..1."""
        return float(self.rw.reads) if self.rwmixread is None else self.rwmixread / 100

    @property
    def bs_moments(self) -> tuple[float, float]:
        """Mean and standard deviation of the I/Os' size in bytes."""
        return (float(self.bs), 0.0) if self.bssplit is None else self.bssplit.moments(self.read_share)

    @property
    def apart_from_depth(self) -> Workload:
        """The same at depth 1 with one thread: equal for workloads that differ in their depth only."""
        return self.model_copy(update={"arrival": ClosedLoop(iodepth=1), "threads": 1, "clients": 1, "seed": 1})

    @property
    def of_one_client(self) -> Workload:
        """What each of the clients is asked: its share of a rate and of ceilings."""
        n, arrival = self.clients, self.arrival
        if isinstance(arrival, OpenLoop):
            arrival = arrival.model_copy(update={"iops": arrival.iops / n})
        elif arrival.limits is not None:
            most = {name: getattr(arrival.limits, name) for name in ("iops", "bytes_per_s")}
            shared = {name: None if ceiling is None else ceiling / n for name, ceiling in most.items()}
            arrival = arrival.model_copy(update={"limits": arrival.limits.model_copy(update=shared)})
        return self.model_copy(update={"clients": 1, "arrival": arrival})

    def resized(self, factor: float) -> Workload:
        """The same with every size so many times as large."""
        split = self.bssplit
        if split is not None:
            sides = {
                name: tuple(s.model_copy(update={"bs": round(s.bs * factor)}) for s in side)
                for name, side in (("read", split.read), ("write", split.write))
            }
            split = split.model_copy(update=sides)
        return self.model_copy(update={"bs": round(self.bs * factor), "bssplit": split})

    def asked(self, *groups: str) -> Iterator[tuple[WorkloadOption, Any]]:
        """The options with a field of their own (of these groups, or of all) that ask for something, and the values."""
        for name, row, default in _rows_of(groups):
            value = getattr(self, name)
            if value != default:
                yield row, value

    @property
    def pattern(self) -> str:
        """``random read`` · ``random 70/30`` · ``sequential write``, and the order where it is a special one."""
        words = self.rw.words
        if self.rwmixread is not None:
            order = "random" if self.rw.random else "sequential"
            words = f"{order} {self.rwmixread}/{100 - self.rwmixread}"
            if self.rwmix_run > 1:
                words += f" in runs of {self.rwmix_run}"
        return words if self.order is None else f"{words}, {self.order.words}"

    @property
    def shape(self) -> str:
        """``8 KiB · depth 8`` and what departs from one thread, closed loop and unbuffered I/O."""
        return " · ".join(self.shape_parts)

    @property
    def shape_parts(self) -> tuple[str, ...]:
        """What `shape` tells, each by itself."""
        return tuple(words for _, words in self._parts if words)

    @property
    def label(self) -> str:
        """``random read · 8 KiB · depth 8``."""
        return f"{self.pattern} · {self.shape}"

    @cached_property
    def key(self) -> str:
        """A short stable name, unique within one plan: ``randread-8KiB-qd8``. The seed is not part of it.

        What is not special is not in it: stored runs are found by it.
        """
        rw = self.rw.value if self.rwmixread is None else f"{self.rw.value}{self.rwmixread}"
        return "-".join((rw, *(key for key, _ in self._parts if key)))

    @cached_property
    def _parts(self) -> list[tuple[str, str]]:
        """Key and words of all that it asks beside its pattern; empty where only the other one tells it."""
        size = units.size(self.bs)
        found = [(size.replace(" ", ""), size if self.bssplit is None else self.bssplit.words), *self._pace()]
        found += self._named(PACE, PATTERN)
        if not self.direct:
            found.append(("buffered", "buffered"))
        if self.cache is not Cache.AS_FOUND:
            found.append((self.cache.value, self.cache.value))
        if self.sync is not Sync.NONE:
            how = "write-through" if self.sync is Sync.DSYNC else "write-through by RWF_DSYNC"
            found.append((self.sync.value, how))
        # These are words of the pattern, or of the size.
        found += [(part.key, "") for part in (self.order, self.bssplit) if part is not None]
        return found + self._special()

    def _named(self, *groups: str) -> list[tuple[str, str]]:
        """Key and words of the options of these groups that have a field of their own."""
        return [row.named(value) for row, value in self.asked(*groups) if row.key]

    def _pace(self) -> list[tuple[str, str]]:
        arrival = self.arrival
        if isinstance(arrival, OpenLoop):
            asked = (f"{arrival.iops:g}iops-{arrival.process}", f"{units.count(arrival.iops)} IOPS requested")
            return [asked, *[(f"burst{arrival.burst}", f"bursts of {arrival.burst}")] * (arrival.burst > 1)]
        limits = [] if arrival.limits is None else [(arrival.limits.key, arrival.limits.words)]
        return [(f"qd{arrival.iodepth}", f"depth {arrival.iodepth}"), *limits]

    def _special(self) -> list[tuple[str, str]]:
        """Key and words of what few workloads ask for."""
        found = self._named(BLOCKS)
        if self.range is not None:
            found.append((self.range.key, self.range.words))
        found += self._named(DURABILITY)
        if self.data is not None:
            found.append((self.data.key, self.data.words))
        if self.shares:
            shares = ":".join(map(str, self.shares))
            key, dealt = _DEALT[self.deal]
            found.append((f"targets{shares}{key}", f"{len(self.shares)} targets {shares}{dealt}"))
        return found


@cache
def _rows_of(groups: tuple[str, ...]) -> tuple[tuple[str, WorkloadOption, Any], ...]:
    """The options of these groups, or of all, that have a field of their own, with their defaults: a comparison asks
    thousands of workloads.
    """
    fields = Workload.model_fields
    rows = PLAIN.items()
    return tuple((name, row, fields[name].default) for name, row in rows if row.group in groups or not groups)
