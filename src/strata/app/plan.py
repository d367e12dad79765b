"""The plan of a run, and that of the experiment that would refute its answer."""

from __future__ import annotations

from collections.abc import Mapping

from strata.app.options import BUDGET_S, WHOLE_S, Options
from strata.app.precondition import budget_of
from strata.engine import Engine, Piece
from strata.model.caching import refusal
from strata.model.experiment import Experiment
from strata.model.plan import Cell, Plan, Step, StepKind
from strata.model.stack import Stack
from strata.model.workload import Workload
from strata.plan.cost import STEP_OVERHEAD_S
from strata.plan.expand import Schedule, expand
from strata.plan.screening import lengths

EXPERIMENT_LEAST_S = 0.5


def refused_cells(engine: Engine, workloads: tuple[Workload, ...], pieces: Mapping[str, Piece]) -> dict[str, str]:
    """Why the engine cannot measure a cell, by the cell's key; ``pieces`` by layer."""
    refused: dict[str, str] = {}
    for name, piece in pieces.items():
        for workload in workloads:
            if reasons := engine.refusals(piece.endpoint, workload, piece.segments):
                refused[Cell(layer=name, workload=workload).key] = "; ".join(reasons)
    return refused


def plan_of(
    stack: Stack,
    workloads: tuple[Workload, ...],
    options: Options,
    run_id: str,
    size: int,
    skips: Mapping[str, str] | None = None,
) -> Plan:
    """The cells and their order, as a run carries them out and as a dry run prints them. ``skips`` by cell key."""
    left_out = {
        Cell(layer=layer.name, workload=w).key: why
        for layer in stack.layers
        for w in workloads
        if (why := refusal(layer.target, w)) is not None
    } | dict(skips or {})
    raw = {layer.name for layer in stack.layers if layer.endpoint.startswith("block:")}
    if options.screen:
        refused = set(left_out) | {Cell(layer=n, workload=w).key for n in raw for w in workloads if w.rw.writes}
        options = options.model_copy(update=lengths(len(stack.layers) * len(workloads) - len(refused))._asdict())
    schedule = Schedule(
        rounds=options.rounds,
        ramp_s=options.ramp_s,
        runtime_s=options.runtime_s,
        interval_s=options.interval,
        cooldown_s=options.cooldown_s,
        further_s=(BUDGET_S if options.budget_s is None else options.budget_s)
        if options.screen or options.confirm
        else 0.0,
        whole_s=WHOLE_S if options.screen and options.budget_s is None else None,
        detail=options.screen,
    )
    return expand(
        stack,
        workloads,
        schedule,
        file_size=size,
        seed=options.seed,
        skips=left_out,
        read_only_layers=raw,
        placement=options.placement,
        precondition=budget_of(options.precondition_s, options.precondition_bytes, options.runtime_s, size),
        plan_id=run_id,
    ).model_copy(update={"profile": options.profile})


def experiment_plan(plan: Plan, experiment: Experiment) -> Plan | None:
    """The reference and the changed cell, in this order, with the times that the experiment asks for; no steps yet.

    A cell of a screening is too short to be compared with a prediction: an experiment's lasts half a second at least.
    ``seconds`` is what one round of both takes. None where the reference is no workload of the plan.
    """
    reference = next((w for w in plan.workloads if w.key == experiment.reference), None)
    if reference is None:
        return None
    there = experiment.reference_layer or experiment.layer
    cells = (Cell(layer=there, workload=reference), Cell(layer=experiment.layer, workload=experiment.workload))
    runtime_s = experiment.runtime_s or max(plan.runtime_s, EXPERIMENT_LEAST_S)
    own = {
        "cells": cells,
        "steps": (),
        "rounds": 0,
        "precondition": None,
        "further": None,
        "runtime_s": runtime_s,
        "seconds": len(cells) * (plan.ramp_s + runtime_s + STEP_OVERHEAD_S + plan.cooldown_s),
    }
    return plan.model_copy(update=own)


def experiment_round(plan: Plan, experiment: Experiment, number: int, first: int) -> tuple[Step, ...]:
    """Both cells of `experiment_plan`, the order turned round from one round to the next; ``first`` is the order of
    the first step."""
    sides = (False, True) if number % 2 == 0 else (True, False)
    return tuple(
        Step(
            order=first + i, round=number, cell=plan.cells[changed].key, kind=StepKind.CONFIRM,
            experiment=experiment.label, changed=changed,
        )
        for i, changed in enumerate(sides)
    )  # fmt: skip
