"""What an engine is: a request in, an `EngineResult` out, whatever generates the load behind it.

Every engine passes `tests/contract/test_engine_conformance.py`. Adding one: a file or folder beside this one, and
a line in `strata.engine.registry`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Protocol, runtime_checkable

from strata.engine.job import Piece, Timing
from strata.model.base import Value
from strata.model.caching import Residency
from strata.model.endpoint import Endpoint
from strata.model.placement import Placement
from strata.model.plan import Segment
from strata.model.result import EngineResult, Interval
from strata.model.workload import Workload

OnInterval = Callable[[Interval], None]


class Request(Value):
    """One measurement, in words that no engine owns.

    ``allow_write`` opens a block device for writing; whether that is allowed is the safety gate's matter. Each
    ``round_index`` draws other random offsets, so far as the engine can be told.
    """

    endpoint: Endpoint
    workload: Workload
    segments: tuple[Segment, ...]
    timing: Timing
    allow_write: bool = False
    round_index: int = 0
    placement: Placement | None = None
    """Where the threads run; None: where the scheduler puts them."""
    more: tuple[Piece, ...] = ()
    """The targets after the first, one for each further share of the workload, all of the first one's kind."""
    lease_s: float | None = None
    """A load of Strata's own engine that is not looked at for so long stops by itself; None: it goes on."""
    stop_after_bytes: int | None = None
    """A load of Strata's own engine ends once it has read and written so much; None: with its time."""
    kept_as: str | None = None
    """The name of this measurement in its run. A `Keeping` engine whose clients have a result of that name gives it
    back, and measures nothing."""

    @property
    def pieces(self) -> tuple[Piece, ...]:
        """Every target, the first one first."""
        return (Piece(endpoint=self.endpoint, segments=self.segments), *self.more)


def _never() -> bool:
    return False


class Engine(Protocol):
    """A load generator."""

    @property
    def name(self) -> str:
        """The word that chooses it, recorded with every run."""

    def identity(self) -> dict[str, Any]:
        """Name and version, and what else tells two of a kind apart. Raises `RunFailed` where it is not usable."""

    def refusals(self, endpoint: Endpoint, workload: Workload, segments: Sequence[Segment] = ()) -> list[str]:
        """What of this it cannot carry out, one reason each; empty: nothing. Touches neither endpoint nor disk.

        Without ``segments`` nothing is said about them.
        """

    def run(
        self, request: Request, on_interval: OnInterval | None = None, stop_requested: Callable[[], bool] = _never
    ) -> EngineResult:
        """Carry out one request. Ctrl-C stops it cleanly and is raised after everything it started has ended.

        ``stop_requested`` is asked about ten times a second; then what was measured is the result, with the stop
        reason ``stopped``. Raises `UsageError` for what `refusals` names, `RunFailed` when the endpoint cannot be
        opened or nothing could be carried out there.
        """


@runtime_checkable
class Keeping(Protocol):
    """An engine whose clients keep each result that has a name until they hear that it is in a store."""

    @property
    def unkept(self) -> dict[str, str]:
        """Nodes that could not keep a result on their own disk, and why."""

    def stored(self, kept_as: str) -> None:
        """The result of that name is in a store."""


@runtime_checkable
class Elsewhere(Protocol):
    """An engine whose page cache is not this machine's: it brings that into the state asked, and reads it back."""

    @property
    def pages(self) -> tuple[Residency | None, Residency | None, str | None]:
        """Of the last measurement: the pages in memory before it and after it, and why they are not known."""
