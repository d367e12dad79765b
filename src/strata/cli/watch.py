"""``strata watch``: what limits the load that is there, without adding any."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from strata.cli import common
from strata.errors import Exit, UsageError
from strata.text.output import note

LONGEST_S = 24 * 3600


def watch(
    where: Annotated[
        Path | None, typer.Argument(help="A path, a block device or a stack file (.toml) on which the load runs.")
    ] = None,
    command: Annotated[
        list[str] | None, typer.Argument(help="After --: the application's command; it is watched from start to end.")
    ] = None,
    for_: Annotated[
        str | None, typer.Option("--for", help="Time to watch (default 30s, or until the command ends).")
    ] = None,
    trace: Annotated[
        bool,
        typer.Option(
            help="Also trace the block devices briefly, which needs root; writing an event costs 0.2 µs of CPU time."
        ),
    ] = True,
    write_profile: Annotated[
        Path | None, typer.Option(help="Save the observed workload in this .toml file, for use with --profile.")
    ] = None,
    then_confirm: Annotated[
        bool,
        typer.Option("--then-confirm", help="Then diagnose with the observed workload, on a file of Strata's own."),
    ] = False,
    json: common.JsonFlag = False,
    store: common.StoreUrl = None,
) -> int:
    """Watch the application's own load and name the layer that limits it; issues no I/O to the storage."""
    from strata.app import watch as use_case
    from strata.app.watch_confirm import confirmation, confirmed, observed_profile
    from strata.model.finding import VerdictKind
    from strata.report.watch_text import watch_text

    seconds = common.seconds(for_)
    if seconds is not None and not 0 < seconds <= LONGEST_S:
        raise UsageError("cannot watch for", for_ or "", "--for must be above 0 and at most 1 day")
    if where is None:
        raise UsageError("nothing to watch", "", "no path is given", "strata watch /mnt/volume --for 60s")
    asked = use_case.Watching(where=str(where), seconds=seconds, command=tuple(command or ()), trace=trace)
    seen, traces = use_case.observe(asked)
    derived = None if traces is None else observed_profile(traces.figures, traces.whole, str(where))
    proof = confirmation(str(where), derived, write_profile)
    if then_confirm and proof is not None:
        with common.display("auto") as emit:
            proof = confirmed(str(where), derived, proof, store, emit)
    result = use_case.told(seen).model_copy(update={"confirm": proof})
    common.show(result, watch_text, json)
    if result.ran is not None and result.ran.status:
        note(f"the command ended with {result.ran.status}")
        return Exit.FAILED
    last = result.verdict if proof is None or proof.verdict is None else proof.verdict
    return Exit.INCONCLUSIVE if last.kind is VerdictKind.INCONCLUSIVE else Exit.FINE
