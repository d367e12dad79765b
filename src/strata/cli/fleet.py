"""``strata fleet``: the same run on many hosts, and the hosts that differ from their peers."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from strata.cli import common, completion
from strata.cli.help import Commands
from strata.errors import Exit
from strata.text.output import note

if TYPE_CHECKING:
    from strata.model.peers import FleetCompared

fleet = Commands("fleet", "Measure many hosts alike and name the slower ones. A host is slower than its peers.")

Markdown = Annotated[Path | None, typer.Option(help="Write the comparison as Markdown to this file.")]


@fleet.command("diagnose")
def diagnose(
    where: Annotated[
        str,
        typer.Argument(help="A directory or a stack file of each host; {node} stands for the name of the node."),
    ],
    nodes: Annotated[str, typer.Option(help="Address of the scheduler that the hosts have joined.")],
    host: Annotated[
        list[str] | None, typer.Option(help="Measure on this node only; repeatable (default: all nodes).")
    ] = None,
    rounds: Annotated[int, typer.Option(min=1, max=100, help="Number of rounds on each host.")] = 6,
    runtime: Annotated[str | None, typer.Option(help="Measured time per cell and round (default 1s).")] = None,
    ramp: Annotated[
        str | None,
        typer.Option("--ramp-time", help="Warm-up time before each measurement, not counted (default 250ms)."),
    ] = None,
    size: Annotated[str | None, typer.Option(help="Size of the test file of each host, e.g. 1g.")] = None,
    read_only: Annotated[bool, typer.Option("--read-only", help="Run no workloads that write.")] = False,
    markdown: Markdown = None,
    store: common.StoreUrl = None,
    json: common.JsonFlag = False,
) -> int:
    """Measure all hosts at once and name the slower ones. Measures every layer and names the layer that is slower.

    Each host measures its own storage; the runs are stored here. Exit code 1: at least one host returned no run.
    """
    from strata.app.fleet import measure_hosts
    from strata.app.fleet_here import RunWords

    words = RunWords(where=where, rounds=rounds, runtime=runtime, ramp=ramp, size=size, read_only=read_only)
    found = measure_hosts(nodes, words, tuple(host or ()), store, note)
    return _shown(found, markdown, json=json)


@fleet.command("compare")
def compare(
    runs: Annotated[
        list[str],
        typer.Argument(
            help="Runs of the store, one of each host: ids, or the start of them.", autocompletion=completion.runs
        ),
    ],
    markdown: Markdown = None,
    store: common.StoreUrl = None,
    json: common.JsonFlag = False,
) -> int:
    """Compare runs of several hosts and name the slower ones. A host is slower than its peers; the layer is
    named too.
    """
    from strata.app.fleet import compare_hosts

    return _shown(compare_hosts(runs, store), markdown, json=json)


def _shown(found: FleetCompared, markdown: Path | None, *, json: bool) -> int:
    from strata.report.fleet_text import fleet_markdown, fleet_text

    if markdown is not None:
        from strata.app.outputs import write_output

        write_output(markdown, fleet_markdown(found))
    common.show(found, fleet_text, json)
    if found.lost:
        return Exit.FAILED
    return Exit.INCONCLUSIVE if found.line is None else Exit.FINE
