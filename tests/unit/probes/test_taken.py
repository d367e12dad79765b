"""A recording that goes on gives its samples away: nothing is told twice, and no growth is lost between."""

from __future__ import annotations

from collections.abc import Sequence

from strata.model.counters import blockdev
from strata.probes.port import Column, Probe
from strata.probes.recording import ProbeRecording, Watched


class Counting(Probe):
    """Grows by one at each reading."""

    def __init__(self) -> None:
        super().__init__()
        self.columns = (Column(blockdev.READS, {"device": "sda"}),)
        self.at = 0.0

    def read(self) -> Sequence[float | None]:
        self.at += 1
        return [self.at]


def test_what_was_taken_is_let_go_and_the_next_goes_on_from_its_last_sample() -> None:
    recording = ProbeRecording(None)
    recording.watched.append(Watched(Counting()))
    for _ in range(5):
        recording.sample()
    first = recording.taken(0)[0]
    for _ in range(3):
        recording.sample()
    second = recording.taken(0)[0]
    assert first.values == (1, 2, 3, 4, 5)
    assert second.values == (5, 6, 7, 8)
    assert second.t_ns[0] == first.t_ns[-1]
    assert len(recording.watched[0].rows) == 1
