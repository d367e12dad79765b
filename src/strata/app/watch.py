"""Somebody else's load, watched for a time or beside a command, and what limits it. No I/O is issued to the storage."""

from __future__ import annotations

import stat
import time
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager, nullcontext
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from strata.analyse.watch.course import pieces, rates
from strata.app.beside import beside
from strata.app.runner import Emit
from strata.app.sampling_scope import ports_of, reached_by, sampling_scope_of, speeds_of_cards, starts_of
from strata.app.signals import stop_on_signals
from strata.app.stacks import DISK, FILE_SYSTEM, asked_of, drop_layers, elsewhere, no_nodes, read_stack
from strata.app.trace import targets_of_stack
from strata.app.watch_traces import Traces
from strata.app.where import existing
from strata.diagnose.watch.events import events_within
from strata.diagnose.watch.verdict import judge
from strata.discover.chain import Under, devices_of
from strata.errors import StrataError
from strata.formats.fio_job import outstanding_of_fio_line
from strata.formats.qemu_img import outstanding_of_bench_line
from strata.host import block
from strata.host.proc import Sys
from strata.model.base import Value
from strata.model.endpoint import Endpoint, EndpointKind
from strata.model.series import Series
from strata.model.stack import Layer, Stack
from strata.model.watch import DeclaredLoad, Issuer, LayerDevices, Observed, Ran, WatchResult
from strata.probes import OF_NODE, PROBES, Sampler
from strata.probes.issuers import LOOK_S, Issuers, most
from strata.probes.processes import Processes
from strata.probes.trace import check as check_trace

if TYPE_CHECKING:
    from strata.app.driven.watching import WatchedNodes

DEFAULT_S = 30.0
LONGEST_S = 24 * 3600.0
INTERVAL_S = 0.25
_LOOK_S = 0.1


class Watching(Value):
    """What is asked: where, for how long, beside which command. ``trace``: also short block traces, where allowed.

    ``profile``: where the observed workload is kept. ``confirm``: whether the diagnosis that would prove the verdict is
    run at once, with its run in ``store``. ``nodes``: the scheduler on whose nodes the layers are sampled.
    """

    where: str
    seconds: float | None = None
    command: tuple[str, ...] = ()
    trace: bool = True
    profile: Path | None = None
    confirm: bool = False
    store: str | None = None
    interval_s: float = INTERVAL_S
    nodes: str | None = None


def stack_under(where: Path | str, nodes: str | None = None) -> Stack:
    """A stack file as it is; of a path its device and its file system; of a device that alone. Raises `UsageError`."""
    where = existing(where, "watch")
    if where.suffix == ".toml" and where.is_file():
        return asked_of(read_stack(where), nodes)
    if nodes is not None:
        raise no_nodes(where, "watched")
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
    """What is sampled: the stack, the devices under its layers, and the sampler, which runs.

    ``away``: the nodes that sample the other layers; ``path_here``: whether anything of the path is on this machine,
    and with it who issues its load.
    """

    stack: Stack
    reached: tuple[LayerDevices, ...]
    sampler: Sampler
    processes: Processes
    away: WatchedNodes | None
    path_here: bool

    @property
    def servers(self) -> tuple[int, ...]:
        """The processes that serve the path here."""
        listening = (pid for pids in self.processes.listening.values() for pid in pids)
        return tuple(sorted(self.processes.descendants(listening)))

    @property
    def now_ns(self) -> int:
        """Where a sample that is taken now is placed: on the wall clock as it was when the sampling began.

        It may be set meanwhile, and after a suspension of the machine it is another.
        """
        return time.monotonic_ns() + self.sampler.epoch_ns

    @property
    def starts(self) -> dict[str, int]:
        """As `starts_of`, of all machines."""
        here = starts_of(n for r in self.reached if r.node is None for n in r.devices)
        return here if self.away is None else self.away.starts | here

    @property
    def speeds(self) -> dict[str, float]:
        """As `speeds_of_cards`, of all machines."""
        return speeds_of_cards() | ({} if self.away is None else self.away.speeds)

    @property
    def lost(self) -> tuple[str, ...]:
        """The nodes that are sampled no more."""
        return () if self.away is None else self.away.lost

    @property
    def absent(self) -> tuple[str, ...]:
        """What was not seen, and why."""
        away = () if self.away is None else self.away.absent
        sampled = frozenset() if self.away is None else self.away.layers
        return (*self.sampler.absent, *away, *elsewhere(self.stack, sampled))

    def take(self, issuers: Issuers) -> tuple[tuple[Series, ...], tuple[Issuer, ...]]:
        """What was seen since the last call, on every machine; it goes on."""
        series, who = ((), ()) if self.away is None else self.away.take()
        return (*self.sampler.take(), *series), self._who(issuers.take(), who)

    def stop(self, issuers: tuple[Issuer, ...]) -> tuple[tuple[Series, ...], tuple[Issuer, ...]]:
        """All of it, or the rest since it was taken. ``issuers``: of this machine."""
        here = self.sampler.stop()
        series, who = ((), ()) if self.away is None else self.away.stop()
        return (*here, *series), self._who(issuers, who)

    def _who(self, here: tuple[Issuer, ...], there: tuple[Issuer, ...]) -> tuple[Issuer, ...]:
        return most((*(here if self.path_here else ()), *there))


@contextmanager
def opened(
    where: str,
    interval_s: float,
    *,
    nodes: str | None = None,
    command: bool = False,
    left_out: Collection[str] = (),
    look_s: float = LOOK_S,
) -> Iterator[OpenWatch]:
    """The sampler of all layers under a path or of a stack file, as long as the block lasts.

    ``command``: the load comes from here. ``left_out``: probes; ``look_s``: how often nodes look who issues I/O there.
    Raises `UsageError`, and where the stack has a scheduler what its nodes raise.
    """
    stack = stack_under(where, nodes)
    with _nodes(stack, interval_s, left_out, look_s) as away:
        watched = _here(stack, interval_s, away, left_out, command=command)
        try:
            yield watched
        finally:
            if not watched.sampler.stopped:
                watched.sampler.stop()


def _nodes(
    stack: Stack, interval_s: float, left_out: Collection[str], look_s: float
) -> AbstractContextManager[WatchedNodes | None]:
    if stack.scheduler is None:
        return nullcontext()
    # Here: the cluster's library takes more than a second to load.
    from strata.app.driven.watching import watched_nodes

    return watched_nodes(stack, interval_s, left_out, look_s)


def _here(
    stack: Stack, interval_s: float, away: WatchedNodes | None, left_out: Collection[str], *, command: bool
) -> OpenWatch:
    """What this process samples: all that no node does, and of its own machine what is one for all that are on it."""
    every = {layer.name: stack.endpoint_of(layer) for layer in stack.layers if not layer.brought}
    sampled = frozenset() if away is None else away.layers
    ends = {name: end for name, end in every.items() if name not in sampled}
    paths = tuple(e.path for e in ends.values() if e.kind is EndpointKind.FILE and e.path)
    read = stack if away is None else stack.model_copy(update={"nodes": away.unjoined})
    scope = sampling_scope_of(read, ends, stack.layers[-1].name, paths)
    own: dict[str, tuple[str | None, Under]] = {name: (None, devices_of(end)) for name, end in ends.items()}
    devices = scope.devices
    # The first one is this machine: its network and its processes.
    probed = tuple(replace(node, ports=ports_of(every.values())) for node in scope.nodes)
    probes = {name: opener for name, opener in PROBES.items() if name not in left_out}
    path_here = bool(ends) or command
    if away is not None:
        own, devices = {**own, **away.own}, tuple(dict.fromkeys((*devices, *away.devices_here)))
        if not path_here:
            probed = probed[1:]
            kept = {n for n in probes if (away.here and n not in OF_NODE) or (probed and n in OF_NODE)}
            probes = {name: opener for name, opener in probes.items() if name in kept}
        path_here = path_here or away.here
    processes = Processes(Sys())
    sampler = Sampler(devices, interval_s, probes, paths=scope.paths, nodes=probed, processes=processes).start()
    return OpenWatch(stack, reached_by(stack, own), sampler, processes, away, path_here)


def observe(asked: Watching, tick: Callable[[float], None] = lambda _: None) -> tuple[Observed, Traces | None]:
    """Watch, and give back all that was seen. Raises `UsageError`.

    A signal ends the watching; what was seen until then is the result.
    """
    with (
        opened(asked.where, asked.interval_s, nodes=asked.nodes, command=bool(asked.command)) as watched,
        ExitStack() as ends,
    ):
        began, began_ns = time.monotonic(), watched.now_ns
        no_trace = "tracing is turned off (--no-trace)"
        traces, no_trace = _traces(watched, began) if asked.trace else (None, no_trace)
        if traces is not None:
            ends.callback(traces.stop)
        if asked.trace and watched.away is not None:
            watched.away.begin_arrivals()
        issuers = Issuers().start()
        ends.callback(issuers.end)
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
            there = () if watched.away is None else watched.away.end_arrivals(began)
            who = issuers.stop()
        servers = watched.servers
        series, who = watched.stop(who)
    edges = pieces(seconds)
    absent = [*watched.absent, *((no_trace,) if no_trace else ())]
    absent += [f"who serves the command: {issuers.unseen}"] if issuers.unseen else []
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
        family=issuers.family,
        serving=issuers.serving,
        serving_untold=issuers.unseen,
        starts=watched.starts,
        speeds=watched.speeds,
        arrivals=(*(traces.arrivals if traces is not None else ()), *there),
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
    proof = confirmation(asked.where, derived, asked.profile, asked.nodes)
    if asked.confirm and proof is not None:
        proof = confirmed(asked.where, derived, proof, asked.store, emit, asked.nodes)
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
        events=events_within(seen),
        arrivals=tuple(a.model_copy(update={"requests": None, "done": (), "flying": ()}) for a in seen.arrivals),
        ran=seen.ran,
        absent=seen.absent,
        sampling_share=seen.sampling_share,
    )


def _traces(watched: OpenWatch, began: float) -> tuple[Traces | None, str]:
    """Of this machine's devices, or why there are none; those of other machines are traced by their nodes."""
    stack = watched.stack
    try:
        if watched.away is not None:
            away = {one.layer for one in watched.reached if one.node is not None or not one.devices}
            stack = drop_layers(stack, away)
            if not stack.layers:
                return None, ""
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


OUTSTANDING = {"fio": outstanding_of_fio_line, "qemu-img": outstanding_of_bench_line}
"""Programs whose command line says how many I/Os they keep outstanding, by the words behind their name."""


def _asked(command: Sequence[str]) -> DeclaredLoad | None:
    """What the command says that it keeps outstanding; None where it is not understood."""
    for at, word in enumerate(command):
        if (read := OUTSTANDING.get(Path(word).name)) is not None:
            outstanding = read(command[at + 1 :])
            return None if outstanding is None else DeclaredLoad(outstanding=outstanding)
    return None
