"""``strata measure``: one workload against one endpoint, or the rest of an interrupted run."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from strata import units
from strata.cli import common, completing, matrixing, patterns, tables, ways
from strata.cli.diagnosing import diagnose_where, outputs_of, publish, said_where, write_report
from strata.errors import Exit, UsageError
from strata.text.door import note, out

if TYPE_CHECKING:
    from strata.app.measuring import OneResult
    from strata.model.course import Aim
    from strata.model.progress import Glance
    from strata.model.result import Interval


def measure(
    context: typer.Context,
    where: Annotated[
        str | None,
        typer.Argument(
            help="An endpoint (file:/…, block:/dev/…, nbd://…, nfs://…, smb://…, iscsi://…, rbd:…, gluster://…, null:)"
            ", a directory or a stack file.",
            autocompletion=completing.endpoints,
        ),
    ] = None,
    rw: Annotated[str | None, typer.Option(help="read, write, randread (default), randwrite, rw or randrw.")] = None,
    bs: Annotated[str, typer.Option(help="Block size, e.g. 4k.")] = "4k",
    iodepth: Annotated[
        int | None, typer.Option(help="I/Os kept in flight by each thread (1); with a rate, their bound (256).")
    ] = None,
    numjobs: Annotated[int, typer.Option("--numjobs", "--threads", help="Threads.")] = 1,
    rwmixread: Annotated[int | None, typer.Option(help="Share of reads in percent, for rw and randrw.")] = None,
    rate_iops: Annotated[float | None, typer.Option(help="Open loop: I/Os a second, whether or not done.")] = None,
    rate_process: Annotated[str, typer.Option(help="How the rate comes: constant or poisson.")] = "constant",
    rate_burst: patterns.RateBurst = 1,
    limit_iops: patterns.LimitIops = None,
    limit_bytes: patterns.LimitBytes = None,
    thinktime: patterns.Thinktime = None,
    thinktime_blocks: patterns.ThinktimeBlocks = 1,
    random_distribution: patterns.RandomDistribution = None,
    randommap: patterns.Randommap = False,
    interlocked: patterns.Interlocked = False,
    stride: patterns.Stride = None,
    offset_increment: patterns.OffsetIncrement = None,
    bssplit: patterns.BsSplit = None,
    rwmix_run: patterns.RwmixRun = 1,
    blockalign: patterns.Blockalign = None,
    misalign: patterns.Misalign = None,
    range_: Annotated[str | None, patterns.RANGE] = None,
    fsync: patterns.Fsync = 0,
    fdatasync: patterns.Fdatasync = 0,
    buffer_compress_percentage: patterns.Compress = None,
    dedupe_percentage: patterns.Dedupe = None,
    refill_buffers: patterns.Refill = False,
    target: patterns.Targets = None,
    shares: patterns.Shares = None,
    deal: patterns.Deal = "share",
    job: patterns.JobFile = None,
    matrix: matrixing.Matrix = None,
    budget: common.Budget = None,
    until: Annotated[
        str | None,
        typer.Option(
            help="One endpoint, or a matrix: go on until the mean's 95 % interval is that narrow (half-width), e.g. 2%."
        ),
    ] = None,
    until_percentile: Annotated[
        str | None, typer.Option(help="And this percentile's: 99:5% by default; none: only the mean.")
    ] = None,
    until_min: Annotated[str | None, typer.Option(help="Of the state it ends in, at least so long (3s).")] = None,
    until_bytes: Annotated[str | None, typer.Option(help="At most so much is read and written, e.g. 20g.")] = None,
    runtime: common.MaybeRuntime = None,
    ramp: common.MaybeRamp = None,
    interval: Annotated[
        str | None, typer.Option(help="Length of the reported intervals, at most 1s by default.")
    ] = None,
    size: common.SizeText = None,
    buffered: Annotated[bool, typer.Option("--buffered", help="Through the page cache instead of O_DIRECT.")] = False,
    cache: Annotated[
        str | None,
        typer.Option(help="Buffered, with the file's pages dropped (cold) or read (warm) before, and read back."),
    ] = None,
    dsync: Annotated[bool, typer.Option("--dsync", help="Write-through: every write is durable (O_DSYNC).")] = False,
    sync: Annotated[
        str | None, typer.Option(help="How: none, dsync (as --dsync) or rwf_dsync (a flag of each write).")
    ] = None,
    cpus: common.Cpus = None,
    numa_node: common.NumaNode = None,
    precondition: common.Precondition = None,
    precondition_bytes: common.PreconditionBytes = None,
    cooldown: common.Cooldown = None,
    seed: common.Seed = 1,
    engine: common.Engine = "auto",
    keep: common.Keep = False,
    destructive: Annotated[
        str | None,
        typer.Option(help="Allow writing to a raw device or foreign export: type its name again. Its data is lost."),
    ] = None,
    rounds: common.Rounds = 5,
    layers: common.Layers = None,
    workloads: common.Workloads = None,
    read_only: common.ReadOnly = False,
    share: common.Share = False,
    resume: Annotated[
        bool, typer.Option("--resume", help="Go on with an interrupted run (id, or the newest).")
    ] = False,
    trace: common.Trace = False,
    html: common.HtmlPath = None,
    markdown: common.MarkdownPath = None,
    verbose: Annotated[bool, typer.Option("--verbose", help="Each thread of one endpoint's measurement.")] = False,
    json: common.JsonFlag = False,
    progress: common.ProgressMode = "auto",
    name: common.Name = "",
    note: common.Note = "",
    store: common.StoreUrl = None,
) -> int:
    """One workload against one ENDPOINT; or every layer of a directory or stack file, in interleaved rounds.

    A directory is measured with the same set as `diagnose` (or with the one workload that --rw names), compared and
    stored, without the confirming experiment. With --resume: the missing cells of an interrupted run.
    """
    from strata.app.measuring import PatternWords, dealt, measure_endpoint, timing_of, workload_from_words
    from strata.app.naming import is_endpoint, understood

    outputs_of(html, markdown)
    if resume:
        return _resume(
            context, where, html=html, markdown=markdown, json=json, progress=progress, store=store,
            destructive=destructive,
        )  # fmt: skip
    if where is None:
        raise UsageError(
            "nothing to measure",
            "",
            "",
            "strata measure file:/mnt/new.dat, strata measure /mnt/volume, or strata measure stack.toml",
        )
    where, *others = (understood(word) for word in (where, *(target or ())))
    uris = (where, *others)
    if len(uris) > 1 and not all(is_endpoint(uri) for uri in uris):
        raise UsageError("several targets are endpoints:", ", ".join(uris), "", "for example: file:/a --target file:/b")
    tables.MEASURE.check(context, tables.place_of(where, several=len(uris) > 1), _cells(context, where, matrix, job))
    label = common.label(name, note)
    if matrix is not None:
        return matrixing.measure(
            where,
            matrixing.Words(
                matrix, budget, until, ramp, buffered, _sync(dsync, sync) if dsync or sync else None, destructive
            ),
            common.options(
                rounds=1, runtime="1s", ramp=ramp or "100ms", size=size, layers=layers, workloads=None, share=share,
                read_only=read_only, keep=keep, seed=seed, engine=engine, store=store, cpus=cpus, numa_node=numa_node,
            ).model_copy(update={"label": label}),
            html=html, markdown=markdown, json=json, progress=progress,
        )  # fmt: skip
    pattern = PatternWords(
        random_distribution=random_distribution,
        randommap=randommap,
        interlocked=interlocked,
        stride=stride,
        offset_increment=offset_increment,
        bssplit=bssplit,
        rwmix_run=rwmix_run,
        blockalign=blockalign,
        misalign=misalign,
        range=range_,
        fsync=fsync,
        fdatasync=fdatasync,
        compress_percent=buffer_compress_percentage,
        dedupe_percent=dedupe_percentage,
        refill=refill_buffers,
        burst=rate_burst,
        limit_iops=limit_iops,
        limit_bytes=limit_bytes,
        thinktime=thinktime,
        thinktime_blocks=thinktime_blocks,
        shares=patterns.shares_of(shares, len(uris)),
        deal=deal,
    )
    workload = workload_from_words(
        rw or "randread",
        bs,
        iodepth=iodepth,
        threads=numjobs,
        rate_iops=rate_iops,
        process=rate_process,
        rwmixread=rwmixread,
        direct=not buffered,
        sync=_sync(dsync, sync),
        cache=cache,
        seed=seed,
        more=pattern,
    )
    listed = common.jobs(job)
    if not is_endpoint(where):
        chosen = common.options(
            rounds=rounds,
            runtime=runtime or "1s",
            ramp=ramp or "250ms",
            size=size,
            layers=layers,
            workloads=workloads,
            read_only=read_only,
            keep=keep,
            share=share,
            seed=seed,
            engine=engine,
            store=store,
            confirm=False,
            interval=interval,
            cpus=cpus,
            numa_node=numa_node,
            precondition=precondition,
            precondition_bytes=precondition_bytes,
            cooldown=cooldown,
        ).model_copy(update={"only": (workload,) if rw is not None else listed, "trace": trace, "label": label})
        diagnose_where(Path(where), chosen, html=html, markdown=markdown, json=json, progress=progress)
        return Exit.FINE
    from strata.app.until import BIN_S, aim_of
    from strata.model.placement import parse_placement
    from strata.model.progress import Phase, Progress

    if listed:
        if len(listed) > 1:
            keys = ", ".join(w.key for w in listed)
            raise UsageError("one endpoint takes one workload:", keys, "", "name a directory, or keep one section")
        workload = dealt(listed[0], pattern.shares, deal)
    aim = aim_of(until, until_percentile, until_min, runtime, until_bytes)
    timing = timing_of(ramp or "500ms", runtime or "5s", interval or ("1s" if aim is None else f"{BIN_S}s"))
    longest = timing.runtime_s if aim is None else aim.seconds_max
    with common.display(progress) as display:

        def on_interval(done: Interval, now: Glance) -> None:
            seconds = (done.end_ns - done.start_ns) / 1e9
            display.update(
                Progress(
                    phase=Phase.MEASURE,
                    layer=where,
                    label=workload.label,
                    iops=(done.read.ops + done.write.ops) / seconds,
                    bytes_per_second=(done.read.bytes + done.write.bytes) / seconds,
                    seconds_left=max(0.0, longest - done.end_ns / 1e9),
                    now=now,
                )
            )

        result = measure_endpoint(
            uris,
            workload,
            timing,
            size=None if size is None else units.parse_size(size),
            keep=keep,
            destructive=destructive,
            placement=parse_placement(cpus, numa_node) if cpus or numa_node else None,
            precondition_s=common.seconds(precondition),
            precondition_bytes=None if precondition_bytes is None else units.parse_size(precondition_bytes),
            on_interval=on_interval,
            engine=engine,
            aim=aim,
            trace=trace,
            store=store,
            label=label,
        )
    if result.report is not None:
        write_report(result.report, html, markdown)
    code = _publish(result, aim, verbose=verbose, json=json)
    said_where(html, markdown)
    return code


def _publish(result: OneResult, aim: Aim | None, *, verbose: bool, json: bool) -> int:
    """On the terminal; the exit code."""
    if json:
        out(result.model_dump_json(indent=2), exact=True)
    else:
        # Here: what it loads would delay the first I/O.
        from strata.report.measure_text import measure_text

        shape = common.width(), common.color()
        out(measure_text(result.summary, result.endpoint, *shape, result.checks, result.result, verbose, result.course))
        if result.run is not None:
            note(f"kept: strata report {result.run}")
    if result.precondition is not None:
        from strata.app.preconditioning import said_of

        note(f"preconditioning: {said_of(result.precondition)}")
    if result.moved is not None:
        note(result.moved)
    if result.unkept is not None:
        note(f"not kept: {result.unkept}")
    if result.stopped_by is not None:
        note(f"{result.trouble or 'stopped'}; what was measured until then is above")
        return Exit.of_signal(result.stopped_by)
    if result.trouble is not None:
        note(f"error: {result.endpoint} {result.trouble}")
        note("hint: what was measured until then is above")
        return Exit.FAILED
    if aim is not None and not (result.course and result.course.reached):
        note(f"the interval of the mean did not come within ±{units.percent(aim.mean, 2)}; it says how near")
        return Exit.INCONCLUSIVE
    return Exit.FINE


def _sync(dsync: bool, sync: str | None) -> str:
    if dsync and sync not in (None, "dsync"):
        raise UsageError("cannot use both --dsync and", f"--sync {sync}", "", "give one of them")
    return sync or ("dsync" if dsync else "none")


def _cells(context: typer.Context, where: str, matrix: str | None, job: Path | None) -> str:
    """Where the cells come from, as the table of the command calls it."""
    if matrix is not None:
        return tables.MATRIX
    if job is not None:
        return tables.JOB
    from strata.app.naming import is_endpoint

    return tables.WORDS if is_endpoint(where) or "rw" in ways.typed(context) else tables.USUAL


def _resume(
    context: typer.Context,
    run_id: str | None,
    *,
    html: Path | None,
    markdown: Path | None,
    json: bool,
    progress: str,
    store: str | None,
    destructive: str | None,
) -> int:
    from strata.app.diagnosing import resume as resume_run
    from strata.app.diagnosing import unfinished
    from strata.app.options import Options

    tables.MEASURE.check(context, tables.RESUME, tables.MATRIX)
    run = unfinished(run_id, store)
    tables.MEASURE.check(context, tables.RESUME, tables.LAYERS if run.plan.matrix is None else tables.MATRIX)
    if run.plan.matrix is not None:
        from strata.app.matrixing import resume_matrix

        with common.display(progress) as display:
            result = resume_matrix(run, Options(store=store), display.update, destructive)
        matrixing.publish(result, html=html, markdown=markdown, json=json)
        return matrixing.kept_promise(result)
    with common.display(progress) as display:
        report = resume_run(run.id, Options(store=store), display.update)
    publish(report, html=html, markdown=markdown, json=json)
    return Exit.FINE
