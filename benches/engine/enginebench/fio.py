"""fio: the distribution's, or the one FIO names."""

from __future__ import annotations

import json

from . import tools
from .context import Context
from .sample import NotHere, Sample

REGISTERED = ("--registerfiles=1", "--fixedbufs=1")
BATCH = ("--iodepth_batch_submit=8", "--iodepth_batch_complete_min=1", "--iodepth_batch_complete_max=8")


def words(ctx: Context, engine: str, depth: int, direct: bool, *more: str, seconds: float | None = None) -> list[str]:
    """4 KiB random reads of the bench's file. All statistics on, as fio has them by default."""
    span = ctx.seconds if seconds is None else seconds
    return [
        *(tools.fio(), "--name=x", f"--filename={ctx.file}", f"--size={ctx.file_bytes}", "--rw=randread", "--bs=4096"),
        *(f"--direct={int(direct)}", f"--ioengine={engine}", f"--iodepth={depth}", "--invalidate=0", "--thread"),
        *("--time_based", f"--runtime={int(span * 1e6)}us", "--output-format=json", *more),
    ]


def best(depth: int) -> tuple[str, ...]:
    """Its cheapest set-up with full statistics: registered file and buffers, and batches where there is depth."""
    return REGISTERED + (BATCH if depth > 1 else ())


def sample(ctx: Context, command: list[str]) -> Sample:
    """The job's own account: its thread's user and system time over its runtime."""
    done = tools.run(command, {ctx.cpu})
    job = json.loads(done.stdout[done.stdout.index("{") :])["jobs"][0]
    ios, span_ms = job["read"]["total_ios"], job["job_runtime"]
    if job["error"] or not ios:
        raise NotHere(f"fio: error {job['error']}, {ios} I/Os")
    per_io = span_ms * 1e6 / 100 / ios
    return Sample(
        ios=ios,
        iops=ios / span_ms * 1e3,
        user_ns=job["usr_cpu"] * per_io,
        cpu_ns=(job["usr_cpu"] + job["sys_cpu"]) * per_io,
        mean_ns=job["read"]["lat_ns"]["mean"],
    )
