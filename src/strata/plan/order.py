"""The order of execution: shuffled, interleaved, and the same for the same seed.

Within a round, the cells of one workload stand next to each other as a block, one cell a layer: what drifts over
minutes (a cache that fills, a neighbour on the host) then meets all layers of a comparison alike and cancels in
their ratio.

* The order of the layers in a block is shuffled in every even round and turned round in the odd round after it.
  So each of two layers goes first in exactly half of every two rounds, and a drift that is straight over the two
  cancels to first order.
* The order of the blocks is shuffled in every round, but those that only read come before those that write. What a
  write leaves behind (caches to be flushed, garbage to be collected) otherwise slows the reads after it, and with
  few rounds chance would give that to some workloads more than to others. Here only the first block of the next
  round follows a write, and which one that is, is drawn anew.
"""

from __future__ import annotations

import random
from collections.abc import Sequence

from strata.model.groups import grouped
from strata.model.plan import Cell, Step


def interleave(cells: Sequence[Cell], rounds: int, seed: int) -> tuple[Step, ...]:
    """Every unskipped cell once in each of ``rounds`` rounds (counted from 0)."""
    rng = random.Random(seed)
    blocks = grouped((cell.workload.key, cell) for cell in cells if cell.skip is None)
    steps: list[Step] = []
    for number in range(rounds):
        for key in _block_order(blocks, rng):
            if number % 2:
                blocks[key].reverse()
            else:
                rng.shuffle(blocks[key])
            for cell in blocks[key]:
                steps.append(Step(order=len(steps), round=number, cell=cell.key))
    return tuple(steps)


def _block_order(blocks: dict[str, list[Cell]], rng: random.Random) -> list[str]:
    keys = list(blocks)
    rng.shuffle(keys)
    return sorted(keys, key=lambda key: blocks[key][0].workload.rw.writes)
