"""Where the layers of one run really are, while it runs: the file, its blocks, the servers Strata started."""

from __future__ import annotations

import os
import secrets
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from pathlib import Path
from urllib.parse import urlsplit

from strata import units
from strata.app.driver import Stop
from strata.app.sampling_scope import joined
from strata.app.stacks import drop_layers
from strata.app.trace import ShortTrace, traced
from strata.discover.chain import devices_of
from strata.discover.limits import limits, memory_limit
from strata.discover.memory import memory
from strata.engine import (
    Backing,
    Engine,
    Extents,
    Layout,
    Piece,
    Request,
    Shaping,
    TargetConfig,
    TargetProcess,
    Timing,
    claim,
    drop_pages,
    file_extents,
    file_segments,
    fill,
    measure_generator,
    on_device,
    own_mark,
    probe_remote,
)
from strata.errors import RunFailed, SafetyRefusal, StrataError, UsageError
from strata.host import testfile
from strata.host.heldfile import HeldFile
from strata.host.mark import Mark, header_bytes
from strata.host.proc import Sys, usable_cpus
from strata.host.rawcheck import check_raw_read
from strata.model.analysis import Generator, Remote
from strata.model.endpoint import Endpoint, EndpointKind, address, own_export
from strata.model.foreign_io import ForeignIo
from strata.model.placement import Placement
from strata.model.plan import HEAD, Segment
from strata.model.progress import Phase, Progress
from strata.model.run import DataSet, Run
from strata.model.stack import Stack
from strata.model.workload import Workload
from strata.probes.trace import check as check_trace

FILL_SEED_BYTES = 7


def another_file(path: Path | str | None) -> SafetyRefusal:
    """What is said to a resumed run that finds a test file with another mark."""
    why = "the test file there is not the one that this run started with"
    return SafetyRefusal("will not write to", str(path), why, "start a new run at another path")


MOST_OF_MEMORY = 0.25
"""Of what is available: so much a store in memory may take, if all of it is written to."""


def check_memory(store: Backing, sys: Sys | None = None) -> None:
    """Raises `RunFailed` where the memory of this machine, or of this process's control group, is no place for so
    much."""
    if store.kind != "memory":
        return
    sys = sys or Sys()
    found = memory(sys, memory_limit(limits(sys)))
    available = 0 if found is None else found.available if found.limit is None else min(found.available, found.limit)
    most = int(MOST_OF_MEMORY * available)
    if (store.size_bytes or 0) > most:
        why = f"it may take at most {units.size(most)}, a quarter of what is available"
        raise RunFailed("cannot keep in memory", units.size(store.size_bytes or 0), why, "use a smaller file (--size)")


class Place:
    """Prepares the data of a stack and resolves its endpoints; everything it made is removed by `close`.

    ``shapes`` gives the servers that Strata starts itself (layers whose endpoint has port 0) their limits, by
    layer name; ``direct`` is how they open the file, ``writes`` whether a workload writes through them.
    """

    allow_write = False
    """What lies on a raw device is not all ours."""

    def __init__(
        self,
        stack: Stack,
        data_path: Path,
        shapes: Mapping[str, Shaping],
        *,
        direct: bool = True,
        writes: bool = True,
    ) -> None:
        self.writes = writes
        self.stack = stack
        self.path = data_path
        self.shapes = shapes
        self.direct = direct
        self.data: DataSet | None = None
        self.remotes: tuple[Remote, ...] = ()
        self.dropped: dict[str, str] = {}
        self._endpoints: dict[str, Endpoint] = {}
        self._stats: dict[str, str] = {}
        self._servers: dict[str, TargetConfig] = {}
        self._held: HeldFile | None = None
        self._mark: Mark | None = None
        self._extents: Extents | None = None
        self._resources = ExitStack()

    def prepare(
        self, size: int, fs_kind: str, emit: Callable[[Progress], None], *, keep: bool, resumed: Run | None
    ) -> Stack:
        """The file, the servers and the blocks of every layer; gives the stack of those that are left.

        Raises `RunFailed` where none is, and as its two steps do.
        """
        emit(Progress(phase=Phase.PREPARE, message=f"writing the test file {self.path}"))
        began_with = resumed.data.mark if resumed is not None and resumed.data is not None else None
        self.prepare_file(size, keep=keep, expected=began_with)
        self.place_layers(fs_kind)
        left = drop_layers(self.stack, set(self.dropped))
        if not left.layers:
            raise RunFailed("nothing to measure:", "no layer is left", "; ".join(self.dropped.values()))
        return left

    def prepare_file(self, size: int, *, keep: bool, expected: str | None = None) -> None:
        """Create and fill the test file, or take over one of our own. It is marked before it is filled.

        With ``keep`` it stays when the run is over, also for `strata clean`. ``expected`` is the uuid of the file that
        a resumed run began with: no other that is there now is taken for it.
        """
        there = os.path.lexists(self.path)
        held = self._held = self._resources.enter_context(
            testfile.own(self.path) if there else testfile.new(self.path, size)
        )
        mark = self._mark = held.own
        if there and expected not in (None, mark.uuid):
            raise another_file(self.path)
        if mark.size != size:
            why = f"it has {mark.size} bytes, but {size} are requested"
            raise UsageError("cannot use the test file", str(self.path), why, "strata clean removes it")
        if keep:
            held.keep()
        else:
            held.adopt()
            self._resources.callback(held.remove)
        seed = secrets.randbits(8 * FILL_SEED_BYTES)
        header = header_bytes(mark)
        filled = fill(str(self.path), size, seed, header, direct=self.direct, fd=held.fd)
        self.data = DataSet(
            path=str(self.path), size=size, mark=mark.uuid, segments={}, filled_bytes=filled.write.bytes or size
        )

    def take_file(self, data: DataSet, mark: Mark, extents: Extents | None) -> None:
        """In place of `prepare_file` where another node has made the file: what that node says of it.

        Where a layer here names the file, it is opened, and has to carry the mark. It is never made, filled or removed.
        Raises `SafetyRefusal` and `RunFailed`.
        """
        self.data, self._mark, self._extents = data, mark, extents
        if all(layer.target.kind is not EndpointKind.FILE for layer in self.stack.layers):
            return
        held = self._resources.enter_context(testfile.look(self.path, lock=False))
        if held.mark != mark:
            why = f"it does not carry the mark of this run's test file, {mark.uuid}"
            raise SafetyRefusal("will not use", str(self.path), why, "name the same file on every node")
        self._held = held

    def map_file(self, fs_kind: str) -> Extents:
        """Where the blocks of the file lie on the device below it, by what its file system says."""
        if self._extents is None:
            self._extents = file_extents(Path(self._file.opened), fs_kind, name=self.path)
        return self._extents

    @property
    def mark(self) -> Mark:
        """The mark of this run's test file."""
        assert self._mark is not None, "prepare_file comes first"
        return self._mark

    def place_layers(self, fs_kind: str) -> None:
        """Start own servers, map the raw layer, and show for each layer that it reaches the same data.

        A raw layer that cannot be mapped is put into `dropped` with the reason; a remote layer that holds other
        data is refused.
        """
        assert self.data is not None, "prepare_file comes first"
        identity: dict[str, str] = {}
        segments: dict[str, tuple[Segment, ...]] = {}
        # Blocks that all layers can use, where the nodes of the others have been told them.
        file_list = file_segments(self.data.size) if self._extents is None else self._extents.file
        for layer in self.stack.layers:
            target = self.stack.endpoint_of(layer)
            if target.kind is EndpointKind.BLOCK:
                device = str(target.path)
                layout = self._map(device, fs_kind)
                file_list = layout.file
                if layout.device is None:
                    self.dropped[layer.name] = layout.reason or "unknown"
                    continue
                segments[layer.name] = layout.device
                identity[layer.name] = f"the file's {len(layout.device)} extents (FIEMAP); sampled blocks are equal"
            elif target.kind is EndpointKind.FILE:
                target = target.beside(self._file.fd)
                identity[layer.name] = "the file itself"
            elif target.remote:
                export = own_export(layer.endpoint)
                if export is not None:
                    target = self._start(layer.name, export, target)
                identity[layer.name] = self._same_remote(layer.name, target)
            else:
                raise UsageError("cannot compare layer", layer.name, "null: holds no data")
            self._endpoints[layer.name] = target
        for layer in self.stack.layers:
            if layer.name not in self.dropped:
                segments.setdefault(layer.name, file_list)
        self.data = self.data.model_copy(update={"segments": segments, "identity": identity})

    @property
    def _file(self) -> HeldFile:
        assert self._held is not None, "prepare_file comes first"
        return self._held

    def endpoint(self, layer: str) -> Endpoint:
        """Where the layer is during this run."""
        return self._endpoints[layer]

    def stats(self, layer: str) -> str | None:
        """Statistics socket of the server that Strata started for the layer; None where it started none."""
        return self._stats.get(layer)

    def segments(self, layer: str) -> tuple[Segment, ...]:
        assert self.data is not None
        return self.data.segments[layer]

    def pieces(self, layer: str) -> tuple[Piece, ...]:
        return (Piece(endpoint=self.endpoint(layer), segments=self.segments(layer)),)

    def check_still_ours(self, layer: str) -> None:
        """Before a step that writes: somebody may have made something else of the file.

        Raises `SafetyRefusal` where this run's mark is not there any more.
        """
        endpoint = self._endpoints[layer]
        if self.data is None or not (endpoint.remote or endpoint.kind is EndpointKind.FILE):
            return
        if endpoint.remote:
            there = own_mark(endpoint)
            if there is None or there.uuid != self.data.mark:
                raise SafetyRefusal("will not write to", endpoint.uri, "it is no longer this run's test file")
            return
        # The mark alone: the whole check reads more of the file, which a measurement would notice.
        self._file.check_still_ours()

    def read_only(self, layer: str) -> bool:
        """Whether nothing is written at the layer: what lies on a raw device is not all ours."""
        return self._endpoints[layer].kind is EndpointKind.BLOCK

    def drop_pages(self, _layer: str) -> float:
        """This run's own file leaves the page cache of the machine from which the layer is driven; the share of its
        pages that stayed. `OSError`."""
        assert self.data is not None
        return drop_pages(self._file.opened, self.data.size)

    def gone(self) -> str | None:
        """As `HeldFile.gone`, of the test file."""
        return self._file.gone()

    def close(self) -> None:
        """Stop the servers and remove the file, last made first."""
        self._resources.close()

    def _map(self, device: str, fs_kind: str) -> Layout:
        assert self.data is not None
        try:
            check_raw_read(device)
        except StrataError as e:
            file = file_segments(self.data.size) if self._extents is None else self._extents.file
            return Layout(file=file, device=None, reason="; ".join(filter(None, (e.headline, e.hint))))
        return on_device(self.map_file(fs_kind), device)

    def _start(self, layer: str, export: str, endpoint: Endpoint) -> Endpoint:
        if self._held is None:
            why = f"{self.path} is on another node, and Strata can serve a file only from its own node"
            raise UsageError("cannot start the server of layer", layer, why, "name the node that has the file")
        backing = Backing(
            kind="file", path=str(self.path), fd=self._file.fd, read_only=not self.writes, direct=self.direct
        )
        # In no directory: a run that is killed leaves nothing.
        stats = f"@strata-{os.getpid()}-{secrets.token_hex(8)}"
        config = TargetConfig(
            backing=backing,
            export=export,
            shape=self.shapes.get(layer, Shaping()),
            netns=endpoint.netns,
            stats=stats,
            own_user=True,
            guarded_bytes=HEAD,
        )
        server = self._resources.enter_context(TargetProcess(config))
        self._stats[layer] = stats
        self._servers[layer] = config
        # On the loopback of the node it is dialled from.
        return Endpoint.parse(server.uri(endpoint.connections)).model_copy(update={"netns": endpoint.netns})

    @contextmanager
    def slower(self, layer: str, added_ns: float) -> Iterator[Endpoint | None]:
        """A second server of the same file, each of whose requests takes so much longer; None where the layer's server
        is none of ours."""
        config = self._servers.get(layer)
        if config is None:
            yield None
            return
        shape = config.shape.model_copy(update={"service_time_ns": config.shape.service_time_ns + round(added_ns)})
        there = self._endpoints[layer]
        with TargetProcess(config.model_copy(update={"shape": shape, "stats": None})) as server:
            yield Endpoint.parse(server.uri(there.connections)).model_copy(update={"netns": there.netns})

    @contextmanager
    def other_end(self, layer: str, store: Backing, clients: int) -> Iterator[Endpoint | None]:
        """A server of ``store`` on the node that the layer's own server is on, which must be a network namespace of
        this machine; None where it is none. Raises `RunFailed` where it would take too much of the node's memory."""
        endpoint = self.endpoint(layer)
        host = urlsplit(endpoint.uri).hostname or ""
        check_memory(store)
        with ExitStack() as held:
            for netns in (n.netns for n in self.stack.nodes if n.netns not in (None, endpoint.netns)):
                config = TargetConfig(
                    tcp=address(host, 0), netns=netns, export=store.kind, backing=store, max_connections=clients
                )
                try:
                    server = held.enter_context(TargetProcess(config))
                except RunFailed:
                    # The address is another node's.
                    continue
                other = Endpoint.parse(server.uri(endpoint.connections))
                yield other.model_copy(update={"netns": endpoint.netns})
                return
            yield None

    def cpus(self, _layer: str) -> tuple[int, ...]:
        """Those that the process which drives the layer may use."""
        return usable_cpus()

    def generator(
        self, engine: Engine, workloads: tuple[Workload, ...], timing: Timing, placement: Placement | None
    ) -> tuple[Generator, tuple[ForeignIo, ...]]:
        """The load generator alone, and what the devices of all layers did meanwhile."""
        from strata.app.noise import with_foreign_io

        there = [self.endpoint(layer.name) for layer in self.stack.layers if layer.name not in self.dropped]
        devices = joined(devices_of(endpoint) for endpoint in there).devices
        return with_foreign_io(devices, lambda: measure_generator(engine, workloads, timing, placement))

    def check_trace(self) -> None:
        """Raises `RunFailed` where requests cannot be traced."""
        check_trace(str(self.path))

    def traced(self, engine: Engine, _layer: str, request: Request, stop_requested: Stop) -> ShortTrace:
        """A short window with a trace of the devices below the layer."""
        return traced(engine, request, self.path, stop_requested)

    def _same_remote(self, layer: str, endpoint: Endpoint) -> str:
        self.remotes += (probe_remote(layer, endpoint),)
        mine = self.mark
        there, why = claim(endpoint)
        if there is None or there != mine:
            raise SafetyRefusal(
                f"layer {layer!r} does not hold the data of the layers below at",
                endpoint.uri,
                why or "its first bytes are not the mark of this run's test file",
                f"export {self.path} itself; two similar volumes cannot be compared",
            )
        return "its first 4 KiB are this run's mark, read through it"
