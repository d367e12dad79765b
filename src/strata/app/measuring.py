"""One workload against one endpoint."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

from strata import units
from strata.engine import Timing, build_job, fill, measure_generator, read_remote, run_job
from strata.engine.layout import file_segments
from strata.engine.native import endpoint_size
from strata.errors import SafetyRefusal, UsageError
from strata.host import safety, testfile
from strata.model.analysis import Generator
from strata.model.base import Value
from strata.model.endpoint import Endpoint, EndpointKind
from strata.model.plan import Segment
from strata.model.result import EngineResult, Interval
from strata.model.workload import Workload


class OneResult(Value):
    """A single measurement with the generator's ceiling beside it (IOPS and ns per I/O at a null endpoint)."""

    endpoint: str
    workload: Workload
    result: EngineResult
    generator: Generator


class Target(Value):
    """What may be driven, after the safety gate: blocks and whether a device may be opened for writing."""

    segments: tuple[Segment, ...]
    allow_write: bool = False


def measure_endpoint(
    uri: str,
    workload: Workload,
    timing: Timing,
    *,
    size: int | None,
    keep: bool,
    destructive: str | None,
    on_interval: Callable[[Interval], None],
) -> OneResult:
    """Runs it; a file that does not exist is created, filled, and removed again unless kept.

    Raises `SafetyRefusal` where the workload would write to something Strata did not create.
    """
    endpoint = Endpoint.parse(uri)
    with _opened(endpoint, workload, size, keep, destructive) as target:
        ceiling = measure_generator([workload], Timing(ramp_s=0.05, runtime_s=0.15, interval_s=0.15))
        job = build_job(endpoint, workload, target.segments, timing, allow_write=target.allow_write)
        result = run_job(job, on_interval)
    return OneResult(endpoint=endpoint.uri, workload=workload, result=result, generator=ceiling)


@contextmanager
def _opened(
    endpoint: Endpoint, workload: Workload, size: int | None, keep: bool, destructive: str | None
) -> Iterator[Target]:
    with ExitStack() as made:
        match endpoint.kind:
            case EndpointKind.NULL:
                yield Target(segments=(_whole(size or units.GIB),))
            case EndpointKind.FILE:
                yield _file(Path(endpoint.path or ""), workload, size, keep, made)
            case EndpointKind.BLOCK:
                yield _block(endpoint.path or "", workload, destructive)
            case EndpointKind.NBD:
                yield _nbd(endpoint, workload, destructive)


def _file(path: Path, workload: Workload, size: int | None, keep: bool, made: ExitStack) -> Target:
    if path.exists() or path.is_symlink():
        if workload.rw.writes:
            safety.check_own_file(path)
            return Target(segments=file_segments(path.stat().st_size))
        safety.check_readable_file(path)
        return Target(segments=(_whole(path.stat().st_size),))
    wanted = size or 256 * units.MIB
    safety.check_new_file(path)
    mark = testfile.create(path, wanted - wanted % units.MIB)
    if not keep:
        made.callback(testfile.remove, path, mark)
    fill(str(path), mark.size, workload.seed, testfile.header_bytes(mark), direct=workload.direct)
    return Target(segments=file_segments(mark.size))


def _block(device: str, workload: Workload, destructive: str | None) -> Target:
    if workload.rw.writes:
        if destructive is None:
            raise SafetyRefusal(
                "will not write to",
                device,
                "raw devices are read-only",
                f"if everything on it may be lost: --destructive {device}",
            )
        safety.check_raw_write(device, destructive)
    else:
        safety.check_raw_read(device)
    return Target(segments=(_whole(endpoint_size(device)),), allow_write=workload.rw.writes)


def _nbd(endpoint: Endpoint, workload: Workload, destructive: str | None) -> Target:
    size = endpoint_size(endpoint.uri)
    if not workload.rw.writes:
        return Target(segments=(_whole(size),))
    if testfile.parse_mark(read_remote(endpoint.uri, 0, testfile.HEADER_BYTES)) is not None:
        return Target(segments=file_segments(size))
    if destructive is None:
        raise SafetyRefusal(
            "will not write to",
            endpoint.uri,
            "the export does not carry Strata's mark, so Strata did not create it",
            f"if everything on it may be lost: --destructive {endpoint.uri}",
        )
    if destructive != endpoint.uri:
        raise UsageError("the name after --destructive differs from the endpoint", destructive, f"not {endpoint.uri}")
    return Target(segments=(_whole(size),))


def _whole(size: int) -> Segment:
    return Segment(start=0, length=size, target=0)
