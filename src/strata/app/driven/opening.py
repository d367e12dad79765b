"""The nodes of a stack for as long as they are asked."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from strata.analyse.platform import machines_compared
from strata.app.driven.group import NodeGroup
from strata.app.driven.place import NodesPlace, owner_of
from strata.app.driven.words import DataThere
from strata.app.driver import Driver
from strata.app.place import Place
from strata.errors import UsageError
from strata.fleet import Cluster
from strata.model.endpoint import EndpointKind
from strata.model.stack import Stack
from strata.model.survey import Survey
from strata.model.survey_compared import ComparedSurveys

LOAD_S = 0.5
"""For how long the load of each node is looked at."""
GLANCE_S = 0.02
"""The same where nobody asks for the load."""
ELSEWHERE = "/strata"
"""Where a node is surveyed on which no file of the stack lies."""


@dataclass(frozen=True)
class Driven:
    """The nodes of a stack, what is at the place of its data, and the engine that they run."""

    group: NodeGroup
    there: DataThere
    engine: str

    def place(self, stack: Stack, data_path: Path, *, run: str, direct: bool, writes: bool) -> Place:
        """Where a run is; nothing is made yet."""
        return NodesPlace(self.group, stack, data_path, run=run, engine=self.engine, direct=direct, writes=writes)

    def compared(self, stack: Stack) -> ComparedSurveys | None:
        """In what the nodes that drive the layers differ as machines. Raises as a call to a node does."""
        owner = owner_of(stack)
        names = [name for name in dict.fromkeys(layer.node for layer in stack.layers) if name not in (None, owner)]
        each = {owner or "this machine": self.there.survey}
        each |= {n: self.group.data_there(n, ELSEWHERE, GLANCE_S).survey for n in names if n is not None}
        named = [found.model_copy(update={"hostname": name}) for name, found in each.items()]
        return machines_compared(named) if len(named) > 1 else None

    def driver(self, place: Place) -> Driver:
        """The same place carries out what is measured there."""
        assert isinstance(place, NodesPlace)
        return place


def surveyed(stack: Stack) -> list[Survey]:
    """Each node of the stack that drives a layer, surveyed by itself where its file is, or at its root directory; it
    is called by its name. Raises as `driven`, and `UsageError` where there are not two."""
    assert stack.scheduler is not None
    names = list(dict.fromkeys(layer.node for layer in stack.layers if layer.node is not None))
    if len(names) < 2:
        why = f"its layers name {len(names)} of its nodes, and two or more are compared"
        raise UsageError("cannot compare the nodes of", repr(stack.name), why, "name the node of each layer")
    files = {x.node: x.target.path for x in stack.layers if x.target.kind is EndpointKind.FILE}
    with Cluster.connect(stack.scheduler, netns=stack.scheduler_netns) as cluster:
        group = NodeGroup(cluster, stack)
        found = [(name, group.data_there(name, files.get(name) or ELSEWHERE, LOAD_S)) for name in names]
    return [there.survey.model_copy(update={"hostname": name}) for name, there in found]


@contextmanager
def driven(stack: Stack, data_path: Path, load_seconds: float, engine: str) -> Iterator[Driven]:
    """Connects to the scheduler of the stack. Raises as `Cluster.connect`, and where a node has not joined."""
    assert stack.scheduler is not None
    with Cluster.connect(stack.scheduler, netns=stack.scheduler_netns) as cluster:
        group = NodeGroup(cluster, stack)
        yield Driven(group, group.data_there(owner_of(stack), str(data_path), load_seconds), engine)
