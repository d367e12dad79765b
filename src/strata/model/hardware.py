"""What a survey says of arrays, paths, caches, health, cards and the kernel's log.

Sizes are bytes. None, or an empty list: it could not be read, or there is none; a survey's ``unreadable`` tells which.
"""

from __future__ import annotations

import math
from typing import Annotated

from strata import units
from strata.model.base import Value
from strata.model.fact import BYTES, DERIVED, NAME, STATE, Fact, Unit

UNIT_ADVISED = 64 * units.KIB
"""Allocation unit for large files, images of virtual disks and databases where nothing below asks for another."""


class Geometry(Value):
    """How a device of several members lays out its bytes, and where that was read (``source``).

    ``chunk`` contiguous bytes lie on one member; ``stripe`` bytes of data have one chunk on each of ``data`` members.
    ``members`` and ``data`` are 0 where only the sizes are known.
    """

    level: str
    chunk: Annotated[int, BYTES]
    stripe: Annotated[int, BYTES]
    members: int = 0
    data: int = 0
    parity: int = 0
    copies: int = 1
    source: Annotated[str, NAME] = ""

    def pieces(self, size: int, aligned_to: int) -> int:
        """The most chunks that an I/O of ``size`` bytes touches when it starts at a multiple of ``aligned_to``."""
        return -(-(size + self.chunk - math.gcd(aligned_to, self.chunk)) // self.chunk)

    @property
    def small_write_requests(self) -> int:
        """Requests to members that one write within a chunk causes: each parity, like the data, is read and written."""
        return 2 * (1 + self.parity) if self.parity else self.copies

    @property
    def unit(self) -> int:
        """The largest allocation unit up to `UNIT_ADVISED` of which none lies on two members."""
        return min(UNIT_ADVISED, self.chunk & -self.chunk)


class DevicePath(Value):
    """One path of a multipath device. ``group``: its priority group, or its ANA state (NVMe)."""

    name: Annotated[str, NAME]
    state: str | None = None
    group: str | None = None
    address: Annotated[str | None, NAME] = None

    @property
    def works(self) -> bool:
        """Whether it carries I/O, as far as is known."""
        return self.state in (None, "running", "live", "active")


class Multipath(Value):
    """Several paths to one device: ``how`` (dm-multipath, NVMe), the policy that chooses one, and all of them."""

    how: str
    policy: str | None = None
    groups: int | None = None
    queues_without_path: bool | None = None
    paths: tuple[DevicePath, ...] = ()


NOT_TIERS = ("page cache", "device write cache", "md stripe cache")
"""Kinds that are said elsewhere: the first in a notice of its own, the second has no size that could be read, the last
is small."""


class Tier(Value):
    """A cache or a tier: it answers before the medium, or takes its writes. ``at``: the device that has it, or the
    host. ``medium``: the device that it lies on, or memory. ``dirty``: bytes in it that the medium lacks."""

    kind: Annotated[str, DERIVED]
    at: Annotated[str, NAME]
    size: Annotated[int | None, BYTES] = None
    mode: str | None = None
    medium: Annotated[str | None, NAME] = None
    dirty: Annotated[int | None, Fact(unit=Unit.BYTES, role=STATE.role)] = None
    hit_share: Annotated[float | None, Fact(unit=Unit.SHARE, role=STATE.role)] = None


class Health(Value):
    """What a device says of its own health, with the program or file that was asked (``source``).

    ``used`` and ``spare`` are shares. ``uncorrected``: errors that reached whoever asked for the data.
    ``pending``: sectors that could not be read and wait to be written. ``link_errors``: transfers that were repeated
    (cable, slot, backplane). ``kernel_errors``: requests that the kernel saw fail. ``hot_seconds``: above the warning
    temperature, at which devices slow down.
    """

    source: Annotated[str, NAME]
    passed: bool | None = None
    celsius: Annotated[float | None, Fact(unit=Unit.CELSIUS, role=STATE.role)] = None
    celsius_limit: Annotated[float | None, Fact(unit=Unit.CELSIUS)] = None
    hours: Annotated[int | None, STATE] = None
    used: Annotated[float | None, Fact(unit=Unit.SHARE, role=STATE.role)] = None
    spare: Annotated[float | None, Fact(unit=Unit.SHARE, role=STATE.role)] = None
    reallocated: Annotated[int | None, STATE] = None
    pending: Annotated[int | None, STATE] = None
    uncorrected: Annotated[int | None, STATE] = None
    link_errors: Annotated[int | None, STATE] = None
    kernel_errors: Annotated[int | None, STATE] = None
    critical: Annotated[int | None, STATE] = None
    hot_seconds: Annotated[int | None, STATE] = None


class Interface(Value):
    """One network interface that is up. ``kind``: ethernet, infiniband, loopback, bond, bridge, vlan, veth …;
    ``rate``: of the link as negotiated, in bit/s; ``rdma``: its RDMA devices with their protocol."""

    name: Annotated[str, NAME]
    kind: str
    driver: str | None = None
    firmware: str | None = None
    rate: Annotated[int | None, Fact(unit=Unit.BITS)] = None
    duplex: str | None = None
    mtu: Annotated[int | None, Fact("MTU")] = None
    queues: int | None = None
    numa_node: Annotated[int | None, Fact("NUMA node")] = None
    rdma: Annotated[tuple[str, ...], Fact("RDMA")] = ()
    members: Annotated[tuple[str, ...], NAME] = ()
    offloads: Annotated[dict[str, bool], Fact("offload")] = {}
    card: Annotated[bool, DERIVED] = False


class LogLine(Value):
    """One line of the kernel's log, ``seconds`` after the start. ``device``: of those surveyed; empty: another."""

    seconds: float
    text: str
    device: str = ""


class KernelLog(Value):
    """Errors of storage in the kernel's log. ``count`` of all, of which the last are in ``lines``.

    ``whole``: the log still begins at the start of the machine; else older lines are lost.
    """

    count: int
    whole: bool
    lines: tuple[LogLine, ...] = ()


class Placing(Value):
    """How the file system places data. ``stripe_unit``, ``stripe_width``: what it believes of the array below it.

    ``align``: partitions, volumes and large I/Os begin at a multiple of it. ``unit_advised``: the allocation unit for
    large files, virtual disks and databases. ``mkfs``: the options that say the array's geometry to a new file system.
    ``fragments_per_gib``: the most pieces that 1 GiB of a file can lie in.
    """

    unit: Annotated[int, Fact("allocation unit", Unit.BYTES)]
    fragments_per_gib: Annotated[int, DERIVED]
    unit_advised: Annotated[int | None, DERIVED] = None
    align: Annotated[int | None, DERIVED] = None
    stripe_unit: Annotated[int | None, BYTES] = None
    stripe_width: Annotated[int | None, BYTES] = None
    mkfs: Annotated[str, DERIVED] = ""
    free_groups: Annotated[int | None, STATE] = None
    free_groups_small: Annotated[int | None, STATE] = None


class FileLayout(Value):
    """The pieces a file lies in. ``fragments``: runs of blocks that follow each other on the device; ``whole``: counted
    to its end."""

    path: Annotated[str, NAME]
    size: Annotated[int, Fact(unit=Unit.BYTES, role=STATE.role)]
    fragments: Annotated[int | None, STATE] = None
    smallest: Annotated[int | None, Fact(unit=Unit.BYTES, role=STATE.role)] = None
    whole: bool = True
