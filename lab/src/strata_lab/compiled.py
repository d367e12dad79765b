"""What a lab takes of the compiled engine: its own three parts (`crates/strata-lab`), and filling and finding a file.

The only door of the lab to `strata._core`. docs/design/house.md says why the parts are compiled into it.
"""

from __future__ import annotations

from strata._core import fiemap, fill, lab_direct, lab_disk, lab_hop

__all__ = ["fiemap", "fill", "lab_direct", "lab_disk", "lab_hop"]
