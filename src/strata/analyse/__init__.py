"""The statistics that compare layers, and the laws every result is checked against."""

from __future__ import annotations

from strata.analyse.summary import cell_summary
from strata.analyse.whole import analyse, compared, view_of

__all__ = ["analyse", "cell_summary", "compared", "view_of"]
