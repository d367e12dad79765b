"""What a page of ``strata serve`` lists, as its twin in JSON says it."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from strata.model.base import UnixNs, Value
from strata.model.finding import Verdict
from strata.model.history import GateOutcome
from strata.model.live import LiveHead
from strata.model.remembered import Baseline, RunHead


class RunsPage(Value):
    """One page of the list of runs, the newest first. ``verdicts`` by run id, of those that have one; ``now``: the runs
    that are measured; ``more``: whether an older page follows."""

    schema_version: Literal["strata.runs-page/1"] = Field(default="strata.runs-page/1", alias="schema")
    page: int
    more: bool
    now: tuple[LiveHead, ...]
    runs: tuple[RunHead, ...]
    verdicts: dict[str, Verdict]


class BaselineGate(Value):
    """A baseline in force and what its gate says of the newest run; ``outcome`` None: the gate could not decide."""

    baseline: str
    version: int
    candidate_runs: tuple[str, ...] = ()
    outcome: GateOutcome | None
    why: str


class BaselinesPage(Value):
    """Whether the newest run passes, and every version of every baseline."""

    schema_version: Literal["strata.baselines-page/1"] = Field(default="strata.baselines-page/1", alias="schema")
    gates: tuple[BaselineGate, ...]
    baselines: tuple[Baseline, ...]


class WatchKept(Value):
    """A path or stack file that a watching kept slices of, and from when to when."""

    where: str
    from_unix_ns: UnixNs
    to_unix_ns: UnixNs


class WatchPage(Value):
    """What there is to look back into, the newest first."""

    schema_version: Literal["strata.watched/1"] = Field(default="strata.watched/1", alias="schema")
    watched: tuple[WatchKept, ...]
