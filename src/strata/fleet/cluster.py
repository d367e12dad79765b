"""The cluster as whoever asks sees it: its nodes, a call on one of them, a call on each at once, and their clocks."""

from __future__ import annotations

import asyncio
import uuid
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from queue import Empty, SimpleQueue
from typing import Any, Self, TypeVar

from pydantic import ValidationError

from strata import __version__
from strata.errors import RunFailed, StrataError, choices
from strata.fleet import calling, clocks, doors, identity
from strata.fleet.background import Background
from strata.fleet.call import Call, outcome, packed
from strata.fleet.settings import CONNECT_S, settle
from strata.model.nodes import ClockOffset, Lost, NodeInfo

T = TypeVar("T")

LOOK_S = 0.1
"""How often whoever waits for calls is asked whether something is to be done meanwhile."""
MESSAGES_HELD = 100_000
"""Messages that wait for `Cluster.at_once`'s caller; what is more is left out."""

CLOCKS_AT_ONCE = 2
CLOCK_PROBES_ALL, CLOCK_PROBES_LEAST = 2000, 4
"""Questions to all nodes together, and to each of them at least."""


class NodeLost(RunFailed):
    """A node gave no answer: it died, hangs, was cut off, or its scheduler is gone."""


def ignored(_node: str, _message: dict[str, Any]) -> None:
    """For whoever wants no messages."""


class Cluster:
    """A connection to a scheduler; leave it as a context manager. All methods wait, and end at a signal."""

    def __init__(self, address: str, background: Background) -> None:
        self.address, self._background = address, background
        self._client: Any = None

    @classmethod
    def connect(cls, address: str, trust: Path | None = None, *, netns: str | None = None) -> Cluster:
        """Connects to the scheduler at ``address`` (``tls://host:port``, or ``tcp://`` where `doors` admits it).

        ``trust``: the folder of certificates (`strata.fleet.identity`). ``netns``: the path of a network namespace from
        which connections are opened. Raises `SafetyRefusal` for a plain address that others can reach, and `RunFailed`.
        """
        door = doors.parsed(address)

        def begun() -> None:
            doors.admitted(door, "will not connect to")
            settle()

        background = Background(netns, begun)
        made = cls(door.address, background)
        try:
            security = identity.security(door, trust, identity.CLIENT)
            background.run(made._open(door, security))
        except BaseException:
            background.stop()
            raise
        return made

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Ends the connection. Calls that still run are cancelled (`NodeState.cancelled`)."""
        if self._client is not None:
            with suppress(Exception):
                self._background.run(asyncio.wait_for(self._client.close(timeout=2), 5))
            self._client = None
        self._background.stop()

    def nodes(self) -> tuple[NodeInfo, ...]:
        """The nodes that have joined, by name. What is no node of Strata's is left out."""
        return tuple(sorted(self._background.run(self._nodes()), key=lambda node: node.name))

    def ask(self, node: str, function: Callable[..., T], *args: Any, deadline_s: float = 30.0) -> T:
        """``function(*args)`` on that node, also while it carries out a call of `at_once`.

        Raises what the function raised where that is an error of Strata's, `NodeLost`, or `RunFailed`.
        """
        given = self.each({node: Call.of(function, *args)}, deadline_s)[node]
        if isinstance(given, StrataError):
            raise given
        return given

    def each(
        self,
        calls: Mapping[str, Call[T]],
        deadline_s: float = 30.0,
        on_message: Callable[[str, dict[str, Any]], None] = ignored,
        meanwhile: Callable[[], None] | None = None,
    ) -> dict[str, T | StrataError]:
        """As `ask`, of several nodes together; what `ask` would raise of a node stands in the place of its result.

        ``meanwhile`` is called in this thread about ten times a second until then.
        """
        found: dict[str, T | StrataError] = {}
        for node, given in self._carried(calls, deadline_s, on_message, once=False, meanwhile=meanwhile).items():
            if isinstance(given, Lost):
                hint = f"look at the nodes: strata node list {self.address}"
                found[node] = NodeLost("cannot ask node", node, given.why, hint)
                continue
            try:
                found[node] = outcome(given)
            except StrataError as e:
                found[node] = e
        return found

    def ask_all(
        self,
        calls: Mapping[str, Call[T]],
        deadline_s: float = 30.0,
        on_message: Callable[[str, dict[str, Any]], None] = ignored,
    ) -> dict[str, T | Lost]:
        """As `at_once`, also while a node carries out a call of that: nothing is written down of it."""
        given = self._carried(calls, deadline_s, on_message, once=False)
        return {name: value if isinstance(value, Lost) else _result(name, value) for name, value in given.items()}

    def at_once(
        self,
        calls: Mapping[str, Call[T]],
        deadline_s: float,
        on_message: Callable[[str, dict[str, Any]], None] = ignored,
    ) -> dict[str, T | Lost]:
        """Each call on its node, all as one graph. A node carries out one of these at a time, and no plan twice.

        A node that dies, hangs or is cut off gives a `Lost` within 15 s, one whose call fails or takes longer than
        ``deadline_s`` gives one too; the others' results come back. ``on_message(node, message)`` is called in this
        thread with what running calls tell (`strata.fleet.node.tell`).
        """
        given = self._carried(calls, deadline_s, on_message, once=True)
        return {name: value if isinstance(value, Lost) else _result(name, value) for name, value in given.items()}

    def clock(self, node: str, probes: int = 16) -> ClockOffset:
        """How the node's CLOCK_MONOTONIC stands to this process's, by the least round trip of ``probes``."""
        return self._background.run(self._clock(node, probes))

    def clocks(self, nodes: Sequence[str], probes: int = 16) -> dict[str, ClockOffset]:
        """`clock` of each, `CLOCKS_AT_ONCE` of them at a time: more would wait for each other, and know it less well.

        Of many nodes fewer questions are asked. Raises `NodeLost` for one that does not answer.
        """
        each = max(CLOCK_PROBES_LEAST, min(probes, CLOCK_PROBES_ALL // max(1, len(nodes))))
        return self._background.run(self._clocks(nodes, each))

    async def _open(self, door: doors.Door, security: Any) -> None:
        from distributed import Client

        await calling.greet(door, security, "client")
        how: dict[str, Any] = {"timeout": CONNECT_S, "heartbeat_interval": "2s", "set_as_default": False}
        try:
            kind: Any = Client
            self._client = await calling.answered(
                kind(door.address, asynchronous=True, security=security, direct_to_workers=False, name="strata", **how)
            )
        except (OSError, TimeoutError) as e:
            raise calling.unreachable(door, e) from e

    async def _nodes(self) -> list[NodeInfo]:
        try:
            asked = self._client.scheduler.identity(n_workers=-1)
            known = (await asyncio.wait_for(asked, CONNECT_S))["workers"]
        except (OSError, TimeoutError) as e:
            raise NodeLost("the scheduler does not answer", self.address, str(e)) from e
        found = []
        for address, worker in known.items():
            with suppress(ValidationError, TypeError):
                found.append(NodeInfo(**{**worker.get("strata", {}), "address": address, "name": worker["name"]}))
        return found

    async def _clock(self, node: str, probes: int) -> ClockOffset:
        return (await self._clocks([node], probes))[node]

    async def _clocks(self, nodes: Sequence[str], probes: int) -> dict[str, ClockOffset]:
        found = {n.name: n for n in await self._nodes()}
        for node in nodes:
            if node not in found:
                raise NodeLost("cannot ask node", node, "there is no node of that name", choices(node, found))
        free = asyncio.Semaphore(CLOCKS_AT_ONCE)

        async def one(node: str) -> ClockOffset:
            async with free:
                return await clocks.measured(self._client, found[node].address, node, probes)

        return dict(zip(nodes, await asyncio.gather(*map(one, nodes)), strict=True))

    def _carried(
        self,
        calls: Mapping[str, Call[Any]],
        deadline_s: float,
        on_message: Callable[[str, dict[str, Any]], None],
        *,
        once: bool,
        meanwhile: Callable[[], None] | None = None,
    ) -> dict[str, bytes | Lost]:
        told: SimpleQueue[tuple[str, dict[str, Any]] | None] = SimpleQueue()
        given = {node: packed(call) for node, call in calls.items()}

        def take(node: str, message: dict[str, Any]) -> None:
            if told.qsize() < MESSAGES_HELD:
                told.put((node, message))

        future = self._background.start(self._carry(given, deadline_s, take, once))
        future.add_done_callback(lambda _: told.put(None))
        try:
            while True:
                try:
                    message = told.get(timeout=None if meanwhile is None else LOOK_S)
                except Empty:
                    assert meanwhile is not None
                    meanwhile()
                    continue
                if message is None:
                    return future.result()
                on_message(*message)
        except BaseException:
            future.cancel()
            raise

    async def _carry(
        self, given: Mapping[str, bytes], deadline_s: float, take: Callable[[str, dict[str, Any]], None], once: bool
    ) -> dict[str, bytes | Lost]:
        nodes = {node.name: node for node in await self._nodes()}
        made: dict[str, bytes | Lost] = {}
        for name in given:
            if name not in nodes:
                made[name] = Lost(node=name, why="there is no node of that name")
            elif nodes[name].version != __version__:
                why = f"it runs Strata {nodes[name].version}, and this is {__version__}"
                made[name] = Lost(node=name, why=why)
        asked = {name: (nodes[name].address, call) for name, call in given.items() if name not in made}
        plan = uuid.uuid4().hex
        return made | await calling.carry(self._client, plan, asked, deadline_s, take, once=once)


def _result(node: str, given: bytes) -> Any:
    try:
        return outcome(given)
    except Exception as e:
        return Lost(node=node, why=str(e))
