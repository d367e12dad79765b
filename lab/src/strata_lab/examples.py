"""The examples that end the help of `strata lab` and of its commands."""

from __future__ import annotations

from strata.cli.examples import Example

EXAMPLES: dict[str, tuple[Example, ...]] = {
    "lab": (
        ("strata lab list --all", "list the available stacks and limits"),
        ("strata lab up local --inject slow-medium", "a stack on this machine with a known limit"),
    ),
    "lab up": (
        ("strata lab up share --set protocol=smb", "a file share with two nodes"),
        ("strata lab up local --name slow --inject slow-medium:severe", "with a limit from the start"),
    ),
    "lab down": (
        ("strata lab down", "remove the only lab"),
        ("strata lab down --all", "remove every lab"),
    ),
    "lab shrink": (
        ("strata lab shrink", "take the last node out of the only lab"),
        ("strata lab shrink --name big", "take the last node out of the lab of this name"),
    ),
    "lab grow": (
        ("strata lab grow", "add a storage node to the only lab"),
        ("strata lab grow --name big", "add a storage node to the lab of this name"),
    ),
    "lab resize": (
        ("strata lab resize storage-nodes 4", "spread the data of the only lab over four storage nodes"),
        ("strata lab resize controllers 2 --name big", "two controllers for all disks of the lab of this name"),
    ),
    "lab spread": (
        ("strata lab spread", "where the data of the only lab is"),
        ("strata lab spread --name big", "where the data of the lab of this name is"),
    ),
    "lab list": (
        ("strata lab list", "list the running labs"),
        ("strata lab list --all", "also list the available stacks and limits"),
    ),
    "lab status": (
        ("strata lab status", "is every process of the only lab running"),
        ("strata lab status --name slow --json", "the status of one of several labs, as JSON"),
    ),
    "lab shell": (
        ("strata lab shell client", "open a shell in a node"),
        ("strata lab shell owner --name slow", "open a shell in a node of one of several labs"),
    ),
    "lab exec": (
        ("strata lab exec client -- ip address", "run one command in a node"),
        ("strata lab exec client --name slow -- ping -c 3 10.77.0.1", "run a command in a node of one of several labs"),
    ),
    "lab inject": (
        ("strata lab inject wire-latency", "add a limit to the only lab"),
        ("strata lab inject slow-medium:severe --name slow", "add a severe limit to one of several labs"),
    ),
    "lab selftest": (
        ("strata lab selftest --quick", "does every stack and every kind of limit work here"),
        ("strata lab selftest --only 'slow-medium:*'", "one limit, at every severity"),
    ),
}
