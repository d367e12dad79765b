"""Injections that are parameters of the modelled disk."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from strata.errors import RunFailed
from strata.model.finding import Cause
from strata_lab.lab import Lab
from strata_lab.parts.disk import DiskControl
from strata_lab.truth import Injection

CALM = {"model": "c=4 svc=2400 bw=250"}
"""A third of the stack's own speed, 1640 I/Os of 8 KiB a second: the medium limits, whatever else the machine does."""
ELSEWHERE = (Cause.WIRE_BANDWIDTH, Cause.WIRE_LATENCY, Cause.IOPS_CAP, Cause.PROCESSORS)
"""What a slow medium is never to be taken for."""
of_the_disk = partial(Injection, kind="medium", layer="disk", options=CALM, never=ELSEWHERE)
"""An injection into the modelled disk, where nothing else is said of these."""


def most(size_bytes: int, svc_us: float = 2400, servers: float = 4) -> float:
    """IOPS that a medium of so many servers at 250 MB/s cannot exceed."""
    return servers * 1e6 / (svc_us + size_bytes / 250)


def medium(lab: Lab) -> DiskControl:
    """The lab's first modelled disk. Raises `RunFailed` when it has none."""
    disks = lab.facts("disk")
    if not disks:
        raise RunFailed("cannot inject into the medium of", lab.name, "it is not a modelled disk", "--set medium=model")
    return DiskControl(disks[0]["path"])


def model(words: str) -> Callable[[Lab, float], None]:
    """Sets parameters; ``{value}`` in the words is the severity's value."""

    def inject(lab: Lab, value: float) -> None:
        medium(lab).set(words.format(value=f"{value:g}"))

    return inject
