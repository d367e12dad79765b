"""What a modelled disk promises in health, as its maker would state it: the figures of ``expect`` in a stack file."""

from __future__ import annotations

from strata import units

SMALL_BYTES, LARGE_BYTES = 8 * units.KIB, 128 * units.KIB
"""Blocks of the random and of the sequential reads that a specification speaks of."""
WAY_US = 40.0
"""Loop device, FUSE, waking twice: what one I/O takes beyond its model on two CPUs (15 to 60)."""
MOST_IOPS, MOST_BYTES_PER_S = 20_000, 250e6
"""Beyond these two busy CPUs are what limits, not the model: nothing is promised."""
_READS = frozenset({"c", "svc", "svc_r", "bw", "bw_r"})
_WITHOUT_EFFECT = frozenset(
    {"svc_w", "bw_w", "jitter", "spread", "seed", "flush", "wcache", "wcache_svc", "drain", "drain_svc"}
)


def specification(model: str) -> str:
    """Lines for the table of the layer that is such a disk; empty where the model promises nothing.

    ``c`` servers that take ``svc`` and the block at ``bw`` for each read. A model with a head, a cache or a cap
    promises nothing: what it gives depends on more than the block.
    """
    words = dict(word.split("=", 1) for word in model.split())
    if not words or words.keys() - _READS - _WITHOUT_EFFECT:
        return ""
    service_us = float(words.get("svc_r", words.get("svc", 0)))
    rate = float(words.get("bw_r", words.get("bw", 0)))  # MB/s are bytes per µs.
    servers = int(words.get("c", 1))
    small, large = (service_us + (size / rate if rate else 0.0) for size in (SMALL_BYTES, LARGE_BYTES))
    lines = []
    if small > 0 and (iops := servers * 1e6 / small) <= MOST_IOPS:
        lines.append(f"expect.iops = {iops:.0f}")
    if small > 0:
        lines.append(f'expect.latency = "{(small + WAY_US) / 1e3:.3g}ms"')
    if large > 0 and (bytes_per_s := servers * LARGE_BYTES * 1e6 / large) <= MOST_BYTES_PER_S:
        lines.append(f'expect.bandwidth = "{bytes_per_s / 1e6:.0f}MB/s"')
    return "".join(f"{line}\n" for line in lines)
