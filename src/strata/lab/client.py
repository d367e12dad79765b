"""The client of a lab's proofs: ``strata measure`` as a process of its own in the node, as a user would run it."""

from __future__ import annotations

import json
import subprocess
import sys
import tomllib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from strata import units
from strata.errors import RunFailed, UsageError
from strata.lab.lab import Lab
from strata.lab.nodes import Node
from strata.lab.seen import Figures, Watch
from strata.lab.truth import Cell
from strata.model.stack import Layer

_TIMEOUT_S = 60.0
_RAMP = "150ms"


@dataclass(frozen=True)
class Measured:
    """What the client saw (rates a second, times in ns) and what the lab counted meanwhile."""

    iops: float
    mean_ns: float
    p50_ns: float
    p99_ns: float
    moved_bytes: float
    """By the application in the measured time; the figures also hold what went before it."""
    figures: Figures


def layers_of(lab: Lab) -> tuple[Layer, ...]:
    """The layers of the lab's stack file, lowest first; their endpoints are not looked at."""
    fact = lab.last_fact("stack")
    if fact is None:
        raise RunFailed("the lab", lab.name, "has no stack file: it is not up")
    return tuple(Layer.model_validate(x) for x in tomllib.loads(Path(fact["path"]).read_text())["layer"])


def layer_of(lab: Lab, name: str) -> Layer:
    """The layer of that name; ``top`` is the last one. Raises `UsageError` naming those there are."""
    layers = layers_of(lab)
    for layer in layers:
        if layer.name == name:
            return layer
    if name == "top":
        return layers[-1]
    raise UsageError("there is no layer", repr(name), f"in the lab {lab.name}", ", ".join(x.name for x in layers))


def inside(lab: Lab, node: Node, words: Sequence[str]) -> list[str]:
    """The words that run a client in that node, under the limits that were put on its clients."""
    inner = ["nsenter", f"--net={node.netns}", "--", *words] if node.netns else list(words)
    groups = [Path(f["path"]) / "cgroup.procs" for f in lab.facts("cgroup") if f.get("clients_of") == node.name]
    if not groups:
        return inner
    # The shell joins and then becomes the client: no moment of it is outside the limit.
    join = "".join(f"echo $$ > {group} && " for group in groups)
    return ["sh", "-c", f'{join}exec "$@"', "sh", *inner]


def measure(lab: Lab, cell: Cell) -> Measured:
    """Runs the cell from its layer's node, under the limits of that node's clients. Raises `RunFailed`."""
    layer = layer_of(lab, cell.layer)
    seconds = units.parse_duration_ns(cell.runtime) / units.NS_PER_S
    node = lab.node(layer.node) if layer.node else None
    words = [sys.executable, "-m", "strata", "measure", layer.endpoint, "--rw", cell.rw, "--bs", cell.bs]
    words += ["--iodepth", str(cell.iodepth), "--runtime", cell.runtime, "--ramp-time", _RAMP, "--json", *cell.more]
    words += ["--progress", "none"]
    if node is not None:
        words = inside(lab, node, words)
    watch = Watch(lab)
    try:
        done = subprocess.run(
            words, capture_output=True, text=True, check=False, timeout=_TIMEOUT_S, stdin=subprocess.DEVNULL
        )
    except subprocess.TimeoutExpired as e:
        raise RunFailed("cannot measure", cell.text, f"the client took longer than {_TIMEOUT_S:g} s") from e
    figures = watch.stop()
    if done.returncode:
        said = tuple(done.stderr.strip().splitlines()[-4:])
        raise RunFailed("cannot measure", cell.text, f"the client ended with {done.returncode}", problems=said)
    summary = json.loads(done.stdout)["summary"]
    # Of the whole curve: here a coarse p99 of few samples is better than none.
    curve = [(float(p), float(ns)) for p, ns in summary["curve"]]
    p50, p99 = (next((ns for p, ns in curve if p >= want), 0.0) for want in (50.0, 99.0))
    iops, moved = summary["iops"]["value"], summary["bytes_per_second"]["value"] * seconds
    return Measured(iops, summary["mean_ns"]["value"], p50, p99, moved, figures)
