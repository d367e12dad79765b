"""What the store remembers over runs: heads of runs, series, and baselines."""

from __future__ import annotations

from strata.model.base import OfCell, RunId, UnixNs, Value
from strata.model.place import BETWEEN
from strata.model.run import Run, RunStatus


class RunHead(Value):
    """What a list shows of a run."""

    id: RunId
    created_unix_ns: UnixNs
    status: RunStatus
    stack: str
    layers: tuple[str, ...]
    workloads: tuple[str, ...]
    rounds: int
    message: str | None = None
    name: str = ""
    note: str = ""
    host: str = ""
    endpoints: tuple[str, ...] = ()

    @classmethod
    def of(cls, run: Run) -> RunHead:
        """The head of a whole run."""
        plan = run.plan
        return cls(
            id=run.id,
            created_unix_ns=run.created_unix_ns,
            status=run.status,
            stack=plan.stack.name,
            layers=tuple(layer.name for layer in plan.stack.layers),
            workloads=tuple(w.key for w in plan.workloads),
            rounds=plan.rounds,
            message=run.message,
            name=run.label.name,
            note=run.label.note,
            host=run.environment.hostname,
            endpoints=tuple(layer.endpoint for layer in plan.stack.layers),
        )


class Wanted(Value):
    """Which runs a list is of: patterns (``*`` stands for any) of name, host and stack, and made since (ns since the
    epoch). ``not_of``: stacks that are left out."""

    name: str | None = None
    host: str | None = None
    stack: str | None = None
    since_unix_ns: int | None = None
    not_of: tuple[str, ...] = ()


EVERY = Wanted()


class SeriesName(OfCell):
    """One cell at one place over all runs."""

    identity: str

    @property
    def stack(self) -> str:
        """The name of the stack, from the identity (`strata.model.place.identity`)."""
        return self.identity.split(BETWEEN)[1] if BETWEEN in self.identity else ""


class Baseline(Value):
    """A version of a named baseline: the runs that were accepted, the oldest first. The highest version is in force."""

    name: str
    version: int
    created_unix_ns: UnixNs
    runs: tuple[RunId, ...]
    note: str = ""
