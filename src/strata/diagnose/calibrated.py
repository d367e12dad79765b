"""From a confidence to the share of verdicts that were right where that much was told.

The arguments of a finding give its confidence (`strata.diagnose.opinion.confidence`); how often such a verdict is right
is measured. The steps were fitted on the even seeds of the live trials (``make bench-diagnosis``, 2026-11-25: 113
verdicts, all 72 with an experiment and all 41 without one right), and are checked on the odd ones. Without one, ten
neighbours are taken together from below, and told is the share that these and all below them were right with at least
(lower end, one-sided 95 %, Clopper and Pearson): 0.74 of 10, 0.86 of 20. Below the least that was seen it is what is
argued. The mean of the posterior was tried first, and this bound was taken in its place; the totals of the odd half had
been printed by then, the error of either there had not. The steps rise, so that no two verdicts change places, and what
no experiment told apart stays below 0.8, where people act.

One kind of verdict needs no experiment to be acted on: a counter shows its cause, what else would look so was counted,
no other cause stands, and no slow row of its layer is left over. Of these 19 of the even seeds were right of 19
(2026-11-26). Told is Laplace's rule of succession over those that were argued no higher: (n + 1) ÷ (n + 2).
"""

from __future__ import annotations

import numpy as np

from strata.model.finding import Diagnosis, VerdictKind

ARGUED = (0.0, 0.485, 0.544, 0.67, 0.75, 0.8, 0.97, 1.0)
RIGHT = (0.0, 0.485, 0.741, 0.79, 0.799, 0.96, 0.985, 1.0)
ARGUED_ALONE = (0.53, 0.58, 0.63, 0.71, 0.745)
RIGHT_ALONE = (0.667, 0.833, 0.889, 0.923, 0.952)
"""After 1, 4, 7, 11 and 19 of them."""


def calibrated(confidence: float, alone: bool = False) -> float:
    """0..1: how often what was argued so far is right. ``alone``: a counter shows it, and nothing else is left."""
    told = float(np.interp(confidence, ARGUED, RIGHT))
    if alone and confidence >= ARGUED_ALONE[0]:
        told = max(told, float(np.interp(confidence, ARGUED_ALONE, RIGHT_ALONE)))
    return round(told, 3)


def told(diagnosis: Diagnosis, alone: bool = False) -> Diagnosis:
    """The same with calibrated confidences; what is inconclusive claims nothing that could be right.

    ``alone``: a counter shows the first finding while no other cause stands. What the first takes may look like a
    further one, whatever shows that.
    """
    if diagnosis.verdict.kind is VerdictKind.INCONCLUSIVE:
        return diagnosis
    first = next(iter(diagnosis.findings), None)
    alone = alone and first is not None and not first.left
    sure = calibrated(diagnosis.verdict.confidence, alone)
    return diagnosis.model_copy(
        update={
            "verdict": diagnosis.verdict.model_copy(update={"confidence": sure}),
            "findings": tuple(
                f.model_copy(update={"confidence": calibrated(f.confidence, alone and f is first)})
                for f in diagnosis.findings
            ),
        }
    )
