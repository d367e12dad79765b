"""Made-up histories of a cell's IOPS, with the noise that storage has from run to run.

A run's log IOPS is level + slow drift (first order, correlation `MEMORY` from run to run) + noise of its own; both
together have the standard deviation asked for. One run of twenty was hit by a neighbour and lost 5 to 25 %.
"""

from __future__ import annotations

import math
import random

MEMORY = 0.3
DRIFTING = 0.4
"""Share of the variance that drifts."""
HIT = 0.05
HIT_LOSS = (0.05, 0.25)


class Source:
    """Gives one run after the other; ``loss`` may be changed on the way."""

    def __init__(self, rng: random.Random, sd: float, *, hits: bool = True) -> None:
        self._rng, self._sd, self._hits = rng, sd, hits
        self._drift = rng.gauss(0, 1)
        self.loss = 0.0

    def run(self) -> float:
        """IOPS of the next run; the level is 10 000."""
        rng = self._rng
        self._drift = MEMORY * self._drift + math.sqrt(1 - MEMORY**2) * rng.gauss(0, 1)
        noise = math.sqrt(DRIFTING) * self._drift + math.sqrt(1 - DRIFTING) * rng.gauss(0, 1)
        hit = 1 - rng.uniform(*HIT_LOSS) if self._hits and rng.random() < HIT else 1.0
        return 10_000 * math.exp(self._sd * noise) * hit * (1 - self.loss)

    def runs(self, count: int) -> list[float]:
        """The next so many."""
        return [self.run() for _ in range(count)]
