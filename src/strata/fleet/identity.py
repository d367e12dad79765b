"""Who we are to the other side: the certificate, its key, and the authority whose certificates we accept."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from strata.errors import RunFailed, SafetyRefusal
from strata.fleet.certificates import CERTIFICATE, HINT, HOLDS, Certificates, found
from strata.fleet.doors import Door
from strata.fleet.settings import installed
from strata.host import ownership, xdg

CLIENT, SCHEDULER = "client", "scheduler"


def folder() -> Path:
    """Where certificates lie if no folder is given."""
    return xdg.config_path() / "trust"


def security(door: Door, trust: Path | None, name: str) -> Any:
    """What Dask takes for connections to and from that door; None for a plain one.

    ``trust``: a folder of `strata.fleet.trust`, or the one of ``name`` in it. Raises `RunFailed` where there is none,
    `SafetyRefusal` where it cannot be trusted.
    """
    if door.plain:
        return None
    installed()
    made = found(trust, folder(), name)
    if not (made / CERTIFICATE).exists():
        hint = f"run strata node trust {name} on the machine of the authority, then copy the folder {name} here"
        raise RunFailed("cannot use", door.address, f"there is no certificate in {made}", hint)
    ownership.folder(made, HINT, HOLDS, make=False)
    if wrong := tuple(Certificates(made).problems()):
        hint = f"run strata node trust --renew {name} on the machine of the authority"
        raise SafetyRefusal("will not use the certificate in", str(made), "", hint, wrong)
    from strata.fleet.secured import Secured

    return Secured(Certificates(made))
