"""What a workload asks beyond direction, size and depth: order, sizes, range, data. Each with its key and its words.

A ``key`` is short, exact and without spaces (it is part of a workload's name in the store); ``words`` are for people.
"""

from __future__ import annotations

from itertools import groupby
from typing import Annotated, Literal

from pydantic import Field, model_validator

from strata import units
from strata.model.base import Value
from strata.model.workload_options import OPTIONS, THETA_MOST, bounds


class Part(Value):
    """A part of what a workload asks, as its key and a person have it."""

    @property
    def key(self) -> str:
        """Part of a workload's key."""
        return str(getattr(self, "kind", ""))

    @property
    def words(self) -> str:
        """For people."""
        return self.key


class Interlocked(Part):
    """One sequence for all threads together: each takes the block that is next (diskspd's ``-si``)."""

    kind: Literal["interlocked"] = "interlocked"


class Strided(Part):
    """A sequence with gaps: ``stride`` bytes from one I/O to the next (None: no gap), ``thread_offset`` bytes from
    the beginning of one thread's sequence to the next thread's (None: a part of its own for each)."""

    kind: Literal["strided"] = "strided"
    stride: int | None = Field(default=None, **bounds("stride"))
    thread_offset: int | None = Field(default=None, **bounds("offset_increment"))

    @property
    def key(self) -> str:
        parts = [("stride", self.stride), ("apart", self.thread_offset)]
        return "-".join(f"{name}{units.exact_size(size)}" for name, size in parts if size is not None)

    @property
    def words(self) -> str:
        parts = [] if self.stride is None else [f"every {units.size(self.stride)}"]
        if self.thread_offset is not None:
            parts.append(f"threads {units.size(self.thread_offset)} apart")
        return ", ".join(parts)


class Once(Part):
    """Random, each block once before any comes again."""

    kind: Literal["once"] = "once"

    @property
    def words(self) -> str:
        return "each block once"


class Zipf(Part):
    """The block of rank k is asked for with a chance proportional to k^−θ; the hot ones are scattered."""

    kind: Literal["zipf"] = "zipf"
    theta: float = Field(gt=0, le=THETA_MOST)

    @property
    def key(self) -> str:
        return f"zipf{self.theta:.12g}"

    @property
    def words(self) -> str:
        return f"zipf {self.theta:.12g}"


class Zone(Value):
    """``access_percent`` of the I/Os go to the next ``range_percent`` of the range, or to its next ``range_bytes``."""

    access_percent: float = Field(ge=0, le=100)
    range_percent: float | None = Field(default=None, ge=0, le=100)
    range_bytes: int | None = Field(default=None, gt=0)

    @model_validator(mode="after")
    def _one_length(self) -> Zone:
        if (self.range_percent is None) == (self.range_bytes is None):
            raise ValueError("a zone needs a range in percent or in bytes")
        return self

    @property
    def span(self) -> str:
        """``10 %`` or ``1 GiB``."""
        return f"{self.range_percent:g} %" if self.range_bytes is None else units.size(self.range_bytes)


class Zones(Part):
    """Stated shares of the I/Os for stated pieces of the range, in its order: hot and cold data."""

    kind: Literal["zones"] = "zones"
    zones: tuple[Zone, ...] = Field(min_length=1)

    @model_validator(mode="after")
    def _within(self) -> Zones:
        access = sum(z.access_percent for z in self.zones)
        span = sum(z.range_percent or 0 for z in self.zones)
        if access > 100 + 1e-6 or span > 100 + 1e-6 or access <= 0:
            raise ValueError(f"zones add up to {access:g} % of the I/Os and {span:g} % of the range")
        return self

    @property
    def key(self) -> str:
        spans = [
            f"{z.range_percent:.12g}" if z.range_bytes is None else units.exact_size(z.range_bytes) for z in self.zones
        ]
        return "zones" + "_".join(f"{z.access_percent:.12g}in{s}" for z, s in zip(self.zones, spans, strict=True))

    @property
    def words(self) -> str:
        return ", ".join(f"{z.access_percent:g} % in {z.span}" for z in self.zones)


Order = Annotated[Interlocked | Strided | Once | Zipf | Zones, Field(discriminator="kind")]
SEQUENTIAL = (Interlocked, Strided)
"""Orders that go with a sequential ``rw``; the others go with a random one."""


class BsShare(Value):
    """One of several sizes (bytes) and its weight."""

    bs: int = Field(multiple_of=OPTIONS["bs"].step, **bounds("bs"))
    weight: int = Field(ge=1)


class BsSplit(Part):
    """Several sizes: of reads and of writes. A direction that the workload has not is left empty."""

    read: tuple[BsShare, ...] = ()
    write: tuple[BsShare, ...] = ()

    @property
    def longest(self) -> int:
        """Bytes."""
        return max((s.bs for s in (*self.read, *self.write)), default=0)

    @property
    def key(self) -> str:
        sides = (s for s in (self.read, self.write) if s)
        return "split" + "+".join(
            "_".join(f"{units.exact_size(s.bs)}x{s.weight}" for s in side) for side, _ in groupby(sides)
        )

    @property
    def words(self) -> str:
        """``4 KiB 60 %, 64 KiB 40 %``, reads before writes where they differ."""
        sides = [s for s in (self.read, self.write) if s]
        if len(sides) == 2 and sides[0] == sides[1]:
            sides = sides[:1]
        return " / ".join(
            ", ".join(f"{units.size(s.bs)} {units.percent(s.weight / sum(t.weight for t in side), 2)}" for s in side)
            for side in sides
        )

    def moments(self, reads: float) -> tuple[float, float]:
        """Mean and standard deviation of the size in bytes, where a share of ``reads`` (0..1) are reads."""
        mean = square = 0.0
        for share, side in ((reads, self.read), (1 - reads, self.write)):
            total = sum(s.weight for s in side)
            for size in side if share > 0 else ():
                chance = share * size.weight / total
                mean += chance * size.bs
                square += chance * size.bs**2
        return mean, max(0.0, square - mean**2) ** 0.5


class ByteRange(Part):
    """Only this piece of the data: ``length`` bytes from ``start``; without a length to the end."""

    start: int = Field(ge=0)
    length: int | None = Field(default=None, gt=0)

    @property
    def key(self) -> str:
        return f"from{units.exact_size(self.start)}" + (
            "" if self.length is None else f"for{units.exact_size(self.length)}"
        )

    @property
    def words(self) -> str:
        first = f"from {units.size(self.start)}"
        return first if self.length is None else f"{units.size(self.length)} {first}"


class WriteData(Part):
    """What is written: so much of it a compressor can save, so many of its 4 KiB units repeat an earlier one."""

    compress_percent: int = Field(default=0, **bounds("compress_percent"))
    dedupe_percent: int = Field(default=0, **bounds("dedupe_percent"))

    @property
    def key(self) -> str:
        parts = (("compress", self.compress_percent), ("dedupe", self.dedupe_percent))
        return "-".join(f"{name}{percent}" for name, percent in parts if percent) or "refill"

    @property
    def words(self) -> str:
        parts = (("compressible", self.compress_percent), ("repeating", self.dedupe_percent))
        return ", ".join(f"{percent} % {name}" for name, percent in parts if percent) or "new data for every write"
