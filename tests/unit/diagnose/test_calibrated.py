"""Without an experiment only what a counter shows, with nothing else left, is told with the confidence to act on."""

from __future__ import annotations

import pytest

from strata.diagnose import diagnose
from strata.diagnose.calibrated import calibrated, told
from strata.model.analysis import CellSummary
from strata.model.finding import Cause

from .known import SCENES
from .test_counters_named import Counters, scene, seen, segments
from .test_wire_causes import both, server

ARGUED = [n / 200 for n in range(201)]


@pytest.mark.parametrize("alone", [True, False])
def test_what_is_told_rises_with_what_is_argued(alone: bool) -> None:
    steps = [calibrated(one, alone) for one in ARGUED]
    assert steps == sorted(steps) and steps[0] >= 0 and steps[-1] <= 1


def test_without_an_experiment_and_with_another_cause_standing_it_stays_below_what_people_act_on() -> None:
    assert max(calibrated(one) for one in ARGUED if one <= 0.75) < 0.8
    assert calibrated(0.72, alone=True) > 0.9
    # Few arguments are few with a counter, too.
    assert calibrated(0.53, alone=True) < 0.7
    assert all(calibrated(one, alone=True) >= calibrated(one) for one in ARGUED)


LOSS, NONE = segments(35), segments(0)
COUNTED = both(LOSS, server(0.1, 0.0))


def sure(above: Counters) -> float:
    found = seen("reordering", above, both(NONE, server(0.1, 0.0)))
    assert found.verdict.cause is Cause.WIRE_LOSS
    assert found.verdict.confidence == found.findings[0].confidence
    return found.verdict.confidence


def test_what_a_counter_shows_alone_is_told_with_confidence_where_what_else_would_look_so_was_counted() -> None:
    assert sure(COUNTED) > 0.85
    assert sure(LOSS) < 0.8, "what the server did is not known"

    def unseen(cell: CellSummary) -> dict[str, float]:
        return {name: value for name, value in COUNTED(cell).items() if not name.startswith("process_run_delay")}

    assert sure(unseen) < 0.8, "whether the generator waited for a CPU is not known"


def test_another_cause_that_stands_and_rows_that_are_left_keep_it_below() -> None:
    standing = seen("slow-service", COUNTED, both(NONE, server(0.1, 0.0)))
    assert standing.verdict.cause is Cause.WIRE_LOSS
    assert standing.verdict.confidence < 0.8
    found = diagnose(SCENES["slow-service"].stack, scene("slow-service"))
    one = found.findings[0].model_copy(update={"confidence": 0.72, "left": ("path/read-8KiB-qd8",)})
    verdict = found.verdict.model_copy(update={"confidence": 0.72, "layer": one.layer, "cause": one.cause})
    argued = found.model_copy(update={"findings": (one,), "verdict": verdict})
    assert told(argued, alone=True).verdict.confidence < 0.8
    whole = argued.model_copy(update={"findings": (one.model_copy(update={"left": ()}),)})
    assert told(whole, alone=True).verdict.confidence > 0.9
    second = whole.model_copy(update={"findings": (one, *whole.findings)})
    assert told(second, alone=True).findings[1].confidence < 0.8, "the first may look like it"
