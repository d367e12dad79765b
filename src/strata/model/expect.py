"""What is stated of a layer: what it may cost, why it may be faster, and what its specification promises."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from enum import StrEnum

from pydantic import Field, field_validator

from strata import units
from strata.errors import UsageError
from strata.model.base import Value, sparse
from strata.model.workload import Workload


class Faster(StrEnum):
    """Why a layer may give more than one thing below it: it answers some requests itself, or uses several at once."""

    CACHE = "cache"
    QUEUES = "queues"
    PATHS = "paths"
    MEMBERS = "members"


class Stated(Value):
    """One figure of a specification, as the IOPS that it promises for one workload. ``word`` is its key in `Expect`."""

    word: str
    workload: Workload
    iops: float


COUNTS = ("disks", "controllers", "queue", "nodes", "paths")
"""Keys of `Expect` that are numbers of parts, as the columns ``count.…`` of a table."""
SMALL = (4 * units.KIB, 16 * units.KIB)
"""Sizes of the random reads for which ``iops`` and ``latency`` are meant; 8 KiB is in the middle."""
LARGE = 128 * units.KIB
"""The least block of the sequential reads for which ``bandwidth`` is meant."""


class Expect(Value):
    """What a layer may cost over what it stands on, where it may be faster, and its specification.

    ``overhead_max``: share of the IOPS (0.05 = five percent); ``source`` says where this comes from and is printed
    beside the verdict. ``iops``: random reads of 8 KiB at depth, I/Os per second. ``latency``: of one such read at
    depth 1, as text with its unit. ``bandwidth``: of large sequential reads, as text with its unit. `stated` says
    which measured workloads they are compared with. ``members``: how many devices, as this machine has them, the
    data is to lie on. ``copies``: how many copies of each byte are kept. `COUNTS` are asked about by the laws alone:
    ``disks`` virtual disks over ``controllers`` of which each takes ``queue`` requests at once; ``nodes`` that serve
    the data and ``paths`` to them.
    """

    overhead_max: float | None = Field(default=None, ge=0, lt=1)
    source: str | None = None
    faster: Faster | None = sparse(None)
    iops: float | None = sparse(None, gt=0, allow_inf_nan=False)
    latency: str | None = sparse(None)
    bandwidth: str | None = sparse(None)
    members: int | None = sparse(None, ge=1, le=1024)
    copies: int | None = sparse(None, ge=1, le=64)
    disks: int | None = sparse(None, ge=1, le=1024)
    controllers: int | None = sparse(None, ge=1, le=1024)
    queue: int | None = sparse(None, ge=1, le=1 << 20)
    nodes: int | None = sparse(None, ge=1, le=1024)
    paths: int | None = sparse(None, ge=1, le=1024)

    @field_validator("latency", mode="before")
    @classmethod
    def _a_time(cls, text: object) -> object:
        return _above_zero(text, units.parse_duration_ns, "2.4ms")

    @field_validator("bandwidth", mode="before")
    @classmethod
    def _a_rate(cls, text: object) -> object:
        return _above_zero(text, units.parse_rate, "180MB/s")

    @property
    def latency_ns(self) -> int | None:
        """The time of one small read at depth 1 by the specification."""
        return None if self.latency is None else units.parse_duration_ns(self.latency)

    @property
    def bytes_per_s(self) -> float | None:
        """The rate of large sequential reads by the specification."""
        return None if self.bandwidth is None else units.parse_rate(self.bandwidth)

    def stated(self, workloads: Sequence[Workload]) -> tuple[Stated, ...]:
        """What the specification promises for those of these workloads that it speaks of; most often for one each.

        All of them are unbuffered closed loops that nothing holds back. ``iops``: random reads of 4 to 16 KiB with the
        most outstanding, more than one. ``latency``: random reads of 4 to 16 KiB with one outstanding.
        ``bandwidth``: sequential reads of the largest block there is, at least 128 KiB, with the most outstanding.
        """
        plain = [w for w in workloads if w.saturates and w.direct and not w.rw.writes]
        small = [w for w in plain if w.rw.random and SMALL[0] <= w.bs_moments[0] <= SMALL[1]]
        large = _most((w for w in plain if not w.rw.random and w.bs_moments[0] >= LARGE), _size)
        found = []
        if self.iops is not None:
            deep = _most((w for w in small if w.outstanding > 1), _depth)
            found += [Stated(word="iops", workload=w, iops=self.iops) for w in deep]
        if self.latency_ns is not None:
            rate = units.NS_PER_S / self.latency_ns
            found += [Stated(word="latency", workload=w, iops=rate) for w in small if w.outstanding == 1]
        if self.bytes_per_s is not None:
            rate = self.bytes_per_s
            found += [Stated(word="bandwidth", workload=w, iops=rate / _size(w)) for w in _most(large, _depth)]
        return tuple(found)


def _size(w: Workload) -> float:
    return w.bs_moments[0]


def _depth(w: Workload) -> int:
    return w.outstanding


def _most(workloads: Iterable[Workload], by: Callable[[Workload], float]) -> list[Workload]:
    """Those of the greatest value."""
    there = list(workloads)
    top = max(map(by, there), default=0)
    return [w for w in there if by(w) == top]


def _above_zero(text: object, read: Callable[[str], float], example: str) -> object:
    """The text itself, once ``read`` has understood it. Raises `ValueError`, which names its key and line."""
    if text is None:
        return None
    if not isinstance(text, str):
        raise ValueError(f'write it with its unit, as "{example}"')
    try:
        value = read(text)
    except UsageError as e:
        raise ValueError(", ".join(filter(None, (f"{e.where}: {e.why}", e.hint)))) from e
    if value <= 0:
        raise ValueError(f"{text!r} is not above 0")
    return text
