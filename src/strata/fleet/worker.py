"""The worker of a node: Dask's, in this process, without what costs or opens anything while it is idle."""

from __future__ import annotations

from typing import Any

from distributed import Worker
from distributed.diagnostics.plugin import WorkerPlugin

from strata.fleet import clocks, secured
from strata.fleet.calling import LOADS
from strata.fleet.node import Duties
from strata.fleet.settings import TTL_S

_THREADS = 4
"""One for a load, the others for questions meanwhile. A thread that has nothing to do is not started."""


class Cancels(WorkerPlugin):
    """Tells a call that nobody wants it any more."""

    name = "strata"

    def __init__(self, duties: Duties) -> None:
        self._duties = duties

    def transition(self, key: Any, start: str, finish: str, **_: Any) -> None:
        """Dask's: a running task whose client has gone, or has cancelled it, is released before it is done."""
        if finish == "released" and start in ("executing", "long-running"):
            self._duties.cancel(str(key))


class NodeWorker(Worker):
    """``host``: our end of the connection to the scheduler. It listens there alone: Dask's own does on all interfaces.

    ``about``: what it says of itself when it joins. `duties` is what its calls find.
    """

    def __init__(
        self, scheduler: str, host: str, duties: Duties, about: dict[str, Any], scratch: str, security: Any
    ) -> None:
        self.duties = duties
        super().__init__(
            scheduler,
            name=duties.name,
            host=host,
            nthreads=_THREADS,
            memory_limit=0,
            resources=LOADS,
            local_directory=scratch,
            security=security,
            plugins=(Cancels(duties),),
            extensions={},
            heartbeat_interval="1s",
            startup_information={"strata": lambda _: about},
        )
        self.handlers[clocks.OP] = clocks.now_ns
        self.stream_handlers[secured.STREAM_OP] = self._revoked
        duties.speak(self.log_event)

    async def handle_comm(self, comm: Any) -> None:  # type: ignore[override]
        """As Dask's. The list may have come between the certificate that was shown and the first word."""
        if not secured.ended(self, comm):
            await super().handle_comm(comm)

    def start_http_server(self, *_: Any, **__: Any) -> None:
        """None: it would answer everybody."""

    def _update_latency(self, latency: float) -> None:
        """Dask's, called once for each heartbeat that was answered."""
        self.duties.answered(self.periodic_callbacks["heartbeat"].callback_time / 1000)
        secured.look(self)
        super()._update_latency(latency)

    def _revoked(self, **said: Any) -> None:
        """The scheduler has a new revocation list. It is taken for what the authority signed, not for who sent it."""
        secured.told(self, said.get("list"))

    async def close(self, timeout: float = TTL_S, executor_wait: bool = True, **more: Any) -> str | None:  # type: ignore[override]
        """Dask's; first the calls are told. The scheduler may be gone: then nothing is to be waited for any longer."""
        self.duties.leave()
        return await super().close(timeout=min(timeout, TTL_S), executor_wait=executor_wait, **more)
