"""Where a matrix is measured: one endpoint, or every layer of a directory or stack file, behind one face."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from strata import units
from strata.app.diagnosing import data_size, size_of, source_again, source_of
from strata.app.naming import is_endpoint
from strata.app.opening import opened_together
from strata.app.options import Options
from strata.app.place import another_file
from strata.app.runner import Emit, Site
from strata.app.stacks import stack_of
from strata.discover.survey import survey
from strata.model.analysis import Remote
from strata.model.endpoint import Endpoint, EndpointKind
from strata.model.progress import Phase, Progress
from strata.model.run import DataSet, Run
from strata.model.stack import Stack
from strata.model.survey import Survey
from strata.model.workload import Workload

ENDPOINT_SIZE = 256 * units.MIB


@dataclass(frozen=True)
class Ground:
    """What a runner drives, and what is known of it."""

    site: Site
    stack: Stack
    survey: Survey | None
    size: int
    data: DataSet | None = None
    remotes: tuple[Remote, ...] = ()
    dropped: Mapping[str, str] = field(default_factory=dict)
    mark: str | None = None
    """The uuid in the mark of the one file of an endpoint."""


def plan_site(where: str, options: Options, run_id: str) -> tuple[Stack, int, Survey | None]:
    """The stack, the bytes of a file that would be made (0: none), and the survey; opens nothing."""
    if is_endpoint(where):
        endpoint = Endpoint.parse(where)
        makes = endpoint.kind is EndpointKind.FILE and not Path(endpoint.path or "").exists()
        return stack_of([endpoint]), (options.size or ENDPOINT_SIZE) if makes else 0, None
    source = source_of(Path(where), options, run_id)
    return source.stack, data_size(source, options)[0], source.survey


@contextmanager
def ground_of(
    where: str, options: Options, workloads: tuple[Workload, ...], run_id: str, emit: Emit, *, destructive: str | None,
    resumed: Run | None,
) -> Iterator[Ground]:  # fmt: skip
    """Made for as long as the block lasts. Raises as the safety gate does."""
    if is_endpoint(where):
        yield from _endpoint(Endpoint.parse(where), options, workloads, emit, destructive, resumed)
        return
    emit(Progress(phase=Phase.SURVEY, message=f"looking at what is under {where}"))
    source = source_again(resumed, options) if resumed is not None else source_of(Path(where), options, run_id)
    size, keep = size_of(source, options, resumed)
    with closing(source.place(workloads)) as place:
        left = place.prepare(size, source.survey.file_system.kind, emit, keep=keep, resumed=resumed)
        yield Ground(
            site=place, stack=left, survey=source.survey, data=place.data, remotes=place.remotes, size=size,
            dropped=dict(place.dropped),
        )  # fmt: skip


def _endpoint(
    endpoint: Endpoint, options: Options, workloads: tuple[Workload, ...], emit: Emit, destructive: str | None,
    resumed: Run | None,
) -> Iterator[Ground]:  # fmt: skip
    # The safety gate asks what is the most that will be done.
    most = next((w for w in workloads if w.rw.writes), workloads[0])
    size = resumed.plan.file_size or None if resumed is not None else options.size
    if endpoint.kind is EndpointKind.FILE:
        emit(Progress(phase=Phase.PREPARE, message=f"preparing {endpoint.path}"))
    there = endpoint.kind is EndpointKind.FILE and Path(endpoint.path or "").exists()
    asked = None if resumed is not None else size
    with opened_together([endpoint], most, size, options.keep, destructive, asked=asked) as site:
        (target,) = site.targets
        if there and resumed is not None and resumed.mark not in (None, target.mark):
            raise another_file(endpoint.path)
        platform = None
        if endpoint.kind is EndpointKind.FILE and endpoint.path:
            platform = survey(Path(endpoint.path).parent, options.load_seconds)
        size = site.size + (units.MIB if target.mark is not None else 0)
        yield Ground(site=site, stack=stack_of([endpoint]), survey=platform, size=size, mark=target.mark)
