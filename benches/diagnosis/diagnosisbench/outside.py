"""Limits that are in no catalogue of causes, in the form of the lab's injections; only the bench has them.

``must`` are the causes that describe them well enough; to name another one is to name wrongly.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from pyroute2 import IPRoute

from diagnosisbench import beside
from strata.errors import RunFailed
from strata.model.finding import Cause
from strata_lab import inject, nodes
from strata_lab.inject._disk import CALM, model
from strata_lab.inject._wire import client_node, server_node
from strata_lab.inside import on_a_thread_in, within
from strata_lab.lab import Lab
from strata_lab.nodes import FABRICS
from strata_lab.truth import ImpactMetric, Injection, ProofCell, per_severity

PROGRAM = Path(beside.__file__)


def _beside(lab: Lab, *words: object) -> None:
    lab.run(None, [sys.executable, "-I", str(PROGRAM), *map(str, words)], name=f"beside-{words[0]}")


def _stop(lab: Lab, value: float) -> None:
    servers = {f["process"] for f in lab.facts("server")}
    if not servers:
        raise RunFailed("cannot stop the server of", lab.name, "the stack has none")
    _beside(lab, "stop", f"{value:g}", *sorted(lab.process(name).pid for name in servers))


def _frames(lab: Lab, value: float) -> None:
    """Of the server's cards and of the ports they lead to; what TCP hands over at once is cut before."""
    server, client = server_node(lab), client_node(lab)
    assert server.netns is not None and client.netns is not None and lab.switch is not None
    for nic, fabric in zip(range(len(server.addresses)), FABRICS, strict=False):
        _small(server.netns, f"eth{nic}", int(value))
        _small(client.netns, f"eth{nic}", int(value))
        _small(lab.switch, f"{server.name}{fabric}", int(value))


def _small(netns: str, card: str, most_bytes: int) -> None:
    nodes.segmented(netns, card)

    def change(ns: IPRoute) -> None:
        ns.link("set", index=ns.link_lookup(ifname=card)[0], mtu=most_bytes)

    within(netns, change)


def _overtaking(lab: Lab, value: float) -> None:
    node = server_node(lab)
    for nic in range(len(node.addresses)):
        lab.hop(node, nic, f"delay=300 reorder={value:.0f}")


def _window(lab: Lab, value: float) -> None:
    """Of connections that the client makes from now on."""

    def small() -> None:
        Path("/proc/sys/net/ipv4/tcp_rmem").write_text(f"{value:.0f} {value:.0f} {value:.0f}")

    on_a_thread_in(client_node(lab).netns, small)


def _freeze(lab: Lab, value: float) -> None:
    volume = lab.last_fact("volume")
    if volume is None or not volume["path"]:
        raise RunFailed("cannot freeze the volume of", lab.name, "it has none")
    _beside(lab, "freeze", volume["path"], f"{value:g}")


def _felt(**of: Any) -> Injection:
    """Felt at the least in every severity, on a medium that two processors serve without effort."""
    return Injection(impact=per_severity(1.25, 1.25, 1.25), options=CALM, **of)


def _frozen(**of: Any) -> Injection:
    """Nothing is answered for so long, 400 ms apart on average: felt in the IOPS, as too few requests meet it for a
    percentile to show it in every trial."""
    return _felt(value=per_severity(150, 250, 400), unit="ms", **of)


ALL: Mapping[str, Injection] = {
    "frozen-server": _frozen(
        title="the server's processes stand still now and then",
        kind="server",
        layer="top",
        mechanism="SIGSTOP for so long, 400 ms apart on average",
        inject=_stop,
        cell=ProofCell("top", "randread", "8k", 8, runtime="3s"),
        must=(Cause.STALLS,),
    ),
    "tiny-frames": _felt(
        title="tiny frames",
        kind="wire",
        layer="top",
        mechanism="the cards of server and client carry frames of at most so much (MTU)",
        value=per_severity(350, 220, 140),
        unit="bytes",
        inject=_frames,
        cell=ProofCell("top", "read", "128k", 8),
        must=(Cause.PROCESSORS, Cause.SINGLE_THREAD),
    ),
    "overtaking-frames": _felt(
        title="frames overtake each other",
        kind="wire",
        layer="top",
        mechanism="a hop sends so many of a million frames at once, past those that it holds for 300 µs",
        value=per_severity(10_000, 50_000, 200_000),
        unit="of a million frames",
        inject=_overtaking,
        cell=ProofCell("top", "read", "128k", 8),
        must=(Cause.WIRE_LATENCY,),
    ),
    "small-window": _felt(
        title="a small receive window",
        kind="wire",
        layer="top",
        mechanism="the client's sockets have a receive buffer of so much (tcp_rmem): few bytes are under way at once",
        value=per_severity(9000, 6500, 4608),
        unit="bytes",
        inject=_window,
        cell=ProofCell("top", "read", "128k", 8),
        must=(Cause.SMALL_WINDOW,),
    ),
    "erratic-disk": _felt(
        title="an erratic disk",
        kind="medium",
        layer="disk",
        mechanism="the modelled disk's service times are exponential about the same mean, which is so long",
        value=per_severity(2400, 2900, 3600),
        unit="µs",
        inject=model("jitter=exponential svc={value}"),
        cell=ProofCell("file system", "randread", "8k", 4, runtime="1500ms"),
        hurts=ImpactMetric.TAIL,
        must=(Cause.MEDIUM, Cause.SLOW_MEDIUM),
    ),
    "frozen-file-system": _frozen(
        title="the file system is frozen now and then",
        kind="neighbour",
        layer="file system",
        mechanism="FIFREEZE for so long, 400 ms apart on average, as for a snapshot",
        inject=_freeze,
        cell=ProofCell("file system", "randwrite", "8k", 8, runtime="3s"),
        must=(Cause.STALLS, Cause.SLOW_PHASES),
    ),
}
"""By name."""


def truth_of(what: str, stack: str) -> Injection:
    """What is true of one of these on any stack, or of an injection of the lab's on that one."""
    return ALL[what] if what in ALL else inject.injection(what).on(stack)
