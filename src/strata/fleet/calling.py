"""One graph of calls, each pinned to its node, and what becomes of each of them."""

from __future__ import annotations

import asyncio
import ssl
import time
from collections.abc import Awaitable, Callable, Coroutine, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, TypeVar

from strata.errors import RunFailed, SafetyRefusal
from strata.fleet import doors
from strata.fleet.doors import Door
from strata.fleet.node import TOPIC, carry_out, key_of
from strata.fleet.settings import CONNECT_S, TTL_S, WHY_NOT_OP
from strata.model.nodes import Lost

T = TypeVar("T")
_LOAD = "load"
"""What a node has one of: calls of `Cluster.at_once` take it."""
LOADS = {_LOAD: 1.0}
_WATCH_EVERY_S = 2.0
_CERT_REVOKED = 23
"""X509_V_ERR_CERT_REVOKED (openssl/x509_vfy.h)."""
ASKED_AT_ONCE = 64
"""Calls that are in flight at a time, or that are handed to the scheduler at a time where all begin at once."""
RESULTS_AT_ONCE = 16
"""Results that are on their way at a time: each goes through the scheduler, which has them all in memory."""


@dataclass(frozen=True)
class Pinned:
    """For Dask's annotation ``workers``: to which address each task goes. The scheduler asks it."""

    addresses: Mapping[str, str]

    def __call__(self, key: str) -> list[str]:
        return [self.addresses[key]]


class NoScheduler(RunFailed):
    """Something answers there that is no scheduler of Strata's: nobody need wait for it to become one."""


async def answered(connecting: Awaitable[T]) -> T:
    """What Dask's way of connecting gives; raises `TimeoutError` where whoever took the connection says nothing.

    Dask bounds the time until the connection is there alone, and then waits for a greeting as long as that takes: of
    any other server that waits for a question, and of a scheduler that hangs, for ever.
    """
    return await asyncio.wait_for(connecting, 2 * CONNECT_S)


async def greet(door: Door, security: Any, role: str) -> str:
    """Connects once and leaves again: the host at our end of the connection.

    Raises `RunFailed` or `SafetyRefusal` in words that say what is wrong.
    """
    from distributed.comm.core import connect

    from strata.fleet.secured import IDENTITY_KEY

    args = security.get_connection_args(role) if security is not None else {}
    try:
        comm: Any = await answered(connect(door.address, timeout=CONNECT_S, **args))  # type: ignore[no-untyped-call]
        # With TLS 1.3 a server refuses our certificate only after it was greeted.
        await comm.write({"op": "identity", "n_workers": 0, "reply": True})
        found = await asyncio.wait_for(comm.read(), CONNECT_S)
        ours = str(comm.local_address)
        await comm.close()
    except (OSError, TimeoutError) as e:
        raise unreachable(door, e, "" if security is None else await _alert(door, args["ssl_context"])) from e
    if not isinstance(found, dict) or found.get("type") != "NodeScheduler":
        # Dask's own would hand a call to a node several times, and wait for a lost one for ever.
        why = "it is no scheduler of Strata's"
        raise NoScheduler("cannot use", door.address, why, f"strata node serve --listen {door.address}")
    if security is not None:
        security.told(found.get(IDENTITY_KEY))
    return doors.parsed(ours).host


async def why_not(door: Door, security: Any, **given: Any) -> dict[str, Any]:
    """Why the scheduler does not take a node that says this of itself, see `NodeScheduler.why_not`; empty where it does
    not say."""
    from distributed.comm.core import connect

    args = security.get_connection_args("worker") if security is not None else {}
    try:
        comm: Any = await answered(connect(door.address, timeout=CONNECT_S, **args))  # type: ignore[no-untyped-call]
        await comm.write({"op": WHY_NOT_OP, **given, "reply": True, "close": True})
        told = await asyncio.wait_for(comm.read(), CONNECT_S)
        await comm.close()
    except (OSError, TimeoutError):
        return {}
    return told if isinstance(told, dict) else {}


async def _alert(door: Door, context: ssl.SSLContext) -> str:
    """What a server says that refuses our certificate, as OpenSSL calls it. It comes after the greeting, and whoever
    has spoken by then hears of the closed connection alone."""
    host = door.host.strip("[]")
    try:
        async with asyncio.timeout(CONNECT_S):
            reader, writer = await asyncio.open_connection(host, door.port, ssl=context)
            try:
                await reader.read(1)
            finally:
                writer.close()
    except ssl.SSLError as e:
        return e.reason or ""
    except OSError:
        pass
    return ""


def unreachable(door: Door, error: BaseException, alert: str = "") -> RunFailed | SafetyRefusal:
    """What to say where no connection came to be. ``alert``: what the server said then."""
    chain, seen = [], error
    while seen is not None:
        chain.append(seen)
        seen = seen.__cause__ or seen.__context__  # type: ignore[assignment]
    tls = next((e for e in chain if isinstance(e, ssl.SSLError)), None)
    if isinstance(tls, ssl.SSLCertVerificationError) and tls.verify_code == _CERT_REVOKED:
        hint = "find out who runs it; its machine needs a new certificate: strata node trust --renew NAME"
        return SafetyRefusal("will not connect to", door.address, "its certificate is revoked", hint)
    if "CERTIFICATE_REVOKED" in alert or (tls is not None and "CERTIFICATE_REVOKED" in (tls.reason or "")):
        hint = "on the authority's machine: strata node trust --renew NAME, then copy the folder NAME here"
        return SafetyRefusal("cannot connect to", door.address, "our certificate is revoked", hint)
    if isinstance(tls, ssl.SSLCertVerificationError):
        why = f"its certificate is not of our authority ({tls.verify_message})"
        return SafetyRefusal("will not connect to", door.address, why, "strata node trust --check")
    if tls is not None:
        why = "TLS failed: it does not support TLS, or refuses our certificate"
        return SafetyRefusal("will not connect to", door.address, why, "strata node trust --check")
    reason = next((e.strerror for e in chain if isinstance(e, OSError) and e.strerror), "")
    why = reason.lower() or ("no answer" if isinstance(error, TimeoutError) else "the connection was closed")
    hint = f"check that the scheduler runs there: strata node serve --listen {door.address}"
    return RunFailed("cannot connect to", door.address, why, hint)


async def carry(
    client: Any,
    plan: str,
    asked: Mapping[str, tuple[str, bytes]],
    deadline_s: float,
    take: Callable[[str, dict[str, Any]], None],
    *,
    once: bool,
) -> dict[str, bytes | Lost]:
    """Hands all calls (address and packed call by node) to the scheduler, and waits for each.

    ``once``: the plan is written down by the nodes, takes what a node has one of, and is carried out by all at the same
    time. Else `ASKED_AT_ONCE` are in flight at a time.
    """
    if not once and len(asked) > ASKED_AT_ONCE:
        made: dict[str, bytes | Lost] = {}
        for some in _parts(asked, ASKED_AT_ONCE):
            made |= await carry(client, plan, some, deadline_s, take, once=False)
        return made
    if not asked:
        return {}
    import dask

    keys = {name: key_of(plan, name) for name in asked}
    more = {"resources": LOADS} if once else {}
    _listen(client, plan, frozenset(asked), take)
    try:
        futures: list[Any] = []
        for some in _parts(asked, ASKED_AT_ONCE):
            if futures:
                # Who is behind with its work does not answer: so a scheduler never has more than this before it. One
                # that is gone is found out below.
                with suppress(OSError, TimeoutError):
                    await asyncio.wait_for(client.scheduler.check_idle(), TTL_S)
            pinned = Pinned({keys[name]: address for name, (address, _) in some.items()})
            graph = {keys[name]: (carry_out, plan, call, once) for name, (_, call) in some.items()}
            # Nothing is awaited in between: the annotation is for this graph alone.
            with dask.annotate(workers=pinned, **more):  # type: ignore[attr-defined]
                futures += client.get(graph, list(graph), sync=False)
        gone = asyncio.create_task(_scheduler_gone(client))
        free = asyncio.Semaphore(RESULTS_AT_ONCE)
        following = {
            name: asyncio.create_task(_follow(name, _fetched(future, free), future, deadline_s, gone))
            for name, future in zip(keys, futures, strict=True)
        }
        try:
            return {name: await task for name, task in following.items()}
        finally:
            for task in (gone, *following.values()):
                task.cancel()
            for future in futures:
                future.release()
    finally:
        _listening(client).pop(plan, None)


def _parts(asked: Mapping[str, T], most: int) -> Iterator[dict[str, T]]:
    """All of it, in parts of so many."""
    names = list(asked)
    for at in range(0, len(names), most):
        yield {name: asked[name] for name in names[at : at + most]}


async def _fetched(future: Any, free: asyncio.Semaphore) -> bytes:
    """Its result, once it is there and it is its turn."""
    from distributed.client import _wait

    await _wait([future])  # type: ignore[no-untyped-call]
    async with free:
        made: bytes = await future
        return made


async def _follow(
    node: str, fetched: Coroutine[Any, Any, bytes], future: Any, deadline_s: float, gone: asyncio.Task[str]
) -> bytes | Lost:
    """The outcome of one call, or why there is none."""
    result = asyncio.ensure_future(fetched)
    try:
        await asyncio.wait({result, gone}, timeout=deadline_s, return_when=asyncio.FIRST_COMPLETED)
        if result.done():
            return _of(node, result)
        if gone.done():
            return Lost(node=node, why=gone.result())
        with suppress(Exception):
            await asyncio.wait_for(future.cancel(), CONNECT_S)
        return Lost(node=node, why=f"it gave no result within {deadline_s:g} s")
    finally:
        result.cancel()


def _of(node: str, result: asyncio.Future[Any]) -> bytes | Lost:
    if result.cancelled():
        return Lost(node=node, why="the connection to the scheduler is lost")
    error = result.exception()
    if error is None:
        made: bytes = result.result()
        return made
    words = {
        "KilledWorker": "it died, hangs or is disconnected: its scheduler gets no messages from it",
        "NoValidWorkerError": "it has left",
        "NoWorkerError": "it has left",
        "FutureCancelledError": "the connection to the scheduler is lost",
    }
    kind = type(error).__name__
    return Lost(node=node, why=words.get(kind) or f"{kind}: {error}"[:1000])


async def _scheduler_gone(client: Any) -> str:
    """Returns once the scheduler does not answer any more: a machine that stands still closes no connection.

    A process that was itself stopped meanwhile has not read the answer, and asks again."""
    while True:
        await asyncio.sleep(_WATCH_EVERY_S)
        asked_at = time.monotonic()
        try:
            await asyncio.wait_for(client.scheduler.check_idle(), TTL_S)
        except TimeoutError:
            if time.monotonic() - asked_at > TTL_S + _WATCH_EVERY_S:
                continue
            return f"the scheduler did not answer for {TTL_S:g} s"
        except OSError:
            return "the scheduler is gone"


def _listening(client: Any) -> dict[str, tuple[frozenset[str], Callable[[str, dict[str, Any]], None]]]:
    """Who takes the messages of which plan, kept with the client."""
    found = getattr(client, "strata_listening", None)
    if found is None:
        found = client.strata_listening = {}
    return found


def _listen(client: Any, plan: str, nodes: frozenset[str], take: Callable[[str, dict[str, Any]], None]) -> None:
    """All messages come under one topic, which the scheduler keeps for good; each is told to the plan it names."""
    listening = _listening(client)

    def heard(event: Any) -> None:
        with suppress(TypeError, KeyError, ValueError):
            _, told = event
            there, taking = listening[told["plan"]]
            if told["node"] in there and isinstance(told["message"], dict):
                taking(told["node"], told["message"])

    if not listening:
        client.subscribe_topic(TOPIC, heard)
    listening[plan] = nodes, take
