"""The values: what was done together, by each, and how alike."""

from __future__ import annotations

from strata.model.base import Value, sparse
from strata.model.result import LostClient


class Together(Value):
    """Sums over so many clients in ``from_ns..to_ns`` of the scheduler's clock, which is known to ``bound_ns``.

    ``iops`` and ``bytes_per_second`` are the sums of the clients' rates. ``service_time``: reads and writes of all of
    them, the exact sum of their histograms.
    """

    clients: tuple[int, ...]
    from_ns: int
    to_ns: int
    bound_ns: int
    ops: int
    bytes: int
    iops: float
    bytes_per_second: float
    mean_ns: float | None
    p99_ns: int | None
    service_time: str | None

    @property
    def seconds(self) -> float:
        """How long."""
        return (self.to_ns - self.from_ns) / 1e9


class OneClient(Value):
    """One client. ``iops``, ``bytes_per_second``, ``mean_ns``, ``p99_ns``: in the time that all overlap (None where
    there is none); ``whole_iops`` of its own whole run. ``after_ns``: its first I/O behind that of the first client.
    ``done_ns``: the end of its measurement, after the end of the first client that was done.
    """

    client: int
    node: str
    iops: float | None
    bytes_per_second: float | None
    mean_ns: float | None
    p99_ns: int | None
    whole_iops: float
    whole_seconds: float
    after_ns: int | None
    done_ns: int | None
    stop_reason: str


class Evenness(Value):
    """How equally the clients were served, by their rates.

    ``jain``: (Σx)² ÷ (n·Σx²), 1 for equal rates and 1/n where one has all. ``spread``: (most − least) ÷ mean.
    ``starved``: clients below half of the median.
    """

    jain: float
    spread: float
    slowest: int
    slowest_share: float
    """The slowest client's rate over the median."""
    starved: tuple[int, ...] = ()


class Skew(Value):
    """How far the first I/Os of the clients lie apart, from the first thread of all to the last one; the clocks of two
    of them are known to ``bound_ns``."""

    ns: int
    bound_ns: int


class Done(Value):
    """What was done until an instant, at which ``done`` clients had ended. ``seconds`` since the end of the
    ramp of the client that was first."""

    done: int
    seconds: float
    ops: int
    bytes: int
    iops: float
    bytes_per_second: float


class Outlier(Value):
    """A client that differs: ``value`` against the median of all, ``score`` robust standard deviations away."""

    client: int
    node: str
    of: str
    value: float
    median: float
    score: float


class Clients(Value):
    """All that is said of them together. ``together`` is None where they did not measure at the same time, ``why_not``
    says so. ``before_loss``: all of them, those that were lost later too, as long as they all ran.
    """

    together: Together | None
    why_not: str | None = None
    each: tuple[OneClient, ...]
    lost: tuple[LostClient, ...] = sparse(())
    before_loss: Together | None = sparse(None)
    fairness: Evenness | None = None
    start_skew: Skew | None = None
    first_done: Done | None = None
    last_done: Done | None = None
    outliers: tuple[Outlier, ...] = ()
    judged: bool = False
    """Whether there are enough of them to tell one that differs."""
