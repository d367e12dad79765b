"""The rules that name the layer that is slow, and the experiments that would refute the name."""

from __future__ import annotations

from strata.diagnose.decide import diagnose, order_wanted, propose
from strata.diagnose.trying import outcome

__all__ = ["diagnose", "order_wanted", "outcome", "propose"]
