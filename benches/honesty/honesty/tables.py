"""How often `strata compare` is wrong, of whole tables whose truth is known."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from honesty.rows import Row
from honesty.scenes import Floats, Generator
from strata.analyse.two import compare_cells
from strata.model.compared import CellCompared, Change
from strata.model.step_figures import StepFigures

LOSS = 0.10
NAMES = "disk/w"


@dataclass(frozen=True)
class Tables:
    """Relative standard deviations of each cell, between rounds and between runs; ``runs`` others are in the store."""

    name: str
    rounds: int
    noise: Sequence[float]
    between: Sequence[float] = (0.0,)
    runs: int = 0

    def draw(self, rng: Generator) -> Floats:
        """The IOPS of one run: a row a cell, a column a round."""
        cells = len(self.noise)
        levels: Floats = rng.normal(0, self.between, cells)
        rounds: Floats = rng.normal(0, 1, (cells, self.rounds)) * np.array(self.noise)[:, None]
        made: Floats = 1000 * np.exp(levels[:, None] + rounds)
        return made


QUIET, MIDDLE, NOISY = 0.02, 0.05, 0.06
"""`MIDDLE` alone: so noisy that the margin does not hide what the statistics say."""
APART = (*[0.01] * 7, 0.05)
SCENES = (
    *(Tables(f"8 equal cells of 2 %, {n} rounds", n, (QUIET,) * 8) for n in (3, 5)),
    *(Tables(f"7 cells of 2 % and one of 6 %, {n} rounds", n, (*[QUIET] * 7, NOISY)) for n in (3, 5)),
    Tables("1 cell of 5 %, 2 rounds", 2, (MIDDLE,)),
    Tables("2 cells of 5 %, 3 rounds", 3, (MIDDLE,) * 2),
    *(
        Tables(f"{n} other runs, 7 cells 1 % between runs and one 5 %, 3 rounds", 3, (0.01,) * 8, APART, n)
        for n in (6, 12, 20)
    ),
    Tables("12 other runs, the same, 1 round", 1, (0.01,) * 8, APART, 12),
)


def tables(one: Tables, times: int, seed: int) -> Row:
    """Each of ``times`` tables: two equal runs, and the same with the first cell `LOSS` slower in the second."""
    rng = np.random.default_rng([seed, *one.name.encode()])
    wrong = found = inside = last = 0
    for _ in range(times):
        others = [one.draw(rng) for _ in range(one.runs)]
        a, b = one.draw(rng), one.draw(rng)
        equal = _compared(a, b, others)
        wrong += any(c.verdict in (Change.SLOWER, Change.FASTER) for c in equal)
        covered = [_holds(c) for c in equal]
        inside += sum(covered)
        last += covered[-1]
        b[0] *= 1 - LOSS
        found += _compared(a, b, others)[0].verdict is Change.SLOWER
    alike = len({*one.noise}) == len({*one.between}) == 1
    return Row(
        one.name,
        inside / (times * len(one.noise)),
        wrong / times,
        noisy=None if alike else last / times,
        found=found / times,
        times=2 * times,
    )


def _compared(a: Floats, b: Floats, others: Sequence[Floats]) -> tuple[CellCompared, ...]:
    def history(names: Sequence[str]) -> list[list[list[float]]]:
        return [[run[int(name.removeprefix(NAMES))].tolist() for run in others] for name in names]

    return compare_cells(_steps(a), _steps(b), {}, history=history).cells


def _steps(run: Floats) -> dict[str, list[StepFigures]]:
    return {f"{NAMES}{i}": [_step(i, r, float(x)) for r, x in enumerate(row)] for i, row in enumerate(run)}


def _step(cell: int, number: int, iops: float) -> StepFigures:
    return StepFigures(
        run_id="r", created_unix_ns=1, order=number, round=number, kind="measure", layer="disk",
        workload_key=f"w{cell}", identity="h", ops=1_000_000, errored=0, iops=iops, bytes_per_second=iops * 4096,
        mean_ns=None, p50_ns=None, p90_ns=None, p99_ns=None, p999_ns=None, packed=b"", caching="direct",
    )  # fmt: skip


def _holds(cell: CellCompared) -> bool:
    return cell.iops.low is not None and cell.iops.high is not None and cell.iops.low <= 1 <= cell.iops.high
