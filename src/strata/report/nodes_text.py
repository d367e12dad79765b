"""Nodes and their certificates for the terminal."""

from __future__ import annotations

from strata import units
from strata.model.nodes import NodeClock, NodeList, TrustState
from strata.report import figures
from strata.report.text_layout import Paint, table

_HEAD = ("node", "host", "version", "since (UTC)", "cores", "rights", "clock", "round trip", "counters")


def nodes_text(found: NodeList, width: int, color: bool = False) -> str:
    """One line for each node; below them what cannot be read, and what is wrong."""
    if not found.nodes:
        return f"no nodes at {found.scheduler}; one joins with: strata node join {found.scheduler} --name NAME"
    rows = [_row(node) for node in found.nodes]
    head, *lines = table(_HEAD, rows, width, numeric=frozenset({4}), elastic=frozenset({0, 1, 8}))
    missing = [f"{n.node.name}: not read: {text}" for n in found.nodes for text in n.node.absent]
    problems = [f"{n.node.name}: {n.problem}" for n in found.nodes if n.problem]
    return "\n".join([Paint(color)(head, "bold"), *lines, *([""] if missing or problems else []), *missing, *problems])


def _row(found: NodeClock) -> tuple[str, ...]:
    node, clock = found.node, found.clock
    offset, trip = ("unknown", "–")
    if clock is not None:
        sign = "+" if clock.offset_ns >= 0 else "−"
        offset = f"{sign}{units.duration(abs(clock.offset_ns))} ±{units.duration(clock.bound_ns)}"
        trip = units.duration(clock.round_trip_ns)
    return (
        node.name,
        node.host,
        node.version,
        figures.utc(node.joined_unix_ns).removesuffix(" UTC"),
        str(node.cores),
        "root" if node.root else "user",
        offset,
        trip,
        "all" if not node.absent else f"{len(node.absent)} missing",
    )


def trust_text(state: TrustState, width: int, color: bool = False) -> str:
    """One line for each certificate, and below it what is wrong with it."""
    head, *lines = table(
        ("name", "expires (UTC)", "state", "folder"),
        [
            (
                one.name,
                "unknown" if one.expires_unix_ns is None else figures.utc(one.expires_unix_ns).removesuffix(" UTC"),
                "revoked" if one.revoked_unix_ns is not None else "fine" if not one.problems else "unusable",
                one.folder,
            )
            for one in state.names
        ],
        width,
        elastic=frozenset({3}),
    )
    wrong = [f"{one.name}: {text}" for one in state.names for text in one.problems]
    last = wrong or ["copy a node's folder to its machine, and only that one: it holds the node's key"]
    if state.revoked:
        last.append("copy authority/crl.pem to the folder of the scheduler, on its machine: nodes get it from there")
    return "\n".join([Paint(color)(head, "bold"), *lines, "", *last])
