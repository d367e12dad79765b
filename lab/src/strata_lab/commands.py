"""``strata lab``: real storage stacks on this machine, with known limits put into them."""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from typing import TYPE_CHECKING, Annotated, NamedTuple

import typer

from strata.cli.common import JsonFlag
from strata.cli.completion import Offer, offer, quietly
from strata.cli.help import Commands
from strata.errors import Exit
from strata.host import programs
from strata.text.output import note, out
from strata_lab import shipped
from strata_lab.examples import EXAMPLES

if TYPE_CHECKING:
    from pydantic import BaseModel

    from strata_lab.labs import LabState

lab = Commands(
    name="lab",
    help="Build multi-node storage stacks with known limits. The stacks are real and run on this machine; without "
    "root, a reduced lab runs on loopback.",
    examples=EXAMPLES,
)


def _stacks() -> Offer:
    return offer(shipped.stacks())


def _injections(incomplete: str) -> Offer:
    """Causes; behind a colon their severities."""
    from strata_lab.truth import InjectionSeverity

    cause, colon, _ = incomplete.partition(":")
    return offer(f"{cause}:{how}" for how in InjectionSeverity) if colon else offer(shipped.injections())


def _labs() -> Offer:
    """Those on this machine."""
    from strata_lab.ledger import names

    return quietly(names)


NewName = Annotated[str | None, typer.Option("--name", help="Name of the new lab (default: lab).")]
Name = Annotated[
    str | None,
    typer.Option("--name", help="Name of the lab (default: the only lab on this machine).", autocompletion=_labs),
]


def documents() -> Mapping[str, type[BaseModel]]:
    """What these commands print as JSON, by the names of the documents."""
    from strata_lab.documents import DOCUMENTS

    return DOCUMENTS


class Resizing(NamedTuple):
    """How a lab makes so many of something: a command with ``{}`` for the number, how many there are and can be.

    ``as_is``: the command for a change while a load runs, which leaves the disks as fast as they are. ``spread``: one
    that prints where the data is. ``spare``: an endpoint of the lab that nothing else uses, on the same storage.
    """

    command: str
    now: int
    most: int
    as_is: str
    spread: str | None = None
    spare: str | None = None


def resizing(stack: str, what: str) -> Resizing | None:
    """Of the lab that wrote this stack file; None where none did, or its stack has no such thing."""
    if not stack.endswith(".toml"):
        return None
    from strata_lab import labs, sizes

    lab = labs.of_stack(stack)
    sized = None if lab is None else sizes.sizes_of(lab).get(what)
    if lab is None or sized is None:
        return None

    def command(*words: str) -> str:
        return shlex.join(programs.python("strata", "lab", *words, "--name", lab.name))

    spread = None if sized.spread is None else command("spread")
    spare = None if sized.spare is None else sized.spare(lab)
    resize = ("resize", what, "{}")
    now, most = sized.now(lab), sized.most(lab)
    return Resizing(command(*resize), now, most, command(*resize, "--as-is"), spread, spare)


InNode = Annotated[str, typer.Argument(help="Name of a node, as printed by strata lab status.")]


@lab.command("up")
def up(
    stack: Annotated[
        str,
        typer.Argument(help=f"The stack to build: {', '.join(shipped.stacks())}.", autocompletion=_stacks),
    ],
    name: NewName = None,
    inject: Annotated[
        list[str] | None,
        typer.Option(
            "--inject",
            help="Add a limit: CAUSE, CAUSE:severity or CAUSE=VALUE; repeatable.",
            autocompletion=_injections,
        ),
    ] = None,
    settings: Annotated[
        list[str] | None, typer.Option("--set", help="Set an option of the stack, e.g. fs=xfs; repeatable.")
    ] = None,
    nodes: Annotated[
        bool,
        typer.Option("--nodes", help="Start a strata node in each node of the lab, which then drives its own layers."),
    ] = False,
    json: JsonFlag = False,
) -> None:
    """Build a stack and leave it running. If the build fails, all of it is removed again."""
    from strata_lab import labs

    state = labs.up(stack, name, settings or (), inject or (), note, nodes=nodes)
    out(state.model_dump_json() if json else _text(state), json)
    if not json:
        note(f"hint: strata diagnose {state.stack_file}; strata lab down --name {state.name}")


@lab.command("down")
def down(
    name: Name = None,
    everything: Annotated[bool, typer.Option("--all", help="Remove every lab.")] = False,
) -> None:
    """Remove a lab, even if its `up` was killed. Removes processes, mounts, loop devices, namespaces and files."""
    from strata_lab import labs

    for gone in labs.down(name, everything, note):
        out(f"{gone} removed")


@lab.command("grow")
def grow(name: Name = None) -> None:
    """Add a storage node to a running lab. In vm-disks the data is rebalanced onto it; in block-cluster a node comes
    back.
    """
    from strata_lab import labs

    out(f"{labs.grow(name)} joined the lab")


@lab.command("shrink")
def shrink(name: Name = None) -> None:
    """Remove the last node from a running lab. In vm-disks its data moves to the others first; in block-cluster it
    fails.
    """
    from strata_lab import labs

    out(f"{labs.shrink(name)} left the lab")


@lab.command("resize")
def resize(
    what: Annotated[str, typer.Argument(help="Axis to resize: storage-nodes, queues or controllers.")],
    many: Annotated[int, typer.Argument(help="New number.")],
    name: Name = None,
    as_is: Annotated[
        bool,
        typer.Option(
            "--as-is",
            help="Leave the disks as fast as they are while data is moved; otherwise they are fast meanwhile.",
        ),
    ] = False,
) -> None:
    """Change how many of a part a running lab has. Parts: storage nodes, queues and controllers (stack vm-disks)."""
    from strata_lab import labs

    out(f"{labs.resize(name, what, many, as_is=as_is)} has {many} {what}")


@lab.command("spread")
def spread(name: Name = None) -> None:
    """Print the bytes of data that each storage node of a running lab holds: NAME SIZE (stack vm-disks)."""
    from strata_lab import labs

    out("\n".join(f"{node} {held}" for node, held in labs.spread(name).items()))


@lab.command("list")
def list_labs(
    everything: Annotated[bool, typer.Option("--all", help="Also list the available stacks and injections.")] = False,
    json: JsonFlag = False,
) -> None:
    """List the labs on this machine."""
    from strata_lab import labs

    found = labs.all_labs()
    stacks, causes = labs.known()
    if json:
        from strata_lab.documents import LabList

        more = {"stacks": dict(stacks), "injections": causes} if everything else {}
        out(LabList.model_validate({"labs": found} | more).model_dump_json(), exact=True)
        return
    lines = [f"{s.name:<12} {s.stack:<16} {s.state:<9} {' '.join(s.injections)}".rstrip() for s in found]
    if everything:
        lines += ["", "stacks:", *(f"  {name:<16} {title}" for name, title in stacks.items())]
        lines += ["injections:", *(f"  {cause}" for cause in causes)]
    out("\n".join(lines) if lines else "no labs; build one with: strata lab up local")


@lab.command("status")
def status(name: Name = None, json: JsonFlag = False) -> None:
    """Show the nodes, addresses and processes of a lab. Shows which of them are running."""
    from strata_lab import labs

    state = labs.state(name)
    out(state.model_dump_json() if json else _text(state), json)


@lab.command("shell")
def shell(node: InNode, name: Name = None) -> None:
    """Open a shell in a node of a lab. It has the node's network and this machine's files."""
    from strata_lab import labs

    labs.enter(name, node, ())


@lab.command("exec", context_settings={"ignore_unknown_options": True})
def exec_in(
    node: InNode,
    command: Annotated[list[str], typer.Argument(help="After --: the command and its arguments.")],
    name: Name = None,
) -> None:
    """Run one command in a node, with its output and exit code."""
    from strata_lab import labs

    labs.enter(name, node, command)


@lab.command("inject")
def inject_now(
    what: Annotated[
        str,
        typer.Argument(
            help=f"CAUSE, CAUSE:severity (mild, marked, severe) or CAUSE=VALUE: {', '.join(shipped.injections())}.",
            autocompletion=_injections,
        ),
    ],
    name: Name = None,
    json: JsonFlag = False,
) -> None:
    """Add a limit to a running lab and measure its effect. Measures before and after; no change is an error."""
    from strata_lab import labs

    state = labs.put_in(name, what, note)
    out(state.model_dump_json() if json else _text(state), json)


@lab.command("selftest")
def selftest(
    quick: Annotated[
        bool, typer.Option("--quick", help="Build each stack once, with one injection of each kind.")
    ] = False,
    only: Annotated[
        list[str] | None,
        typer.Option(
            "--only", help="Run only trials that match this pattern, e.g. 'slow-medium:*' or 'local*'; repeatable."
        ),
    ] = None,
    listed: Annotated[bool, typer.Option("--list", help="Only list the trials.")] = False,
    json: JsonFlag = False,
) -> int:
    """Test every stack and every injection of the lab. Builds every stack, drives every layer, checks the signature of
    every injection, and removes everything.

    Exit code 1 if a trial failed; 4 if none failed but the machine was too busy to judge some.
    """
    from strata_lab import labs

    chosen = labs.trials(quick, only or ())
    if listed:
        out("\n".join(trial.what for trial in chosen))
        return 0
    marks = {
        labs.TrialVerdict.AS_PROMISED: "ok  ",
        labs.TrialVerdict.FAILED: "FAIL",
        labs.TrialVerdict.NOT_TOLD: "busy",
    }
    outcomes = []
    for outcome in labs.selftest(chosen, note):
        outcomes.append(outcome)
        if not json:
            out(f"{marks[outcome.verdict]} {outcome.seconds:>5.1f} s  {outcome.what}")
            out("\n".join(f"              {line}" for line in outcome.said))
    verdicts = [o.verdict for o in outcomes]
    failed, untold = (verdicts.count(v) for v in (labs.TrialVerdict.FAILED, labs.TrialVerdict.NOT_TOLD))
    if json:
        from strata_lab.documents import SelftestResult

        result = SelftestResult(ok=not failed and not untold, outcomes=tuple(outcomes))
        out(result.model_dump_json(), exact=True)
    else:
        busy = f", {untold} inconclusive: the machine is busy" if untold else ""
        kept = len(outcomes) - failed - untold
        out(f"{kept} of {len(outcomes)} as promised{busy}, {sum(o.seconds for o in outcomes):.0f} s")
    return Exit.FAILED if failed else Exit.INCONCLUSIVE if untold else Exit.FINE


def _text(state: LabState) -> str:
    lines = [f"{state.name} · {state.stack} · {state.state}" + (" · reduced, on loopback" if state.reduced else "")]
    lines += [f"  option     {key}={value}" for key, value in state.options.items()]
    lines += [f"  injected   {word}" for word in state.injections]
    for node in state.nodes:
        lines.append(f"  node       {node.name:<8} {' '.join(node.addresses)}{'  (owner)' if node.owner else ''}")
    for p in state.processes:
        lines.append(f"  process    {p.name:<16} {p.pid:<8} {'running' if p.alive else 'ENDED, see ' + p.log}")
    if state.stack_file:
        lines.append(f"  stack file {state.stack_file}")
    return "\n".join(lines)
