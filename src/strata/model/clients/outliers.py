"""Clients that differ from the others, by a rule whose false alarms are known.

A client is named where the logarithm of its rate, or of its mean time, lies farther from the median of all clients than
`_LINES` says in robust standard deviations (1.4826 × the median of the absolute deviations), and by `RELEVANT` of the
median at least. Median and MAD are not moved by the clients they are to judge, up to half of them (Hampel 1974; Leys et
al. 2013). The largest of N such scores grows with N and has heavy tails where N is small, so the line is not "3" or
"3.5" but the 99.5 % point of the largest score of N equal clients with normal scatter, by simulation for each N: with
two figures one healthy fleet in a hundred at most is accused. Fewer than `LEAST` clients are not judged.
"""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Sequence
from statistics import median

from strata.model.clients.values import OneClient, Outlier
from strata.model.peers import FINEST, LEAST, RELEVANT, TO_SIGMA

_LINES = (
    (5, 26.8), (6, 12.9), (7, 13.7), (8, 9.8), (9, 10.1), (10, 8.2), (12, 7.3), (14, 6.8), (16, 6.4), (20, 5.8),
    (24, 5.5), (32, 5.2), (48, 4.8), (64, 4.7), (128, 4.5), (256, 4.5), (512, 4.6), (1024, 4.7),
)  # fmt: skip
"""(clients, score): `tests/unit/model/test_clients.py` simulates them again."""


def enough(clients: int) -> bool:
    """Whether one among so many can be judged."""
    return clients >= LEAST


def line(clients: int) -> float:
    """The score beyond which one of so many is named: between two rows of the table that of the fewer clients."""
    at = bisect_left([n for n, _ in _LINES], clients)
    around = _LINES[max(0, at - 1) : at + 1]
    return _LINES[at][1] if at < len(_LINES) and _LINES[at][0] == clients else max(score for _, score in around)


def outliers(each: Sequence[OneClient]) -> tuple[Outlier, ...]:
    """Those that differ in rate or mean time, the farthest first."""
    figures = (
        ("rate", [(one, one.iops) for one in each if one.iops is not None]),
        ("mean time", [(one, one.mean_ns) for one in each if one.mean_ns is not None]),
    )
    found = [named for of, values in figures for named in _of(of, values)]
    return tuple(sorted(found, key=lambda o: -abs(o.score)))


def _of(of: str, values: Sequence[tuple[OneClient, float]]) -> list[Outlier]:
    middle = median(value for _, value in values) if values else 0.0
    if not enough(len(values)) or middle <= 0:
        return []
    away = [math.log(value / middle) if value > 0 else -math.inf for _, value in values]
    scale = max(TO_SIGMA * median(abs(x) for x in away), FINEST)
    beyond = line(len(values))
    return [
        Outlier(client=one.client, node=one.node, of=of, value=value, median=middle, score=max(-1e3, x / scale))
        for (one, value), x in zip(values, away, strict=True)
        if abs(x) / scale > beyond and abs(value / middle - 1) >= RELEVANT
    ]
