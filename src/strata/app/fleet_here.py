"""The run of one host, on its node: `strata measure` as a child that ends with whoever asked for it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pydantic import Field

from strata.errors import RunFailed
from strata.host import programs
from strata.host.process import Child
from strata.model.base import Value
from strata.model.run import RunStatus

if TYPE_CHECKING:
    from strata.store.store import Complete

LOOK_S = 0.2


class RunWords(Value):
    """What every host measures: a directory or a stack file of its own; ``{node}`` in it is the node's name."""

    where: str
    rounds: int = Field(default=6, ge=1, le=100)
    runtime: str | None = None
    ramp: str | None = None
    size: str | None = None
    read_only: bool = False

    def argv(self, node: str, store: str) -> list[str]:
        """The words of the command."""
        words = ["measure", self.where.replace("{node}", node), "--rounds", str(self.rounds), "--name", node]
        for option, value in (("--runtime", self.runtime), ("--ramp-time", self.ramp), ("--size", self.size)):
            words += [option, value] if value is not None else []
        words += ["--read-only"] if self.read_only else []
        return [*words, "--store", store, "--progress", "none"]


def run_here(words: RunWords, run: str) -> Complete:
    """Measures it and gives the run with all that it found; it is in a store of the node first.

    Raises `RunFailed` where the command failed, or its client is gone.
    """
    from strata.fleet.node import here
    from strata.store import open_store

    state = here()
    url = f"sqlite:///{state.folder / f'fleet-{run}.db'}"
    with Child(programs.python("strata", *words.argv(state.name, url))) as child:
        while not child.wait(LOOK_S):
            if state.cancelled() or not state.scheduler_alive():
                raise RunFailed("stopped the run of", state.name, "its client is gone")
        code, said = child.returncode, child.last_words().splitlines()
    if code != 0:
        errors = [line.removeprefix("error: ") for line in said if line.startswith("error: ")]
        raise RunFailed("the run failed on", state.name, (errors or said or [f"exit code {code}"])[-1])
    with open_store(url) as store:
        found = store.latest(RunStatus.DONE)
        outcome = None if found is None else store.outcome(found.id)
        if found is None or outcome is None:
            raise RunFailed("the run failed on", state.name, "it has no outcome")
        return found, tuple(store.cells(found.id)), outcome
