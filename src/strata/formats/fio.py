"""The fio command line that asks the same of an endpoint.

Plain bytes only: fio reads "Mi" as 10^6 unless told otherwise. What fio cannot be told (the exact block list
of a raw layer with many extents) is left out and said in the comment that goes with it.
"""

from __future__ import annotations

import shlex
from collections.abc import Sequence

from strata.model.endpoint import Endpoint, EndpointKind
from strata.model.fio_words import grid, plain_uri, rates_of
from strata.model.plan import Segment
from strata.model.workload import Cache, OpenLoop, Sync, Workload


def fio_command(
    endpoint: Endpoint, workload: Workload, segments: Sequence[Segment], ramp_s: float, runtime_s: float
) -> str | None:
    """One command line; None where fio has no words for it.

    That is at `null:`, where it would write to a device, and a rate that is not whole for each thread and direction.
    """
    if endpoint.kind is EndpointKind.NULL or (endpoint.kind is EndpointKind.BLOCK and workload.rw.writes):
        return None
    words = [
        "fio",
        f"--name={workload.key}",
        f"--rw={workload.rw.value}",
        f"--bs={workload.bs}",
        f"--iodepth={workload.arrival.iodepth}",
        f"--numjobs={workload.threads}",
        "--thread",
        "--group_reporting",
        *_range(workload, segments),
        "--time_based",
        # fio reads a bare number as seconds and takes no fraction; milliseconds are exact.
        f"--ramp_time={0 if workload.cache is Cache.COLD else round(ramp_s * 1000)}ms",
        f"--runtime={round(runtime_s * 1000)}ms",
    ]
    if endpoint.kind is EndpointKind.NBD:
        words += ["--ioengine=nbd", f"--uri={plain_uri(endpoint.uri)}"]
    else:
        words += _local(endpoint, workload)
    if workload.rwmixread is not None:
        words.append(f"--rwmixread={workload.rwmixread}")
    if workload.rw.writes:
        words.append("--refill_buffers")
    if isinstance(workload.arrival, OpenLoop):
        rates = rates_of(workload)
        if rates is None:
            return None
        words.append(f"--rate_iops={rates[0]},{rates[1]}")
        if workload.arrival.process == "poisson":
            words.append("--rate_process=poisson")
    return shlex.join(words)


def _range(workload: Workload, segments: Sequence[Segment]) -> list[str]:
    """Each sequential thread in a part of its own, random ones in all of it, as Strata's own engine has it."""
    # fio drives one contiguous range: several extents are taken as one from the first on.
    first = min(segments, key=lambda s: s.target, default=Segment(start=0, length=0, target=0))
    start, blocks = grid(first.model_copy(update={"length": sum(s.length for s in segments)}), workload.bs)
    if workload.rw.random:
        # Without this fio would not ask for a block twice before all were asked for once.
        return [f"--offset={start}", f"--size={blocks * workload.bs}", "--norandommap"]
    share = blocks // workload.threads * workload.bs
    return [f"--offset={start}", f"--size={share}", *([f"--offset_increment={share}"] if workload.threads > 1 else [])]


def _local(endpoint: Endpoint, workload: Workload) -> list[str]:
    words = ["--ioengine=io_uring", f"--filename={endpoint.path}", f"--direct={int(workload.direct)}"]
    # fio has no RWF_DSYNC; O_DSYNC is the same promise for every write.
    if workload.sync is not Sync.NONE:
        words.append("--sync=dsync")
    if not workload.direct:
        # fio drops a file's pages before a job unless it is told not to.
        words.append(f"--invalidate={int(workload.cache is Cache.COLD)}")
    if workload.cache is Cache.WARM:
        words.append("--pre_read=1")
    if endpoint.kind is EndpointKind.BLOCK:
        words.append("--readonly")
    return words
