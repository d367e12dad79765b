"""What happened to a load while a number changed beneath it: nodes joined or left, queues were added."""

from __future__ import annotations

from pydantic import Field

from strata.model.axis import Axis
from strata.model.base import Value
from strata.model.estimate import Estimate
from strata.model.verify import Integrity


class LoadChange(Value):
    """One change of the number while the load ran. ``began_s`` and ``ended_s`` count from the end of the load's ramp.

    ``dip``: the share of the rate ``before`` that was lost in the worst tenth of the change. ``recovered_s``: from the
    beginning of the change until the rate stayed at its new level, None where it did not before the next change.
    ``gain``: ``after`` ÷ ``before``. ``refused``: why nothing is told of the rate. ``data_before`` and ``data_after``:
    bytes that each part holds, where a command tells it.
    """

    before_value: int
    value: int
    began_s: float
    ended_s: float
    before: Estimate | None = None
    after: Estimate | None = None
    dip: float | None = None
    recovered_s: float | None = None
    gain: float | None = None
    refused: str = ""
    data_before: dict[str, int] = {}
    data_after: dict[str, int] = {}


class VerifiedBeside(Value):
    """The verification that ran beside the load, and what its journal says when everything was over.

    ``writes``: that were made meanwhile. ``acknowledged``: blocks whose last write was promised, all of which were read
    back at the end. ``faulty``: faults found by either.
    """

    endpoint: str
    verdict: Integrity
    why: str
    writes: int
    acknowledged: int
    faulty: int


class ElasticRun(Value):
    """A load, the changes that were made while it ran, and whether anything was lost.

    ``series``: of each interval of the load its middle in seconds, and I/Os per second.
    """

    schema_version: str = Field(default="strata.elastic/1", alias="schema")
    where: str
    label: str
    axis: Axis
    changes: tuple[LoadChange, ...]
    verified: VerifiedBeside | None
    series: tuple[tuple[float, float], ...]
