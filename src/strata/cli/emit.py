"""``strata emit``: workloads as commands of other tools."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated

import typer

from strata.cli import common, completion, tables
from strata.cli.bundles import Asked, WorkloadWords
from strata.errors import Exit, UsageError
from strata.model.workload_options import OPTIONS
from strata.text.output import out
from strata.text.plain import encoding

if TYPE_CHECKING:
    from strata.app.matrix_plan import MatrixWords
    from strata.model.workload import Workload


class EmitSource(Asked):
    """Where the workloads come from, if not from the words of one."""

    matrix: Annotated[
        str | None,
        typer.Option(
            help="Write every cell of a matrix: full, published, small, or 'bs=4k,64k;iodepth=1,8;rw=randread'.",
            autocompletion=completion.matrices,
        ),
    ] = None
    run: Annotated[
        str | None,
        typer.Option(
            help="Write the workloads of a stored run, with its rounds, times and size.", autocompletion=completion.runs
        ),
    ] = None


def emit(
    context: typer.Context,
    words: WorkloadWords,
    asked: EmitSource,
    form: Annotated[str, typer.Argument(help="What to write: diskspd, fio, powershell or shell.")],
    where: Annotated[str, typer.Argument(help="File or device to measure, as the machine that will run it names it.")],
    workloads: Annotated[
        str | None, typer.Option(help="Write only these workloads, comma-separated names or globs.")
    ] = None,
    size: Annotated[
        str | None, typer.Option(help="Size of the test file, or of the part of a device (default 1g).")
    ] = None,
    rounds: Annotated[
        int | None, typer.Option(help="Number of repetitions of every workload, interleaved (default 3).")
    ] = None,
    runtime: Annotated[
        str | None, typer.Option(help="Measured time of each measurement, e.g. 30s (default 10s).")
    ] = None,
    ramp: Annotated[
        str | None, typer.Option("--ramp-time", help="Warm-up time before each measurement (default 2s).")
    ] = None,
    seed: common.Seed = OPTIONS["seed"].default,
    counters: Annotated[
        bool, typer.Option("--counters/--no-counters", help="Collect the system's counters beside the measurements.")
    ] = True,
    destructive: common.Destructive = None,
    store: common.StoreUrl = None,
) -> int:
    """Write workloads as commands of another tool. They are for a machine on which Strata does not run.

    The order is shuffled within each round, every measurement has its own seed, and strata import reads the results.
    """
    from strata.app.emit import emit as write

    given = (
        (tables.MATRIX, asked.matrix), (tables.LIKE, asked.run), (tables.WORDS, words.rw), (tables.JOB, asked.job),
        (tables.PROFILE, asked.profile),
    )  # fmt: skip
    tables.EMIT.check(context, next((way for way, there in given if there), tables.USUAL))
    if destructive is not None and destructive != where:
        why = "it does not repeat the name of the target"
        raise UsageError("cannot use --destructive", destructive, why, f"--destructive {where}")
    text = write(
        form,
        where,
        _asked(asked, words),
        [name.strip() for name in (workloads or "").split(",") if name.strip()],
        size=common.size(size),
        rounds=rounds,
        ramp_s=common.seconds(ramp),
        runtime_s=common.seconds(runtime),
        seed=seed,
        store_url=store,
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


def _asked(asked: EmitSource, words: WorkloadWords) -> Sequence[Workload] | MatrixWords | str:
    """As the use case takes it. Raises `UsageError`."""
    from strata.app.matrix_plan import words_of
    from strata.app.measure import workload_from_words

    if asked.run is not None:
        return asked.run
    if asked.matrix is not None:
        return words_of(asked.matrix, None, None, None, buffered=words.buffered, sync=words.sync)
    if words.rw:
        return (workload_from_words(**words.given),)
    typed = asked.workloads
    profile = typed["profile"]
    return typed["only"] or (() if profile is None else tuple(w.workload for w in profile.workloads))
