"""The axes of the matrices that have a name."""

from __future__ import annotations

from strata.units import KIB

DEPTHS = (1, 2, 4, 8, 16, 32, 64)
SIZES = tuple(4 * KIB << n for n in range(8))
MATRICES: dict[str, tuple[tuple[int, ...], tuple[int, ...]]] = {
    "full": (DEPTHS, SIZES),
    "published": ((1, 4, 16, 32, 64, 128, 256), tuple(n * KIB for n in (4, 8, 16, 64, 128, 256, 512, 1024))),
    "small": (DEPTHS[::2], SIZES[::2]),
}
"""Name: depths, sizes in bytes. A cell for each pair and pattern."""
