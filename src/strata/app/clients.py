"""Where the clients of a measurement run: processes of this machine, or nodes of a cluster."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from strata.engine import AUTO_ENGINE, DEFAULT_ENGINE, Engine
from strata.errors import UsageError

__all__ = ["Engine", "engine_of_nodes"]


@contextmanager
def engine_of_nodes(address: str, name: str) -> Iterator[Engine]:
    """The engine on the nodes that have joined the scheduler at ``address``; ``name`` is the one that was asked for.

    Raises what connecting raises, and `UsageError` for an engine that nodes do not run.
    """
    if name not in (AUTO_ENGINE, DEFAULT_ENGINE):
        raise UsageError("cannot run on nodes:", f"the {name} engine", "nodes run Strata's own", "--engine native")
    # Here: the cluster's library takes more than a second to load.
    from strata.fleet import Cluster
    from strata.fleet.clients import NodesEngine

    with Cluster.connect(address) as cluster:
        engine = NodesEngine(cluster)
        try:
            yield engine
        finally:
            engine.close()
