"""Where a matrix is measured: one endpoint, or every layer of a directory or stack file, behind one face."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from strata import units
from strata.app.diagnosing import data_size, source_of
from strata.app.naming import is_endpoint
from strata.app.opening import check_words, opened
from strata.app.options import Options, check_size
from strata.app.place import Place, another_file
from strata.app.session import Emit
from strata.app.stacks import drop_layers
from strata.discover.survey import survey
from strata.engine import Piece
from strata.errors import RunFailed
from strata.host import testfile
from strata.model.analysis import Remote
from strata.model.endpoint import Endpoint, EndpointKind
from strata.model.progress import Phase, Progress
from strata.model.run import DataSet, Run
from strata.model.stack import Layer, Stack
from strata.model.survey import Survey
from strata.model.workload import Workload

ENDPOINT_SIZE = 256 * units.MIB


@dataclass(frozen=True)
class Site:
    """The layers with their pieces. ``still_ours`` is asked before a cell that writes; ``settle`` has what was written
    reach the medium before a cell that only reads follows. ``gone`` says what became of a file whose name leads to
    another one by now."""

    stack: Stack
    pieces: Mapping[str, Piece]
    allow_write: bool
    still_ours: Callable[[str], None]
    gone: Callable[[], str | None]
    survey: Survey | None
    data: DataSet | None
    remotes: tuple[Remote, ...]
    size: int
    dropped: Mapping[str, str] = field(default_factory=dict)
    mark: str | None = None
    """The uuid in the mark of the one file of an endpoint."""


def plan_site(where: str, options: Options, run_id: str) -> tuple[Stack, int, Survey | None]:
    """The stack, the bytes of a file that would be made (0: none), and the survey; opens nothing."""
    if is_endpoint(where):
        endpoint = Endpoint.parse(where)
        makes = endpoint.kind is EndpointKind.FILE and not Path(endpoint.path or "").exists()
        return _alone(endpoint), (options.size or ENDPOINT_SIZE) if makes else 0, None
    source = source_of(Path(where), options, run_id)
    return source.stack, data_size(source, options)[0], source.survey


@contextmanager
def site_of(
    where: str, options: Options, workloads: tuple[Workload, ...], run_id: str, emit: Emit, *, destructive: str | None,
    resumed: Run | None,
) -> Iterator[Site]:  # fmt: skip
    """Made for as long as the block lasts. Raises as the safety gate does."""
    if is_endpoint(where):
        yield from _endpoint(Endpoint.parse(where), options, workloads, emit, destructive, resumed)
        return
    emit(Progress(phase=Phase.SURVEY, message=f"looking at what is under {where}"))
    if resumed is not None and resumed.data is not None:
        data_path, size = Path(resumed.data.path), resumed.data.size
        stack, platform, direct, shapes = resumed.plan.stack, survey(data_path.parent, options.load_seconds), True, {}
        left_out: Mapping[str, str] = {}
        keep = options.keep or testfile.was_kept(data_path)
    else:
        source = source_of(Path(where), options, run_id)
        size, kept = data_size(source, options)
        keep = options.keep or kept
        stack, platform, data_path = source.stack, source.survey, source.data_path
        direct, shapes, left_out = source.direct, dict(source.shapes), source.left_out
    writes = any(w.rw.writes for w in workloads)
    place = Place(stack, data_path, shapes, direct=direct, writes=writes)
    place.dropped.update(left_out)
    try:
        emit(Progress(phase=Phase.PREPARE, message=f"writing the test file {data_path}"))
        began_with = resumed.data.mark if resumed is not None and resumed.data is not None else None
        place.prepare_file(size, keep=keep, expected=began_with)
        place.place_layers(platform.file_system.kind)
        left = drop_layers(stack, set(place.dropped))
        if not left.layers:
            raise RunFailed("nothing to measure:", "no layer is left", "; ".join(place.dropped.values()))
        pieces = {x.name: Piece(endpoint=place.endpoint(x.name), segments=place.segments(x.name)) for x in left.layers}
        yield Site(
            stack=left, pieces=pieces, allow_write=False, still_ours=place.check_still_ours, gone=place.gone,
            survey=platform, data=place.data, remotes=place.remotes, size=size, dropped=dict(place.dropped),
        )  # fmt: skip
    finally:
        place.close()


def _endpoint(
    endpoint: Endpoint, options: Options, workloads: tuple[Workload, ...], emit: Emit, destructive: str | None,
    resumed: Run | None,
) -> Iterator[Site]:  # fmt: skip
    # The safety gate asks what is the most that will be done.
    most = next((w for w in workloads if w.rw.writes), workloads[0])
    size = resumed.plan.file_size or None if resumed is not None else options.size
    if endpoint.kind is EndpointKind.FILE:
        emit(Progress(phase=Phase.PREPARE, message=f"preparing {endpoint.path}"))
    check_words(endpoint, most, keep=options.keep, destructive=destructive)
    there = endpoint.kind is EndpointKind.FILE and Path(endpoint.path or "").exists()
    with opened(endpoint, most, size, options.keep, destructive) as target:
        if there and resumed is not None and resumed.mark not in (None, target.mark):
            raise another_file(endpoint.path)
        check_size(endpoint.uri, None if resumed is not None else size, sum(s.length for s in target.segments))
        platform = None
        if endpoint.kind is EndpointKind.FILE and endpoint.path:
            platform = survey(Path(endpoint.path).parent, options.load_seconds)
        stack = _alone(endpoint)
        yield Site(
            stack=stack,
            pieces={stack.layers[0].name: Piece(endpoint=target.endpoint, segments=target.segments)},
            allow_write=target.allow_write,
            still_ours=lambda _layer: target.still_ours(),
            gone=target.gone,
            survey=platform,
            data=None,
            remotes=(),
            size=sum(s.length for s in target.segments) + (units.MIB if target.mark is not None else 0),
            mark=target.mark,
        )


def _alone(endpoint: Endpoint) -> Stack:
    return Stack(name=endpoint.uri, layers=(Layer(name=endpoint.kind.value, endpoint=endpoint.uri),))
