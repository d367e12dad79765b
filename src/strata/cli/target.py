"""``strata target``: a remote end that is known to be good, or known to be limited."""

from __future__ import annotations

import os
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from strata import units
from strata.cli import common, tables
from strata.cli.bundle import Bundle
from strata.errors import UsageError
from strata.schemes import SCHEMES
from strata.text.output import note

if TYPE_CHECKING:
    from strata.app.target import Shaping


class Limited(Bundle):
    """What makes it slower or wrong on purpose."""

    bandwidth: Annotated[
        str | None, typer.Option(help="Simulated network: bandwidth in each direction in bytes per second, e.g. 100m.")
    ] = None
    latency: Annotated[str, typer.Option(help="Simulated network: delay added to every round trip, e.g. 2ms.")] = "0"
    iops: Annotated[float | None, typer.Option(help="Limit on requests per second.")] = None
    service_threads: Annotated[int, typer.Option(help="Number of requests served concurrently.")] = 8
    service_time: Annotated[str, typer.Option(help="Simulated medium: service time of each request, e.g. 500us.")] = "0"
    fault: Annotated[
        list[str] | None,
        typer.Option(
            help="Inject a fault: lost, torn, stale, misdirected, corrupted or short-error, with :every=N or "
            ":offset=BYTE, and :seed=N; repeatable."
        ),
    ] = None

    @property
    def shape(self) -> Shaping:
        """As a value. Raises `UsageError`."""
        from strata.app.target import Shaping

        return Shaping(
            bandwidth_bytes_per_s=common.size(self.bandwidth),
            latency_ns=units.parse_duration_ns(self.latency),
            iops=self.iops,
            service_threads=self.service_threads,
            service_time_ns=units.parse_duration_ns(self.service_time),
        )


def target(
    context: typer.Context,
    limited: Limited,
    file: Annotated[
        Path | None, typer.Option(help="Serve this file; read-only unless Strata created it and --writable is set.")
    ] = None,
    memory: Annotated[
        str | None, typer.Option(help="Serve this much memory, e.g. 1g; read-only unless --writable is set.")
    ] = None,
    null: Annotated[
        str | None, typer.Option(help="Serve an export of this size without storage: reads return zeroes.")
    ] = None,
    listen: Annotated[
        str, typer.Option(help="TCP address and port to listen on; port 0 selects a free one.")
    ] = f"127.0.0.1:{SCHEMES['nbd'].port}",
    socket: Annotated[
        Path | None, typer.Option(help="Listen on this unix socket instead of TCP; only your user may connect.")
    ] = None,
    export: Annotated[str, typer.Option(help="Name of the export.")] = "",
    writable: Annotated[
        bool,
        typer.Option("--writable", help="Allow writes to memory, or to a file Strata created (beyond its first MiB)."),
    ] = False,
    buffered: Annotated[bool, typer.Option("--buffered", help="Serve the file through the page cache.")] = False,
    stats: Annotated[
        Path | None, typer.Option(help="Publish the server-side time of every request on this unix socket.")
    ] = None,
) -> None:
    """Serve a known-good remote end over NBD until interrupted. It is the reference for measuring a network."""
    from strata.app import target as app_target

    if sum(x is not None for x in (file, memory, null)) != 1:
        raise UsageError("nothing to serve", "", "", "name exactly one of --file, --memory and --null")
    tables.TARGET.check(
        context, tables.FILE if file is not None else tables.MEMORY if memory is not None else tables.NULL
    )
    with ExitStack() as held:
        backing, guarded = app_target.backing_of(
            file, common.size(memory), common.size(null), writable=writable, direct=not buffered, held=held
        )
        chosen = app_target.TargetConfig(
            tcp=None if socket else listen,
            unix=str(socket) if socket else None,
            export=export,
            backing=backing,
            shape=limited.shape,
            faults=tuple(map(app_target.planted, limited.fault or ())),
            guarded_bytes=guarded,
            stats=str(stats) if stats else None,
        )
        note(f"pid {os.getpid()}; stop with Ctrl-C")
        app_target.serve_and_say(chosen, note)
