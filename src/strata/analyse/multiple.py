"""Many cells looked at together: p-values adjusted so that the whole table errs rarely, not each cell by itself.

Holm's step-down (1979, Scand. J. Statist. 6:65) bounds the chance of *any* false claim in the table, whatever the
dependence of the cells: all cells of a run share its drift, which Benjamini-Hochberg's bound on the share of false
claims does not allow for, and one false claim is enough to stop a pipeline.
"""

from __future__ import annotations

from collections.abc import Sequence


def holm(p: Sequence[float]) -> list[float]:
    """The adjusted p-values, in the order given; at most 1."""
    order = sorted(range(len(p)), key=lambda i: p[i])
    adjusted = [1.0] * len(p)
    largest = 0.0
    for rank, i in enumerate(order):
        largest = max(largest, min(1.0, (len(p) - rank) * p[i]))
        adjusted[i] = largest
    return adjusted
