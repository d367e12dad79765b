"""How far two cells of two runs may be apart and still count as equal. Loaded for every ``--help``."""

from __future__ import annotations

MARGIN = 0.05
"""As a share of the IOPS, where no other is asked for."""
