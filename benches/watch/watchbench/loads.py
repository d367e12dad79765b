"""The application of a trial: fio, with one of three kinds of load, or one that limits itself."""

from __future__ import annotations

import random
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum

from diagnosisbench.trial import Kind, Trial

OFFSET, SIZE = "1m", "48m"
"""Behind the mark of the lab's test file, and inside it."""


class Does(StrEnum):
    """What is right to say of a load on a healthy lab."""

    ASKS = "asks for more than it gets"
    ITSELF = "limits itself"
    NOTHING = "is idle"


@dataclass(frozen=True)
class Load:
    """``words`` of fio, without the target; ``one_at_a_time``: they need an engine of system calls."""

    name: str
    words: tuple[str, ...]
    does: Does = Does.ASKS
    one_at_a_time: bool = False


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
    )
}
KINDS = ("small", "mixed", "large")
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
HEALTHY = ("small", "idle", "serial", "mixed", "thinking", "large", "paced", "idle")


def load_of(trial: Trial) -> Load:
    """By its seed alone."""
    chance = random.Random(trial.seed)
    if trial.kind is Kind.HEALTHY:
        return LOADS[chance.choice(HEALTHY)]
    return LOADS[chance.choice(FITS.get(trial.put[0].what, KINDS))]


def fio(load: Load, endpoint: str, seconds: float, output: str) -> list[str]:
    """The whole command. ``endpoint``: ``file:/path`` or ``nbd://host:port/export``."""
    words = ["fio", "--name=app", *load.words, "--time_based", f"--runtime={seconds:g}", f"--offset={OFFSET}"]
    words += [f"--size={SIZE}", "--output-format=json", f"--output={output}", "--randrepeat=0", "--norandommap"]
    if endpoint.startswith("file:"):
        engine = "psync" if load.one_at_a_time else "libaio"
        return [*words, f"--ioengine={engine}", "--direct=1", f"--filename={endpoint.removeprefix('file:')}"]
    return [*words, "--ioengine=nbd", f"--uri={endpoint.partition('?')[0]}"]
