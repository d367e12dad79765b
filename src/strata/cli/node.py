"""``strata node``: several machines, each a node of one cluster."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from strata.cli import common, tables
from strata.cli.help import Commands
from strata.errors import Exit
from strata.text.output import note

node = Commands(
    "node", "Measure from several machines. Each becomes a node that carries out its part of a measurement."
)

Trust = Annotated[
    Path | None,
    typer.Option(help="Folder with certificates for tls:// (default: trust in the XDG config directory)."),
]
Scheduler = Annotated[str, typer.Argument(help="Address of the scheduler, e.g. tls://scheduler:8786.")]


@node.command("trust")
def trust(
    context: typer.Context,
    names: Annotated[
        list[str] | None, typer.Argument(help="Names of the nodes; scheduler and client are always included.")
    ] = None,
    folder: Annotated[
        Path | None,
        typer.Option("--dir", help="Folder of the certificates (default: trust in the XDG config directory)."),
    ] = None,
    days: Annotated[int, typer.Option(min=1, max=3650, help="Days until a new certificate expires.")] = 365,
    renew: Annotated[bool, typer.Option("--renew", help="Make the certificates of the given names again.")] = False,
    revoke: Annotated[
        bool, typer.Option("--revoke", help="Revoke all certificates that the given names ever had.")
    ] = False,
    check: Annotated[
        bool, typer.Option("--check", help="Only check the certificates and list their problems.")
    ] = False,
    json: common.JsonFlag = False,
) -> int:
    """Make, check or revoke certificates of nodes. For mutual TLS: a certificate authority and one certificate per
    node.
    """
    from strata.app import nodes
    from strata.report.nodes_text import trust_text

    tables.TRUST.check(context, tables.CHECK if check else tables.REVOKE if revoke else tables.MAKE)
    state = nodes.trust(tuple(names or ()), folder, days, renew=renew, revoke=revoke, check=check)
    common.show(state, trust_text, json)
    return Exit.FINE if state.fine and not (check and state.revoked) else Exit.GATE


@node.command("serve")
def serve(
    listen: Annotated[
        str,
        typer.Option(
            help="Address to listen on: tls://HOST:PORT, or tcp:// for loopback only; port 0 selects a free one."
        ),
    ] = "tcp://127.0.0.1:8786",
    trust: Trust = None,
    scheduler_file: Annotated[
        Path | None, typer.Option(help="Write the address to this file, for nodes that share a file system.")
    ] = None,
) -> int:
    """Run the scheduler that nodes join, until interrupted."""
    from strata.app import nodes

    return _ended(nodes.serve(listen, trust, scheduler_file, note))


@node.command("join")
def join(
    address: Annotated[str | None, typer.Argument(help="Address of the scheduler, e.g. tls://scheduler:8786.")] = None,
    name: Annotated[str | None, typer.Option(help="Name of this node (default: the host name).")] = None,
    netns: Annotated[
        str | None, typer.Option(help="Run in this network namespace, e.g. /run/netns/node-1; needs root.")
    ] = None,
    trust: Trust = None,
    scheduler_file: Annotated[
        Path | None, typer.Option(help="Read the address of the scheduler from this file instead.")
    ] = None,
    wait: Annotated[str, typer.Option(help="Time to wait for the scheduler to start.")] = "60s",
) -> int:
    """Make this machine a node of a cluster. Ends when it is interrupted, or when the scheduler is gone."""
    from strata.app import nodes

    seconds = common.seconds(wait) or 0.0
    return _ended(nodes.join(address, name, netns, trust, scheduler_file, seconds, note))


@node.command("list")
def list_them(
    address: Scheduler,
    trust: Trust = None,
    netns: Annotated[
        str | None, typer.Option(help="Connect from this network namespace, e.g. /run/netns/node-1; needs root.")
    ] = None,
    json: common.JsonFlag = False,
) -> None:
    """List the nodes of a scheduler. Shows version, rights, clock offset with its bound, and round trip."""
    from strata.app import nodes
    from strata.report.nodes_text import nodes_text

    common.show(nodes.list_nodes(address, trust, netns), nodes_text, json)


def _ended(number: int) -> int:
    """The exit code of what ran until a signal of that number."""
    code = Exit.of_signal(number)
    if code != Exit.INTERRUPTED:
        # What Ctrl-C ends is said to have stopped for all commands in one place.
        note("stopped")
    return code
