"""The fio command line that asks the same of an endpoint.

Plain bytes only: fio reads "Mi" as 10^6 unless told otherwise. What fio cannot be told (the exact block list
of a raw layer with many extents) is left out and said in the comment that goes with it.
"""

from __future__ import annotations

import shlex
from collections.abc import Sequence

from strata.model.endpoint import Endpoint, EndpointKind
from strata.model.plan import Segment
from strata.model.workload import Cache, OpenLoop, Sync, Workload


def fio_command(
    endpoint: Endpoint, workload: Workload, segments: Sequence[Segment], ramp_s: float, runtime_s: float
) -> str | None:
    """One command line; None where fio has no engine for the endpoint (`null:`) or it would write to a device."""
    if endpoint.kind is EndpointKind.NULL or (endpoint.kind is EndpointKind.BLOCK and workload.rw.writes):
        return None
    start = min((s.target for s in segments), default=0)
    words = [
        "fio",
        f"--name={workload.key}",
        f"--rw={workload.rw.value}",
        f"--bs={workload.bs}",
        f"--iodepth={workload.arrival.iodepth}",
        f"--numjobs={workload.threads}",
        "--thread",
        "--group_reporting",
        f"--offset={start}",
        f"--size={sum(s.length for s in segments)}",
        "--time_based",
        # fio reads a bare number as seconds and takes no fraction; milliseconds are exact.
        f"--ramp_time={0 if workload.cache is Cache.COLD else round(ramp_s * 1000)}ms",
        f"--runtime={round(runtime_s * 1000)}ms",
    ]
    if endpoint.kind is EndpointKind.NBD:
        words += ["--ioengine=nbd", f"--uri={endpoint.uri}"]
    else:
        words += ["--ioengine=io_uring", f"--filename={endpoint.path}", f"--direct={int(workload.direct)}"]
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
    if workload.rwmixread is not None:
        words.append(f"--rwmixread={workload.rwmixread}")
    if workload.rw.writes:
        words.append("--refill_buffers")
    if isinstance(workload.arrival, OpenLoop):
        words.append(f"--rate_iops={workload.arrival.iops:g}")
        if workload.arrival.process == "poisson":
            words.append("--rate_process=poisson")
    return shlex.join(words)
