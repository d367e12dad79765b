"""The same workload over another network card.

What it changes
    It runs on the same kind of layer of the same node, whose connections use another address.
What it tells apart
    If the card is the wrong one, or other traffic saturates its wire, the other card is faster by a fifth or more. A
    limit behind both cards stays the same.
"""

from __future__ import annotations

from strata.diagnose.case import Case
from strata.diagnose.expected import MOST, SAME, Range
from strata.diagnose.opinion import Opinion
from strata.diagnose.other_paths import asked_there, host
from strata.model.cause import Cause
from strata.model.experiment import Experiment
from strata.model.stack import Layer

ABOUT = frozenset({Cause.WRONG_CARD, Cause.NOISY_WIRE})
MAYBE = (Cause.WIRE_BANDWIDTH, Cause.WIRE_LATENCY, Cause.WIRE_LOSS)
"""The other wire may have it too, or not."""


def propose(case: Case, standing: tuple[Opinion, ...]) -> Experiment | None:
    """Where a card or its neighbour stands and a layer over another address was measured."""
    maybe: dict[Cause, Range] = dict.fromkeys(MAYBE, (SAME[0], MOST))
    why = "with a limit behind both cards the IOPS stay the same"
    return asked_there(case, standing, ABOUT, _by_another_card, maybe, why)


def _by_another_card(one: Layer, blamed: Layer) -> bool:
    return one.node == blamed.node and host(one) not in (None, host(blamed))
