"""What a node can read of its machine, found by reading it once."""

from __future__ import annotations

from strata.probes import Sampler


def absent() -> tuple[str, ...]:
    """Which counters cannot be read here, and why."""
    sampler = Sampler(devices=()).start()
    sampler.stop()
    return sampler.absent
