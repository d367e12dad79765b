"""What a user may set about a measurement, with the defaults and the reasons for them."""

from __future__ import annotations

from collections.abc import Collection

from pydantic import Field

from strata import units
from strata.engine import AUTO_ENGINE
from strata.errors import UsageError
from strata.model.base import Value
from strata.model.placement import Placement
from strata.model.profile import Profile
from strata.model.run import Label
from strata.model.workload import Workload
from strata.model.workload_options import INTERVAL_LEAST_NS, TIME_MOST_NS

LONGEST_S, LEAST_INTERVAL_S = TIME_MOST_NS / units.NS_PER_S, INTERVAL_LEAST_NS / units.NS_PER_S

BUDGET_S, WHOLE_S = 90.0, 160.0
"""For further rounds and experiments, where the user does not say; and by then all of a screened diagnosis ends, so
that one of nine layers stays within three minutes on a machine that is not busy."""


class Options(Value):
    """Rounds give the intervals, so more short rounds beat few long ones.

    ``screen``: every cell is looked at briefly first, and again where it matters (`strata.plan.screening`, `.detail`);
    rounds and times are then not the ones given here. ``budget_s`` bounds what follows the planned steps: further
    rounds, and the experiments (None: `BUDGET_S`, and no more than `WHOLE_S` lets).
    ``precondition_s`` or ``precondition_bytes`` asks for writing before measuring until the rate is steady, and bounds
    it. ``layers`` keeps only those of the stack. ``size`` None: chosen from the free space. ``share`` adds a share of
    the same file over loopback. ``only`` or the workloads of ``profile`` replace the default set. ``confirm`` runs the
    experiments. ``engine`` names the load generator. ``trace`` adds a short window with a block trace for
    each cell. ``nodes``: the address of a scheduler, on whose nodes the layers of a stack are driven.
    """

    screen: bool = False
    budget_s: float | None = Field(default=None, ge=0)
    rounds: int = Field(default=5, ge=1, le=100)
    ramp_s: float = Field(default=0.25, ge=0, le=LONGEST_S)
    runtime_s: float = Field(default=1.0, gt=0, le=LONGEST_S)
    interval_s: float | None = Field(default=None, ge=LEAST_INTERVAL_S, le=LONGEST_S)
    size: int | None = Field(default=None, ge=8 * units.MIB)
    layers: tuple[str, ...] | None = None
    workloads: tuple[str, ...] | None = None
    only: tuple[Workload, ...] = ()
    profile: Profile | None = None
    read_only: bool = False
    share: bool = False
    keep: bool = False
    label: Label = Label()
    confirm: bool = True
    trace: bool = False
    placement: Placement | None = None
    precondition_s: float | None = Field(default=None, gt=0)
    precondition_bytes: int | None = Field(default=None, gt=0)
    cooldown_s: float = Field(default=0.0, ge=0)
    seed: int = 1
    store: str | None = Field(default=None, repr=False)
    engine: str = AUTO_ENGINE
    load_seconds: float = 0.5
    nodes: str | None = None

    @property
    def interval(self) -> float:
        """Seconds; so short that a stall is seen in them, and in long cells longer: they are kept."""
        if self.interval_s is not None:
            return self.interval_s
        return min(self.runtime_s, max(SHORTEST_INTERVAL_S, self.runtime_s / MOST_INTERVALS))


def unsaid(said: Collection[str], *, demo: bool = False) -> Options:
    """What a diagnosis does where it is not said how often or how long: ``said`` names the fields that are.

    Whoever says any of rounds, run time and ramp gets just that; else every cell is looked at briefly first, and again
    where it matters. A ``demo`` is as quiet as can be, and is measured as long as any run of layers.
    """
    screen = not {"rounds", "runtime_s", "ramp_s"} & set(said)
    return Options(screen=screen) if demo else Options(screen=screen, rounds=4, runtime_s=0.4, ramp_s=0.1)


def check_budget(options: Options) -> None:
    """Raises `UsageError` for a budget that nothing can spend."""
    if options.budget_s is not None and not (options.screen or options.confirm):
        why = "the rounds are fixed and there are no experiments, so there is nothing to spend it on"
        raise UsageError("cannot use --budget with", "--no-confirm", why, "leave one of them out")


SHORTEST_INTERVAL_S, MOST_INTERVALS = 0.02, 500
"""The engine counts anyway and only hands over more often: 50 intervals a second cost no measurable rate."""

DEFAULT_SIZE = units.GIB
"""Large enough that a virtual disk's own small caches do not hold it, small enough to be written in seconds."""


def choose_size(free: int, asked: int | None) -> int:
    """Bytes of the test file, a multiple of 1 MiB: what was asked, else 1 GiB but at most a tenth of the free space."""
    size = asked if asked is not None else min(DEFAULT_SIZE, max(16 * units.MIB, free // 10))
    return size - size % units.MIB


def check_size(where: str, asked: int | None, there: int) -> None:
    """Raises `UsageError` where a size was asked of what is there already and has another; ``there`` with or without
    the first MiB, which holds the mark."""
    if asked is None or there in (asked, whole := asked - asked % units.MIB, whole - units.MIB):
        return
    why = f"it exists and has {units.size(there)}"
    raise UsageError("cannot use --size with", where, why, "leave --size out; --range measures a part of an endpoint")
