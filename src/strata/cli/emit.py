"""``strata emit``: workloads as commands of other tools."""

from __future__ import annotations

from typing import Annotated

import typer

from strata.cli import common, tables
from strata.cli.bundles import Asked, WorkloadWords
from strata.errors import Exit, UsageError
from strata.text.output import out
from strata.text.plain import encoding


def emit(
    context: typer.Context,
    words: WorkloadWords,
    asked: Asked,
    form: Annotated[str, typer.Argument(help="What to write: diskspd, fio, powershell or shell.")],
    where: Annotated[str, typer.Argument(help="File or device to measure, as the machine that will run it names it.")],
    workloads: Annotated[
        str | None, typer.Option(help="Write only these workloads, comma-separated names or globs.")
    ] = None,
    size: Annotated[str, typer.Option(help="Size of the test file, or of the part of a device.")] = "1g",
    rounds: Annotated[int, typer.Option(help="Number of repetitions of every workload, interleaved.")] = 3,
    runtime: Annotated[str, typer.Option(help="Measured time of each measurement, e.g. 10s.")] = "10s",
    ramp: Annotated[str, typer.Option("--ramp-time", help="Warm-up time before each measurement.")] = "2s",
    seed: common.Seed = 1,
    counters: Annotated[
        bool, typer.Option("--counters/--no-counters", help="Collect the system's counters beside the measurements.")
    ] = True,
    destructive: common.Destructive = None,
) -> int:
    """Write workloads as commands of another tool, for a machine on which Strata does not run.

    The order is shuffled within each round, every measurement has its own seed, and strata import reads the results.
    """
    from strata.app.emit import emit as write
    from strata.app.measure import workload_from_words

    given = ((tables.WORDS, words.rw), (tables.JOB, asked.job), (tables.PROFILE, asked.profile))
    tables.EMIT.check(context, next((way for way, there in given if there), tables.USUAL))
    if destructive is not None and destructive != where:
        why = "it does not repeat the name of the target"
        raise UsageError("cannot use --destructive", destructive, why, f"--destructive {where}")
    typed = asked.workloads
    profile = typed["profile"]
    listed = typed["only"] or (() if profile is None else tuple(w.workload for w in profile.workloads))
    text = write(
        form,
        where,
        (workload_from_words(**words.given),) if words.rw else listed,
        [name.strip() for name in (workloads or "").split(",") if name.strip()],
        size=common.size(size) or 0,
        rounds=rounds,
        ramp_s=common.seconds(ramp) or 0.0,
        runtime_s=common.seconds(runtime) or 0.0,
        seed=seed,
        counters=counters,
        destructive=destructive is not None,
    )
    try:
        text.encode(encoding())
    except UnicodeEncodeError as e:
        why = f"{encoding()} has no such characters"
        raise UsageError("cannot write the name", where, why, "run it with LC_ALL=C.UTF-8") from e
    out(text)
    return Exit.FINE
