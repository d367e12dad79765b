"""``strata serve``: the runs of the store, and the one that is measured now, in a browser."""

from __future__ import annotations

import os
from importlib.util import find_spec
from pathlib import Path
from typing import Annotated

import typer

from strata.cli import common
from strata.errors import RunFailed
from strata.text.output import note


def serve(
    listen: Annotated[
        str,
        typer.Option(help="Address and port to listen on; port 0 selects a free one. Only loopback without --key."),
    ] = "127.0.0.1:8765",
    control: Annotated[
        bool, typer.Option("--control", help="Allow pages to rename and delete runs (default: read-only).")
    ] = False,
    certificate: Annotated[
        Path | None, typer.Option(help="Serve HTTPS with this certificate (PEM); needed for other addresses.")
    ] = None,
    key: Annotated[
        Path | None, typer.Option(help="The certificate's private key (PEM), readable by you alone.")
    ] = None,
    host: Annotated[
        list[str] | None,
        typer.Option(help="Another name by which browsers may reach this server, e.g. lab.example; repeatable."),
    ] = None,
    new_token: Annotated[
        bool, typer.Option("--new-token", help="Make a new access token; open pages must be opened again with it.")
    ] = False,
    store: common.StoreUrl = None,
) -> None:
    """Show stored runs, and a running measurement, in a browser. Also shows comparisons, histories and baselines.

    Listens on loopback only by default. The printed address contains the access token. Issues no I/O.
    """
    if missing := [name for name in ("starlette", "uvicorn") if find_spec(name) is None]:
        raise RunFailed("cannot serve", "", f"not installed: {', '.join(missing)}", "pip install 'strata[serve]'")
    from strata.app.serve import listening
    from strata.serve.server import serve as until_signal

    found = listening(listen, tuple(host or ()), certificate, key, control=control, new_token=new_token, store=store)

    def ready(address: str) -> None:
        note(f"open {address}")
        note(f"pid {os.getpid()}; {'runs can be renamed and deleted' if control else 'read-only'}; stop with Ctrl-C")

    until_signal(found, ready)
