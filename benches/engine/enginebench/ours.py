"""Our own engine: jobs for `strata-load`, and what its result says."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from . import tools
from .context import Context
from .sample import NotHere, Sample

HOUR_NS = 3_600_000_000_000


def job(target: dict[str, Any], length: int, seconds: float, **changes: Any) -> dict[str, Any]:
    """4 KiB random reads in a closed loop unless `changes` (workload keys, or job keys) say otherwise."""
    workload: dict[str, Any] = {"rw": "randread", "bs": 4096, "iodepth": 32}
    workload["segments"] = [{"start": 0, "length": length, "target": 0}]
    made: dict[str, Any] = {"schema": 1, "target": target, "workload": workload, "runtime_ns": int(seconds * 1e9)}
    for key, value in changes.items():
        (workload if key in ("rw", "bs", "iodepth", "threads", "rate_iops", "seed") else made)[key] = value
    return made


def on_file(ctx: Context, direct: bool, seconds: float | None = None, **changes: Any) -> dict[str, Any]:
    """The bench's own file."""
    target = {"kind": "file", "path": str(ctx.file), "direct": direct}
    return job(target, ctx.file_bytes, ctx.seconds if seconds is None else seconds, **changes)


def on_null(ctx: Context, seconds: float | None = None, **changes: Any) -> dict[str, Any]:
    """Nothing."""
    return job({"kind": "null"}, 1 << 30, ctx.seconds if seconds is None else seconds, **changes)


def result(ctx: Context, spec: dict[str, Any], cpus: set[int] | None = None) -> tuple[dict[str, Any], tools.Done]:
    """Run a job on the load processor (or on `cpus`); its result and the process's own cost."""
    done = tools.run([str(ctx.programs / "strata-load")], cpus or {ctx.cpu}, json.dumps(spec))
    answer: dict[str, Any] = json.loads(done.stdout)
    if answer["errored"] or answer["stuck"]:
        raise NotHere(f"{answer['errored']} I/Os failed, {answer['stuck']} never came back")
    return answer, done


def sample(ctx: Context, spec: dict[str, Any], cpus: set[int] | None = None) -> Sample:
    """Rate, mean latency, and the whole process's cost over the counted span."""
    answer, _ = result(ctx, spec, cpus)
    ios = answer["read"]["ops"] + answer["write"]["ops"]
    if not ios:
        raise NotHere("no I/O was counted")
    cpu = answer["cpu"]
    return Sample(
        ios=ios,
        iops=ios / answer["measured_ns"] * 1e9,
        user_ns=cpu["user_ns"] / ios,
        cpu_ns=(cpu["user_ns"] + cpu["system_ns"]) / ios,
        mean_ns=(answer["read"]["service_sum_ns"] + answer["write"]["service_sum_ns"]) / ios,
    )


def saved(ctx: Context, name: str, spec: dict[str, Any]) -> str:
    """The job as a file, for programs that are started by others."""
    path: Path = ctx.directory / f"{name}.json"
    path.write_text(json.dumps(spec))
    return str(path)
