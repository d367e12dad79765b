"""May this pass? The runs of a candidate against those of a baseline, with both errors bounded.

The unit is the run, not the round: rounds of one run share what differs from run to run (placement, neighbours, the
state of the medium), and the spread between the baseline's runs is the noise a regression has to stand out from. It is
steadied by the other cells (`strata.analyse.rows`). Per cell, d = log candidate − log baseline, s = sd · sqrt(1/n_b +
1/n_c), and one-sided tests on Student's t:

- a loss of ``max_loss`` is *detectable* where (t_α + t_β) · s is below it: then it is found in 1 − β of all cases,
  whatever this candidate shows. Cells with too few or too noisy runs are TOO NOISY, and say how many runs would do;
- with enough runs a cell is a REGRESSION where d is below 0 at level α (Holm over all cells) and its estimate is beyond
  half of ``max_loss``: a smaller loss is allowed, however certain;
- one or two runs never are one: a neighbour may have hit just them, and no number of runs before says whether it did.
  They may pass; else further runs are asked for, until there are `CANDIDATE_LEAST`, where Huber's location holds out
  against one of them;
- with too few runs only an overwhelming loss is one (p ≤ `EARLY`): looking before the end at this level leaves α as it
  is (Haybittle 1971; Peto 1976), so a pipeline may ask after every run until there are enough.

α is divided by the number of cells when the power is worked out, as Holm does for the first of them.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import numpy as np
import numpy.typing as npt

from strata.analyse.rows import Floats, Located, Pool, located, pooled, spread, steadied, table
from strata.analyse.stats import below, holm, point
from strata.model.estimate import Estimate
from strata.model.history import GateCell, GateOutcome

ALPHA, BETA = 0.015, 0.02
"""Less than half of what is promised for each: the noise itself is an estimate."""
EARLY = 0.0002
"""Their 0.001 is for a handful of looks; a pipeline may take twenty."""
LEAST_NOISE = 0.005
"""No two runs are more alike than this, whatever a short baseline showed."""
RUNS = np.arange(1.0, 51.0)
"""Of a candidate: so many may be asked for."""
BASELINE_LEAST = 3
CANDIDATE_LEAST = 3

Runs = Sequence[float]


def gate_cells(
    baseline: Mapping[str, Runs], candidate: Mapping[str, Runs], *, max_loss: float, noise: float | None = None
) -> tuple[GateCell, ...]:
    """Every cell both have. Values are the IOPS of whole runs by ``<layer>/<workload key>``.

    ``noise`` replaces the spread between the baseline's runs, as a relative standard deviation. Without it the
    baseline needs `BASELINE_LEAST` runs of each cell; cells with fewer are TOO NOISY.
    """
    names = [n for n in baseline if n in candidate and len(baseline[n]) and len(candidate[n])]
    if not names:
        return ()
    old, new = (np.log(table([side[n] for n in names])) for side in (baseline, candidate))
    parts = [spread(side) for side in (old, new)]
    known = pooled(np.concatenate([p[0] for p in parts]), np.concatenate([p[1] for p in parts]))
    if noise is not None:
        known = Pool(noise**2, math.inf)
    a, b = (located(side, known) for side in (old, new))
    sd, df, seen = _noise(a, b, known, noise)
    d = b.at - a.at
    se = sd * np.sqrt(1 / a.n + 1 / b.n)
    p = [float(x) for x in below(d / se, df)]
    adjusted = holm(p)
    line = -math.log(1 - max_loss)
    learnt = noise is None
    first = ALPHA / len(names)
    reach = (point(df, 1 - first) + point(df, 1 - BETA)) * se
    halves = point(df, 0.975) * se
    found = []
    for i, name in enumerate(names):
        layer, _, key = name.rpartition("/")
        half = halves[i]
        detectable = float(reach[i])
        enough = bool(detectable <= line)
        shown = (enough and adjusted[i] <= ALPHA) or p[i] <= EARLY / len(names)
        suspicious = bool(d[i] <= -line / 2 and shown)
        # Where the noise is learnt, each further run of the candidate adds to what is known of it.
        needed = _needed(sd[i], df[i] + (RUNS - b.n[i]) * learnt, a.n[i], first, line)
        found.append(
            GateCell(
                layer=layer,
                workload_key=key,
                baseline_iops=math.exp(a.at[i]),
                candidate_iops=math.exp(b.at[i]),
                ratio=Estimate(
                    value=math.exp(d[i]),
                    low=_exp(d[i] - half) if seen[i] else None,
                    high=_exp(d[i] + half) if seen[i] else None,
                    n=int(b.n[i]),
                    unit="ratio",
                ),
                noise=float(sd[i]) if seen[i] else None,
                p=adjusted[i],
                detectable=1 - math.exp(-detectable) if seen[i] and math.isfinite(detectable) else None,
                runs_needed=max(needed, CANDIDATE_LEAST) if needed is not None and suspicious else needed,
                outcome=_outcome(suspicious, enough, int(b.n[i])),
            )
        )
    return tuple(found)


def overall(cells: Sequence[GateCell], missing: Sequence[str] = ()) -> GateOutcome:
    """A regression anywhere is one; else what cannot be told anywhere cannot be told.

    ``missing`` are cells of the baseline that the candidate has no figures of: one that failed did not pass.
    """
    outcomes = {c.outcome for c in cells} | ({GateOutcome.TOO_NOISY} if missing else set())
    for worst in (GateOutcome.REGRESSION, GateOutcome.TOO_NOISY):
        if worst in outcomes:
            return worst
    return GateOutcome.FINE if cells else GateOutcome.TOO_NOISY


def _noise(a: Located, b: Located, known: Pool, given: float | None) -> tuple[Floats, Floats, npt.NDArray[np.bool_]]:
    """(standard deviation between runs of each cell, its degrees of freedom, whether it is known), from both sides: a
    loss moves a level and not the spread about it, so the number of runs that is asked for does not depend on what
    they show."""
    if given is not None:
        return np.full_like(a.df, max(given, LEAST_NOISE)), np.full_like(a.df, 60.0), np.full(a.df.shape, True)
    both = steadied([a, b], known)
    sd = np.maximum(np.nan_to_num(np.sqrt(both.variance)), LEAST_NOISE)
    df = both.df
    enough = (a.n >= BASELINE_LEAST) & (df > 0)
    # Two runs of one cell say next to nothing of its noise: 1 stands for "a factor of e", which no run passes.
    return np.where(enough, sd, 1.0), np.where(enough, df, 1.0), enough


def _outcome(suspicious: bool, enough: bool, runs: int) -> GateOutcome:
    if suspicious:
        return GateOutcome.REGRESSION if runs >= CANDIDATE_LEAST else GateOutcome.TOO_NOISY
    return GateOutcome.FINE if enough else GateOutcome.TOO_NOISY


def _needed(sd: float, df: Floats, baseline_runs: float, alpha: float, line: float) -> int | None:
    """The fewest of `RUNS` of the candidate that would find the loss, if they are as noisy as those there are; ``df``
    degrees of freedom with each number of them."""
    reach = (point(df, 1 - alpha) + point(df, 1 - BETA)) * sd
    enough = np.flatnonzero(reach * np.sqrt(1 / baseline_runs + 1 / RUNS) <= line)
    return int(RUNS[enough[0]]) if len(enough) else None


def _exp(x: float) -> float:
    return math.exp(min(max(x, -700.0), 700.0))
