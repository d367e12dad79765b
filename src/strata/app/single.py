"""One measurement as a run of one cell in one round: held against the same laws as a whole run, and kept like one."""

from __future__ import annotations

import platform
from pathlib import Path
from typing import Any

from strata.app.runner import run_of
from strata.engine import Engine, Timing
from strata.errors import StrataError
from strata.model.analysis import Analysis, Generator
from strata.model.course import Course
from strata.model.endpoint import Endpoint, EndpointKind
from strata.model.place import identity
from strata.model.placement import Placement
from strata.model.plan import Cell, Plan, Step
from strata.model.remembered import SeriesName
from strata.model.result import CellResult
from strata.model.run import Report, RunStatus
from strata.model.stack import Stack
from strata.model.survey import Survey
from strata.model.workload import Workload
from strata.plan.ident import new_id


def series_of(stack: Stack, workload: Workload, engine: Engine) -> SeriesName:
    """What the store calls this cell at this place, over all runs."""
    layer = stack.layers[0].name
    here = identity(platform.node(), stack, layer, engine.name)
    return SeriesName(layer=layer, workload_key=workload.key, identity=here)


def plan_of_one(stack: Stack, workload: Workload, timing: Timing, size: int, placement: Placement | None) -> Plan:
    """``stack`` has one layer; ``size`` are the bytes that are reached."""
    cell = Cell(layer=stack.layers[0].name, workload=workload)
    return Plan(
        id=new_id(), stack=stack, cells=(cell,), steps=(Step(order=0, round=0, cell=cell.key),), rounds=1,
        seed=workload.seed, ramp_s=timing.ramp_s, runtime_s=timing.runtime_s, interval_s=timing.interval_s,
        file_size=size, seconds=timing.ramp_s + timing.runtime_s, bytes_written=0, assumed_write_bps=0,
        placement=placement,
    )  # fmt: skip


def judged(plan: Plan, done: CellResult, ceiling: Generator) -> Analysis:
    """What was measured, and what the laws say of it."""
    from strata.analyse import analyse

    return analyse(plan, (done,), data=None, generator=ceiling, remotes=(), survey=None, chain=done.devices)


def report_of_one(
    plan: Plan, done: CellResult, analysis: Analysis, course: Course | None, engine: Engine, **found: Any
) -> Report:
    """As a run of its own, for pages and for the store: the figures of ``analysis``, and of the result the regime that
    it ended in. Without a ``course`` it says nothing of the noise: its intervals are too long for that. ``found``:
    further words for `run_of`."""
    from strata.analyse.pooled import noise_of
    from strata.app.earlier import noise_place
    from strata.app.kept import report_of
    from strata.diagnose import diagnose
    from strata.model.regime import last_regime

    if course is not None and done.result is not None:
        done = done.model_copy(update={"result": last_regime(done.result, course)})
    target = plan.stack.layers[0].target
    if course is not None:
        place = noise_place(target, plan.cells[0].workload.direct)
        found |= {"pooled": noise_of(plan, (done,)), "pooled_at": place}
    run = run_of(plan, engine.identity(), survey=_platform(target), **found)
    return report_of((done,), run, analysis, diagnose(plan.stack, analysis))


def keep(report: Report, url: str | None) -> tuple[str | None, str | None]:
    """Into the store: (its id, None), or (None, why it was not kept). What was measured is not lost for a store that
    gives trouble."""
    from strata.app.kept import opened

    if report.run.status is not RunStatus.DONE:
        # Nobody could go on with it, and it is not as long as what it would be compared with.
        return None, "it did not come to its end"

    try:
        with opened(url) as store:
            store.create_run(report.run)
            for done in report.results:
                store.save_cell(report.run.id, done)
            store.save_outcome(report.run.id, report.analysis, report.diagnosis)
    except StrataError as e:
        return None, e.render()
    return report.run.id, None


def _platform(endpoint: Endpoint) -> Survey | None:
    """What a later comparison is held against: devices, file system, governor. Of a server nobody here can tell."""
    from strata.discover.survey import survey

    if endpoint.kind is not EndpointKind.FILE or endpoint.path is None:
        return None
    try:
        return survey(Path(endpoint.path).parent, 0.0)
    except StrataError:
        return None
