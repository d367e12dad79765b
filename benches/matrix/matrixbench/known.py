"""Tables of IOPS whose truth is known: form, kinks, noise.

A pattern is a latency bound and a capacity bound with a soft corner; on it stand kinks as real storage has them (a
request limit from which one I/O becomes several, a stripe that small requests stay inside, a prefetch that lifts one
column) and a roughness of each cell. Noise: correlated bins (first-order autoregression), counting noise of slow
cells, an offset of each start.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
DEPTHS = (1, 2, 4, 8, 16, 32, 64)
SIZES = tuple(4096 << n for n in range(8))
PATTERNS = 5
BIN_S = 0.05


@dataclass(frozen=True)
class Noise:
    """``bins``: relative sd of a 50 ms bin, ``tau_s`` for how long bins go together, ``start``: sd of each start."""

    name: str
    bins: float
    tau_s: float
    start: float


CLASSES = (
    Noise("quiet", 0.01, 0.1, 0.003),
    Noise("typical", 0.03, 0.2, 0.005),
    Noise("noisy", 0.08, 0.3, 0.01),
)


@dataclass(frozen=True)
class Medium:
    """Seconds and bytes a second. ``servers`` are how many I/Os it serves at once, ``seek_s`` what random ones cost
    more."""

    name: str
    latency_s: float
    bandwidth: float
    servers: float
    seek_s: float = 0.0
    counted: bool = False


MEDIA = (
    Medium("flash", 80e-6, 3.0e9, 24),
    Medium("SATA flash", 120e-6, 0.53e9, 10),
    Medium("disk", 150e-6, 0.2e9, 1, seek_s=7e-3, counted=True),
)


def truth(medium: Medium, seed: int) -> Floats:
    """IOPS of every cell, (pattern, depth, size), in the order in which `spots` counts them."""
    rng = np.random.default_rng(seed)
    made = []
    split_at = int(rng.choice([64, 128])) * 1024
    for pattern in range(PATTERNS):
        random, write = pattern in (1, 3, 4), pattern in (2, 3)
        factor = float(np.exp(rng.normal(0, 0.15))) * (1.4 if write else 1.0)
        base = medium.latency_s * factor + (medium.seek_s if random else 0.0)
        servers = medium.servers if not random or not medium.seek_s else 1.0
        gain = 1.0 + (0.5 * math.log2(64) / 6 if medium.seek_s and random else 0.0)
        corner = float(rng.uniform(2, 6))
        for depth in DEPTHS:
            for size in SIZES:
                pieces = math.ceil(size / split_at)
                latency = depth / (base + size / (medium.bandwidth / 2) + (pieces - 1) * 0.15 * medium.latency_s)
                held = 1 + (gain - 1) * math.log2(depth) / 6
                service = (base / servers) / held + size / medium.bandwidth
                rate = (latency**-corner + (1 / service) ** -corner) ** (-1 / corner)
                if pattern == 0 and depth <= 2 and size <= 32768:
                    rate *= 1.6
                made.append(rate * float(np.exp(rng.normal(0, 0.005))))
    return np.array(made)


class Storage:
    """Measures a cell of a known truth as the engine would: bins of `BIN_S`."""

    def __init__(self, levels: Floats, noise: Noise, seed: int, counted: bool = False) -> None:
        self.levels, self.noise, self.counted = levels, noise, counted
        self._rng = np.random.default_rng(seed)

    def bins(self, cell: int, seconds: float) -> Floats:
        """IOPS of each bin of one start."""
        n = max(1, round(seconds / BIN_S))
        level = float(self.levels[cell]) * float(np.exp(self._rng.normal(0, self.noise.start)))
        r = math.exp(-BIN_S / self.noise.tau_s)
        shocks = self._rng.normal(0, 1, n)
        wander = np.empty(n)
        wander[0] = shocks[0]
        for i in range(1, n):
            wander[i] = r * wander[i - 1] + math.sqrt(1 - r * r) * shocks[i]
        rates = np.maximum(level * (1 + self.noise.bins * wander), level * 1e-3)
        if self.counted:
            # Of a closed loop: times between completions vary by half their mean.
            expected = rates * BIN_S
            rates = np.maximum(0.0, expected + self._rng.normal(0, 1, n) * 0.5 * np.sqrt(expected)) / BIN_S
        return np.asarray(rates, dtype=float)

    def mean(self, cell: int, seconds: float) -> float:
        """A plain fixed measurement."""
        return float(self.bins(cell, seconds).mean())
