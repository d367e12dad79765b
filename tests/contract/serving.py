"""A ``strata serve`` of the tests, with a store that holds some runs, what measures beside it, what is asked."""

from __future__ import annotations

import http.client
import json
import os
import select
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from fcntl import LOCK_EX, flock
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from commands import Process, started, strata, target
from sample_report import build

from strata.app import watch_every
from strata.host.clock import now_unix_ns
from strata.model.finding import Cause, RuledOut, VerdictKind
from strata.model.live import LiveLayer
from strata.model.run import Label, Report, RunStatus
from strata.model.watch import Slice, SliceIssuer, WatchedLayer
from strata.store import open_store

SOURCE = Path(__file__).resolve().parents[2] / "src"
WATCHED = "/mnt/watched"
NASTY = "<script>alert('x')</script>"
ANSWERS_WITHIN_S = 60.0
HOUR_NS = 3600 * 10**9
FIRST, SECOND, STOPPED = "20260301-100000-aaaa", "20260301-110000-bbbb", "20260301-120000-cccc"


@dataclass(frozen=True)
class Answer:
    status: int
    headers: dict[str, str]
    body: str


@dataclass
class Served:
    """A server that runs: where it is, and what opens it."""

    url: str
    state: Path
    pid: int
    runs: dict[str, str] = field(default_factory=dict)
    """Runs of other kinds in its store, by what they are."""

    @property
    def token(self) -> str:
        return self.url.split("token=")[1]

    @property
    def base(self) -> str:
        return self.url.split("/?")[0]

    @property
    def port(self) -> int:
        port = urlsplit(self.url).port
        assert port is not None
        return port

    def ask(self, path: str, method: str = "GET", body: str | None = None, **headers: str | None) -> Answer:
        """An answer as it comes. A header that is None is left out; ``_`` in its name is ``-``."""
        own: dict[str, str | None] = {"Authorization": f"Bearer {self.token}"}
        own |= {name.replace("_", "-"): value for name, value in headers.items()}
        door = http.client.HTTPConnection("127.0.0.1", self.port, timeout=60)
        try:
            door.putrequest(method, path, skip_host="Host" in own)
            for name, value in own.items():
                if value is not None:
                    door.putheader(name, value)
            if body is not None:
                door.putheader("Content-Length", str(len(body.encode())))
            door.endheaders(None if body is None else body.encode())
            got = door.getresponse()
            return Answer(got.status, {k.lower(): v for k, v in got.getheaders()}, got.read().decode())
        finally:
            door.close()


@contextmanager
def served(state: Path, *words: str, listen: str = "127.0.0.1:0", start: tuple[str, ...] = ()) -> Iterator[Served]:
    """A server as a user starts it, or as a Python of its own is told to ``start`` it; it is ended as he ends it."""
    arguments = ("serve", "--listen", listen, *words)
    environment = os.environ | {"STRATA_STATE_DIR": str(state), "PYTHONPATH": str(SOURCE)}
    if start:
        python = [sys.executable, *start, *arguments]
        process = subprocess.Popen(
            python, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, env=environment
        )
    else:
        process = started(*arguments, env=environment)
    try:
        url = _address(process)
    except BaseException:
        process.kill()
        process.wait(60)
        raise
    try:
        yield Served(url, state, process.pid)
    finally:
        process.send_signal(signal.SIGTERM)
        process.communicate(60)
        assert process.returncode == 143


def _address(process: Process) -> str:
    """What it says first, within a minute. Whatever else it says is the error."""
    assert process.stderr is not None
    heard, _, _ = select.select([process.stderr], [], [], ANSWERS_WITHIN_S)
    said = process.stderr.readline() if heard else ""
    if said.startswith("open "):
        return said.split()[1]
    process.kill()
    more = process.communicate(60)[1]
    raise AssertionError(f"strata serve did not begin with its address within {ANSWERS_WITHIN_S:g} s: {said + more!r}")


def report(run_id: str, hour: int, name: str = "", factor: float = 1.0, status: RunStatus = RunStatus.DONE) -> Report:
    """The sample as a run of that hour; its rates by ``factor``."""
    made = build(share=NASTY, status=status)
    plan = made.run.plan.model_copy(update={"id": run_id})
    label = Label(name=name, note="why")
    update = {"id": run_id, "plan": plan, "label": label, "created_unix_ns": now_unix_ns() - (100 - hour) * HOUR_NS}
    results = tuple(
        r if r.result is None else r.model_copy(update={"result": r.result.model_copy(
            update={"measured_ns": round(r.result.measured_ns / factor)})})
        for r in made.results
    )  # fmt: skip
    return made.model_copy(update={"run": made.run.model_copy(update=update), "results": results})


def fill(state: Path, *, baseline: bool = False) -> None:
    """Two finished runs, and one that was stopped; the first one is a baseline where that is asked."""
    state.mkdir(mode=0o700, exist_ok=True)
    with open_store(str(state / "strata.db")) as store:
        for one in (report(FIRST, 1, "the first"), report(SECOND, 2, NASTY, 0.8)):
            store.keep_whole([(one.run, one.results, (one.analysis, one.diagnosis))])
        stopped = report(STOPPED, 3, status=RunStatus.STOPPED).run
        store.create_run(stopped)
        if baseline:
            store.save_baseline("main", [FIRST], now_unix_ns(), NASTY, new=True)


def measured_kinds(state: Path, at: pytest.TempPathFactory) -> dict[str, str]:
    """What `measure_kinds` measured, put there; once for all workers that share the tests."""
    base = at.getbasetemp().parent if "PYTEST_XDIST_WORKER" in os.environ else at.getbasetemp()
    kept, told = base / "kinds", base / "kinds.json"
    with (base / "kinds.lock").open("w") as lock:
        flock(lock, LOCK_EX)
        if not told.exists():
            shutil.rmtree(kept, ignore_errors=True)
            told.write_text(json.dumps(measure_kinds(kept)))
    shutil.copytree(kept, state, dirs_exist_ok=True)
    found: dict[str, str] = json.loads(told.read_text())
    return found


def measure_kinds(state: Path) -> dict[str, str]:
    """A matrix and a sweep of a server whose requests take a while (a load of nothing would use a CPU all the time) in
    the store there: their runs, by what they are."""
    words = {
        "matrix": ("measure", "--matrix", "bs=4k,64k;iodepth=1,8;rw=randread", "--budget", "4s"),
        "sweep": ("scale", "--over", "iodepth", "--points", "1,2,4,8,16", "--budget", "3s", "--no-open-loop"),
    }
    found = {}
    server = target("--null", "1g", "--service-time", "1ms", "--listen", "127.0.0.1:0")
    with pytest.MonkeyPatch.context() as environment, server as (uri, _):
        environment.setenv("STRATA_STATE_DIR", str(state))
        for name, (command, *line) in words.items():
            done = strata(command, uri, *line, "--progress", "none", "--json")
            assert done.returncode == 0, done.stderr
            found[name] = json.loads(done.stdout)["run"]
    return found


def keep_slices(state: Path, number: int = 20) -> None:
    """What a watching of `WATCHED` that went on would have kept until now."""
    before = os.environ.get("STRATA_STATE_DIR")
    os.environ["STRATA_STATE_DIR"] = str(state)
    try:
        ring = watch_every.kept_in(WATCHED)
        for n in range(number):
            at = now_unix_ns() - (number - n) * 10 * 10**9
            rows = tuple(
                WatchedLayer(layer=layer, what=f"{layer} {NASTY}", kind="device", iops=100.0 + n, bytes_per_second=1e6,
                             in_flight=2.0 if n < number // 2 else 8.0, request_ns=1e6 * (n + 1), busy=0.4)
                for layer in ("disk", NASTY)
            )  # fmt: skip
            stack = (LiveLayer(name="disk", endpoint=f"block:/dev/{NASTY}"),
                     LiveLayer(name=NASTY, endpoint=f"file:/mnt/{NASTY}", on=("disk",)))  # fmt: skip
            who = (SliceIssuer(label=f"{NASTY}/7", kind="container", group=f"/{NASTY}"),)
            one = Slice(
                at_unix_ns=at, seconds=10.0, kind=VerdictKind.LAYER, layer=NASTY, cause=Cause("wire-latency"),
                confidence=0.6, headline=f"slow {NASTY}", layers=rows, issuers=who,
                stack=stack, explanation=f"why {NASTY}", evidence=(f"seen {NASTY}",), missing=(f"more {NASTY}",),
                ruled_out=(RuledOut(cause=Cause.STALLS, because=f"none {NASTY}"),), next_step=f"do {NASTY}",
                proof=f"strata diagnose {NASTY}",
            )  # fmt: skip
            ring.append(at, one.model_dump_json(exclude_none=True))
    finally:
        if before is None:
            del os.environ["STRATA_STATE_DIR"]
        else:
            os.environ["STRATA_STATE_DIR"] = before


def until(what: str, seconds: float, true: object) -> None:
    """Waits for something; the machine may be busy."""
    assert callable(true)
    end = time.monotonic() + seconds
    while not true():
        assert time.monotonic() < end, what
        time.sleep(0.1)


WRITER = """
import sys, time
from strata.app.live import recorded
from strata.model.progress import DeviceNow, Glance, Phase, Progress, StandingCause
from strata.model.stack import Layer, Stack
name, nasty, every = sys.argv[1], sys.argv[2], float(sys.argv[3])
stack = Stack(name=nasty, layers=(Layer(name="disk", endpoint="null:"), Layer(name=nasty, endpoint="null:")))
told = Progress(phase=Phase.MEASURE, rounds=9, steps=5000, now=Glance(busy=0.5, devices=(DeviceNow(
    name=nasty, iops=1.0, bytes_per_second=2.0, depth=3.0),)))
with recorded(name, stack, lambda _: None, goal=0.02) as emit:
    for step in range(1, 5000):
        at = {"layer": ("disk", nasty)[step % 2], "label": f"read {step // 2 % 3} {nasty}", "step": step,
              "round": step // 600 + 1, "seconds_left": 100.0 - step * every}
        for number in range(3):
            emit(told.model_copy(update=at | {"iops": 1000.0 + step, "bytes_per_second": 1e6, "p50_ns": 1e5,
                                              "p99_ns": 1e6 + step, "half_width": 0.05}))
            time.sleep(every)
        emit(told.model_copy(update=at | {"iops": 1000.0 + step, "finished": True}))
        if step == 6:
            one = StandingCause(layer=nasty, cause="c", title=nasty, confidence=0.5)
            both = (one, one.model_copy(update={"holds": False}))
            emit(Progress(phase=Phase.CONFIRM, layer="disk", message="twice the depth", standing=both))
"""


@contextmanager
def measuring(state: Path, name: str = "now-1", every: float = 0.05) -> Iterator[subprocess.Popen[bytes]]:
    """Another process that tells what a run tells."""
    environment = os.environ | {"STRATA_STATE_DIR": str(state), "PYTHONPATH": str(SOURCE)}
    with subprocess.Popen([sys.executable, "-c", WRITER, name, NASTY, str(every)], env=environment) as process:
        until("the record", 60, (state / "live" / f"{name}.live").exists)
        try:
            yield process
        finally:
            process.kill()
