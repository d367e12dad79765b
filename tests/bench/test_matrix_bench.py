"""The small form of `make bench-matrix`: on tables of a known truth the bars of 1/20 of the time are met."""

from __future__ import annotations

import math
import time
from functools import cache
from pathlib import Path

import numpy as np
import pytest
from absent import absent
from matrixbench import grounds, simulated
from matrixbench.known import CLASSES, MEDIA, Medium, Noise
from matrixbench.rows import row_of, table
from tiers import rest_in_ci

from strata.analyse.visit import Visit

FLASH, SATA, DISK = MEDIA
QUIET, TYPICAL, _ = CLASSES
TWENTIETH = 280 * 60 / 20


@cache
def measured(medium: Medium, noise: Noise) -> simulated.Outcome:
    return simulated.matrix(medium, noise, TWENTIETH, seed=11)


@pytest.mark.ci
@pytest.mark.parametrize(
    ("medium", "noise"),
    rest_in_ci([(FLASH, TYPICAL), (SATA, QUIET), (DISK, TYPICAL)], every_day=1),
    ids=lambda x: x.name,
)
def test_280_cells_in_a_twentieth_of_the_time(medium: Medium, noise: Noise) -> None:
    done = measured(medium, noise)
    assert done.spent_s <= TWENTIETH + 5
    assert float(np.median(done.errors)) <= 0.01
    assert float(np.quantile(done.errors, 0.95)) <= 0.04
    # Of 280 intervals at 95 % fewer than 252 hold in one of ten thousand tables.
    assert float(done.covered.mean()) >= 0.90


def test_smoothing_is_worth_it_and_does_not_take_kinks_away() -> None:
    done = measured(DISK, TYPICAL)
    assert float(np.quantile(done.errors, 0.95)) < 0.8 * float(np.quantile(done.raw, 0.95))
    plain = simulated.fixed(DISK, TYPICAL, 3.0, seed=11)
    assert float(np.median(done.errors)) < float(np.median(plain))


def test_a_missed_bar_is_marked_and_a_held_one_is_not() -> None:
    late = row_of("d", "p", 1.0, [0.001] * 20, coverage=0.95, bar="time", time_factor=1.6)
    timely = row_of("d", "p", 1.0, [0.001] * 20, coverage=0.95, bar="time", time_factor=0.7)
    assert timely.holds and not late.holds
    good = row_of("a", "p", 1.0, [0.001] * 20, coverage=0.95, bar="twentieth")
    bad = row_of("b", "p", 1.0, [0.001] * 10 + [0.2] * 10, coverage=0.95, bar="twentieth")
    uncovered = row_of("c", "p", 1.0, [0.001] * 20, coverage=0.80, bar="fifth")
    assert good.holds and not bad.holds and not uncovered.holds
    assert table([good, bad]).count("**missed**") == 1


def test_the_reference_knows_by_what_equal_starts_of_each_kind_of_cell_differ() -> None:
    from matrixbench.real import truth_of

    rng = np.random.default_rng(4)
    apart = np.repeat([0.001, 0.015], 140)
    passes = [[_visit(i, rng, sd) for i, sd in enumerate(apart)] for _ in range(4)]
    truth = truth_of(passes[:2], passes[2:], (apart * 1000).tolist())
    assert all(t is not None for t in truth)
    held = np.array([t is not None and abs(t.level - math.log(1000)) <= t.half for t in truth])
    half = [float(np.median([t.half for t in truth[side] if t is not None])) for side in (slice(140), slice(140, 280))]
    assert held[:140].mean() >= 0.9 and held[140:].mean() >= 0.9
    assert half[1] > 4 * half[0]


def test_a_reference_of_which_one_side_was_disturbed_reaches_both() -> None:
    from matrixbench.real import truth_of

    rng = np.random.default_rng(5)
    before, after = ([_visit(i, rng, 0.001) for i in range(20)] for _ in range(2))
    after[3] = Visit(3, after[3].rates * 0.7, 0.05)
    told = truth_of([before], [after], [0] * 20)[3]
    assert told is not None
    assert told.level - told.half <= after[3].level + 1e-9 and told.level + told.half >= before[3].level - 1e-9


def test_the_reference_between_the_visits_of_a_matrix_is_spread_over_its_budget_and_complete_in_the_end() -> None:
    from matrixbench.real import Bench, Between

    bench = Bench(grounds.Ground("none", "file:/nowhere", buffered=False), "small", Path(), lambda _: None)
    made: list[tuple[int, bool]] = []

    def visit(cell: int, seconds: float, seed: int) -> Visit:
        made.append((cell, bench.workloads[cell].rw.writes))
        return Visit(cell, np.full(4, 1000.0 + seed), 0.05)

    bench.visit = visit  # type: ignore[method-assign]
    reads = sum(not w.rw.writes for w in bench.workloads)
    between = Between(bench, 0.2, 2)
    between.until(0.25, writes=False)
    assert len(made) == round(0.25 * 2 * reads)
    assert not any(writes for _, writes in made)
    between.until(0.25, writes=False)
    assert len(made) == round(0.25 * 2 * reads)
    first, second = between.rest()
    cells = range(len(bench.workloads))
    assert sorted(cell for cell, _ in made) == sorted([*cells, *cells])
    assert [v.cell for v in first if v is not None] == [v.cell for v in second if v is not None] == list(cells)


@pytest.mark.ci
def test_a_real_matrix_has_the_reference_between_its_visits(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from matrixbench import real

    monkeypatch.setattr(real, "SIZE", 8 << 20)
    with grounds.ground("cache", tmp_path) as at:
        bench = real.Bench(at, "bs=4k;iodepth=1,8;rw=randread", tmp_path / "strata.db", lambda _: None)
        with bench.open():
            between = real.Between(bench, 0.4, 4)
            begin = time.monotonic()
            _, took_s = bench.matrix_in(3.0, between=between)
            without = time.monotonic() - begin - between.took_s
            met = sum(v is not None for some in between.passes for v in some)
            passes = between.rest()
    assert 0 < met <= 8
    assert 0 < took_s <= without
    assert all(v is not None for some in passes for v in some)


def _visit(cell: int, rng: np.random.Generator, apart: float) -> Visit:
    return Visit(cell, 1000 * np.exp(rng.normal(0, apart) + rng.normal(0, 0.004, 20)), 0.05)


@pytest.mark.root
def test_the_lab_disk_of_the_bench_answers_as_it_was_told_and_is_gone_afterwards() -> None:
    if not Path("/dev/fuse").exists():
        absent("this kernel has no /dev/fuse")
    from matrixbench.real import Bench

    with grounds.ground("lab", Path()) as at:
        device = Path(at.uri.removeprefix("block:"))
        bench = Bench(at, "bs=4k,512k;iodepth=1,16;rw=randread", Path(), lambda _: None)
        with bench.open():
            visits = bench.fixed(0.4, 1)
        found = {
            w.label: 0.0 if v is None else float(np.exp(v.level)) for w, v in zip(bench.workloads, visits, strict=True)
        }
    # What four servers of 1 ms and 100 MB/s do at most: a busy machine does less, never more.
    most = {(4096, 1): 961, (4096, 16): 3843, (512 << 10, 1): 160, (512 << 10, 16): 640}
    for w in bench.workloads:
        assert 0 < found[w.label] < 1.05 * most[w.bs, w.arrival.iodepth]
    backing = Path("/sys/block") / device.name / "loop" / "backing_file"
    assert not backing.exists() or "strata-lab-mb" not in backing.read_text()


def test_without_root_the_lab_disk_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("strata_lab.where.is_root", lambda: False)
    with pytest.raises(grounds.CannotMeasure, match="needs root"), grounds.ground("lab", Path()):
        pass
