"""From the analysis to one verdict. Pure: values in, values out."""

from __future__ import annotations

from strata.diagnose import verdicts
from strata.diagnose.further import worth_saying
from strata.diagnose.layers import Named, findings
from strata.diagnose.rules import generator, impossible, medium
from strata.diagnose.view import views
from strata.model.analysis import Analysis, Equivalence
from strata.model.finding import Diagnosis, Experiment
from strata.model.stack import Stack


def diagnose(stack: Stack, analysis: Analysis) -> Diagnosis:
    """Names the layer and the cause, or says what is missing.

    In this order: figures that cannot be true; nothing measured; a layer that costs more than expected (and whether
    that is the generator); nothing that does (medium or healthy); not enough to tell.
    """
    broken = impossible.broken(analysis)
    if broken:
        return verdicts.impossible(broken)
    if not analysis.cells:
        return verdicts.nothing_measured(analysis)
    named: list[Named] = []
    for view in views(stack, analysis):
        named += findings(view)
    named.sort(key=lambda n: -n.loss)
    slow = {n.finding.worst for n in named}
    above = [c for c in analysis.comparisons if c.verdict is Equivalence.ABOVE]
    if named:
        cells = [s for c in above if (s := analysis.summary(c.layer, c.workload_key)) is not None]
        if generator.limits(analysis, cells):
            return verdicts.generator(analysis, cells)
        return verdicts.layer(worth_saying(analysis, named))
    last = [c for c in analysis.cells if c.layer == medium.bottom(stack).name]
    if generator.limits(analysis, last):
        return verdicts.generator(analysis, last)
    if (not analysis.comparisons and len(stack.layers) > 1) or (above and not slow):
        return verdicts.nothing_compared(stack, analysis)
    return verdicts.unaffected(stack, analysis)


def propose(stack: Stack, analysis: Analysis, diagnosis: Diagnosis) -> Experiment | None:
    """The experiment that would refute the strongest finding; None where there is none to run."""
    return next((f.experiment for f in diagnosis.findings if f.experiment is not None and f.outcome is None), None)
