"""Wraps, resets and gaps: what a counter grew by, or that it is not known."""

from __future__ import annotations

from itertools import accumulate, pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from strata.model.counters import Counter, Scope, net
from strata.model.series import Series, SeriesKind
from strata.probes.port import Column
from strata.probes.recording import ProbeRecording, Watched, unwrap

RANGE = 1 << 32
STEPS = st.lists(st.integers(0, RANGE // 2 - 1), max_size=30)


@given(start=st.integers(0, RANGE - 1), steps=STEPS)
def test_a_counter_of_32_bits_grows_by_what_was_added_however_often_it_wraps(start: int, steps: list[int]) -> None:
    true = list(accumulate(steps, initial=start))
    carried = unwrap([v % RANGE for v in true], RANGE)
    assert [b - a for a, b in pairwise(carried)] == steps


@given(start=st.integers(0, RANGE - 1), steps=STEPS, factor=st.sampled_from([1e-3, 512.0]))
def test_the_unit_does_not_matter(start: int, steps: list[int], factor: float) -> None:
    true = list(accumulate(steps, initial=start))
    carried = unwrap([v % RANGE * factor for v in true], RANGE * factor)
    grown = [b - a for a, b in pairwise(carried)]
    assert all(abs(g - s * factor) <= 1e-6 * RANGE * factor for g, s in zip(grown, steps, strict=True))


@given(before=st.integers(1, RANGE // 2), after=st.integers(0, RANGE // 2))
def test_a_fall_that_no_wrap_explains_is_a_reset_and_stays_a_fall(before: int, after: int) -> None:
    if after < before:
        carried = unwrap([before, after], RANGE)
        assert carried == [before, after]
        assert series(carried).delta is None


@given(values=st.lists(st.integers(0, 1 << 63), min_size=2, max_size=20))
def test_64_bits_are_never_carried_on(values: list[int]) -> None:
    assert unwrap(values, None) == values


def series(values: list[float]) -> Series:
    times = tuple(range(len(values)))
    return Series(metric="x", unit="B", kind=SeriesKind.COUNTER, t_ns=times, values=tuple(values))


def test_a_reset_that_was_caught_up_with_is_still_one() -> None:
    assert series([5, 9, 1, 20]).delta is None
    assert series([5, 9, 9, 20]).delta == 15


COUNTED = {name: Counter(name, "s", SeriesKind.COUNTER, Scope.MACHINE, "") for name in "ab"}


class Scripted:
    """Gives the rows it was given, one after the other; a second column appears with the second row."""

    absent = ()

    def __init__(self, *rows: list[float | None]) -> None:
        self.rows = list(rows)
        self.columns: tuple[Column, ...] = (Column(COUNTED["a"], {}, 100.0),)

    def read(self) -> list[float | None]:
        row = self.rows.pop(0)
        names = "ab"[: len(row)]
        self.columns = tuple(Column(COUNTED[n], {}, 100.0) for n in names)
        return row

    def close(self) -> None:
        pass


def recorded(*rows: list[float | None], node: str | None = None) -> dict[str, Series]:
    recording = ProbeRecording(None)
    recording.watched.append(Watched(Scripted(*rows), node))
    for _ in rows:
        recording.sample()
    return {s.metric: s for s in recording.series(0)}


def test_gaps_are_gaps_and_late_columns_begin_late() -> None:
    found = recorded([90.0], [None, 1.0], [10.0, 2.0], [15.0, 4.0], node="n1")
    assert found["a"].values == (90.0, 110.0, 115.0)
    assert found["b"].values == (1.0, 2.0, 4.0)
    assert found["b"].labels == {"node": "n1"}
    assert found["b"].t_ns[0] > found["a"].t_ns[0]


def test_what_never_moved_is_kept_by_its_ends() -> None:
    found = recorded([7.0], [7.0], [7.0], [7.0])
    assert found["a"].values == (7.0, 7.0)
    assert found["a"].delta == 0
    moved = recorded([7.0], [8.0], [8.0], [8.0])
    assert moved["a"].values == (7.0, 8.0, 8.0, 8.0)


def test_a_column_has_the_labels_that_its_counter_declares() -> None:
    with pytest.raises(ValueError, match="direction"):
        Column(net.BYTES, {"interface": "eth0"})
    with pytest.raises(ValueError, match="device"):
        Column(net.BYTES, {"interface": "eth0", "direction": "rx", "device": "sda"})
