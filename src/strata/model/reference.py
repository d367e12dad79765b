"""What a cell should give, and how what it gives compares: slow is slower than something."""

from __future__ import annotations

from enum import StrEnum

from strata.model.base import OfCell
from strata.model.estimate import Estimate


class ReferenceSource(StrEnum):
    """Where it is known from."""

    SPECIFICATION = "specification"
    """The stack states it (`Expect.stated`)."""
    BASELINE = "baseline"
    """The same cell of the same place in an earlier run that was accepted, or whose verdict found nothing wrong."""


class Reference(OfCell):
    """One cell against what it should give. ``iops`` of the reference, ``ratio`` = measured ÷ reference with its
    interval on logarithms; ``allowance``: the share that may be missing. ``of``: ``expect.iops``, or the earlier run.
    """

    source: ReferenceSource
    of: str
    iops: Estimate
    ratio: Estimate
    allowance: float

    @property
    def slower(self) -> bool:
        """The whole interval lies below what may be missing."""
        return self.ratio.high is not None and self.ratio.high < 1 - self.allowance

    @property
    def fine(self) -> bool:
        """The whole interval lies above it."""
        return self.ratio.low is not None and self.ratio.low > 1 - self.allowance
