"""The labs that trials are drawn from: a stack with its options, what can be put into it, and what limits it anyway.

Options are chosen so that a healthy lab has few limits of its own: a medium of 1640 IOPS that two processors serve
without effort, and cards that are not shaped. The few that stay are declared: ``natural`` are causes that are true of
the healthy lab at one layer, so that naming them there blames nobody.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from strata.model.cause import Cause
from strata_lab.inject._disk import CALM
from strata_lab.truth import Severities, per_severity

SMALL_MEDIUM = ("slow-medium", "one-queue", "stalls", "gc-waves", "qos-iops", "qos-bandwidth", "noisy-disk")
MEDIUM = (
    *SMALL_MEDIUM,
    "sync-commit",
    "lame-member",
    "misaligned",
    "split-requests",
    "write-cliff",
    "cache-fit",
    "cold-cache",
)
WIRE = ("wire-bandwidth", "wire-latency", "wire-loss", "noisy-wire")
UNTRIED = ("holes",)
"""A diagnosis fills what it writes to before it measures: this cannot be seen by one, only by a look at the data."""
OF_THE_SERVER = ("request-cost", "server-threads", "busy-server")
LATER: Mapping[str, int] = dict.fromkeys(OF_THE_SERVER, 21)
"""The first row in which it is drawn, of what was added when earlier rows had been measured: they stay as they were."""
SERVED = (*WIRE, "wrong-nic", "server-cpu", "client-cpu")
OUTSIDE_SERVED = ("frozen-server", "tiny-frames", "overtaking-frames", "small-window", "erratic-disk")
PAIRS = (
    ("wire-latency", "slow-medium"),
    ("wire-bandwidth", "stalls"),
    ("wire-latency", "qos-iops"),
    ("server-cpu", "wire-bandwidth"),
    ("wire-loss", "one-queue"),
)
VALUES: Mapping[str, Severities] = {
    # The bench gives the limit to the whole diagnosis, which also has to start and to think.
    "client-cpu": per_severity(0.4, 0.2, 0.1)
}
"""Severities that differ from the injection's own."""
NEEDS: Mapping[str, Mapping[str, str]] = {
    # A wire that one neighbour can fill.
    "noisy-wire": {"rate": "125m"}
}
"""Options that an injection needs here beside its own."""
REMEMBERED = frozenset({"cold-cache"})
"""What can only be seen by who knows how it was before: the healthy lab is diagnosed first, into the same store, as a
user has an earlier run. A cache that was lost leaves a medium that is as fast as ever."""
UNSHAPED = {"rate": "0"}
QUICK_COMMIT = {"journal": "apart"}
"""A server commits each durable write with its journal, which would cost three writes of the medium instead of one."""
SMALL_IO_COSTS = (Cause.PER_REQUEST_COST, Cause.PROCESSORS, Cause.SINGLE_THREAD)
"""Of servers in user space on two processors, where the medium is quick."""
TOP = "top"
"""The last layer of a stack, whatever it is called there."""
RELAYS = ("redirected, other node", "block-redirected, other node")
"""Of a cluster's volume: where another node's server takes requests and hands them on."""
FILES_SERVED = ("share, other node", "share, client", "redirected, coordinator", *RELAYS, "scale-out share")

Natural = frozenset[tuple[str, Cause]]
"""(layer, cause)."""


def _at(layers: tuple[str, ...], *causes: Cause) -> Natural:
    return frozenset((layer, cause) for layer in layers for cause in causes)


COMMITS = _at((TOP,), Cause.SLOW_FLUSH)
"""Of a server that commits each durable write with more than its data."""


@dataclass(frozen=True)
class Setup:
    """``cells`` says which layer of this stack an injection's cell is measured at, by the name it has elsewhere."""

    stack: str
    options: Mapping[str, str]
    one: tuple[str, ...]
    two: tuple[tuple[str, str], ...] = ()
    outside: tuple[str, ...] = ()
    natural: Natural = frozenset()
    cells: Mapping[str, str] = field(default_factory=dict)
    weight: int = 2
    """How often it is drawn, compared with others: what takes twice as long is drawn half as often."""


SETUPS: Mapping[str, Setup] = {
    "local-ext4": Setup(
        "local",
        {"model": CALM["model"]},
        MEDIUM,
        two=(("stalls", "qos-bandwidth"), ("sync-commit", "one-queue")),
        outside=("erratic-disk", "frozen-file-system"),
    ),
    "local-xfs": Setup("local", {"model": CALM["model"], "fs": "xfs"}, ("stalls", "slow-medium", "qos-iops")),
    "block-nbd": Setup(
        "block-share",
        {"model": CALM["model"], **UNSHAPED},
        (*SERVED, *SMALL_MEDIUM, "swapped", *OF_THE_SERVER),
        two=PAIRS,
        outside=OUTSIDE_SERVED,
    ),
    # As the stack comes: a quick medium behind a wire of 125 MB/s, which is what holds large blocks.
    "block-nbd-wire": Setup(
        "block-share",
        {},
        ("wire-latency", "wire-bandwidth", "wire-loss", "server-cpu"),
        natural=_at((TOP,), Cause.WIRE_BANDWIDTH, *SMALL_IO_COSTS),
    ),
    "block-iscsi": Setup(
        "block-share",
        {"model": CALM["model"], "protocol": "iscsi", **UNSHAPED},
        (*WIRE, "server-cpu", "stalls", "slow-medium", "qos-iops"),
        two=PAIRS[:2],
        outside=("frozen-server", "tiny-frames"),
        # Its server, tgtd, takes up to 0.7 ms of one thread for a request, by the CPU of the day: of nineteen healthy
        # units the worst workload gave 0.68 to 0.89 of what lies below, and 0.85 is what a unit may.
        natural=_at((TOP,), *SMALL_IO_COSTS),
    ),
    "share-smb": Setup(
        "share",
        {"model": CALM["model"], **QUICK_COMMIT, **UNSHAPED},
        (*SERVED, *SMALL_MEDIUM),
        two=PAIRS,
        outside=OUTSIDE_SERVED,
        natural=COMMITS,
    ),
    "share-nfs": Setup(
        "share",
        {"model": CALM["model"], "protocol": "nfs", **QUICK_COMMIT, **UNSHAPED},
        (*WIRE, "server-cpu", "stalls", "slow-medium"),
        two=PAIRS[:2],
        # Its reads come from a cache: a server that stood still for 240 of 640 ms took a tenth of them.
        outside=("overtaking-frames", "small-window"),
        natural=COMMITS,
    ),
    "cluster-smb": Setup(
        "cluster-volume",
        {"medium": "slow", "landing": "direct"},
        ("redirected-path", "slow-medium", "stalls"),
        # A server of files takes writes up in several threads. Traced at the device: of a sequence 7 % of them come
        # out of order from the share and none from the volume below, and each takes twice as long.
        natural=_at(("share, other node", *RELAYS), Cause.REDIRECTED)
        | _at(FILES_SERVED, Cause.SLOW_FLUSH, Cause.REORDERING, *SMALL_IO_COSTS),
        cells={"file system": "direct, coordinator"},
        weight=1,
    ),
    "cluster-hdd": Setup(
        "cluster-volume",
        {"medium": "hdd", "protocol": "nbd"},
        ("reordering",),
        # The scale-out share stands on a relay here. Relays take requests up in several threads: order is lost there.
        natural=_at(("share, other node", *RELAYS, "scale-out share"), Cause.REDIRECTED)
        | _at((*RELAYS, "scale-out share"), Cause.REORDERING)
        | _at(FILES_SERVED, Cause.SLOW_FLUSH, *SMALL_IO_COSTS),
        cells={"file system": "direct, coordinator"},
        weight=1,
    ),
    "vm-disks": Setup(
        "vm-disks",
        {"medium": "slow", "nodes": "3", "disks": "1"},
        ("hot-node", "qos-iops", "qos-bandwidth"),
        natural=_at(("one queue",), Cause.FEW_QUEUES)
        | _at(("one queue", "4 queues"), Cause.LIMITED_QUEUE)
        | _at(("store, served", "one queue", "4 queues"), Cause.SINGLE_THREAD)
        | _at(("store, served",), Cause.SLOW_FLUSH)
        | _at(("read cache",), Cause.CACHE_FLATTERS, Cause.WRITE_CACHE_FULL),
        weight=1,
    ),
    "mirror-btrfs": Setup(
        "mirrored",
        {"engine": "btrfs", "medium": "slow", "rate": "16m"},
        ("mirror-copies", "wire-latency"),
        natural=_at(("other node",), Cause.REDIRECTED, Cause.WIRE_BANDWIDTH)
        | _at(("owner, mounted", "owner"), Cause.MIRROR_COPIES, Cause.WIRE_BANDWIDTH),
        weight=1,
    ),
}
