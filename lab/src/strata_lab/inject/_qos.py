"""Caps of one virtual disk, where the stack has such: a throttle group of the daemon that serves it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from strata.errors import RunFailed
from strata.model.finding import Cause
from strata_lab.lab import Lab
from strata_lab.servers import storage_daemon as daemon
from strata_lab.truth import How, ProofCell, Severities, Signal


def capped(limit: str, factor: float = 1) -> Callable[[Lab, float], None]:
    """Sets that limit (``iops-total``, ``bps-total``) of the first virtual disk to the value times ``factor``."""

    def inject(lab: Lab, value: float) -> None:
        fact = lab.last_fact("qos")
        if fact is None:
            raise RunFailed("cannot limit a disk of", lab.name, "it has no virtual disks", "strata lab up vm-disks")
        daemon.limit(Path(fact["monitor"]), fact["group"], {limit: int(value * factor)})

    return inject


def on_vm_disks(
    limit: str, value: Severities, unit: str, cell: ProofCell, factor: float = 1
) -> dict[str, dict[str, Any]]:
    """What is different of a cap there: whoever goes past the daemon, to the store itself, is not held."""
    of_disk = "the daemon that serves the virtual disks limits the rate of the first one (a throttle group)"
    return {
        "vm-disks": {
            "kind": "server",
            "layer": "store, served",
            "mechanism": of_disk,
            "value": value,
            "unit": unit,
            "inject": capped(limit, factor),
            "cell": cell,
            "signals": (Signal("disk.ios", How.FALLS, 1.2), Signal("disk.service_us", How.STAYS, 1.3)),
            "must": (Cause.IOPS_CAP if limit == "iops-total" else Cause.BANDWIDTH_CAP,),
            "never": (Cause.MEDIUM, Cause.WIRE_BANDWIDTH, Cause.WIRE_LATENCY),
            "options": {"disks": "1"},
        }
    }
