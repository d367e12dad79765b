"""A scheduler or a node as a process: it begins, says so, and ends in good order at a signal."""

from __future__ import annotations

import asyncio
import os
import resource
import shutil
import signal
import socket
import time
from collections.abc import Awaitable, Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from strata import __version__
from strata.errors import RunFailed
from strata.fleet import calling, doors, identity
from strata.fleet.doors import Door
from strata.fleet.node import Duties
from strata.fleet.settings import settle
from strata.host.shutdown import request_shutdown

_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
_CLOSE_S = 5.0
"""For calls to end and for goodbyes; what is still there then ends with the process."""


@dataclass(frozen=True)
class Joining:
    """What a node needs to join. ``wait_s``: how long the scheduler may take to be there."""

    name: str
    door: Door
    trust: Path | None
    folder: Path
    wait_s: float
    absent: tuple[str, ...]


def serve(door: Door, trust: Path | None, ready: Callable[[str], None]) -> int:
    """A scheduler until a signal ends it; the number of that. ``ready`` is told its address.

    Raises `SafetyRefusal` for a plain address that others can reach, and `RunFailed`.
    """
    doors.admitted(door, "will not listen on")
    settle(whole=True)
    # A connection or two for each node: the usual 1024 are those of a few hundred nodes.
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    security = identity.security(door, trust, identity.SCHEDULER)

    async def begin() -> tuple[Any, Callable[[], Awaitable[Any]]]:
        from strata.fleet.scheduler import NodeScheduler

        how: dict[str, Any] = {"host": door.host, "port": door.port, "protocol": door.scheme}
        scheduler = NodeScheduler(**how, security=security, dashboard=False, extensions={})
        try:
            await scheduler
        except OSError as e:
            why = (e.strerror or str(e)).lower()
            raise RunFailed("cannot listen on", door.address, why, "choose another port: --listen") from e
        ready(scheduler.address)
        return scheduler, lambda: scheduler.close(reason="signal")

    return _until_ended(begin, "the scheduler")


def join(joining: Joining, ready: Callable[[str], None]) -> int:
    """A node until a signal ends it; the number of that.

    Raises `RunFailed` once its scheduler is gone, and what `serve` raises.
    """
    door = doors.admitted(joining.door, "will not connect to")
    settle(whole=True)
    security = identity.security(door, joining.trust, joining.name)
    duties = Duties(joining.name, joining.folder)
    scratch = joining.folder / "scratch"
    shutil.rmtree(scratch, ignore_errors=True)

    async def begin() -> tuple[Any, Callable[[], Awaitable[Any]]]:
        from strata.fleet.worker import NodeWorker

        host = await _greeted(door, security, joining.wait_s)
        about = _about(joining)
        worker = NodeWorker(door.address, host, duties, about, str(scratch), security)
        try:
            await worker
        except (ValueError, RuntimeError) as e:
            address, told = worker.contact_address, {}
            if address is not None:  # else it was not asked for yet
                given = {"name": joining.name, "address": address, "extra": {"strata": about}}
                told = await calling.why_not(door, security, **given)
            raise _not_taken(joining, told, e) from e
        ready(worker.address)
        return worker, lambda: worker.close(timeout=_CLOSE_S, reason="signal")

    try:
        return _until_ended(begin, f"the scheduler of node {joining.name}")
    finally:
        shutil.rmtree(scratch, ignore_errors=True)


def _about(joining: Joining) -> dict[str, Any]:
    return {
        "version": __version__,
        "host": socket.gethostname()[:300],
        "pid": os.getpid(),
        "cores": len(os.sched_getaffinity(0)),
        "root": os.geteuid() == 0,
        "absent": [text[:300] for text in joining.absent[:64]],
        "joined_unix_ns": time.time_ns(),
    }


async def _greeted(door: Door, security: Any, wait_s: float) -> str:
    """Waits for the scheduler: nodes and scheduler are often started at the same time."""
    until = time.monotonic() + wait_s
    while True:
        try:
            return await calling.greet(door, security, "worker")
        except calling.NoScheduler:
            raise
        except RunFailed:
            if time.monotonic() >= until:
                raise
            await asyncio.sleep(0.2)


def _not_taken(joining: Joining, told: Mapping[str, Any], error: BaseException) -> RunFailed:
    """``told``: what the scheduler says of it; where that is nothing, the words are those of what Dask raised."""
    if told.get("taken") is True:
        why, hint = "a node of that name has joined already", "give another --name, or end that node first"
    elif told.get("refused"):
        why = str(told["refused"])[:300]
        hint = "give the --name of the certificate, or its own certificate: --trust"
    else:
        said, seen = [], error
        while seen is not None:
            said.append(str(seen))
            seen = seen.__cause__ or seen.__context__  # type: ignore[assignment]
        why, hint = " ".join(said)[:300], f"look at the nodes: strata node list {joining.door.address}"
    return RunFailed("cannot join as node", joining.name, why, hint)


def _until_ended(begin: Callable[[], Awaitable[tuple[Any, Callable[[], Awaitable[Any]]]]], other: str) -> int:
    async def live() -> int:
        loop, ended = asyncio.get_running_loop(), asyncio.Event()
        heard: list[int] = []

        def signalled(number: int) -> None:
            request_shutdown()
            if heard:
                os._exit(128 + number)
            heard.append(number)
            ended.set()

        for number in _SIGNALS:
            if signal.getsignal(number) is not signal.SIG_IGN:
                loop.add_signal_handler(number, signalled, number)
        beginning = asyncio.ensure_future(begin())
        waiting = asyncio.ensure_future(ended.wait())
        await asyncio.wait({beginning, waiting}, return_when=asyncio.FIRST_COMPLETED)
        if not beginning.done():
            beginning.cancel()
            return heard[0]
        server, close = beginning.result()
        over = asyncio.ensure_future(server.finished())
        await asyncio.wait({over, waiting}, return_when=asyncio.FIRST_COMPLETED)
        with suppress(Exception):
            await asyncio.wait_for(close(), 2 * _CLOSE_S)
        if heard:
            return heard[0]
        raise RunFailed("cannot continue", "", f"{other} is gone", "start it again, then join again")

    return asyncio.run(live())
