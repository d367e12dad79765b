"""The same data.

What it claims
    Every layer was shown to reach the same data as the layers below it.
Why it matters
    Two "similar" volumes may differ in their physical layout; comparing them is the classic mistake.
Evidence
    How it was shown, by layer: extents, sampled blocks, the mark of the file.
What rules it out
    A null endpoint, which has no data.
Source
    Strata's own rule, after Microsoft, Cluster Shared Volume: a systematic approach to finding bottlenecks ("always use
    the same LUN").
"""

from __future__ import annotations

from strata.analyse.laws.base import Answers, RunView, caveat
from strata.model.endpoint import EndpointKind

NAME, TITLE, ORDER = "identity", "same data", 320
SAYS = "a layer was not shown to reach the same data"
NEXT = "Point every layer at the same file or device."


def of_run(run: RunView) -> Answers:
    if run.data is None:
        return
    for layer in run.plan.stack.layers:
        if layer.name not in run.data.identity and layer.target.kind is not EndpointKind.NULL:
            text = f"{layer.name} was not shown to reach the same data as the layers below it"
            yield caveat(text, layer.name)
