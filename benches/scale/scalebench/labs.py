"""The changes: what is asked of which stack of the lab, and how each is done there."""

from __future__ import annotations

from collections.abc import Callable

from scalebench.change import Change, Do, Group, Reach
from scalebench.doing import capped_cpu, cards, copies, cpu, grow, hop, model, on_cores, warmed

READ8 = ("--rw", "randread", "--bs", "8k")


Amounts = tuple[tuple[str, float], ...]


def pair(name: str, values: Amounts, do: Callable[[float], Do], back: float) -> tuple[Change, ...]:
    """Several amounts of one thing that can be put back: ``(("2x@16", 600.0), …)``."""
    return tuple(Change(f"{name}={asked}", do(value), do(back)) for asked, value in values)


SLOW = "c=4 svc=8000"
MIB = 1.048576e6
"""The mirror's rates are in these, as its option is."""
VM = ("store", "one queue")
GROUPS = (
    Group(
        "vm-disks, queues of a controller", "vm-disks", {"queue": "2"}, VM, READ8,
        (
            Change("connections=2@16", reach=Reach().over(2)), Change("connections=4@16", reach=Reach().over(4)),
            Change("connections=4@32", reach=Reach().over(4)), Change("connections=8@32", reach=Reach().over(8)),
            Change("disks=2@16", reach=Reach(disks=2)), Change("disks=4@32", reach=Reach(disks=4)),
        ),
        points="1,2,4,8,16", prepare=model(SLOW),
    ),
    Group(
        "vm-disks, deeper queues", "vm-disks", {"queue": "4"}, VM, ("--rw", "randread", "--bs", "16k"),
        (
            Change("connections=2@16", reach=Reach().over(2)), Change("connections=3@32", reach=Reach().over(3)),
            Change("disks=2@32", reach=Reach(disks=2)), Change("disks=4@16", reach=Reach(disks=4)),
        ),
        points="1,2,4,8,16", prepare=model("c=4 svc=20000"),
    ),
    Group(
        "vm-disks, storage nodes", "vm-disks", {"nodes": "2"}, ("store",), READ8,
        (
            Change("storage-nodes=3@16", grow(SLOW)), Change("storage-nodes=3@32"),
            Change("storage-nodes=4@16", grow(SLOW)), Change("storage-nodes=4@32"),
        ),
        prepare=model(SLOW), expect={"members": 2}, quick=True,
    ),
    Group(
        "vm-disks, storage nodes of a served disk", "vm-disks", {"nodes": "1"}, ("store", "store, served"), READ8,
        (
            Change("storage-nodes=2@8", grow("c=4 svc=8000")), Change("storage-nodes=2@32"),
            Change("storage-nodes=3@16", grow("c=4 svc=8000")), Change("storage-nodes=3@32"),
        ),
        prepare=model("c=4 svc=8000"), expect={"members": 1},
    ),
    Group(
        "share, cards", "share", {"rate": "12500000"}, ("file system", "SMB share"),
        ("--rw", "randread", "--bs", "64k"),
        pair("cards", (("2x@8", 25e6), ("4x@8", 50e6), ("0.5x@8", 6.25e6), ("2x@2", 25e6)), cards, 12.5e6),
        points="1,2,4,8,16", quick=True,
    ),
    Group(
        "share, server quota", "share", {"rate": "0", "model": "c=16 svc=1000"}, ("file system", "SMB share"),
        ("--rw", "randread", "--bs", "256k"),
        pair("quota", (("2x@16", 0.4), ("0.5x@16", 0.1), ("1.5x@16", 0.3), ("2x@8", 0.4)), cpu, 0.2),
        prepare=capped_cpu(0.2),
    ),
    Group(
        "share, wire latency", "share", {"rate": "0", "model": "c=8 svc=8000"}, ("file system", "SMB share"), READ8,
        pair("rtt", (("0.5x@1", 4000), ("0.25x@4", 2000), ("2x@4", 16000), ("0.5x@16", 4000)), hop, 8000),
        prepare=hop(8000),
    ),
    Group(
        "block-share, connections", "block-share", {"rate": "0", "model": "c=64 svc=24000"},
        ("file system", "NBD export"), READ8,
        (
            Change("connections=2@32", reach=Reach().over(2)), Change("connections=2@64", reach=Reach().over(2)),
            Change("connections=3@64", reach=Reach().over(3)), Change("connections=4@64", reach=Reach().over(4)),
        ),
        points="2,4,8,16,32,64,128", quick=True,
    ),
    Group(
        "block-share, cards", "block-share", {"rate": "16000000"}, ("file system", "NBD export"),
        ("--rw", "randread", "--bs", "128k"),
        pair("cards", (("2x@8", 32e6), ("3x@8", 48e6), ("0.5x@4", 8e6), ("2x@2", 32e6)), cards, 16e6),
        points="1,2,4,8,16",
    ),
    Group(
        "block-share, wire latency", "block-share", {"rate": "0", "model": "c=8 svc=8000"},
        ("file system", "NBD export"), READ8,
        pair("rtt", (("0.5x@1", 3000), ("0.25x@2", 1500), ("2x@4", 12000), ("0.5x@16", 3000)), hop, 6000),
        prepare=hop(6000),
    ),
    Group(
        "block-share, server quota", "block-share", {"rate": "0", "model": "c=16 svc=1000"},
        ("file system", "NBD export"), ("--rw", "randread", "--bs", "256k"),
        pair("quota", (("2x@16", 0.32), ("0.5x@16", 0.08), ("1.5x@8", 0.24)), cpu, 0.16),
        prepare=capped_cpu(0.16),
    ),
    Group(
        "block-share, servers of the medium", "block-share", {"rate": "0", "model": "c=2 svc=12000"},
        ("file system", "NBD export"), READ8,
        (
            *pair("limit", (("2x@16", 4), ("4x@16", 8), ("0.5x@8", 1)), lambda c: model(f"c={c:g} svc=12000"), 2),
            Change("iodepth=64@4"),
        ),
        points="1,2,4,8,16",
    ),
    Group(
        "block-share, cache of the medium", "block-share", {"rate": "0", "model": "c=4 svc=12000"},
        ("file system", "NBD export"),
        ("--rw", "randread", "--bs", "64k"),
        pair(
            "cache", (("2x@32m", 16), ("0.5x@16m", 4), ("1.5x@24m", 12), ("3x@48m", 24)),
            lambda mib: warmed(model(f"c=4 svc=12000 rcache_svc=400 rcache_block=65536 rcache={int(mib)}MiB")), 8,
        ),
        over="range", points="4m,6m,8m,12m,16m,24m,32m,48m", depth=4,
        prepare=model("c=4 svc=12000 rcache_svc=400 rcache_block=65536 rcache=8MiB"),
    ),
    Group(
        "mirrored, copies", "mirrored", {"engine": "btrfs", "medium": "none", "rate": "16m"},
        ("owner, mounted", "owner"), ("--rw", "randwrite", "--bs", "64k"),
        (
            *pair("cards", (("2x@8", 32 * MIB), ("0.5x@8", 8 * MIB), ("2x@4", 32 * MIB)), cards, 16 * MIB),
            Change("copies=3@4", copies(3)), Change("copies=3@8"), Change("copies=3@16"),
        ),
        points="1,2,4,8,16", expect={"copies": 2}, quick=True,
    ),
    Group(
        "mirrored, read elsewhere", "mirrored", {"engine": "btrfs", "medium": "none", "rate": "12m"},
        ("owner, mounted", "other node"), ("--rw", "randread", "--bs", "64k"),
        pair("cards", (("2x@8", 24 * MIB), ("1.5x@8", 18 * MIB), ("0.5x@4", 6 * MIB)), cards, 12 * MIB),
        points="1,2,4,8,16",
    ),
)  # fmt: skip

TRIED = (
    Group(
        "block-share, cores of the server", "block-share", {"server": "strata", "rate": "0", "model": "c=64 svc=100"},
        ("file system", "NBD export"), ("--rw", "randread", "--bs", "4k"),
        (
            *pair("cores", (("2x@16", 2),), lambda n: on_cores(int(n)), 1),
            *pair("server@strata-target", (("2x@16", 2),), lambda n: on_cores(int(n)), 1),
        ),
        points="1,2,4,8,16", prepare=on_cores(1),
    ),
    Group(
        "share, second card", "share", {"rate": "12500000", "nics": "2"}, ("file system", "SMB share"),
        ("--rw", "randread", "--bs", "64k"),
        (
            Change("cards=2x@8", reach=Reach("connections=2")), Change("cards=2x@16", reach=Reach("connections=2")),
            Change("cards=2x@2", reach=Reach("connections=2")),
        ),
        points="1,2,4,8,16", reach=Reach("connections=2&spread=off"),
    ),
)  # fmt: skip
"""Real changes that judge nothing: what is asked is not yet what is done, or was never tried before (``--tried``)."""
