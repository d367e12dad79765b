"""Nodes of Strata in the nodes of a lab: a scheduler on the first one, and a process in each namespace that joins it.

Their connections go over the lab's own wires. The stack file then names the scheduler, so that `strata diagnose` has
each layer driven by the process of its node. Scheduler and nodes are processes of the lab as its servers are.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from strata.host import programs
from strata.text import toml
from strata_lab.lab import Lab
from strata_lab.nodes import LabNode
from strata_lab.proc import LabProcess, wait_until
from strata_lab.servers import answers, free_port

PORT = 8786
READY_S = 120.0
_HEAD = "[stack]\n"


def join_all(lab: Lab) -> str:
    """Starts the scheduler and a node in every namespace; the address. Raises `RunFailed` with a process's last
    words."""
    first = lab.nodes[0]
    port = free_port(first, PORT)
    address = f"tcp://{first.address}:{port}"
    words = programs.python("strata", "node", "serve", "--listen", address)
    lab.run(first, words, name="scheduler", wait_for=answers(first, port), timeout_s=READY_S)
    lab.fact("scheduler", address=address, netns=first.netns)
    # All at once: each takes most of a second to load.
    started = [_started(lab, node, address) for node in lab.nodes]
    for child in started:
        wait_until(child, _has_joined(child), READY_S)
    _name_scheduler(Path(_stack_file(lab)), address, first.netns)
    return address


def join_one(lab: Lab, node: LabNode) -> None:
    """A node that came later, where the others have joined."""
    if (fact := lab.last_fact("scheduler")) is not None:
        child = _started(lab, node, fact["address"])
        wait_until(child, _has_joined(child), READY_S)


def _started(lab: Lab, node: LabNode, address: str) -> LabProcess:
    return lab.run(
        node, programs.python("strata", "node", "join", address, "--name", node.name), name=f"node-{node.name}"
    )


def _has_joined(child: LabProcess) -> Callable[[], bool]:
    return lambda: "has joined" in child.last_words()


def _stack_file(lab: Lab) -> str:
    fact = lab.last_fact("stack")
    assert fact is not None, "a builder ends with its stack file"
    return str(fact["path"])


def _name_scheduler(path: Path, address: str, netns: str | None) -> None:
    text = path.read_text()
    keys = toml.lines({"scheduler": address} | ({} if netns is None else {"scheduler_netns": netns}))
    assert text.count(_HEAD) == 1, "a stack file has one head"
    path.write_text(text.replace(_HEAD, _HEAD + keys))
