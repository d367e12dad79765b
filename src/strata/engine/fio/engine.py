"""The port's side of fio: what it refuses, which of its I/O engines it uses, and what came out."""

from __future__ import annotations

import errno
import re
from collections.abc import Callable, Sequence
from typing import Any

from strata.engine.fio import command
from strata.engine.fio.cluster import Reached
from strata.engine.fio.drive import Carried, carry_out
from strata.engine.fio.opened import Opened, OpenedEndpoint
from strata.engine.fio.program import Program, installed
from strata.engine.fio.reading import DriverFacts, result
from strata.engine.fio.stream import merge_failures
from strata.engine.port import OnInterval, Request
from strata.errors import RunFailed, UsageError
from strata.model.endpoint import CLUSTER, Endpoint, EndpointKind
from strata.model.fio_words import entering, said_first
from strata.model.plan import Segment
from strata.model.result import EngineResult
from strata.model.workload import Workload


class FioEngine:
    """An installed fio. Each run is a process of its own, which costs about half a second to begin."""

    name = "fio"

    def identity(self) -> dict[str, Any]:
        return {"name": self.name, "version": installed().version}

    def refusals(self, endpoint: Endpoint, workload: Workload, segments: Sequence[Segment] = ()) -> list[str]:
        """Also of what this fio was built without. Raises `RunFailed` where none is installed."""
        return command.refusals(endpoint, workload, segments, installed().ioengines)

    def run(
        self,
        request: Request,
        on_interval: OnInterval | None = None,
        stop_requested: Callable[[], bool] = lambda: False,
    ) -> EngineResult:
        fio = installed()
        where = request.endpoint.uri
        if refused := self.refusals(request.endpoint, request.workload, request.segments):
            raise UsageError("the fio engine cannot run this workload on", where, "; ".join(refused), "--engine native")
        if not request.segments:
            raise UsageError("the fio engine cannot run this workload on", where, "no segment is given")
        refusal: str | None = None
        candidates = command.ioengine_candidates(request.endpoint, request.workload, fio.ioengines)
        for ioengine in candidates:
            with Reached(request) if request.endpoint.kind in CLUSTER else Opened(request) as opened:
                carried = carry_out(
                    lambda output, c=ioengine, name=opened.filename: [  # type: ignore[misc]
                        *entering(request.endpoint),
                        fio.path,
                        *command.words(request, c, name, output),
                    ],
                    request,
                    opened,
                    on_interval,
                    stop_requested,
                )
                if _refused_ring(ioengine, carried) and ioengine != candidates[-1]:
                    refusal = _last_words(carried)
                    continue
                return _result(fio, request, ioengine, opened, carried, refusal)
        raise AssertionError("there is at least one carrier")


def _refused_ring(ioengine: str, carried: Carried) -> bool:
    """As in a container: io_uring is built in, and the kernel does not give a ring."""
    nothing = not carried.reading.counting and carried.reason is None and carried.code != 0
    return ioengine == "io_uring" and nothing and any("init" in word or "ring" in word for word in carried.stream.words)


def _let_go_late(request: Request, carried: Carried) -> bool:
    """Whether all that went wrong is that a thread, its I/Os done, waited over 5 s for one that was closing the volume
    while a report was being made: fio then ends it with EDEADLK."""
    ends = [end[1] for word in carried.stream.words if (end := re.search(r"pid=\d+, err=(\d+)", word))]
    late = request.endpoint.kind is EndpointKind.GLUSTER and bool(ends) and bool(carried.reading.counting)
    said = any("stuck grabbing stat_sem" in word for word in carried.stream.words)
    return late and said and not carried.stream.failures and all(int(end) == errno.EDEADLK for end in ends)


def _result(
    fio: Program, request: Request, ioengine: str, opened: OpenedEndpoint, carried: Carried, refusal: str | None
) -> EngineResult:
    where, reading = request.endpoint.uri, carried.reading
    if carried.reason == "differs":
        why = f"direct={int(opened.direct)}, sync={opened.sync} were in effect, not the requested ones"
        raise RunFailed(
            "fio did not use the requested caching at", where, why, "try another file system, or --buffered"
        )
    failures = carried.stream.failures
    if not reading.counting:
        # Nothing was ever counted, so nothing says what was the ramp.
        merge_failures(failures, carried.failed_in_ramp)
        carried.failed_in_ramp = {}
        if carried.reason is None and carried.code != 0 and not failures:
            raise RunFailed("fio failed at", where, _last_words(carried), _hint(request))
    late = _let_go_late(request, carried)
    ended_well = carried.code == 0 or carried.reason is not None or late
    opened.after()
    return result(
        reading,
        carried.failed_in_ramp,
        DriverFacts(
            engine=_engine(fio, request, ioengine, refusal),
            effective={
                "direct": opened.direct,
                "sync": opened.sync,
                "read_back": opened.read_back,
                "blocks": command.blocks_of(request),
                "block_bytes": request.workload.bs,
                "connections": request.workload.threads if request.endpoint.remote else 1,
            }
            | ({} if request.endpoint.netns is None else {"netns": request.endpoint.netns})
            | ({"failed_ios": "not reported by gfapi_async"} if ioengine == "gfapi_async" else {}),
            stop_reason=carried.reason or ("runtime" if ended_well else "error"),
            begun_unix_ns=carried.begun_unix_ns,
            failures=failures,
            # A thread that was ended late has all its times in the report and not all its bytes.
            complete=ended_well and not carried.killed and not late,
            message=_message(where, carried, ended_well),
            stuck=_stuck(request, carried) if carried.reason == "stuck" else 0,
            span_ns=0 if carried.reason == "stopped" else round(request.timing.runtime_s * 1e9),
        ),
    )


def _engine(fio: Program, request: Request, ioengine: str, refusal: str | None) -> dict[str, Any]:
    # The command as a person can type it: the file by its name.
    name = (request.endpoint.path or "").replace(":", "\\:")
    return {
        "name": FioEngine.name,
        "kind": ioengine,
        "version": fio.version,
        "setup": [],
        "fallback_reason": refusal,
        "clock": {"kind": "clock_gettime"},
        "command": [
            *entering(request.endpoint),
            *said_first(request.endpoint),
            "fio",
            *command.words(request, ioengine, name, "-")[1:],
        ],
    }


def _message(where: str, carried: Carried, ended_well: bool) -> str | None:
    if carried.reason == "error":
        fatal = next(iter(carried.stream.failures.values()))
        return f"{where}: an I/O at byte {fatal.first_offset} failed: {fatal.name}"
    return None if ended_well else f"{where}: fio exited with {carried.code}: {_last_words(carried)}"


def _stuck(request: Request, carried: Carried) -> int:
    """What was issued and not seen again, by the last document before fio fell silent."""
    jobs = carried.reading.last["jobs"] if carried.reading.last else []
    issued = sum(int(job[d]["total_ios"]) for job in jobs for d in ("read", "write"))
    return max(1, min(request.workload.outstanding, issued - carried.reading.now.ops))


def _last_words(carried: Carried) -> str:
    said = [word.removeprefix("fio: ") for word in carried.stream.words if "terminating on signal" not in word]
    return said[-1] if said else f"it exited with {carried.code} and no message"


def _hint(request: Request) -> str:
    scheme = request.endpoint.scheme
    if scheme is None:
        return "try --engine native"
    return "see the message of fio above, and the logs of the cluster" if scheme.library else scheme.hint
