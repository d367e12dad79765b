"""The same run on many hosts: who differs from the others, and in which layer."""

from __future__ import annotations

from pydantic import Field

from strata.model.base import Value

FALSE_ALARM = 0.01
"""Share of fleets of equal hosts in which any host is named, if their scatter has tails no heavier than Student's t of
5 degrees of freedom."""
LEAST = 5
"""Of fewer hosts, or clients, none is judged."""
RELEVANT = 0.1
"""By so much at least, as a share, one has to differ to be named."""
FINEST = 0.005
"""Least scatter, as a share: what is equal to the last digit has none to be measured by."""
TO_SIGMA = 1.4826
"""Times the median of the absolute deviations: the standard deviation of normal scatter."""


class PeerView(Value):
    """One layer of all hosts, its reads or its writes: how many times as long each host's requests take as those of
    its peers at the same load, over all ``cells`` and of each round. Of a layer that is compared with another
    (``against``) it is what it adds to that. ``scatter``: robust standard deviation between hosts, as a share."""

    layer: str
    against: str | None
    kind: str
    cells: tuple[str, ...]
    scatter: float
    ratios: dict[str, float]
    rounds: dict[str, tuple[float, ...]]


class Differs(Value):
    """A host that is slower than its peers in a layer: ``slower`` times as long, ``score`` robust standard deviations;
    in ``rounds_slow`` of its ``rounds``."""

    host: str
    layer: str
    kind: str
    slower: float
    score: float
    rounds: int
    rounds_slow: int


class HostRun(Value):
    """A host, and its run in the store."""

    name: str
    hostname: str
    run: str


class HostLost(Value):
    """A host without a run, and why."""

    name: str
    why: str


class FleetCompared(Value):
    """What `strata fleet` prints. ``line`` is the score beyond which a host is named (None: too few hosts), such that
    ``false_alarm`` of fleets of equal hosts have one."""

    schema_version: str = Field(default="strata.fleet/1", alias="schema")
    hosts: tuple[HostRun, ...]
    lost: tuple[HostLost, ...] = ()
    layers: tuple[str, ...]
    views: tuple[PeerView, ...]
    differs: tuple[Differs, ...]
    line: float | None
    false_alarm: float = FALSE_ALARM
    remarks: tuple[str, ...] = ()
