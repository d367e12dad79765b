"""A remote end of our own, in this process."""

from __future__ import annotations

import json
import os
import threading
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from typing import get_args

from pydantic import ValidationError

from strata import units
from strata.engine import Backing, PlantedFault, Shaping, TargetConfig, serve
from strata.errors import UsageError
from strata.host import testfile
from strata.model.endpoint import is_loopback
from strata.model.plan import HEAD

__all__ = ["Shaping", "TargetConfig", "backing_of", "planted", "serve_and_say"]


def backing_of(
    file: Path | None, memory: int | None, null: int | None, *, writable: bool, direct: bool, held: ExitStack
) -> tuple[Backing, int]:
    """What is to be served, and how many of its first bytes are not to be written; ``held`` keeps the file open.

    Raises `SafetyRefusal` when a file that Strata did not create should be writable.
    """
    if file is not None:
        # Not locked: those who load it through this server and below it share it on purpose.
        fd = held.enter_context(testfile.own(file, lock=False)).fd if writable else None
        backing = Backing(kind="file", path=str(file.resolve()), fd=fd, read_only=not writable, direct=direct)
        return backing, HEAD if writable else 0
    if memory is not None:
        return Backing(kind="memory", size_bytes=memory, read_only=not writable), 0
    return Backing(kind="null", size_bytes=null), 0


def planted(text: str) -> PlantedFault:
    """``lost``, ``torn:every=100`` or ``corrupted:offset=2m:seed=3``. Raises `UsageError`."""
    kind, *words = text.split(":")
    values: dict[str, object] = {"kind": kind}
    try:
        for word in words:
            key, _, value = word.partition("=")
            values[key] = units.parse_size(value)
        return PlantedFault.model_validate(values)
    except (ValidationError, UsageError) as e:
        raise UsageError(
            "cannot inject the fault",
            text,
            "it is not of the form KIND[:every=N][:offset=BYTE][:seed=N]",
            f"the kinds are {', '.join(get_args(PlantedFault.model_fields['kind'].annotation))}",
        ) from e


def warning(config: TargetConfig) -> str | None:
    """Who can do what to it, where that is more than this user; None where nobody else can reach anything of anybody's.

    The protocol knows no password. A unix socket is this user's alone.
    """
    backing = config.backing
    writable = backing.kind != "null" and not backing.read_only
    here = config.unix is not None or is_loopback((config.tcp or "").rpartition(":")[0])
    if config.unix is not None or (here and not writable and backing.kind != "file"):
        return None
    who = "every user of this machine" if here else "every machine that reaches this one over the network"
    verb = "write to" if writable else "read"
    only = "--socket PATH restricts it to your user" if here else "--listen 127.0.0.1:PORT restricts it to this machine"
    return f"warning: {who} can {verb} it, because NBD has no password; {only}"


def serve_and_say(config: TargetConfig, say: Callable[[str], None]) -> None:
    """Serve, and say where once the socket is open (the port may have been chosen by the kernel)."""
    if warned := warning(config):
        say(warned)
    read_fd, write_fd = os.pipe()

    def wait() -> None:
        with os.fdopen(read_fd) as ready:
            line = ready.readline()
        if line and config.unix:
            say(f"serving nbd+unix:///{config.export}?socket={config.unix}")
        elif line:
            host = (config.tcp or "").rpartition(":")[0]
            say(f"serving nbd://{host}:{json.loads(line)['port']}/{config.export}")

    waiter = threading.Thread(target=wait, daemon=True)
    waiter.start()
    serve(config, write_fd)
    waiter.join(1)
