"""The client of a lab's proofs: ``strata measure`` as a process of its own in the node, as a user would run it."""

from __future__ import annotations

import json
import time
import tomllib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from strata import units
from strata.errors import RunFailed, UsageError
from strata.host import process, programs
from strata.model.stack import Layer
from strata_lab import cgroups
from strata_lab.counters import CounterDelta, Figures
from strata_lab.lab import Lab
from strata_lab.nodes import LabNode
from strata_lab.truth import ProofCell

_TIMEOUT_S = 60.0
_RAMP, _RAMP_S = "150ms", 0.15
_POLL_S = 0.005
# More than the client reads to look at its target before it begins.
_BEGUN_IOS = 300


@dataclass(frozen=True)
class CellMeasured:
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
        raise RunFailed("the lab", lab.name, "has no stack file: it is not running")
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


def inside(lab: Lab, node: LabNode, words: Sequence[str], *, limited: bool = True) -> list[str]:
    """The words that run a client in that node; ``limited``: under the limits that were put on its clients."""
    inner = programs.in_netns(node.netns, words)
    groups = client_groups(lab, node) if limited else []
    if not groups:
        return inner
    # The shell joins and then becomes the client: no moment of it is outside the limit.
    join = "".join(f"echo $$ > {group}/cgroup.procs && " for group in groups)
    return [programs.find("sh") or "/bin/sh", "-c", f'{join}exec "$@"', "sh", *inner]


def client_groups(lab: Lab, node: LabNode) -> list[Path]:
    """The control groups that limit the clients of a node."""
    return [Path(f["path"]) for f in lab.facts("cgroup") if f.get("clients_of") == node.name]


def measure(lab: Lab, cell: ProofCell) -> CellMeasured:
    """Runs the cell from its layer's node, under the limits of that node's clients. Raises `RunFailed`."""
    layer = layer_of(lab, cell.layer)
    seconds = units.parse_duration_ns(cell.runtime) / units.NS_PER_S
    node = lab.node(layer.node) if layer.node else None
    words = programs.python("strata", "measure", layer.endpoint, "--rw", cell.rw, "--bs", cell.bs)
    words += ["--iodepth", str(cell.iodepth), "--runtime", cell.runtime, "--ramp-time", _RAMP, "--json", *cell.more]
    words += ["--progress", "none"]
    groups = client_groups(lab, node) if node is not None else []
    if node is not None:
        words = inside(lab, node, words, limited=False)
    # By the environment: the arguments of a process can be read by everybody.
    password = layer.target.password
    secret = {} if password is None else {"STRATA_SMB_PASSWORD": password}
    counted = CounterDelta(lab)
    with process.begin(
        words,
        {**lab.environment, **secret},
        preexec_fn=process.dies_with_us(),
        stdout=process.PIPE,
        stderr=process.PIPE,
        text=True,
    ) as client:
        try:
            if groups:
                _limit_while_measuring(client, groups, counted, seconds)
            stdout, stderr = client.communicate(timeout=_TIMEOUT_S)
        except process.TookTooLong as e:
            raise RunFailed("cannot measure", cell.text, f"the client took longer than {_TIMEOUT_S:g} s") from e
        finally:
            client.kill()
    figures = counted.stop()
    if client.returncode:
        said = (*stderr.strip().splitlines()[-4:], *_trouble(stdout))
        raise RunFailed("cannot measure", cell.text, f"the client exited with {client.returncode}", problems=said)
    summary = json.loads(stdout)["summary"]
    # Of the whole curve: here a coarse p99 of few samples is better than none.
    curve = [(float(p), float(ns)) for p, ns in summary["curve"]]
    p50, p99 = (next((ns for p, ns in curve if p >= want), 0.0) for want in (50.0, 99.0))
    iops, moved = summary["iops"]["value"], summary["bytes_per_second"]["value"] * seconds
    # Of what the lab counted with the ramp in it: good for comparing two cells, not as an amplification.
    if "disk.ios" in figures and iops:
        figures["disk.ios_per_io"] = figures["disk.ios"] / (iops * seconds)
    if moved and node is not None:
        received = [v for k, v in figures.items() if k.startswith(f"wire.{node.name}.") and k.endswith("rx_bytes")]
        figures["wire.bytes_per_byte"] = sum(received) / moved
    return CellMeasured(iops, summary["mean_ns"]["value"], p50, p99, moved, figures)


def _trouble(stdout: str) -> tuple[str, ...]:
    """What cut the measurement off, where the client still printed its result."""
    try:
        trouble = json.loads(stdout).get("trouble")
    except (ValueError, AttributeError):
        return ()
    return (str(trouble),) if trouble else ()


def _limit_while_measuring(
    client: process.Process[str], groups: Sequence[Path], counted: CounterDelta, seconds: float
) -> None:
    """Into the limits when it has begun, out of them when its time is over: start and end take no minutes so."""
    while client.poll() is None and (ios := counted.ios()) is not None and ios < _BEGUN_IOS:
        time.sleep(_POLL_S)
    for group in groups:
        cgroups.join(group, (client.pid,))
    time.sleep(seconds + _RAMP_S)
    for group in groups:
        cgroups.leave(group, client.pid)
