"""Hosts that differ from their peers, and the layer in which they do: pure, from figures of one run on each of them.

Fail-slow detectors of drives (Perseus, FAST '23; IASO, ATC '19) compare each drive's latency with that of its peers
at the same throughput, ask that it lasts, and state how slow it is. They have to regress latency on throughput because
their drives serve whatever load comes. Here every host is offered the same load (the same depth, or the same rate), so
peers are compared at equal load, cell by cell: in a closed loop latency × throughput is the depth, and a regression
on throughput would take the difference away that is looked for.

For a cell (workload at a layer) of a host: r = log(its mean time) less the median of all hosts. Of a layer that
stands on another: the same of log(time ÷ time of that layer), so that a slow disk is no fault of the share above it.
The cells of a layer that read, and those that write, are one figure each, the median of their r: a *view*. A host is
named in a view where all hold:

- *beyond its peers*: r lies farther above 0 than `line` says in robust standard deviations: 1.4826 × MAD over the
  hosts, or the standard error of the median of its own rounds (from their MAD: one disturbed round of six hides no
  slow host), or `FINEST`, whichever is most;
- *relevant*: by `RELEVANT` at least;
- *lasting*: in `LASTING` of its rounds by half of that at least, where it has `ROUNDS` rounds.

`line` depends on the hosts (the largest of N scores grows with N, and has heavy tails where N is small) and on the
views, so that of 100 fleets of equal hosts at most one has a named host: if their scatter has no heavier tails than
Student's t with 5 degrees of freedom. Lines for normal scatter named one in 2.0 % of fleets with such tails. Slower
hosts alone are named. Median and MAD are not moved by the hosts they judge, up to half of them.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import median

import numpy as np

from strata.analyse.rows import Floats, medians
from strata.model.peers import FALSE_ALARM, FINEST, LEAST, RELEVANT, TO_SIGMA, Differs, PeerView
from strata.model.step_figures import RoundTimes

LASTING, ROUNDS = 0.75, 3
_TAILS = (0.01, 0.005, 0.002, 0.001, 0.0005)
_LINES: tuple[tuple[int, tuple[float, ...]], ...] = (
    (5, (15.6, 22.3, 35.8, 50.7, 71.8)),
    (6, (9.8, 12.7, 17.8, 22.8, 29.4)),
    (7, (10.7, 13.9, 19.5, 25.2, 31.7)),
    (8, (8.7, 10.8, 14.3, 17.5, 21.2)),
    (9, (9.2, 11.4, 15.1, 18.5, 22.6)),
    (10, (8.2, 10.0, 12.8, 15.3, 18.0)),
    (12, (7.9, 9.5, 12.0, 14.2, 16.7)),
    (14, (7.8, 9.3, 11.5, 13.5, 15.8)),
    (16, (7.7, 9.1, 11.4, 13.4, 15.4)),
    (20, (7.7, 9.1, 11.2, 13.0, 15.4)),
    (24, (7.7, 9.1, 11.1, 12.9, 15.0)),
    (32, (7.9, 9.2, 11.2, 13.0, 15.2)),
    (48, (8.3, 9.7, 11.8, 13.5, 15.5)),
    (64, (8.6, 10.0, 12.3, 14.2, 16.2)),
    (128, (9.7, 11.2, 13.7, 15.7, 17.6)),
    (256, (10.9, 12.8, 15.8, 18.0, 20.7)),
    (512, (12.6, 14.7, 17.5, 20.1, 22.6)),
    (1024, (14.9, 17.3, 20.9, 23.9, 26.4)),
)
"""(hosts, score at each of `_TAILS`): `tests/unit/analyse/test_peers.py` simulates them again."""


@dataclass(frozen=True)
class Host:
    """One host: its name and what its run measured."""

    name: str
    times: RoundTimes


@dataclass(frozen=True)
class JudgedHosts:
    """All views, the hosts that differ, and the line that was used (None: too few hosts)."""

    views: tuple[PeerView, ...]
    differs: tuple[Differs, ...]
    line: float | None


def line(hosts: int, views: int) -> float:
    """The score beyond which one of so many hosts is named in one of so many views.

    Between two rows of the table that of the fewer hosts; of tails the next smaller one.
    """
    wanted = FALSE_ALARM / max(1, views)
    column = next((i for i, tail in enumerate(_TAILS) if tail <= wanted * 1.0001), len(_TAILS) - 1)
    rows = [scores[column] for n, scores in _LINES if n <= hosts][-1:] + [s[column] for n, s in _LINES if n >= hosts][
        :1
    ]
    return max(rows)


def judge(hosts: Sequence[Host], below: Mapping[str, str | None], writes: Mapping[str, bool]) -> JudgedHosts:
    """``below``: the layers from the ground up, each with the one it is compared with; ``writes``: by workload key.

    Cells that not all hosts have are left out.
    """
    common = _common(hosts)
    times = _times(hosts, common)
    found = []
    for layer, under in below.items():
        for kind, written in (("reads", False), ("writes", True)):
            keys = sorted(k for at, k in common if at == layer and writes[k] is written)
            keys = [k for k in keys if under is None or (under, k) in common]
            if keys:
                each = times[:, [common[layer, k] for k in keys]]
                if under is not None:
                    each = _over(each, times[:, [common[under, k] for k in keys]])
                found.append(_view(layer, under, kind, keys, [host.name for host in hosts], each))
    if len(hosts) < LEAST or not found:
        return JudgedHosts(tuple(found), (), None)
    beyond = line(len(hosts), len(found))
    named = [one for view in found for one in _named(view, beyond)]
    return JudgedHosts(tuple(found), tuple(sorted(named, key=lambda d: -d.score)), beyond)


def _common(hosts: Sequence[Host]) -> dict[tuple[str, str], int]:
    """The cells that all hosts have, each with its place in a table."""
    # Hosts that ran the same plan have the same list, and to compare two takes a tenth of what a set takes.
    lists = [host.times.cells for host in hosts]
    there = [set(one) for i, one in enumerate(lists) if not i or one != lists[i - 1]]
    return {cell: i for i, cell in enumerate(set.intersection(*there) if there else ())}


def _times(hosts: Sequence[Host], common: Mapping[tuple[str, str], int]) -> Floats:
    """Hosts × cells × rounds: log of the mean time, NaN for what was not measured."""
    numbers = np.unique(np.array([n for host in hosts for n in host.times.rounds], dtype=np.int64))
    made = np.full((len(hosts), len(common), len(numbers)), np.nan)
    known: Sequence[tuple[str, str]] | None = None
    for row, host in zip(made, hosts, strict=True):
        if host.times.cells != known:
            known = host.times.cells
            cells = np.array([common.get(cell, -1) for cell in known], dtype=np.intp)
        rounds = np.searchsorted(numbers, np.array(host.times.rounds, dtype=np.int64))
        kept = cells >= 0
        row[cells[kept], rounds[kept]] = np.log(np.array(host.times.mean_ns, dtype=np.float64)[kept])
    return made


def _over(own: Floats, lower: Floats) -> Floats:
    """Cells' rounds, less those of the layer below; where they have no round in common, less its median."""
    both = own - lower
    apart = np.isnan(both).all(axis=-1, keepdims=True)
    return np.where(apart, own - medians(lower)[..., None], both)


def _view(
    layer: str, under: str | None, kind: str, keys: Sequence[str], hosts: Sequence[str], each: Floats
) -> PeerView:
    """Of every host the median over the cells; of its rounds the same, for how long it lasts."""
    cells = medians(each)
    middles = medians(cells.T)
    away = medians(cells - middles)
    # Not of 0: the medians of cells do not meet in one.
    middle = float(medians(away))
    scatter = max(FINEST, TO_SIGMA * float(medians(np.abs(away - middle))))
    rounds = np.exp(medians(np.swapaxes(each - middles[:, None], 1, 2)) - middle)
    return PeerView(
        layer=layer, against=under, kind=kind, cells=tuple(keys), scatter=scatter,
        ratios=dict(zip(hosts, np.exp(away - middle).tolist(), strict=True)),
        rounds={name: tuple(own[~np.isnan(own)].tolist()) for name, own in zip(hosts, rounds, strict=True)},
    )  # fmt: skip


def _of_median(rounds: Sequence[float]) -> float:
    """Standard error of their median, as of normal scatter: sqrt(pi/2) times that of a mean."""
    middle = median(rounds)
    scatter = TO_SIGMA * median(abs(x - middle) for x in rounds)
    return math.sqrt(math.pi / 2) * scatter / math.sqrt(len(rounds))


def _named(view: PeerView, beyond: float) -> list[Differs]:
    found = []
    for name, ratio in view.ratios.items():
        rounds = view.rounds[name]
        own = _of_median([math.log(r) for r in rounds])
        score = math.log(ratio) / max(view.scatter, own)
        if score <= beyond or ratio < 1 + RELEVANT:
            continue
        slow = sum(r >= 1 + RELEVANT / 2 for r in rounds)
        if len(rounds) >= ROUNDS and slow < LASTING * len(rounds):
            continue
        found.append(
            Differs(
                host=name, layer=view.layer, kind=view.kind, slower=ratio, score=score, rounds=len(rounds),
                rounds_slow=slow,
            )
        )  # fmt: skip
    return found
