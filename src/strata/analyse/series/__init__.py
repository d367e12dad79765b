"""One measurement over its time: where its ramp ends, whether it is steady, how sure its figures are, when it may end.

Each file is one method with its source; `course_of` and `StoppingRule` put them together.
"""

from __future__ import annotations

from strata.analyse.series.course import course_of, narrow
from strata.analyse.series.mean import Mean, mean_of
from strata.analyse.series.prior import NoisePrior, pool
from strata.analyse.series.quantile import quantile_of
from strata.analyse.series.regimes import cut
from strata.analyse.series.until import StoppingRule

__all__ = ["Mean", "NoisePrior", "StoppingRule", "course_of", "cut", "mean_of", "narrow", "pool", "quantile_of"]
