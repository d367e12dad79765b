"""The scheduler of a cluster: Dask's, which admits nodes of Strata alone and notices a lost one in time."""

from __future__ import annotations

import re
import time
from contextlib import suppress
from typing import Any

from distributed import Scheduler
from distributed.comm.core import CommClosedError

from strata.errors import SafetyRefusal, UsageError
from strata.fleet import doors, secured
from strata.fleet.settings import TTL_S, WHY_NOT_OP
from strata.model.nodes import NODE_NAME, NODE_NAME_SAID

_PER_S = 150
"""Heartbeats of all nodes: 0.1 of a core of the scheduler."""
_SLOWEST_S = 20.0
_LOOK_EVERY_S = 1.0
_STOOD_S, _READING_S = 1.0, 3.0
"""A scheduler that looks so much later than it should stood still; then so long for what came meanwhile."""


def heartbeat_s(nodes: int) -> float:
    """Between two heartbeats of a node: all of them together send `_PER_S`."""
    return min(_SLOWEST_S, max(1.0, nodes / _PER_S))


def lost_after_s(nodes: int) -> float:
    """For how long a node may be silent: three heartbeats fit in. `TTL_S` up to 450 nodes, 21 s with 1,000."""
    return max(TTL_S, 3 * heartbeat_s(nodes) + 1.0)


class NodeScheduler(Scheduler):
    """Dask's, without what it opens to everybody."""

    def __init__(self, **given: Any) -> None:
        super().__init__(**given)
        # Dask looks as often as the time itself is long, and so finds a lost one after twice that.
        self.periodic_callbacks["worker-ttl"].callback_time = _LOOK_EVERY_S * 1000
        self._looked = self._stood = time.monotonic()
        self.handlers[WHY_NOT_OP] = self.why_not

    async def handle_comm(self, comm: Any) -> None:  # type: ignore[override]
        """As Dask's. The list may have come between the certificate that was shown and the first word."""
        if not secured.ended(self, comm):
            await super().handle_comm(comm)

    def start_http_server(self, *_: Any, **__: Any) -> None:
        """None: it would answer everybody."""

    def identity(self, n_workers: int = -1) -> dict[str, Any]:
        """As Dask's, with the revocation list: whoever connects has the newest from then on."""
        said = super().identity(n_workers)
        if isinstance(self.security, secured.Secured):
            said[secured.IDENTITY_KEY] = self.security.pem
        return said

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

    def why_not(self, comm: Any, **given: Any) -> dict[str, Any]:
        """For a node that was not taken: Dask has the reason as text alone in the error that it raises there."""
        why = self._problem(comm, given)
        taken = self.aliases.get(given["name"], given["address"]) != given["address"]
        return {"refused": why, "taken": why is None and taken}

    async def check_worker_ttl(self) -> None:
        """Removes nodes that were silent for `lost_after_s`. Dask's own waits for ten heartbeats.

        A scheduler that stood still has not read what they sent meanwhile: it takes none for lost before it has.
        A new revocation list is found here, too, and told to the nodes.
        """
        if secured.look(self) and isinstance(self.security, secured.Secured):
            for stream in self.stream_comms.values():
                with suppress(CommClosedError):
                    stream.send({"op": secured.STREAM_OP, "list": self.security.pem})
        at = time.monotonic()
        if at - self._looked > _LOOK_EVERY_S + _STOOD_S:
            self._stood = at
        self._looked = at
        if at - self._stood < _READING_S:
            return
        now, most = time.time(), lost_after_s(len(self.workers))
        for lost in [ws for ws in self.workers.values() if now - ws.last_seen > most]:
            await self.remove_worker(address=lost.address, stimulus_id=f"strata-ttl-{now}")

    def _problem(self, comm: Any, given: dict[str, Any]) -> str | None:
        name = given.get("name")
        if not isinstance(name, str) or re.fullmatch(NODE_NAME, name) is None:
            return NODE_NAME_SAID
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
