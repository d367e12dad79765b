"""Calls on other machines: nodes that join a scheduler, and the cluster that they are to whoever asks them.

The engine is Dask `distributed`: its scheduler, its workers and its connections. What is here says how it is to be used
(`settings`), who may take part (`doors`, `trust`), what a node is and does (`node`, `worker`), and asks it (`cluster`).
Only what really opens a connection loads the library, which takes more than a second.
"""

from strata.fleet.call import Call
from strata.fleet.cluster import Cluster, NodeLost
from strata.model.nodes import ClockOffset, Lost, NodeInfo

__all__ = ["Call", "ClockOffset", "Cluster", "Lost", "NodeInfo", "NodeLost"]
