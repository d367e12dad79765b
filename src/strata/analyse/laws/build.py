"""A release build.

What it claims
    The engine was compiled with optimisation.
Why it matters
    A debug build measures itself.
Evidence
    The build profile that the engine states in every result.
What rules it out
    A release build.
Source
    Strata's own rule.
"""

from __future__ import annotations

from strata.analyse.laws.base import Answers, RunView, caveat

NAME, TITLE, ORDER = "build", "build", 330
SAYS = "the engine is a debug build"
OF_NULL = True
NEXT = "Build with --release and measure again."


def of_run(run: RunView) -> Answers:
    if any(r.result is not None and r.result.debug_build for c in run.rounds.values() for r in c.results):
        text = "the engine is a debug build: its own slowness is part of every time; build with --release"
        yield caveat(text)
