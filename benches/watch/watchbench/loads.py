"""The application of a trial: fio or a program of others, with one of the kinds of load, or one that limits itself."""

from __future__ import annotations

import random
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum

from diagnosisbench.draw import SEEDS_A_BASE
from diagnosisbench.trial import Kind, Trial

from watchbench.generators import GENERATORS, Figures

OTHERS_FROM = 62
"""The first row in which other programs than fio are drawn; earlier ones draw what they drew."""


class Does(StrEnum):
    """What is right to say of a load on a healthy lab."""

    ASKS = "asks for more than it gets"
    ITSELF = "limits itself"
    NOTHING = "is idle"


@dataclass(frozen=True)
class Load:
    """``words`` of the program, without the target; ``one_at_a_time``: those of fio need an engine of system calls.

    ``by``: one of `GENERATORS`.
    """

    name: str
    words: tuple[str, ...]
    does: Does = Does.ASKS
    one_at_a_time: bool = False
    by: str = "fio"


def _load(name: str, words: str, **more: object) -> Load:
    return Load(name, tuple(words.split()), **more)  # type: ignore[arg-type]


LOADS: Mapping[str, Load] = {
    load.name: load
    for load in (
        _load("small", "--rw=randread --bs=8k --iodepth=16"),
        _load("mixed", "--rw=randrw --rwmixread=70 --bssplit=4k/20:8k/50:16k/30 --iodepth=12"),
        _load("large", "--rw=read --bs=128k --iodepth=8"),
        _load("whole", "--rw=randread --bs=256k --iodepth=8"),
        _load("writes", "--rw=randwrite --bs=8k --iodepth=8"),
        _load("commit", "--rw=randwrite --bs=8k --fdatasync=1", one_at_a_time=True),
        _load("commits", "--rw=randwrite --bs=8k --fdatasync=1 --numjobs=4", one_at_a_time=True),
        _load("serial", "--rw=randread --bs=8k", does=Does.ITSELF, one_at_a_time=True),
        _load("thinking", "--rw=randread --bs=8k --thinktime=15000", does=Does.ITSELF, one_at_a_time=True),
        _load("paced", "--rw=randrw --rwmixread=70 --bs=8k --iodepth=8 --rate_iops=150,70", does=Does.ITSELF),
        Load("idle", (), does=Does.NOTHING),
        # A stride that comes back to no place for a while.
        _load("bench", "-d 16 -s 8192 -S 1056768", by="qemu-img"),
        _load("bench-large", "-d 8 -s 131072", by="qemu-img"),
        _load("bench-writes", "-w -d 8 -s 8192", by="qemu-img"),
        _load("bench-flush", "-w -d 1 -s 8192 --flush-interval=1", by="qemu-img"),
        _load("bench-serial", "-d 1 -s 8192 -S 1056768", does=Does.ITSELF, by="qemu-img"),
        _load("copy", "bs=1048576 iflag=direct", by="dd"),
        _load("copy-commit", "bs=8192 oflag=direct,dsync", by="dd"),
        _load("copy-serial", "bs=8192 iflag=direct", does=Does.ITSELF, by="dd"),
        _load("database", "-c 8 -j 2", by="pgbench"),
        _load("database-paced", "-c 4 -j 2 --rate=20", does=Does.ITSELF, by="pgbench"),
    )
}
KINDS: tuple[str, ...] = ("small", "mixed", "large")
FITS: Mapping[str, tuple[str, ...]] = {
    # What only some loads feel.
    "sync-commit": ("commit", "commits"),
    "write-cliff": ("writes", "mixed"),
    "misaligned": ("writes", "mixed"),
    "split-requests": ("whole", "large"),
    "qos-bandwidth": ("large", "mixed"),
    "wire-bandwidth": ("large", "mixed"),
    "noisy-wire": ("large", "mixed"),
    "wrong-nic": ("large", "mixed"),
}
HEALTHY: tuple[str, ...] = ("small", "idle", "serial", "mixed", "thinking", "large", "paced", "idle")


OTHERS: tuple[str, ...] = ("bench", "bench-large", "copy", "database")
OTHERS_FIT: Mapping[str, tuple[str, ...]] = {
    "sync-commit": ("bench-flush", "copy-commit", "database"),
    "write-cliff": ("bench-writes",),
    "misaligned": ("bench-writes", "copy-commit"),
    "split-requests": ("bench-large", "copy"),
    "qos-bandwidth": ("bench-large", "copy"),
    "wire-bandwidth": ("bench-large",),
    "noisy-wire": ("bench-large",),
    "wrong-nic": ("bench-large",),
}
OTHERS_HEALTHY: tuple[str, ...] = ("bench", "bench-serial", "bench-large", "copy-serial", "database-paced")
"""Without a database that asks for all it can get: each commit waits for the one before it, and whether that is the
application's limit or the medium's is no fixed truth.
"""


def load_of(trial: Trial) -> Load:
    """By its seed alone; from `OTHERS_FROM` on every second one is another program's, where one reaches its lab."""
    chance = random.Random(trial.seed)
    others = trial.seed // SEEDS_A_BASE >= OTHERS_FROM and chance.random() < 0.5
    if trial.kind is Kind.HEALTHY:
        names = OTHERS_HEALTHY if others else HEALTHY
    else:
        what = trial.put[0].what
        names = OTHERS_FIT.get(what, OTHERS) if others else FITS.get(what, KINDS)
    return LOADS[chance.choice([n for n in names if trial.setup in GENERATORS[LOADS[n].by].setups])]


def command(load: Load, endpoint: str, seconds: float, output: str) -> list[str]:
    """The whole command. ``endpoint``: ``file:/path`` or ``nbd://host:port/export``."""
    return GENERATORS[load.by].words(load.words, load.one_at_a_time, endpoint, seconds, output)


def said(load: Load, output: str, seconds: float) -> Figures:
    """What the command said of its rate."""
    return GENERATORS[load.by].said(output, seconds)


def measured(load: Load, output: str) -> bool:
    """Whether what it said is a rate, and not only what that is less than."""
    return GENERATORS[load.by].measured(output)
