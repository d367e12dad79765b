"""A cache that was cold when the run began, and what only looks like one."""

from __future__ import annotations

import random
from collections.abc import Callable

import pytest
from tiers import rest_in_ci

from strata.diagnose.case import Case
from strata.diagnose.causes import cold_cache
from strata.diagnose.opinion import Weight
from strata.diagnose.warming import warmed_up
from strata.model.analysis import Analysis, CellSummary
from strata.model.estimate import Estimate
from strata.model.expect import Expect
from strata.model.reference import Reference, ReferenceSource

from . import mediums
from .mediums import faulty, local_stack

SILENT = local_stack(Expect())
BINS, ROUNDS, COLD, HITS = 10, 3, 6, 10.0
Rates = dict[tuple[str, int], list[float]]
"""Of each bin, by the workload and the round."""


def in_time(run: Analysis, change: Callable[[Rates, list[str], list[str]], None], noise: float) -> Case:
    """The run with rates over time: reads from a cache, the first one of all cold for ``COLD`` bins, at the rate of the
    durable write of its size; then with ``change``, which is given the rates, the reads' keys and the writes'."""
    rng = random.Random(7)
    cells = [c for c in run.cells if c.workload.durable or not c.workload.rw.writes]
    writes = [c for c in cells if c.workload.durable]
    like = next(c for c in writes if c.workload.outstanding > 1)
    reads = [c for c in cells if not c.workload.rw.writes and c not in writes]
    first = next(
        c
        for c in reads
        if c.workload.bs_moments == like.workload.bs_moments and c.workload.outstanding == like.workload.outstanding
    )
    order = [first, *(c for c in reads if c is not first), *writes]
    medium = like.iops.value
    rates: Rates = {}
    for cell in order:
        level = cell.iops.value if cell in writes else HITS * medium
        for number in range(ROUNDS):
            rates[cell.workload.key, number] = [level] * BINS
    rates[first.workload.key, 0][:COLD] = [medium] * COLD
    change(rates, [c.workload.key for c in order if c not in writes], [c.workload.key for c in writes])
    keys = list(dict.fromkeys(key for key, _ in rates))

    def timed(cell: CellSummary) -> CellSummary:
        line = tuple(
            (n, n * 100.0 + keys.index(key) + bin / 20, rate * rng.uniform(1 - noise, 1 + noise))
            for (key, n), points in rates.items()
            if key == cell.workload.key
            for bin, rate in enumerate(points)
        )
        return cell.model_copy(update={"timeline": line, "device_read_bytes_per_byte": 1.0})

    return Case(SILENT, run.model_copy(update={"cells": tuple(map(timed, order))}))


def nothing(rates: Rates, reads: list[str], writes: list[str]) -> None:
    """As it is."""


def one_bin_was_lost(rates: Rates, reads: list[str], writes: list[str]) -> None:
    del rates[reads[0], 0][2]


def the_whole_first_round(rates: Rates, reads: list[str], writes: list[str]) -> None:
    rates[reads[0], 0][COLD:] = [rates[reads[0], 0][0]] * (BINS - COLD)


def another_round_is_slow(rates: Rates, reads: list[str], writes: list[str]) -> None:
    rates[reads[0], 2] = list(rates[reads[0], 0])


def only_another_round_is_slow(rates: Rates, reads: list[str], writes: list[str]) -> None:
    rates[reads[0], 0], rates[reads[0], 1] = rates[reads[0], 1], rates[reads[0], 0]


def another_read_came_first(rates: Rates, reads: list[str], writes: list[str]) -> None:
    slow = [rates.pop((reads[0], n)) for n in range(ROUNDS)]
    rates.update({(reads[0], n): points for n, points in enumerate(slow)})


def begin_is_missing(rates: Rates, reads: list[str], writes: list[str]) -> None:
    rates[reads[0], 0] = rates[reads[0], 0][COLD - 2 :]


def later_rounds_are_missing(rates: Rates, reads: list[str], writes: list[str]) -> None:
    for number in range(1, ROUNDS):
        del rates[reads[0], number]


def it_falls_back(rates: Rates, reads: list[str], writes: list[str]) -> None:
    rates[reads[0], 0][-1] /= HITS


def writes_are_slow_at_first_too(rates: Rates, reads: list[str], writes: list[str]) -> None:
    for key in writes:
        rates[key, 0] = [rate / 2 for rate in rates[key, 0]]


def it_is_no_rate_of_the_medium(rates: Rates, reads: list[str], writes: list[str]) -> None:
    rates[reads[0], 0][:COLD] = [rates[reads[0], 0][0] / 3] * COLD


def it_is_uneven(rates: Rates, reads: list[str], writes: list[str]) -> None:
    rates[reads[0], 0][:COLD] = [rate * (0.5 + n % 2) for n, rate in enumerate(rates[reads[0], 0][:COLD])]


@pytest.mark.parametrize("noise", rest_in_ci([0.0, 0.15], [0.15]))
@pytest.mark.parametrize(
    ("change", "cold"),
    [
        (nothing, True),
        (one_bin_was_lost, True),
        (the_whole_first_round, True),
        (another_round_is_slow, False),
        (only_another_round_is_slow, False),
        (another_read_came_first, False),
        (begin_is_missing, False),
        (later_rounds_are_missing, False),
        (it_falls_back, False),
        (writes_are_slow_at_first_too, False),
        (it_is_no_rate_of_the_medium, False),
        (it_is_uneven, False),
    ],
)
def test_a_cache_that_becomes_warm_shows_in_the_first_bins_of_the_first_read(
    change: Callable[[Rates, list[str], list[str]], None], cold: bool, noise: float
) -> None:
    case = in_time(mediums.simulate(SILENT, faulty(), seed=3), change, noise)
    assert (warmed_up(case, case.stations[0]) is not None) is cold


@pytest.mark.parametrize(("then", "certain"), [(None, False), (1.2, True), (0.1, False), (3.0, False)])
def test_only_an_earlier_run_that_agrees_with_the_later_rounds_makes_it_certain(
    then: float | None, certain: bool
) -> None:
    """``then``: IOPS of the earlier run, of those of the later rounds."""
    case = in_time(mediums.simulate(SILENT, faulty(), seed=3), nothing, 0.0)
    found = warmed_up(case, case.stations[0])
    assert found is not None
    if then is not None:
        before = Reference(
            layer=found.cell.layer,
            workload_key=found.cell.workload.key,
            source=ReferenceSource.BASELINE,
            of="run 1",
            iops=Estimate(value=then * found.quick, low=None, high=None, n=2, unit="IOPS"),
            ratio=Estimate(value=1 / then, low=None, high=None, n=2, unit="ratio"),
            allowance=0.15,
        )
        case = Case(SILENT, case.analysis.model_copy(update={"references": (before,)}))
    (told,) = cold_cache.judge(case)
    assert (told.weight is Weight.SHOWN and not told.missing) is certain
