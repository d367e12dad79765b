"""A stall that bins are too long for is told from a slow phase by the device's own counter."""

from __future__ import annotations

import pytest

from strata.diagnose import paused
from strata.model.analysis import CellSummary
from strata.model.counters import blockdev
from strata.model.expect import Expect
from strata.model.steadiness import Episodes, Steadiness

from .mediums import faulty, local_stack, simulate

SLOW = Episodes(share=0.146, count=2, length_s=0.073, longest_s=0.075, factor=7.7)


def cell(slow: Episodes, stalled_s: float, stalls: float, bin_s: float = 0.05) -> CellSummary:
    """``stalled_s`` and ``stalls`` a second, as the device counted."""
    plain = simulate(local_stack(Expect()), faulty(), seed=1).cells[0]
    told = {
        f"{c.name}{{device=loop0}}": v for c, v in ((blockdev.STALLED_SECONDS, stalled_s), (blockdev.STALLS, stalls))
    }
    steady = Steadiness(bin_s=bin_s, bins=20, spread=0.3, drift=None, stalls=None, slow=slow)
    return plain.model_copy(
        update={"steadiness": steady, "devices": ("loop0",), "counters": {**plain.counters, **told}}
    )


def test_what_a_device_stood_still_for_is_a_stall_of_the_time_that_was_lost() -> None:
    one = cell(SLOW, 0.1, 2.0)
    assert paused.episodes(one, "slow") is None
    found = paused.episodes(one, "stalls")
    assert found is not None and found.factor is None
    assert found.length_s == pytest.approx(0.0635, abs=0.0005) and found.share == pytest.approx(0.127, abs=0.001)


def test_a_stall_that_fills_two_bins_in_part_is_as_long_as_what_was_not_done_in_them() -> None:
    """Seen at a stall of 57 ms in bins of 50, on a device that is looked at every 20 ms."""
    spread = Episodes(share=0.194, count=21, length_s=0.097, longest_s=0.105, factor=2.4, period_s=0.5)
    found = paused.episodes(cell(spread, 0.0801, 2.0), "stalls")
    assert found is not None and found.length_s == pytest.approx(0.0566, abs=0.0005)


@pytest.mark.parametrize(
    ("slow", "stalled_s", "stalls"),
    [
        # Several short gaps in each long phase: requests that take long come one after the other.
        (SLOW.model_copy(update={"length_s": 0.24, "share": 0.6, "factor": 27.0}), 0.37, 8.0),
        (SLOW, 0.1, 6.0),
        (SLOW, 0.01, 0.2),
        (SLOW, 0.0, 0.0),
    ],
)
def test_phases_in_which_something_is_done_stay_slow(slow: Episodes, stalled_s: float, stalls: float) -> None:
    one = cell(slow, stalled_s, stalls)
    assert paused.episodes(one, "slow") == slow
    assert paused.episodes(one, "stalls") is None


def test_a_device_that_does_not_count_changes_nothing() -> None:
    one = cell(SLOW, 0.1, 2.0).model_copy(update={"devices": ()})
    assert paused.episodes(one, "slow") == SLOW
