"""The scenes whose truth is known by construction."""

from __future__ import annotations

from dataclasses import dataclass

from strata.model.analysis import Analysis
from strata.model.finding import Cause
from strata.model.stack import Stack

from .queueing import Path
from .scenes import demo_stack, everyday_stack, simulate

MIB = 1 << 20
OVER_NBD = 95e-6


@dataclass(frozen=True)
class Scene:
    """A stack, what limits each of its layers, handshake round trips in seconds, and the truth."""

    stack: Stack
    paths: dict[str, Path]
    trips: dict[str, float]
    layer: str | None
    cause: Cause

    def analysis(self, *, seed: int, sd: float, rounds: int = 3) -> Analysis:
        """One simulated run."""
        return simulate(self.stack, self.paths, seed=seed, sd=sd, rounds=rounds, trips=self.trips)


def demo(layer: str | None, cause: Cause, trip: float = 45e-6, **limit: float | bool) -> Scene:
    """A medium of 8 servers and 2 ms reached directly and through a path with one limit."""
    path = Path(base=OVER_NBD, **limit)  # type: ignore[arg-type]
    return Scene(
        demo_stack(), {"direct": Path(base=20e-6), "path": path}, {"direct": 40e-6, "path": trip}, layer, cause
    )


def everyday(**share: float) -> Scene:
    """A quick disk, its file system, and a share served by the same two cores."""
    medium = {"servers": 4, "service": 70e-6, "per_byte": 2e-10}
    return Scene(
        everyday_stack(),
        {
            "disk": Path(**medium, cpu=6e-6),  # type: ignore[arg-type]
            "file system": Path(**medium, cpu=8e-6),  # type: ignore[arg-type]
            "share": Path(**medium, base=30e-6, **share),  # type: ignore[arg-type]
        },
        {"share": 30e-6},
        "share",
        Cause.PROCESSORS,
    )


SCENES = {
    "healthy": demo(None, Cause.MEDIUM),
    "slow-wire": demo("path", Cause.WIRE_BANDWIDTH, wire=20 * MIB),
    "slow-wire-writes": demo("path", Cause.WIRE_BANDWIDTH, wire=20 * MIB, wire_writes_only=True),
    "far-wire": demo("path", Cause.WIRE_LATENCY, trip=5.045e-3, delay=5e-3),
    "capped-target": demo("path", Cause.IOPS_CAP, cap=750),
    "slow-service": demo("path", Cause.PER_REQUEST_COST, delay=3e-3),
    "one-at-a-time": demo("path", Cause.PER_REQUEST_COST, lock=1e-3),
    "everyday": everyday(cpu=60e-6, cpu_per_byte=0.8e-9),
    "reordering": demo("path", Cause.UNEXPLAINED, reorder=20.0),
}

TWO = {
    "far-and-slow-wire": demo("path", Cause.WIRE_LATENCY, trip=5.045e-3, delay=5e-3, wire=20 * MIB),
    "far-and-one-at-a-time": demo("path", Cause.WIRE_LATENCY, trip=5.045e-3, delay=5e-3, lock=1.5e-3),
}
"""Two limits at once; the cause is that of the constant time."""
