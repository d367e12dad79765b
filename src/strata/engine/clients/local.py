"""Clients as processes of this machine: started, told one instant, heard, and reaped whatever becomes of them.

A client that ends without a result is lost, and so is one of which nothing is heard for `SILENT_S`: it is killed. The
others go on.
"""

from __future__ import annotations

import contextlib
import json
import os
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from typing import Any

from strata import units
from strata.engine.clients import child as spoken
from strata.engine.clients.collector import ClientCollector, whole_of
from strata.engine.clients.words import client_words
from strata.engine.port import OnInterval, Request
from strata.errors import RunFailed
from strata.host import programs
from strata.host.process import Child, readable
from strata.host.shutdown import waiting
from strata.model.result import ClientResult, EngineResult, Interval, LostClient

READY_S = 30.0
"""How long a client may take to start; another half a second for each of them, as they start together."""
LEAD_S, LEAD_EACH_S = 0.3, 0.02
"""From the last one's readiness to the start: opening the target, buffers and threads of so many."""
SILENT_S = 10.0
"""After so long without a word a client is lost. Each says that it lives every second."""
LOOK_S = 0.1
GRACE_S = 0.5


class LocalClient:
    """One process and its two pipes."""

    def __init__(self, number: int, node: str, handed: Sequence[int]) -> None:
        self.number, self.node = number, node
        self.ready = False
        self.result: EngineResult | None = None
        self.lost: str | None = None
        self.said = False
        """Whether it said itself why it is lost."""
        self.heard_s = time.monotonic()
        commands, self._commands = os.pipe()
        self.answers, answers = os.pipe()
        self._rest = b""
        os.set_blocking(self.answers, False)
        try:
            words = programs.python("strata.engine.clients.child", str(commands), str(answers))
            self._child = Child(words, pass_fds=(commands, answers, *handed)).start()
        except BaseException:
            self._close()
            raise
        finally:
            os.close(commands)
            os.close(answers)

    @property
    def pid(self) -> int:
        """Of the process."""
        return self._child.pid

    @property
    def over(self) -> bool:
        """Whether nothing more comes of it."""
        return self.result is not None or self.lost is not None

    def tell(self, line: bytes) -> None:
        """What the child reads next. One that is gone, or does not read, is found out otherwise."""
        with contextlib.suppress(OSError):
            while line:
                line = line[os.write(self._commands, line) :]

    def quickly(self) -> None:
        """From here on a child that does not read is not waited for."""
        os.set_blocking(self._commands, False)

    def hear(self) -> list[dict[str, Any]]:
        """The answers that have come. At the end of its pipe it is lost, unless its result came before."""
        found = []
        with contextlib.suppress(BlockingIOError):
            while got := os.read(self.answers, 1 << 20):
                self.heard_s = time.monotonic()
                *lines, self._rest = (self._rest + got).split(b"\n")
                found += [json.loads(line) for line in lines]
            if not any("result" in answer or "error" in answer for answer in found):
                found.append({"ended": True})
        return found

    def how_it_ended(self) -> str:
        """In words."""
        self._child.wait(GRACE_S)
        code, said = self._child.returncode, self._child.last_words().splitlines()
        if code is None:
            return "it closed its pipe"
        how = f"it was ended by signal {-code}" if code < 0 else f"it ended with exit code {code}"
        return f"{how}: {said[-1]}" if said and code > 0 else how

    def stop(self) -> None:
        """Ends it, reaped when this returns. May be called again."""
        self._child.stop(GRACE_S)
        self._close()

    def _close(self) -> None:
        for fd in (self._commands, self.answers):
            if fd >= 0:
                os.close(fd)
        self._commands = self.answers = -1


def run_clients(
    request: Request,
    on_interval: OnInterval | None = None,
    stop_requested: Callable[[], bool] = lambda: False,
) -> EngineResult:
    """One request by ``workload.clients`` processes: what they did together in the time that all overlap, with each
    one's own result beside it.

    Clients that are lost are named in the result, which is of the others. Raises as an engine's ``run``; `RunFailed`
    where no client measured, or not all at the same time.
    """
    where = request.endpoint.uri
    told = client_words(request)
    handed = sorted({p.endpoint.fd for p in request.pieces if p.endpoint.fd is not None})
    with _started(told, handed) as clients:
        collector = ClientCollector({c.number: c.node for c in clients})
        _begin(clients, told, where)
        start_ns = told[0]["start_at_ns"]
        asked, beat_s = False, time.monotonic()
        while running := [c for c in clients if not c.over]:
            ready = readable([c.answers for c in running], LOOK_S)
            for one in running:
                if one.answers in ready:
                    for answer in one.hear():
                        _take(one, answer, collector)
                if not one.over and time.monotonic() - one.heard_s > SILENT_S:
                    one.lost = f"nothing was heard of it for {SILENT_S:g} s"
                    one.stop()
                if one.over:
                    collector.end(one.number, one.lost)
            for row in collector.rows():
                if on_interval is not None:
                    on_interval(row)
            if time.monotonic() - beat_s >= spoken.BEAT_S:
                beat_s = time.monotonic()
                _tell(clients, spoken.BEAT)
            if not asked and stop_requested():
                asked = True
                _tell(clients, spoken.STOP)
        ramp_ns = round(request.timing.ramp_s * units.NS_PER_S)
        return _together(clients, collector, start_ns + ramp_ns, where)


@contextmanager
def _started(told: Sequence[dict[str, Any]], handed: Sequence[int]) -> Iterator[list[LocalClient]]:
    with ExitStack() as held:
        clients = []
        for words in told:
            one = LocalClient(words["client"], words["node"], handed)
            held.callback(one.stop)
            clients.append(one)
        yield clients


def _begin(clients: Sequence[LocalClient], told: Sequence[dict[str, Any]], where: str) -> None:
    """Once all are there, each is told what to measure, and from when. Raises `RunFailed` where one does not come."""
    deadline = time.monotonic() + READY_S + 0.5 * len(clients)
    with waiting():
        while missing := [c for c in clients if not c.ready]:
            ready = readable([c.answers for c in missing], LOOK_S)
            for one in (c for c in missing if c.answers in ready):
                one.ready = True
                if any("ended" in answer for answer in one.hear()):
                    one.lost = one.how_it_ended()
            if time.monotonic() > deadline:
                names = ", ".join(str(c.number) for c in missing)
                raise RunFailed("cannot start the clients of", where, f"client {names} did not start in time")
    lead_s = LEAD_S + LEAD_EACH_S * len(clients)
    start_ns = time.monotonic_ns() + round(lead_s * units.NS_PER_S)
    for one, words in zip(clients, told, strict=True):
        words["start_at_ns"] = start_ns
        one.tell(json.dumps(words).encode() + b"\n")
        one.quickly()


def _tell(clients: Sequence[LocalClient], what: bytes) -> None:
    for one in clients:
        if not one.over:
            one.tell(what)


def _take(one: LocalClient, answer: dict[str, Any], collector: ClientCollector) -> None:
    if "interval" in answer:
        collector.add(one.number, Interval.model_validate(answer["interval"]))
    elif "result" in answer:
        one.result = EngineResult.model_validate(answer["result"])
    elif "error" in answer:
        one.lost, one.said = "; ".join(filter(None, (str(answer["error"]), str(answer["hint"])))), True
    elif "ended" in answer:
        one.lost = one.how_it_ended()


def _together(clients: Sequence[LocalClient], collector: ClientCollector, from_ns: int, where: str) -> EngineResult:
    done = [ClientResult(client=c.number, node=c.node, result=c.result) for c in clients if c.result is not None]
    lost = [
        LostClient(
            client=c.number, node=c.node, why=c.lost, measured_from_ns=from_ns,
            intervals=tuple(collector.heard[c.number]),
        )
        for c in clients if c.lost is not None
    ]  # fmt: skip
    return whole_of(done, lost, where, there=all(c.said for c in clients if c.lost is not None))
