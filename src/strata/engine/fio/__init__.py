"""The `fio` engine: drives an installed fio and reads its json+ output.

What its figures mean beside those of the native engine is in docs/design/engine.md.
"""

from __future__ import annotations

from strata.engine.fio.engine import FioEngine

__all__ = ["FioEngine"]
