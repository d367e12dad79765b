"""The native engine: hands over one job, polls finished intervals, gives a value back."""

from __future__ import annotations

import errno
import json
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from strata import _core, units
from strata.engine.job import build_job
from strata.engine.port import OnInterval, Request
from strata.errors import RunFailed, UsageError
from strata.host.proc import usable_cpus
from strata.host.shutdown import shutdown_requested, waiting
from strata.model.endpoint import CLUSTER, SCHEMES, Endpoint
from strata.model.plan import Segment
from strata.model.result import EngineResult, Interval
from strata.model.workload import Workload

TAKE_FIO = "leave --engine out, or --engine fio"

POLL_S = 0.1
"""How often Python looks at a running job. The loop itself never sees Python."""


class NativeEngine:
    """Strata's own, compiled into `strata._core`."""

    name = "native"

    def identity(self) -> dict[str, Any]:
        return {"name": self.name, **build_info()}

    def refusals(self, endpoint: Endpoint, workload: Workload, segments: Sequence[Segment] = ()) -> list[str]:
        """Only what it cannot reach at all: what a single endpoint does not offer is said when it is opened."""
        if endpoint.kind in CLUSTER:
            return [f"it does not support {endpoint.kind.value}; fio does, with the client library of the cluster"]
        return []

    def run(
        self,
        request: Request,
        on_interval: OnInterval | None = None,
        stop_requested: Callable[[], bool] = lambda: False,
    ) -> EngineResult:
        if refused := self.refusals(request.endpoint, request.workload):
            where = request.endpoint.uri
            raise UsageError("the native engine cannot run this workload on", where, "; ".join(refused), TAKE_FIO)
        if request.workload.clients > 1:
            # Here: who measures with one client need not load what starts and hears many.
            from strata.engine.clients import run_clients

            result = run_clients(request, on_interval, stop_requested)
            return result.model_copy(update={"engine": {"name": self.name, **result.engine}})
        job = build_job(
            request.endpoint,
            request.workload,
            request.segments,
            request.timing,
            allow_write=request.allow_write,
            round_index=request.round_index,
            placement=request.placement,
            more=request.more,
        )
        if request.lease_s is not None:
            job["lease_ns"] = round(request.lease_s * units.NS_PER_S)
        if request.stop_after_bytes is not None:
            job["stop_after"] = {"bytes": request.stop_after_bytes}
        result = run_job(job, on_interval, stop_requested, with_interval=request.timing.stop_with_interval)
        return result.model_copy(update={"engine": {"name": self.name, **result.engine}})


def build_info() -> dict[str, Any]:
    """Version, profile (release or debug) and revision of the compiled engine."""
    info: dict[str, Any] = json.loads(_core.build_info())
    return info


def run_job(
    job: dict[str, Any],
    on_interval: OnInterval | None = None,
    stop_requested: Callable[[], bool] = lambda: False,
    *,
    with_interval: bool = False,
    alive: Callable[[], bool] = lambda: True,
    poll_s: float = POLL_S,
) -> EngineResult:
    """Carry out one job. Ctrl-C stops it cleanly and raises `KeyboardInterrupt` after its threads have ended.

    ``with_interval``: a stop waits for the end of the running interval. ``alive`` is asked at every look: while it says
    so, the lease of a job that has one is renewed. Raises `UsageError` for a job the engine
    refuses, `RunFailed` when the endpoint cannot be opened.
    """
    where = _where(job)
    running = _started(lambda: _core.start(json.dumps(job)), where, job)
    return _finish(
        running, on_interval, stop_requested, where, job, with_interval=with_interval, alive=alive, poll_s=poll_s
    )


def fill(path: str, size: int, seed: int, header: bytes, *, direct: bool = True, fd: int | None = None) -> EngineResult:
    """Write the whole file once: `header` first, then incompressible data, then flush. It is opened beside ``fd``.

    Errors as `run_job`, and `RunFailed` when not every byte of it was written.
    """
    return finish_fill(lambda: _core.fill(path, size, seed, header, direct, fd), path)


def finish_fill(start: Callable[[], _core.Run], where: str, longest_ns: int | None = None) -> EngineResult:
    """Carry out a fill to its end, which must come within ``longest_ns``. Errors as `fill`."""
    until = None if longest_ns is None else time.monotonic_ns() + longest_ns
    late = False

    def over() -> bool:
        nonlocal late
        late = until is not None and time.monotonic_ns() > until
        return late

    filled = _finish(_started(start, where), None, over, where, hurry=True)
    if late:
        why = f"filling it took longer than {units.duration(longest_ns or 0)}"
        raise RunFailed("could not fill the test file", where, why, "check that the server still responds")
    if filled.stop_reason not in ("runtime", "bytes", "ios") or filled.errored:
        names = ", ".join(e.name for e in filled.write.errors) or filled.stop_reason
        raise RunFailed("could not fill the test file", where, names, "check the free space")
    return filled


def _started(start: Callable[[], _core.Run], where: str, job: Mapping[str, Any] | None = None) -> _core.Run:
    try:
        with waiting():
            return start()
    except ValueError as e:
        raise UsageError("the engine cannot run this workload on", where, str(e)) from e
    except OSError as e:
        raise RunFailed("cannot open", where, e.strerror or str(e), hint(e, job)) from e


def _finish(
    running: _core.Run,
    on_interval: OnInterval | None,
    stop_requested: Callable[[], bool],
    where: str,
    job: Mapping[str, Any] | None = None,
    *,
    with_interval: bool = False,
    hurry: bool = False,
    alive: Callable[[], bool] = lambda: True,
    poll_s: float = POLL_S,
) -> EngineResult:
    """``hurry``: a server that does not answer is given up soon after the stop, as it is after a signal."""
    asked = False
    try:
        while (done := running.wait(poll_s)) is None:
            if alive():
                running.renew()
            if on_interval is not None:
                for raw in json.loads(running.poll()):
                    on_interval(Interval.model_validate(raw))
            if not asked and stop_requested():
                running.stop(with_interval=with_interval, hurry=hurry or shutdown_requested())
                asked = True
    except OSError as e:
        raise RunFailed("the run failed at", where, e.strerror or str(e), hint(e, job)) from e
    return EngineResult.model_validate_json(done)


def _targets(job: Mapping[str, Any]) -> list[dict[str, Any]]:
    return [job["target"]] if "target" in job else [aim["target"] for aim in job["targets"]]


def _where(job: Mapping[str, Any]) -> str:
    return ", ".join(str(t.get("path") or t.get("uri") or t["kind"]) for t in _targets(job))


def said(error: OSError | ValueError) -> str:
    """The engine's own words, without Python's number in front: they hold it already."""
    return (error.strerror if isinstance(error, OSError) else None) or str(error)


def hint(error: OSError, job: Mapping[str, Any] | None = None) -> str:
    """The next step for an errno, given what the job asked for; empty where there is none to name."""
    if job is not None and error.errno == errno.EINVAL and _pinned_elsewhere(job):
        return f"this process may use CPUs {', '.join(map(str, usable_cpus()))}"
    if job is not None and any(not SCHEMES[t["kind"]].hint for t in _targets(job) if t["kind"] in SCHEMES):
        # Its client names the next step itself.
        return ""
    hints = {
        1: "this needs more privileges; or leave the layer out (--layers)",
        2: "the path no longer exists; check it and start again",
        13: "this needs read access to the device (root or the disk group); or leave the layer out (--layers)",
        errno.ETIME: "start it later, or with a longer ramp (--ramp-time)",
        22: "direct I/O is refused here; try --buffered or another block size",
        28: "free some space, or use a smaller --size",
        111: "no server is listening there; start it first",
    }
    return hints.get(error.errno or 0, "")


def _pinned_elsewhere(job: Mapping[str, Any]) -> bool:
    """Whether a thread is to run where this process may not: on a CPU, or on a node without a CPU of its own."""
    usable = usable_cpus()
    nodes = [Path(f"/sys/devices/system/node/node{n}") for n in job.get("pin_nodes", ())]
    return not set(job.get("pin_cpus", ())) <= set(usable) or any(
        not any((node / f"cpu{cpu}").exists() for cpu in usable) for node in nodes
    )


def endpoint_size(path: str) -> int:
    """Bytes of a block device. Raises `RunFailed`."""
    try:
        return int(json.loads(_core.io_limits(path))["size_bytes"])
    except (OSError, ValueError) as e:
        raise RunFailed("cannot open", path, said(e), hint(e) if isinstance(e, OSError) else "") from e
