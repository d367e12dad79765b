"""What a lab is now, as values: for `list` and `status`."""

from __future__ import annotations

from pydantic import Field

from strata.errors import StrataError
from strata.model.base import Value
from strata_lab.lab import Lab, boot_id
from strata_lab.ledger import Line, names


class ProcessState(Value):
    """One process of a lab."""

    name: str
    pid: int
    alive: bool
    log: str


class LabNodeState(Value):
    """One node: ``netns`` is the path of its namespace (None: loopback)."""

    name: str
    netns: str | None
    addresses: tuple[str, ...]
    owner: bool


class LabState(Value):
    """One lab. ``state``: up, building, killed (while it was built), broken (a process ended), gone (the machine
    restarted)."""

    schema_: str = Field(default="strata.lab/1", alias="schema")
    name: str
    stack: str
    state: str
    since_unix_s: int
    reduced: bool
    stack_file: str | None
    options: dict[str, str]
    injections: tuple[str, ...]
    nodes: tuple[LabNodeState, ...]
    processes: tuple[ProcessState, ...]


def lab_state(lab: Lab) -> LabState:
    """How the lab stands now."""
    head = lab.ledger.head
    processes = tuple(ProcessState(name=c.name, pid=c.pid, alive=c.alive, log=str(c.log or "")) for c in lab.processes)
    if head and head.get("boot") != boot_id():
        state = "gone"
    elif not lab.facts("up"):
        state = "building" if not head or lab.ledger.busy else "killed"
    else:
        state = "up" if all(p.alive for p in processes) else "broken"
    stack, options = lab.last_fact("stack"), lab.last_fact("options") or {}
    return LabState(
        name=lab.name,
        stack=lab.stack,
        state=state,
        since_unix_s=int(head.get("since", 0)),
        reduced=lab.reduced,
        stack_file=stack["path"] if stack else None,
        options={k: v for k, v in options.items() if k != "fact"},
        injections=tuple(_word(f) for f in lab.facts("injection")),
        nodes=tuple(LabNodeState(name=n.name, netns=n.netns, addresses=n.addresses, owner=n.owner) for n in lab.nodes),
        processes=processes,
    )


def _word(injection: Line) -> str:
    """As it was asked for; a lab of an earlier version wrote down only what it is and how bad."""
    told = (injection.get("word"), injection.get("cause"))
    return next((str(word) for word in told if word), "not written down")


def all_labs() -> tuple[LabState, ...]:
    """Every lab that left a ledger; one that goes meanwhile is left out."""
    found = []
    for name in names():
        try:
            found.append(lab_state(Lab.open(name)))
        except StrataError:
            continue
    return tuple(found)
