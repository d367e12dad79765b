"""The report as one self-contained HTML file: no network loads, no script needed to read it."""

from __future__ import annotations

from strata.report.html.page import render

__all__ = ["render"]
