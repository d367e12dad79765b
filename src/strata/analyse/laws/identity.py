"""The same data.

What it claims
    Every layer was shown to reach the same data as the layers below it.
Why it matters
    Two "similar" volumes may differ by physical layout; comparing them is the classic mistake.
Evidence
    How it was shown, by layer: extents, sampled blocks, the mark of the file.
What rules it out
    A null endpoint, which has no data.
Source
    Our own, after Microsoft's guide to finding bottlenecks of cluster shared volumes ("always use the same LUN").
"""

from __future__ import annotations

from collections.abc import Iterator

from strata.analyse.laws.view import RunView, colour
from strata.model.analysis import Check
from strata.model.endpoint import EndpointKind

NAME, TITLE, ORDER = "identity", "same data", 320
SAYS = "it was not shown that a layer reaches the same data"
NEXT = "Aim every layer at the same file or device."


def of_run(run: RunView) -> Iterator[Check]:
    """Layers without a proof."""
    if run.data is None:
        return
    for layer in run.plan.stack.layers:
        if layer.name not in run.data.identity and layer.target.kind is not EndpointKind.NULL:
            text = f"it was not shown that {layer.name} reaches the same data as the layers below it"
            yield colour(NAME, text, layer.name)
