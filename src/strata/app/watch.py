"""Somebody else's load, watched for a time or beside a command, and what limits it. No I/O is issued to the storage."""

from __future__ import annotations

import stat
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from strata.analyse.watch.course import pieces, rates
from strata.app.beside import beside
from strata.app.runner import Emit
from strata.app.sampling_scope import devices_reached, sampling_scope_of
from strata.app.signals import stop_on_signals
from strata.app.stacks import DISK, FILE_SYSTEM, elsewhere, read_stack
from strata.app.trace import targets_of_stack
from strata.app.watch_traces import Traces
from strata.app.where import local, missing
from strata.diagnose.watch.verdict import judge
from strata.discover.chain import devices_of
from strata.errors import StrataError
from strata.formats.fio_job import outstanding_of_fio_line
from strata.host import block
from strata.host.proc import Sys
from strata.model.base import Value
from strata.model.endpoint import Endpoint, EndpointKind
from strata.model.stack import Layer, Stack
from strata.model.watch import DeclaredLoad, LayerDevices, Observed, Ran, WatchResult
from strata.probes import Opener, Sampler
from strata.probes.issuers import Issuers
from strata.probes.processes import Processes
from strata.probes.trace import check as check_trace
from strata.probes.trace.requests import SECTOR

DEFAULT_S = 30.0
LONGEST_S = 24 * 3600.0
INTERVAL_S = 0.25
_LOOK_S = 0.1


class Watching(Value):
    """What is asked: where, for how long, beside which command. ``trace``: also short block traces, where allowed.

    ``profile``: where the observed workload is kept. ``confirm``: whether the diagnosis that would prove the verdict is
    run at once, with its run in ``store``.
    """

    where: str
    seconds: float | None = None
    command: tuple[str, ...] = ()
    trace: bool = True
    profile: Path | None = None
    confirm: bool = False
    store: str | None = None
    interval_s: float = INTERVAL_S


def stack_under(where: Path) -> Stack:
    """A stack file as it is; of a path its device and its file system; of a device that alone. Raises `UsageError`."""
    where = local(where)
    if not where.exists():
        raise missing(where, "watch")
    if where.suffix == ".toml" and where.is_file():
        return read_stack(where)
    if stat.S_ISBLK(where.stat().st_mode):
        layer = Layer(name=DISK, endpoint=f"block:{where.resolve()}")
        return Stack(name=str(where), layers=(layer,))
    path = where.resolve()
    under = devices_of(Endpoint.parse(f"file:{path}"))
    layers = [Layer(name=DISK, endpoint=f"block:{block.node_path(under.carriers[0])}")] if under.carriers else []
    layers.append(Layer(name=FILE_SYSTEM, endpoint=f"file:{path}", on=(DISK,) if layers else ()))
    return Stack(name=str(where), layers=tuple(layers))


@dataclass(frozen=True)
class OpenWatch:
    """What is sampled: the stack, the devices under its layers, and the sampler, which runs."""

    stack: Stack
    reached: tuple[LayerDevices, ...]
    sampler: Sampler
    processes: Processes

    @property
    def servers(self) -> tuple[int, ...]:
        """The processes that serve the path here."""
        listening = (pid for pids in self.processes.listening.values() for pid in pids)
        return tuple(sorted(self.processes.descendants(listening)))


@contextmanager
def opened(where: str, interval_s: float, probes: Mapping[str, Opener] | None = None) -> Iterator[OpenWatch]:
    """The sampler of all layers under a path or of a stack file, as long as the block lasts. Raises `UsageError`."""
    stack = stack_under(Path(where))
    ends = {layer.name: stack.endpoint_of(layer) for layer in stack.layers if not layer.brought}
    paths = tuple(e.path for e in ends.values() if e.kind is EndpointKind.FILE and e.path)
    scope = sampling_scope_of(stack, ends, stack.layers[-1].name, paths)
    reached = tuple(
        LayerDevices(layer=name, devices=found.under.devices, carriers=found.under.carriers)
        for name, found in devices_reached(stack, ends).items()
    )
    processes = Processes(Sys())
    sampler = Sampler(
        scope.devices, interval_s, probes, paths=scope.paths, nodes=scope.nodes, processes=processes
    ).start()
    watched = OpenWatch(stack, reached, sampler, processes)
    try:
        yield watched
    finally:
        if not sampler.stopped:
            sampler.stop()


def observe(asked: Watching, tick: Callable[[float], None] = lambda _: None) -> tuple[Observed, Traces | None]:
    """Watch, and give back all that was seen. Raises `UsageError`.

    A signal ends the watching; what was seen until then is the result.
    """
    with opened(asked.where, asked.interval_s) as watched:
        began, began_ns = time.monotonic(), time.time_ns()
        no_trace = "tracing is turned off (--no-trace)"
        traces, no_trace = _traces(watched.stack, began) if asked.trace else (None, no_trace)
        issuers = Issuers().start()
        spent = time.process_time()
        ran: Ran | None = None
        try:
            if asked.command:
                ran = _beside(asked, issuers)
            else:
                _wait(asked.seconds if asked.seconds is not None else DEFAULT_S, began, tick)
        finally:
            seconds = time.monotonic() - began
            own = time.process_time() - spent
            if traces is not None:
                traces.stop()
            who = issuers.stop()
        servers = watched.servers
        series = watched.sampler.stop()
    edges = pieces(seconds)
    absent = [*watched.sampler.absent, *elsewhere(watched.stack), *((no_trace,) if no_trace else ())]
    absent += [f"traces: {traces.absent}"] if traces is not None and traces.absent else []
    seen = Observed(
        where=asked.where,
        began_unix_ns=began_ns,
        seconds=round(seconds, 3),
        stack=watched.stack,
        reached=watched.reached,
        bins=tuple(round(e, 4) for e in edges),
        rates=rates(series, began_ns, edges),
        issuers=who,
        servers=servers,
        starts=_starts(watched.reached),
        arrivals=tuple(traces.arrivals) if traces is not None else (),
        ran=ran,
        absent=tuple(dict.fromkeys(absent)),
        sampling_share=round(own / seconds, 4) if seconds > 0 else None,
    )
    return seen, traces


def watch(asked: Watching, emit: Emit) -> WatchResult:
    """Watch, judge, and say what would prove it, or prove it. Raises `UsageError`, and what a diagnosis raises."""
    # Here: a diagnosis loads everything that measures.
    from strata.app.watch_confirm import confirmation, confirmed, observed_profile

    seen, traces = observe(asked)
    derived = None if traces is None else observed_profile(traces.figures, traces.whole, asked.where)
    proof = confirmation(asked.where, derived, asked.profile)
    if asked.confirm and proof is not None:
        proof = confirmed(asked.where, derived, proof, asked.store, emit)
    return told(seen).model_copy(update={"confirm": proof})


def told(seen: Observed) -> WatchResult:
    """What is said of an observation. Pure."""
    found = judge(seen)
    return WatchResult(
        where=seen.where,
        began_unix_ns=seen.began_unix_ns,
        seconds=seen.seconds,
        verdict=found.verdict,
        findings=found.findings,
        ruled_out=found.ruled_out,
        layers=found.layers,
        issuers=seen.issuers,
        arrivals=tuple(a.model_copy(update={"requests": None, "done": (), "flying": ()}) for a in seen.arrivals),
        ran=seen.ran,
        absent=seen.absent,
        sampling_share=seen.sampling_share,
    )


def _starts(reached: Sequence[LayerDevices]) -> dict[str, int]:
    """Of partitions and of loop devices that begin behind the first byte."""
    sys, found = Sys(), dict[str, int]()
    for name in dict.fromkeys(n for r in reached for n in r.devices):
        offset = sys.int(f"{block.BASE}/{name}/loop/offset")
        start = sys.int(f"{block.BASE}/{name}/start")
        at = offset if offset is not None else None if start is None else start * SECTOR
        if at:
            found[name] = at
    return found


def _traces(stack: Stack, began: float) -> tuple[Traces | None, str]:
    """Or why there are none."""
    try:
        check_trace(stack.name)
        traces = Traces(targets_of_stack(stack, Sys()), began)
    except StrataError as e:
        return None, f"{e.headline}"
    traces.start()
    return traces, ""


def _wait(seconds: float, began: float, tick: Callable[[float], None]) -> None:
    with stop_on_signals() as stop:
        while (left := began + seconds - time.monotonic()) > 0 and not stop():
            time.sleep(min(_LOOK_S, left))
            tick(time.monotonic() - began)


def _beside(asked: Watching, issuers: Issuers) -> Ran:
    begun = time.monotonic()
    status = beside(asked.command, started=issuers.command, limit_s=asked.seconds)
    return Ran(
        command=asked.command,
        seconds=round(time.monotonic() - begun, 3),
        status=status,
        asked=_asked(asked.command),
    )


def _asked(command: Sequence[str]) -> DeclaredLoad | None:
    """What a command line of fio says that it keeps outstanding; None where it is not understood."""
    at = next((n for n, word in enumerate(command) if Path(word).name == "fio"), None)
    outstanding = None if at is None else outstanding_of_fio_line(command[at + 1 :])
    return None if outstanding is None else DeclaredLoad(outstanding=outstanding)
