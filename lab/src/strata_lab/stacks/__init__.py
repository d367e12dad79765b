"""Every stack a lab can build: a folder with ``stack.toml``, a template, and ``build.py``.

``build.py`` has ``TITLE`` (one line), ``OPTIONS`` (name: (default, what it may be)) and
``build(lab, options) -> None``, which makes everything and ends with `write_stack`. It may have ``VARIANTS``, the
options that the self-test builds it with (the quick one: with the first of them), and ``HEAVY``, which keeps it out of
the quick one.
"""

from __future__ import annotations

import importlib
import string
from collections.abc import Mapping, Sequence
from importlib import resources
from pathlib import Path
from typing import Protocol, cast

from strata import units
from strata.errors import UsageError, choices
from strata_lab import shipped
from strata_lab.lab import Lab
from strata_lab.nodes import LabNode
from strata_lab.servers import LabServer

Options = Mapping[str, str]


class Builder(Protocol):
    """What a ``build.py`` is."""

    TITLE: str
    OPTIONS: Mapping[str, tuple[str, str]]

    def build(self, lab: Lab, options: Options) -> None:
        """Makes the stack."""


def builder(name: str) -> Builder:
    """Raises `UsageError` naming the known ones."""
    if name not in shipped.stacks():
        raise UsageError("there is no stack", repr(name), "", choices(name, shipped.stacks()))
    return cast(Builder, importlib.import_module(f"strata_lab.stacks.{name.replace('-', '_')}.build"))


def variants(name: str) -> tuple[Mapping[str, str], ...]:
    """The options that the self-test builds it with."""
    return tuple(getattr(builder(name), "VARIANTS", ({},)))


def heavy(name: str) -> bool:
    """Whether it takes too long for the quick self-test."""
    return bool(getattr(builder(name), "HEAVY", False))


def chosen(name: str, words: Mapping[str, str]) -> Options:
    """The stack's options with their defaults filled in. Raises `UsageError` for one it does not have."""
    known = builder(name).OPTIONS
    if strange := sorted(set(words) - set(known)):
        means = tuple(f"{key}={default}: {meaning}" for key, (default, meaning) in known.items())
        raise UsageError(f"the stack {name} has no option", ", ".join(strange), "", "these are its options", means)
    return {key: words.get(key, default) for key, (default, _) in known.items()}


def grow(lab: Lab) -> str:
    """Calls ``grow(lab)`` of the stack's ``build.py``, which adds a node; its name. `UsageError` where it has none."""
    return _resized(lab, "grow")


def shrink(lab: Lab) -> str:
    """The same of ``shrink(lab)``, which takes the node away that joined last."""
    return _resized(lab, "shrink")


def _resized(lab: Lab, how: str) -> str:
    made = getattr(builder(lab.stack), how, None)
    if made is None:
        able = ", ".join(n for n in shipped.stacks() if hasattr(builder(n), how))
        raise UsageError(
            f"cannot {how} the lab", lab.name, f"the stack {lab.stack} cannot {how}", f"stacks that do: {able}"
        )
    return str(made(lab))


def write_stack(lab: Lab, name: str, **values: object) -> Path:
    """Fills the stack's template and writes it into the lab's directory, with the nodes' tables put first."""
    template = (resources.files("strata_lab.stacks") / name.replace("-", "_") / "stack.toml").read_text()
    text = string.Template(template).substitute({"lab": lab.name, "nodes": _nodes(lab), **values})
    path = lab.data / "stack.toml"
    path.write_text(text)
    lab.fact("stack", path=str(path))
    return path


def add_cards(lab: Lab, options: Options, names: Sequence[str]) -> list[LabNode]:
    """Nodes of these names, the first one the owner, with cards as the options ``nics`` and ``rate`` say."""
    if options["nics"] not in ("1", "2"):
        raise UsageError("cannot build a node with", f"{options['nics']} cards", "a node has 1 or 2", "nics=2")
    rate = units.parse_size(options["rate"]) or None
    return [lab.add_node(name, nics=int(options["nics"]), owner=name == names[0], bytes_per_s=rate) for name in names]


def remote_layer(
    name: str, node: LabNode, uri: str, *, served: LabServer | None = None, cached: bool = False
) -> str:  # fmt: skip
    """The table of a layer on the file system that is reached from another node. ``served``: by whom, where that one
    may tell its times; ``cached``: its server keeps pages."""
    faster = 'expect.faster = "cache"\n' if cached else ""
    allowance = 'expect.overhead_max = 0.15\nexpect.source = "a remote path costs 10 to 15 % where it is CPU-bound"\n'
    head = f'[[layer]]\nname = "{name}"\nnode = "{node.name}"\non = ["file system"]\nendpoint = "{uri}"\n'
    told = ""
    if served is not None and served.stats is not None:
        told = f'stats = "{served.stats}"\nserver = "{served.node.name}"\n'
    return f"{head}{told}{allowance}{faster}"


def _nodes(lab: Lab) -> str:
    tables = []
    confs = {fact["node"]: fact["conf"] for fact in lab.facts("server") if fact.get("kind") == "smb"}
    for node in lab.nodes:
        owner = "\nowner = true" if node.owner else ""
        netns = f'\nnetns = "{node.netns}"' if node.netns else ""
        conf = f'\nsmb_conf = "{confs[node.name]}"' if node.name in confs else ""
        tables.append(f'[[node]]\nname = "{node.name}"{owner}{netns}{conf}\n')
    return "\n".join(tables)
