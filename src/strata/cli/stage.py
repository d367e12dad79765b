"""``strata stage``: a stack whose layers cannot be there at once."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from strata.cli import common, tables
from strata.cli.bundles import Kept, within_bounds
from strata.errors import Exit


def stage(
    context: typer.Context,
    stack: Annotated[Path, typer.Argument(help="The stack file (.toml).")],
    kept: Kept,
    measure: Annotated[bool, typer.Option("--measure", help="Measure the next layer that has no measurement.")] = False,
    layer: Annotated[
        str | None, typer.Option(help="With --measure: measure this layer, even if it has a measurement.")
    ] = None,
    size: Annotated[
        str | None, typer.Option(help="With --measure: size of the test file (default: that of the stages before).")
    ] = None,
    rounds: Annotated[int, typer.Option(help="With --measure: number of rounds; the first stage sets it for all.")] = 4,
    runtime: Annotated[
        str, typer.Option(help="With --measure: time of each measurement, e.g. 5s; the first stage sets it for all.")
    ] = "1s",
    progress: common.ProgressMode = "auto",
    json: common.JsonFlag = False,
    store: common.StoreUrl = None,
) -> int:
    """Measure a stack whose layers cannot exist together. One stage is measured after the other.

    Shows which layers have a measurement and what to do by hand next; strata diagnose then names the slow layer.
    """
    from strata.app import stage as use_case
    from strata.report.stages_text import stages_text

    tables.STAGE.check(context, tables.MEASURED if measure else tables.STATE)
    if not measure:
        found = use_case.state_of(stack, store)
    else:
        chosen = within_bounds(
            {
                "size": common.size(size),
                "rounds": rounds,
                "runtime_s": common.seconds(runtime) or 1.0,
                "ramp_s": 0.25,
                "label": kept.label,
                "store": store,
            }
        )
        with common.display(progress) as emit:
            found = use_case.measure_stage(stack, layer, chosen, emit)
    common.show(found, stages_text, json)
    return Exit.FINE if found.next is None else Exit.INCONCLUSIVE
