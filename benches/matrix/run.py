#!/usr/bin/env python3
"""A matrix in a fraction of the time against known tables and a long reference: `make bench-matrix`. README.md says
how.

Prints Markdown tables; `--json FILE` writes the same with all digits. Exit status 1 when a bar is missed on a known
table: in 1/20 of 60 s a cell the median error is at most 1 % and the 95th percentile at most 4 %, in 1/5 the latter
at most 2 %, stated 95 % intervals hold the truth in at least 90 of 100 cells, and the time for an asked half-width is
within a factor of 1.5 of the foretold. Real endpoints are printed and,
with `--strict`, held too.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import sys
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING

for _name in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS"):
    os.environ.setdefault(_name, "1")

import numpy as np  # noqa: E402
from matrixbench import simulated  # noqa: E402
from matrixbench.known import CLASSES, MEDIA, Medium, Noise  # noqa: E402
from matrixbench.rows import Row, row_of, table  # noqa: E402

from strata import units  # noqa: E402
from strata.errors import InconclusiveError  # noqa: E402
from strata.model.matrix import Known, MatrixResult  # noqa: E402

if TYPE_CHECKING:
    from matrixbench.real import Bench

FIXED_S = 60.0
ASKED = {"quiet": 0.01, "typical": 0.02}
"""Half-widths that are asked of every cell, by the noise of the table: the time they take is held against the
foretold."""
UNTIL_PART = 5
"""Of 60 s a cell: the most that a real endpoint gets until every cell is within the asked half-width."""
SMALL_REAL = "bs=4k,16k,64k,256k;iodepth=1,4,16,64;rw=randread"


def main() -> int:
    """Run what was asked for."""
    words = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    quick = bool(os.environ.get("QUICK"))
    words.add_argument("--seeds", type=int, default=1 if quick else 3, help="known tables of each kind; 0: none")
    words.add_argument("--real", default="cache,target", help="endpoints: cache, target, lab, disk; empty: none")
    words.add_argument("--matrix", default=SMALL_REAL if quick else "full", help="cells of the real part")
    words.add_argument("--reference", type=float, default=6 if quick else 10, help="seconds a cell, over all passes")
    words.add_argument(
        "--passes", type=int, default=4, help="of the reference: half before, half after the rest; an even number"
    )
    words.add_argument("--between", type=int, default=0, help="more passes, between the visits of each matrix")
    words.add_argument(
        "--fixed", type=float, default=5 if quick else 10, help="seconds a cell of the fixed plan; 0: none"
    )
    words.add_argument("--parts", default="20" if quick else "20,5", help="of 60 s a cell: 1/20 and 1/5")
    words.add_argument("--until", default="5%", help="half-width asked of every cell of real endpoints; 0: none")
    words.add_argument("--dir", type=Path, default=Path.cwd(), help="where the test file goes")
    words.add_argument("--strict", action="store_true", help="real endpoints are held to the bars too")
    words.add_argument("--json", type=Path, help="write the rows here")
    asked = words.parse_args()
    if asked.passes < 2 or asked.passes % 2 or asked.between < 0:
        words.error("--passes is an even number from 2 on, --between 0 or more")
    known: list[Row] = []
    for medium in MEDIA if asked.seeds else ():
        for noise in CLASSES:
            known += synthetic(medium, noise, asked.seeds, quick)
    if known:
        print(f"\nKnown tables of 280 cells, {asked.seeds} each:\n\n{table(known)}")
    real: list[Row] = []
    for kind in filter(None, asked.real.split(",")):
        real += endpoint(kind, asked)
    if real:
        load = os.getloadavg()[0]
        head = f"Real endpoints; the reference is {asked.reference:g} s a cell (load average {load:.1f})"
        print(f"\n{head}:\n\n{table(real)}")
    if asked.json:
        told = {"known": [r.as_json() for r in known], "real": [r.as_json() for r in real], "load": os.getloadavg()}
        asked.json.write_text(json.dumps(told, indent=1) + "\n")
    missed = [r for r in known + (real if asked.strict else []) if not r.holds]
    for r in missed:
        print(f"missed: {r.name}, {r.plan}", file=sys.stderr)
    return 1 if missed else 0


def synthetic(medium: Medium, noise: Noise, seeds: int, quick: bool) -> list[Row]:
    """1/20 and 1/5, and fixed plans of the same time; the bars are those of the quiet and typical noise."""
    name = f"{medium.name}, {noise.name} noise"
    held = noise.name in ("quiet", "typical")
    rows = []
    for part in (20,) if quick else (20, 5):
        budget = 280 * FIXED_S / part
        done = [simulated.matrix(medium, noise, budget, seed) for seed in range(1, seeds + 1)]
        rows.append(
            row_of(
                name, f"matrix in 1/{part}", float(np.mean([d.spent_s for d in done])),
                np.log1p(np.concatenate([d.errors for d in done])).tolist(),
                coverage=float(np.mean([d.covered.mean() for d in done])),
                smoothed=float(np.mean([d.smoothed for d in done])),
                predicted_p95=float(np.mean([d.foretold_p95 for d in done])),
                bar=("twentieth" if part == 20 else "fifth") if held else "",
            )
        )  # fmt: skip
        say(f"{name}: 1/{part}")
    if noise.name in ASKED:
        rows.append(until(medium, noise, ASKED[noise.name], seeds))
    for seconds in (3.0, 5.0, 10.0):
        errors = np.concatenate([simulated.fixed(medium, noise, seconds, seed) for seed in range(1, seeds + 1)])
        rows.append(row_of(name, f"fixed {seconds:g} s a cell", 280 * seconds, np.log1p(errors).tolist()))
    return rows


def until(medium: Medium, noise: Noise, target: float, seeds: int) -> Row:
    """As long as it takes for that half-width in every cell, against the time that was foretold when each cell had
    been seen once: of several tables the one furthest off."""
    done = [simulated.matrix(medium, noise, 12 * 3600.0, seed, target=target) for seed in range(1, seeds + 1)]
    factors = [d.spent_s / d.foretold_s for d in done if d.foretold_s is not None]
    short = sum(d.ended != "precision" for d in done)
    say(f"{medium.name}, {noise.name} noise: until ±{target:.0%}: {', '.join(f'{f:.2f}' for f in factors)}")
    plan = f"until ±{target:.0%} in every cell" + (f" ({short} tables fell short)" if short else "")
    return row_of(
        f"{medium.name}, {noise.name} noise", plan, float(np.mean([d.spent_s for d in done])),
        np.log1p(np.concatenate([d.errors for d in done])).tolist(),
        coverage=float(np.mean([d.covered.mean() for d in done])),
        smoothed=float(np.mean([d.smoothed for d in done])),
        time_factor=max(factors, key=lambda f: abs(math.log(f)), default=None), bar="time",
    )  # fmt: skip


def endpoint(kind: str, asked: argparse.Namespace) -> list[Row]:
    """Reference, matrix, until, fixed, reference again; nothing where the machine does not have that endpoint."""
    from matrixbench.grounds import CannotMeasure, ground
    from matrixbench.judged import against, fixed_row, reached
    from matrixbench.real import Bench, Between, truth_of

    try:
        with tempfile.TemporaryDirectory(prefix="strata-matrix-") as folder, ground(kind, asked.dir) as at:
            bench = Bench(at, asked.matrix, Path(folder) / "strata.db", say)
            with bench.open():
                cells = len(bench.workloads)
                say(f"{at.name}: {cells} cells, reference {asked.reference:g} s each, first half")
                half = asked.passes // 2
                pass_s = asked.reference / (asked.passes + asked.between)
                before = [bench.fixed(pass_s, 1 + n) for n in range(half)]
                done = []
                for part in asked.parts.split(","):
                    between = Between(bench, pass_s, asked.between)
                    done.append((part, *bench.matrix_in(cells * FIXED_S / int(part), between=between), between.rest()))
                until = promised(bench, units.parse_share(asked.until), cells * FIXED_S / UNTIL_PART)
                plain = []
                if asked.fixed:
                    say(f"{at.name}: fixed {asked.fixed:g} s a cell")
                    plain = bench.fixed(asked.fixed, 1001)
                say(f"{at.name}: second half of the reference")
                after = [bench.fixed(pass_s, 501 + n) for n in range(half)]
                alike = [(w.rw, w.outstanding) for w in bench.workloads]
                truth = truth_of(before, after, alike)
    except CannotMeasure as e:
        say(f"{kind}: skipped: {e}")
        return []
    rows = []
    for part, result, took, passes in done:
        half = len(passes) // 2
        own = truth_of([*before, *passes[:half]], [*passes[half:], *after], alike)
        bar = "coverage" if kind == "disk" else "twentieth" if part == "20" else "fifth"
        told = result.predictions[0].error_p95
        rows.append(against(at.name, f"matrix in 1/{part}", took, result, own, predicted_p95=told, bar=bar))
    if until is not None:
        result, took = until
        told_s = next((p.seconds_for_target for p in result.predictions if p.known_from is Known.BRIEF), None)
        plan = f"until ±{asked.until} in every cell"
        plan += "" if result.reached else f" (ended by {result.ended}, {reached(result):.0%} of the cells)"
        factor = None if told_s is None else result.seconds / told_s
        rows.append(against(at.name, plan, took, result, truth, time_factor=factor, bar="time"))
    for seconds in (3.0, 5.0, 10.0):
        if plain and seconds <= asked.fixed:
            rows.append(fixed_row(at.name, seconds, plain, truth))
    return rows


def promised(bench: Bench, target: float, budget_s: float) -> tuple[MatrixResult, float] | None:
    """Until that half-width in every cell; None where it is not asked, or refused."""
    if not target:
        return None
    try:
        return bench.matrix_in(budget_s, target)
    except InconclusiveError as e:
        say(f"refused: {e.headline}")
        return None


def say(text: str) -> None:
    """Progress on stderr."""
    print(f"· {time.strftime('%H:%M:%S')} {text}", file=sys.stderr, flush=True)


if __name__ == "__main__":
    sys.exit(main())
