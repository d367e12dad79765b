"""``strata measure``: one workload against one endpoint, or the rest of an interrupted run."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from strata import units
from strata.cli import common
from strata.cli.common import out
from strata.errors import UsageError
from strata.model.progress import Phase, Progress
from strata.model.result import Interval


def measure(
    where: Annotated[
        str | None,
        typer.Argument(help="An endpoint (file:/…, block:/dev/…, nbd://…, null:), a directory or a stack file."),
    ] = None,
    rw: Annotated[str, typer.Option(help="read, write, randread, randwrite, rw or randrw.")] = "randread",
    bs: Annotated[str, typer.Option(help="Block size, e.g. 4k.")] = "4k",
    iodepth: Annotated[
        int | None, typer.Option(help="I/Os kept in flight by each thread (1); with a rate, their bound (256).")
    ] = None,
    numjobs: Annotated[int, typer.Option("--numjobs", "--threads", help="Threads.")] = 1,
    rwmixread: Annotated[int | None, typer.Option(help="Share of reads in percent, for rw and randrw.")] = None,
    rate_iops: Annotated[float | None, typer.Option(help="Open loop: I/Os a second, whether or not done.")] = None,
    rate_process: Annotated[str, typer.Option(help="How the rate comes: constant or poisson.")] = "constant",
    runtime: common.Runtime = "5s",
    ramp: common.Ramp = "500ms",
    interval: Annotated[str, typer.Option(help="Length of the reported intervals.")] = "1s",
    size: common.SizeText = None,
    buffered: Annotated[bool, typer.Option("--buffered", help="Through the page cache instead of O_DIRECT.")] = False,
    dsync: Annotated[bool, typer.Option("--dsync", help="Write-through: every write is durable.")] = False,
    seed: common.Seed = 1,
    keep: common.Keep = False,
    destructive: Annotated[
        str | None,
        typer.Option(help="Allow writing to a raw device or foreign export: type its name again. Its data is lost."),
    ] = None,
    resume: Annotated[
        bool, typer.Option("--resume", help="Go on with an interrupted run (id, or the newest).")
    ] = False,
    html: common.HtmlPath = None,
    markdown: common.MarkdownPath = None,
    json: common.JsonFlag = False,
    progress: common.ProgressMode = "auto",
    store: common.StoreUrl = None,
) -> int:
    """One workload against one ENDPOINT; or, with --resume, the missing cells of a run and its verdict."""
    if resume:
        return _resume(where, html=html, markdown=markdown, json=json, progress=progress, store=store)
    if where is None or ":" not in where:
        raise UsageError(
            "cannot measure",
            where or "nothing",
            "an endpoint is needed, like file:/mnt/volume/strata.dat",
            f"a whole stack is measured by: strata diagnose {where or 'PATH'}",
        )
    from strata.app.measuring import measure_endpoint, timing_of, workload_from_words
    from strata.report.measure_text import measure_text

    workload = workload_from_words(
        rw=rw,
        bs=bs,
        iodepth=iodepth,
        threads=numjobs,
        rate_iops=rate_iops,
        process=rate_process,
        rwmixread=rwmixread,
        direct=not buffered,
        sync="dsync" if dsync else "none",
        seed=seed,
    )
    timing = timing_of(ramp, runtime, interval)
    with common.display(progress) as display:

        def on_interval(done: Interval) -> None:
            seconds = (done.end_ns - done.start_ns) / 1e9
            display.update(
                Progress(
                    phase=Phase.MEASURE,
                    layer=where,
                    label=workload.label,
                    iops=(done.read.ops + done.write.ops) / seconds,
                    bytes_per_second=(done.read.bytes + done.write.bytes) / seconds,
                    seconds_left=max(0.0, timing.runtime_s - done.end_ns / 1e9),
                )
            )

        result = measure_endpoint(
            where,
            workload,
            timing,
            size=None if size is None else units.parse_size(size),
            keep=keep,
            destructive=destructive,
            on_interval=on_interval,
        )
    if json:
        out(result.model_dump_json(indent=2))
    else:
        out(measure_text(result.summary, result.endpoint, common.width(), common.color(), result.checks, result.result))
    if result.stopped_by is not None:
        common.note(f"{result.trouble or 'stopped'}; what was measured until then is above")
        return 128 + result.stopped_by
    if result.trouble is not None:
        common.note(f"error: {result.endpoint} {result.trouble}")
        common.note("hint: what was measured until then is above")
        return 1
    return 0


def _resume(
    run_id: str | None, *, html: Path | None, markdown: Path | None, json: bool, progress: str, store: str | None
) -> int:
    from strata.app import outputs
    from strata.app.diagnosing import resume as resume_run
    from strata.app.options import Options
    from strata.cli.diagnosing import publish

    for path in (html, markdown):
        if path is not None:
            outputs.check_output(path)
    with common.display(progress) as display:
        report = resume_run(run_id, Options(store=store), display.update)
    return publish(report, html=html, markdown=markdown, json=json)
