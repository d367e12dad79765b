"""What is asked of an endpoint, in fio's vocabulary."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated, Literal

from pydantic import Field, model_validator

from strata import units
from strata.model.base import Value


class Rw(StrEnum):
    """fio's ``rw``: direction and order."""

    READ = "read"
    WRITE = "write"
    RANDREAD = "randread"
    RANDWRITE = "randwrite"
    RW = "rw"
    RANDRW = "randrw"

    @property
    def random(self) -> bool:
        """Whether offsets are drawn at random (uniform, with replacement)."""
        return self.value.startswith("rand")

    @property
    def writes(self) -> bool:
        """Whether any I/O of it writes."""
        return self not in (Rw.READ, Rw.RANDREAD)

    @property
    def reads(self) -> bool:
        """Whether any I/O of it reads."""
        return self not in (Rw.WRITE, Rw.RANDWRITE)

    @property
    def words(self) -> str:
        """``sequential read``, ``random 70/30`` style words without the mix."""
        order = "random" if self.random else "sequential"
        kind = {"read": "read", "write": "write", "rw": "mixed"}[self.value.removeprefix("rand")]
        return f"{order} {kind}"


class Sync(StrEnum):
    """How a write is made durable: not at all by the workload, or write-through on each I/O.

    ``dsync`` opens the target with O_DSYNC, ``rwf_dsync`` asks it of each write (RWF_DSYNC); over NBD both are FUA.
    """

    NONE = "none"
    DSYNC = "dsync"
    RWF_DSYNC = "rwf_dsync"


class Cache(StrEnum):
    """The state the page cache is brought into before each measurement: not touched, emptied, or filled."""

    AS_FOUND = "as-found"
    COLD = "cold"
    WARM = "warm"


class ClosedLoop(Value):
    """``iodepth`` I/Os are kept outstanding by each thread; the next is issued when one completes."""

    kind: Literal["closed"] = "closed"
    iodepth: int = Field(ge=1, le=4096)


class OpenLoop(Value):
    """I/Os start at ``iops`` (total over threads) whether or not earlier ones are done, up to ``iodepth`` a thread."""

    kind: Literal["open"] = "open"
    iops: float = Field(gt=0)
    process: Literal["constant", "poisson"] = "constant"
    iodepth: int = Field(default=256, ge=1, le=4096)


Arrival = Annotated[ClosedLoop | OpenLoop, Field(discriminator="kind")]


class Workload(Value):
    """Pattern, block size (bytes), arrival, threads and caching of one measurement."""

    rw: Rw
    bs: int = Field(ge=512, le=64 * units.MIB)
    arrival: Arrival
    threads: int = Field(default=1, ge=1, le=256)
    rwmixread: int | None = Field(default=None, ge=0, le=100)
    direct: bool = True
    sync: Sync = Sync.NONE
    cache: Cache = Cache.AS_FOUND
    seed: int = 1

    @model_validator(mode="after")
    def _sound(self) -> Workload:
        if (self.rwmixread is not None) != (self.rw in (Rw.RW, Rw.RANDRW)):
            raise ValueError("rwmixread goes with rw=rw and rw=randrw, and only with those")
        if self.bs % 512:
            raise ValueError(f"bs={self.bs} is not a multiple of 512 bytes")
        if self.direct and self.cache is not Cache.AS_FOUND:
            raise ValueError(f"a {self.cache} cache is for buffered I/O: O_DIRECT goes past it")
        return self

    @property
    def outstanding(self) -> int:
        """I/Os kept in flight over all threads in a closed loop (the N of Little's law)."""
        return self.arrival.iodepth * self.threads

    @property
    def pattern(self) -> str:
        """``random read`` · ``random 70/30`` · ``sequential write``."""
        if self.rwmixread is not None:
            order = "random" if self.rw.random else "sequential"
            return f"{order} {self.rwmixread}/{100 - self.rwmixread}"
        return self.rw.words

    @property
    def shape(self) -> str:
        """``8 KiB · depth 8`` and what departs from one thread, closed loop and unbuffered I/O."""
        parts = [units.size(self.bs)]
        if isinstance(self.arrival, OpenLoop):
            parts.append(f"{units.count(self.arrival.iops)} IOPS asked")
        else:
            parts.append(f"depth {self.arrival.iodepth}")
        if self.threads > 1:
            parts.append(f"{self.threads} threads")
        if not self.direct:
            parts.append("buffered")
        if self.cache is not Cache.AS_FOUND:
            parts.append(self.cache.value)
        if self.sync is not Sync.NONE:
            parts.append("write-through" if self.sync is Sync.DSYNC else "write-through by RWF_DSYNC")
        return " · ".join(parts)

    @property
    def label(self) -> str:
        """``random read · 8 KiB · depth 8``."""
        return f"{self.pattern} · {self.shape}"

    @property
    def key(self) -> str:
        """A short stable name, unique within one plan: ``randread-8KiB-qd8``. The seed is not part of it."""
        rw = self.rw.value if self.rwmixread is None else f"{self.rw.value}{self.rwmixread}"
        bits = [rw, units.size(self.bs).replace(" ", "")]
        if isinstance(self.arrival, OpenLoop):
            bits.append(f"{self.arrival.iops:g}iops-{self.arrival.process}")
        else:
            bits.append(f"qd{self.arrival.iodepth}")
        if self.threads > 1:
            bits.append(f"t{self.threads}")
        if not self.direct:
            bits.append("buffered")
        if self.cache is not Cache.AS_FOUND:
            bits.append(self.cache.value)
        if self.sync is not Sync.NONE:
            bits.append(self.sync.value)
        return "-".join(bits)
