"""The order of the tests that workers share: every test once, equal parts, files whole."""

from __future__ import annotations

from itertools import groupby
from pathlib import Path

import pytest
from tests.order import shared_by

FILES = [
    *(("contract", Path(f"c{number}")) for number in range(12) for _ in range(3)),
    *(("unit", Path(f"u{number}")) for number in range(20) for _ in range(7)),
]


@pytest.mark.parametrize("workers", [1, 2, 4, 5, 16])
def test_each_worker_begins_with_its_long_ones_and_waits_and_computes_in_turn(workers: int) -> None:
    first = [number in (0, 1, 2, 40, 100) for number in range(len(FILES))]
    order = shared_by(workers, FILES, first)
    assert sorted(order) == list(range(len(FILES)))
    runs = [order[len(FILES) * k // workers : len(FILES) * (k + 1) // workers] for k in range(workers)]
    begun = [number for run in runs for number in run[:5] if first[number]]
    assert len(begun) == 5
    if workers <= 4:
        # A quarter has its quarter of the files that wait, within one file.
        waits = [sum(FILES[number][0] == "contract" for number in run) for run in runs]
        assert max(waits) - min(waits) <= 3 * 2
    # What is set up once for a file is set up once more where a run ends within it, and nowhere else.
    files = [path for path, _ in groupby((n for n in order if not first[n]), key=lambda number: FILES[number][1])]
    assert len(files) <= len(set(files)) + workers


def test_nothing_is_lost_where_there_are_more_workers_or_long_tests_than_others() -> None:
    assert sorted(shared_by(8, FILES[:3], [False] * 3)) == [0, 1, 2]
    assert sorted(shared_by(2, FILES[:5], [True] * 5)) == [0, 1, 2, 3, 4]
    assert shared_by(4, [], []) == []
