"""How Dask is set: what is off, how soon a node counts as lost, and that it says nothing by itself.

Dask reads its settings from files and variables of the user as well. A node and a scheduler take nothing from there:
`preload` alone would run any code.
"""

from __future__ import annotations

import logging
from importlib.util import find_spec
from typing import Any

from strata.errors import RunFailed

TTL_S = 10.0
"""A node that sent no heartbeat for so long is lost."""
CONNECT_S = 5.0
WHY_NOT_OP = "strata-why-not"
"""What a node asks a scheduler that did not take it."""

_SETTINGS: dict[str, Any] = {
    # A call is carried out once or not at all.
    "distributed.scheduler.allowed-failures": 0,
    "distributed.scheduler.no-workers-timeout": f"{TTL_S}s",
    "distributed.scheduler.worker-ttl": f"{TTL_S}s",
    "distributed.scheduler.work-stealing": False,
    "distributed.scheduler.active-memory-manager.start": False,
    "distributed.scheduler.events-cleanup-delay": "10s",
    # Code of others, doors for others.
    "distributed.scheduler.preload": [],
    "distributed.worker.preload": [],
    "distributed.nanny.preload": [],
    "distributed.client.preload": [],
    "distributed.client.security-loader": None,
    "distributed.scheduler.http.routes": [],
    "distributed.worker.http.routes": [],
    # What an idle node would do all the time.
    "distributed.worker.profile.enabled": False,
    "distributed.admin.tick.interval": "500ms",
    "distributed.admin.tick.cycle": "10s",
    "distributed.admin.system-monitor.interval": "10s",
    "distributed.admin.system-monitor.log-length": 6,
    "distributed.admin.system-monitor.disk": False,
    "distributed.admin.system-monitor.gil.enabled": False,
    "distributed.diagnostics.nvml": False,
    "distributed.diagnostics.cudf": False,
    "distributed.diagnostics.computations.max-history": 1,
    "distributed.diagnostics.erred-tasks.max-history": 1,
    "distributed.admin.log-length": 200,
    "distributed.admin.low-level-log-length": 100,
    "distributed.admin.event-loop": "asyncio",
    # Connections.
    "distributed.comm.timeouts.connect": f"{CONNECT_S}s",
    "distributed.comm.timeouts.tcp": "12s",  # the least that Dask takes is 11
    "distributed.comm.retry.count": 0,
    "distributed.comm.compression": False,
    "distributed.comm.tls.min-version": 1.3,
    "distributed.comm.tls.ca-file": None,
}


def installed() -> None:
    """Raises `RunFailed` where the libraries are not there: they are an extra of the package."""
    if missing := [name for name in ("distributed", "cryptography") if find_spec(name) is None]:
        why = f"not installed: {', '.join(missing)}"
        raise RunFailed("cannot use nodes", "", why, "pip install 'strata[nodes]'")


def settle(*, whole: bool = False) -> None:
    """Sets Dask as above. ``whole``: this process is a node or a scheduler: nothing else counts."""
    installed()
    for name in ("distributed", "tornado"):
        logger = logging.getLogger(name)
        logger.addHandler(logging.NullHandler())
        logger.propagate = False
    import dask.config

    # Read when `distributed` is loaded: without it, all of its log goes to stderr.
    dask.config.set({"logging": {"version": 1, "disable_existing_loggers": False}})
    import distributed  # noqa: F401

    if whole:
        dask.config.refresh(paths=[], env={})
    dask.config.set(_SETTINGS)
