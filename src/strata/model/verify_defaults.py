"""What ``strata verify`` does where nothing is said, each said once: its command line, its help and `VerifyOptions`
have it from here. Bounds, and defaults that are those of a workload, are rows of `strata.model.workload_options`.

Loaded for every ``--help``: it imports nothing that takes time.
"""

from __future__ import annotations

from typing import Literal

from strata import units
from strata.model.workload_options import OPTIONS

Order = Literal["random", "sequential"]
"""Order of the blocks in a pass."""

BS: str = OPTIONS["bs"].default
THREADS: int = OPTIONS["threads"].default
SEED: int = OPTIONS["seed"].default
DIRECT: bool = OPTIONS["direct"].default
DSYNC: bool = OPTIONS["dsync"].default
IODEPTH = 8
SECTOR_BYTES = 512
"""Of a block that is smaller, all of it."""
ORDER: Order = "random"
PASSES = 2
"""Where no time ends them."""
WRITE_PERCENT = 100
FLUSH_EVERY = 0
STUCK_AFTER_NS = 30 * units.NS_PER_S
LISTED = 20
