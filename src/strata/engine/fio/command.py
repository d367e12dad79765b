"""From a request to fio's words. Pure.

Sizes are plain bytes and times plain microseconds, because fio's units are its own ("Mi" is 10^6). What decides
about a measurement or about data is said, never left to a default. What fio cannot be told is named by `refusals`.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence

from strata.engine.job import seed_of
from strata.engine.port import Request
from strata.model import cluster_uri
from strata.model.base import Value
from strata.model.endpoint import Endpoint, EndpointKind
from strata.model.fio_words import escaped, grid, plain_uri, rates_of
from strata.model.plan import Segment
from strata.model.workload import OpenLoop, Sync, Workload

CARRIED = frozenset({"rw", "bs", "arrival", "threads", "rwmixread", "direct", "sync", "cache", "seed"})
"""Fields of a workload that are told to fio as they are meant. Every other one is refused where it asks for something,
also one that is added later."""

CARRIED_ARRIVALS = frozenset({"kind", "iodepth", "iops", "process"})

WHY = {
    "order": "order of the blocks: fio generates other offsets",
    "bssplit": "several block sizes: fio does not report them separately",
    "shares": "several targets: fio would reopen each of them by name",
    "fsync": "flushes: Strata does not read them from fio's report",
    "fdatasync": "flushes: Strata does not read them from fio's report",
    "clients": "several clients: Strata starts its own generator in each process",
    "limits": "limits of a closed loop: fio applies them to each job",
}
"""Why not; a field without a reason here is named as it is."""

INSTALL = {
    EndpointKind.RBD: "on Debian it is in the package fio, on Fedora in fio-engine-rbd (fio --enghelp lists engines)",
    EndpointKind.GLUSTER: "on Debian it is in the package fio; elsewhere mount the volume and measure file:/… on it",
}
"""Where a fio with an I/O engine for a cluster comes from."""

LEAST_STATUS_S = 0.02
"""fio's statistics thread is not asked more often than that."""


def refusals(
    endpoint: Endpoint, workload: Workload, segments: Sequence[Segment], ioengines: Collection[str]
) -> list[str]:
    """One reason for each thing that fio cannot be told."""
    scheme = endpoint.scheme
    if scheme is not None and scheme.not_fio:
        return [scheme.not_fio]
    said = [
        f"{name} is not supported with fio" + (f" ({WHY[name]})" if name in WHY else "")
        for name in _beyond(workload, CARRIED) + _beyond(workload.arrival, CARRIED_ARRIVALS)
    ]
    if not workload.rw.fio:
        said.append(f"rw={workload.rw.value} is not supported with fio")
    if workload.sync is Sync.RWF_DSYNC and workload.rw.writes:
        said.append("fio cannot set RWF_DSYNC on each write; --dsync opens with O_DSYNC instead")
    if len(segments) > 1:
        said.append(f"fio needs one contiguous range, and the data is in {len(segments)} segments")
    elif segments:
        _, blocks = grid(segments[0], workload.bs)
        if blocks < (1 if workload.rw.random else workload.threads):
            said.append(
                f"the range holds {blocks} blocks of {workload.bs} bytes, too few for {workload.threads} threads"
            )
    if scheme is not None and scheme.fio is not None:
        if workload.sync is Sync.DSYNC and workload.rw.writes:
            said.append(f"fio's {scheme.fio} engine does not support write-through")
        if endpoint.connections > workload.threads:
            said.append(
                f"fio opens one connection per thread: {endpoint.connections} connections "
                f"need {endpoint.connections} threads, not {workload.threads}"
            )
    if endpoint.kind is EndpointKind.RBD and workload.sync is Sync.DSYNC and workload.rw.writes and not workload.direct:
        said.append("with the client cache no single write is durable; without --buffered every write is")
    if not ioengine_candidates(endpoint, workload, ioengines):
        lacking = f"this fio was built without an I/O engine for it ({', '.join(_usable(endpoint, workload))})"
        said.append(f"{lacking}: {INSTALL[endpoint.kind]}" if endpoint.kind in INSTALL else lacking)
    if isinstance(workload.arrival, OpenLoop) and workload.arrival.process == "poisson":
        said.append("fio does not catch up after delays in a Poisson schedule, so it does not keep the rate")
    elif isinstance(workload.arrival, OpenLoop) and rates_of(workload) is None:
        said.append(
            f"fio needs a whole number of I/Os per second for each thread and direction, "
            f"and {workload.arrival.iops:g} does not give one"
        )
    return said


def _beyond(asked: Value, carried: frozenset[str]) -> list[str]:
    """Names of the fields that ask for something fio is not told."""
    return [
        name
        for name, field in type(asked).model_fields.items()
        if name not in carried and getattr(asked, name) != field.get_default(call_default_factory=True)
    ]


def ioengine_candidates(endpoint: Endpoint, workload: Workload, ioengines: Collection[str]) -> list[str]:
    """fio's I/O engines that can carry this, the best first."""
    return [name for name in _usable(endpoint, workload) if name in ioengines]


def _usable(endpoint: Endpoint, workload: Workload) -> list[str]:
    match endpoint.kind:
        case EndpointKind.NULL:
            return ["null"]
        case EndpointKind.RBD:
            return ["rbd"]
        case EndpointKind.GLUSTER:
            # gfapi waits for each I/O; gfapi_async looks for completions every 100 µs and forgets how they ended.
            return ["gfapi"] if workload.arrival.iodepth == 1 else ["gfapi_async"]
        case EndpointKind.FILE | EndpointKind.BLOCK:
            # libaio is asynchronous on unbuffered files only, psync has no depth: neither may pass for what was asked.
            also = ["libaio"] if workload.direct else ["psync"] if workload.arrival.iodepth == 1 else []
            return ["io_uring", *also]
        case _:
            scheme = endpoint.scheme
            return [] if scheme is None or scheme.fio is None else [scheme.fio]


def words(request: Request, ioengine: str, filename: str, output: str) -> list[str]:
    """Everything after the program's name. ``filename`` stands for a file or device, ``output`` for the report."""
    w, depth = request.workload, request.workload.arrival.iodepth
    apart = request.endpoint.kind is EndpointKind.GLUSTER
    return [
        f"--output={output}",
        "--output-format=json+",
        f"--status-interval={_us(max(request.timing.interval_s, LEAST_STATUS_S))}",
        "--eta=never",
        *([] if w.rw.writes else ["--readonly"]),
        f"--name={'global' if apart else 'strata'}",
        "--thread=1",
        f"--numjobs={1 if apart else w.threads}",
        # Sums over jobs are made here: fio's keep fields of the first job.
        "--group_reporting=0",
        "--unified_rw_reporting=0",
        "--kb_base=1024",
        "--clocksource=clock_gettime",
        *("--gtod_reduce=0", "--disable_lat=0", "--disable_slat=0", "--disable_clat=0", "--disable_bw_measurement=1"),
        *("--lat_percentiles=1", "--slat_percentiles=1", "--clat_percentiles=0", "--disk_util=0"),
        *_pattern(request),
        *_times(request),
        f"--iodepth={depth}",
        *("--iodepth_batch_submit=1", "--iodepth_batch_complete_min=1", f"--iodepth_batch_complete_max={depth}"),
        *_rate_words(w),
        *_data_words(),
        *_harmless(),
        *_ioengine(request, ioengine, filename),
        *(_apart(request) if apart else []),
    ]


def _pattern(request: Request) -> list[str]:
    w = request.workload
    start, length, step = _ranges(request)
    place = [f"--offset={start}", f"--size={length}", f"--offset_increment={step}"]
    said = [
        *(f"--rw={w.rw.value}", f"--bs={w.bs}", f"--blockalign={w.bs}", f"--io_size={length}", "--nrfiles=1"),
        *([] if request.endpoint.kind is EndpointKind.GLUSTER else place),
        # Without this fio would never ask for a block twice before all were asked for once.
        *("--norandommap=1", "--random_generator=tausworthe64", "--random_distribution=random"),
        f"--randseed={seed_of(w, request.round_index)}",
    ]
    return said if w.rwmixread is None else [*said, f"--rwmixread={w.rwmixread}"]


def _ranges(request: Request) -> tuple[int, int, int]:
    """Where the first thread begins, the bytes of each, and how far the next one begins behind it."""
    w = request.workload
    start, blocks = grid(request.segments[0], w.bs)
    # Sequential threads each have a part of their own, random ones all of it: as the native engine has it.
    length = (blocks if w.rw.random else blocks // w.threads) * w.bs
    return start, length, 0 if w.rw.random else length


def _apart(request: Request) -> list[str]:
    """A job for each thread with its own end of the file: the gfapi engines take the length of the range for the
    file's, and a thread that comes to a block behind it ends."""
    start, length, step = _ranges(request)
    said = []
    for first in (start + n * step for n in range(request.workload.threads)):
        end = first + length
        said += ["--name=strata", f"--offset={first}", f"--size={end}", f"--filesize={end}"]
    return said


def _times(request: Request) -> list[str]:
    timing = request.timing
    return [
        "--time_based=1",
        f"--runtime={_us(timing.runtime_s)}",
        f"--ramp_time={_us(timing.ramp_s)}",
        *("--startdelay=0", "--loops=1", "--thinktime=0"),
    ]


def _rate_words(workload: Workload) -> list[str]:
    if not isinstance(workload.arrival, OpenLoop):
        return []
    rates = rates_of(workload)
    assert rates is not None, "refused before"
    return [f"--rate_iops={rates[0]},{rates[1]}", "--rate_process=linear", "--rate_cycle=1000"]


def _data_words() -> list[str]:
    """Incompressible data, new for each write. Scrambling would be done inside what fio times."""
    return [
        *("--refill_buffers=1", "--scramble_buffers=0", "--zero_buffers=0"),
        *("--buffer_compress_percentage=0", "--dedupe_percentage=0", "--mem=malloc", "--iomem_align=4096"),
    ]


def _harmless() -> list[str]:
    """Nothing but the I/O asked for: no file is made, grown, laid out, read ahead, flushed or removed."""
    return [
        *("--allow_file_create=0", "--allow_mounted_write=0", "--overwrite=1", "--fallocate=none", "--file_append=0"),
        *("--unlink=0", "--unlink_each_loop=0", "--create_on_open=0", "--create_only=0", "--create_fsync=0"),
        *("--pre_read=0", "--fadvise_hint=0", "--invalidate=0", "--lockfile=none"),
        *("--fsync=0", "--fdatasync=0", "--end_fsync=0", "--fsync_on_close=0", "--verify=0"),
        # Failed I/Os are counted and named, as the native engine does.
        *("--continue_on_error=all", "--error_dump=1"),
    ]


def _ioengine(request: Request, ioengine: str, filename: str) -> list[str]:
    w, endpoint = request.workload, request.endpoint
    said = [f"--ioengine={ioengine}"]
    if endpoint.scheme is not None and endpoint.scheme.fio is not None:
        return [*said, f"--uri={plain_uri(endpoint.uri)}"]
    if endpoint.kind is EndpointKind.NULL:
        return said
    if endpoint.kind is EndpointKind.RBD:
        return [*said, *_rbd(endpoint), f"--direct={int(w.direct)}"]
    if endpoint.kind is EndpointKind.GLUSTER:
        there = cluster_uri.gluster(endpoint.uri)
        said += [f"--volume={there.volume}", f"--brick={there.host}"]
        filename = escaped(there.path)
    said += [f"--filename={filename}", f"--direct={int(w.direct)}"]
    said.append(f"--sync={'dsync' if w.sync is Sync.DSYNC else '0'}")
    if ioengine == "io_uring":
        said += ["--hipri=0", "--fixedbufs=0", "--registerfiles=0", "--sqthread_poll=0"]
    return said


def _rbd(endpoint: Endpoint) -> list[str]:
    there = cluster_uri.rbd(endpoint.uri)
    user = [] if there.user is None else [f"--clientname={there.user}"]
    return [f"--pool={there.pool}", f"--rbdname={there.image}", *user]


def last_byte(request: Request) -> int:
    """End of what may be touched at the endpoint (exclusive)."""
    start, blocks = grid(request.segments[0], request.workload.bs)
    return start + blocks * request.workload.bs


def blocks_of(request: Request) -> int:
    """How many blocks there are to draw from."""
    return grid(request.segments[0], request.workload.bs)[1]


def _us(seconds: float) -> str:
    return f"{round(seconds * 1e6)}us"
