"""One measurement as a run of one cell in one round: held against the same laws as a whole run, and kept like one."""

from __future__ import annotations

import platform
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from strata.app.sampled import Sampled
from strata.engine import Engine, Timing
from strata.errors import StrataError
from strata.model.analysis import Analysis, CellSummary, Generator
from strata.model.course import Course
from strata.model.endpoint import Endpoint, EndpointKind
from strata.model.place import identity
from strata.model.placement import Placement
from strata.model.plan import Cell, Plan, Step
from strata.model.precondition import Preconditioned
from strata.model.remembered import SeriesName
from strata.model.result import CellResult
from strata.model.run import Run, RunStatus
from strata.model.stack import Stack
from strata.model.survey import Survey
from strata.model.workload import Workload
from strata.plan.ident import new_id


@dataclass(frozen=True)
class Single:
    """What was asked, what came, and what the laws say of it."""

    plan: Plan
    done: CellResult
    analysis: Analysis
    generator: Generator


def series_of(stack: Stack, workload: Workload, engine: Engine) -> SeriesName:
    """What the store calls this cell at this place, over all runs."""
    layer = stack.layers[0].name
    here = identity(platform.node(), stack, layer, engine.name)
    return SeriesName(layer=layer, workload_key=workload.key, identity=here)


def single_of(
    stack: Stack,
    workload: Workload,
    timing: Timing,
    size: int,
    sampled: Sampled,
    ceiling: Generator,
    placement: Placement | None,
    chain: Sequence[str],
) -> Single:
    """``stack`` has one layer; ``chain`` are the devices below it, ``size`` the bytes that were reached."""
    from strata.analyse import analyse

    cell = Cell(layer=stack.layers[0].name, workload=workload)
    step = Step(order=0, round=0, cell=cell.key)
    plan = Plan(
        id=new_id(),
        stack=stack,
        cells=(cell,),
        steps=(step,),
        rounds=1,
        seed=workload.seed,
        ramp_s=timing.ramp_s,
        runtime_s=timing.runtime_s,
        interval_s=timing.interval_s,
        file_size=size,
        seconds=timing.ramp_s + timing.runtime_s,
        bytes_written=sampled.result.write.bytes,
        assumed_write_bps=0,
        placement=placement,
    )
    done = CellResult(
        order=0,
        round=0,
        cell=cell.key,
        kind=step.kind.value,
        layer=cell.layer,
        workload_key=workload.key,
        result=sampled.result,
        counters=sampled.counters,
        absent=sampled.absent,
        server=sampled.server,
    )
    found = analyse(plan, (done,), data=None, generator=ceiling, remotes=(), survey=None, chain=chain)
    return Single(plan=plan, done=done, analysis=found, generator=ceiling)


def keep(
    single: Single,
    summary: CellSummary,
    course: Course | None,
    engine: Engine,
    precondition: Preconditioned | None,
    url: str | None,
) -> tuple[str | None, str | None]:
    """Into the store: the figures of ``summary``, and of the result the regime that it ended in.

    (its id, None), or (None, why it could not be kept): what was measured is not lost for a store that gives trouble.
    Neither where no precision was asked, and of a null endpoint: nobody compares with it.
    """
    if course is None or single.plan.stack.layers[0].target.kind is EndpointKind.NULL:
        return None, None
    from strata.analyse.pooled import noise_of
    from strata.app.circumstances import environment
    from strata.app.earlier import noise_place
    from strata.diagnose import diagnose
    from strata.model.regime import last_regime
    from strata.store import open_store

    done, analysis = single.done, single.analysis.model_copy(update={"cells": (summary,)})
    if done.result is not None:
        done = done.model_copy(update={"result": last_regime(done.result, course)})
    plan = single.plan
    run = Run(
        id=plan.id,
        created_unix_ns=time.time_ns(),
        status=RunStatus.DONE,
        plan=plan,
        environment=environment(engine.identity()),
        generator=single.generator,
        survey=_platform(plan.stack.layers[0].target),
        preconditions=() if precondition is None else (precondition,),
        pooled=noise_of(plan, (done,)),
        pooled_at=noise_place(plan.stack.layers[0].target, plan.cells[0].workload.direct),
    )
    try:
        with open_store(url) as store:
            store.create_run(run)
            store.save_cell(run.id, done)
            store.save_outcome(run.id, analysis, diagnose(plan.stack, analysis))
    except StrataError as e:
        return None, e.render()
    return run.id, None


def _platform(endpoint: Endpoint) -> Survey | None:
    """What a later comparison is held against: devices, file system, governor. Of a server nobody here can tell."""
    from strata.discover.survey import survey

    if endpoint.kind is not EndpointKind.FILE or endpoint.path is None:
        return None
    try:
        return survey(Path(endpoint.path).parent, 0.0)
    except StrataError:
        return None
