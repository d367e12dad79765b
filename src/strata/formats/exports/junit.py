"""JUnit XML, for whatever reads test reports: the laws over a run, and the run against each baseline of its stack."""

from __future__ import annotations

from collections.abc import Sequence

from strata.formats.exports.tables import MeasuredRun
from strata.text import junit

NAME, TITLE, TABULAR, JUDGED = "junit", "JUnit XML: laws and baselines as test cases", False, True


def write(runs: Sequence[MeasuredRun]) -> str:
    return junit.document("strata export", [suite for of in runs for suite in of.suites]) + "\n"
