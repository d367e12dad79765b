"""The scheduler of a cluster: Dask's, which admits nodes of Strata alone and notices a lost one in time."""

from __future__ import annotations

import re
import time
from typing import Any

from distributed import Scheduler

from strata.errors import SafetyRefusal, UsageError
from strata.fleet import doors
from strata.fleet.settings import TTL_S
from strata.model.nodes import NODE_NAME

_PER_S = 300
"""Heartbeats of all nodes."""
_SLOWEST_S = 3.0
_LOOK_EVERY_S = 1.0


def heartbeat_s(nodes: int) -> float:
    """Between two heartbeats of a node: three of them fit into `TTL_S` however many nodes there are."""
    return min(_SLOWEST_S, max(1.0, nodes / _PER_S))


class NodeScheduler(Scheduler):
    """Dask's, without what it opens to everybody."""

    def __init__(self, **given: Any) -> None:
        super().__init__(**given)
        # Dask looks as often as the time itself is long, and so finds a lost one after twice that.
        self.periodic_callbacks["worker-ttl"].callback_time = _LOOK_EVERY_S * 1000

    def start_http_server(self, *_: Any, **__: Any) -> None:
        """None: it would answer everybody."""

    def heartbeat_worker(self, **given: Any) -> dict[str, Any]:
        """As Dask's, with intervals of ours."""
        said = super().heartbeat_worker(**given)
        if "heartbeat-interval" in said:
            said["heartbeat-interval"] = heartbeat_s(len(self.workers))
        return said

    async def add_worker(self, comm: Any, **given: Any) -> None:
        """Refuses what is no node, whose name cannot be used, or is not in its certificate."""
        why = self._problem(comm, given)
        if why is None:
            await super().add_worker(comm, **given)
            return
        await comm.write({"status": "error", "message": f"refused: {why}", "time": time.time()})

    async def check_worker_ttl(self) -> None:
        """Removes nodes that were silent for `TTL_S`. Dask's own waits for ten heartbeats: a minute with many nodes."""
        now = time.time()
        for lost in [ws for ws in self.workers.values() if now - ws.last_seen > TTL_S]:
            await self.remove_worker(address=lost.address, stimulus_id=f"strata-ttl-{now}")

    def _problem(self, comm: Any, given: dict[str, Any]) -> str | None:
        name = given.get("name")
        if not isinstance(name, str) or re.fullmatch(NODE_NAME, name) is None:
            return "a node is called by letters, digits, '.', '_' and '-', at most 63"
        if not isinstance(given.get("extra"), dict) or "strata" not in given["extra"]:
            return "it is no node of Strata; start it with: strata node join"
        try:
            door = doors.admitted(doors.parsed(str(given.get("address"))), "will not connect to")
        except (UsageError, SafetyRefusal) as e:
            return e.headline
        if door.scheme != self.address.partition(":")[0]:
            return f"its address is {door.scheme}, and this scheduler's is not"
        certificate = getattr(comm, "extra_info", {}).get("peercert")
        if certificate:
            names = [value for kind, value in certificate.get("subjectAltName", ()) if kind == "DNS"]
            if name not in names:
                return f"its certificate is for {', '.join(names) or 'no name'}, not for {name}"
        return None
