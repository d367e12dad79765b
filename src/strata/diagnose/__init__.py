"""The rules that name the layer that is slow, and the experiment that would refute the name."""

from __future__ import annotations

from strata.diagnose.conclude import conclude
from strata.diagnose.decide import diagnose, propose
from strata.diagnose.experiment import outcome

__all__ = ["conclude", "diagnose", "outcome", "propose"]
