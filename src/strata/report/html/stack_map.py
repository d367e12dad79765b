"""What the map of a stack shows: the rates of this moment while a run is measured, those of the run afterwards."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from markupsafe import Markup

from strata import units
from strata.model.hardware import Interface
from strata.model.live import LiveRun
from strata.model.progress import NodeNow
from strata.model.run import Report
from strata.model.watch import CALLS, Slice, WatchedLayer
from strata.report import figures
from strata.report.html.charts.stack_map import MapLayer, MapNode, stack_map
from strata.report.ladder import Ladder, LadderRow
from strata.report.survey_facts import interface_facts

THIS = "this machine"
LINES_MOST = 4
"""Cards and devices of a node; of more the last line says how many."""


def of_live(run: LiveRun) -> Markup | None:
    """While it is measured."""
    head, p = run.head, run.now
    latest = {r.layer: r for r in run.rates}
    layers = []
    for index, one in enumerate(head.layers):
        rate = latest.get(one.name)
        said = () if rate is None else _rate(rate.iops, rate.bytes_per_second)
        busy = p is not None and p.layer == one.name
        layers.append(MapLayer(one.name, one.endpoint, one.node or THIS, one.on, index, said, busy))
    glance = None if p is None else p.now
    moving = {d.name: " · ".join(_rate(d.iops, d.bytes_per_second)) for d in glance.devices} if glance else {}
    devices = dict.fromkeys((*head.devices, *moving))
    traffic = {node.name or head.here or THIS: _traffic(node) for node in glance.nodes} if glance else {}
    said_of = [f"{name}: {moving[name]}" if name in moving else name for name in devices]
    name = head.here or THIS
    here = MapNode(name, _cards(head.cards), _few(said_of), traffic.pop(name, ""))
    others = [MapNode(name, traffic=said) for name, said in traffic.items()]
    return stack_map("live-map", f"{head.stack}: the stack as a map", layers, [here, *others])


def of_watched(one: Slice, order: Mapping[str, int]) -> Markup | None:
    """What passed in a slice of somebody else's load; bold is the layer that limits it. ``order``: of the
    colours. None of a slice that says no stack."""
    here = one.here or THIS
    rows: dict[str, list[WatchedLayer]] = {}
    for row in one.layers:
        rows.setdefault(row.layer, []).append(row)
    layers: list[MapLayer] = []
    cards: dict[str, dict[str, str]] = {}
    devices: dict[str, dict[str, str]] = {}
    for layer in one.stack:
        mine, node, index = rows.get(layer.name, []), layer.node or THIS, order[layer.name]
        issued = _issued(mine, layer.node)
        layers.append(MapLayer(layer.name, layer.endpoint, node, layer.on, index, issued, layer.name == one.layer))
        for row in mine:
            name = row.what.removesuffix(f" of {row.node}")
            moves = " · ".join(_moves(row))
            if row.kind == "device":
                # Of a node that is this machine the devices are read here, and have no name of a node.
                devices.setdefault(row.node or node, {})[name] = f"{name}: {moves}" if moves else name
            elif row.kind == "card":
                share = "" if row.busy is None else f" · {figures.percent(row.busy)} of its link"
                cards.setdefault(row.node or here, {})[name] = f"{name}: {moves}{share}"
    nodes = [
        MapNode(name, _few(list(cards.get(name, {}).values())), _few(list(devices.get(name, {}).values())))
        for name in dict.fromkeys((*cards, *devices))
    ]
    return stack_map("watch-map", "the stack as a map", layers, nodes)


def _issued(rows: list[WatchedLayer], node: str | None) -> tuple[str, ...]:
    """What a layer got: its system calls, what its uppermost device counted, or what passed the card of its node."""
    counted = [row for row in rows if row.kind in (CALLS, "device") and row.untold is None]
    passed = [row for row in rows if row.kind == "card"]
    found = next(iter((*counted, *(row for row in passed if row.node == node), *passed)), None)
    return () if found is None else _moves(found)


def _moves(row: WatchedLayer) -> tuple[str, ...]:
    if row.iops is not None:
        return _rate(row.iops, row.bytes_per_second)
    return () if row.bytes_per_second is None else (units.rate(row.bytes_per_second),)


def of_report(report: Report, table: Ladder) -> tuple[Markup | None, str]:
    """Afterwards, and of which workload the rates are."""
    stack, survey = report.run.plan.stack, report.run.survey
    row = max(table.rows, key=lambda row: sum(s.summary is not None for s in row.squares), default=None)
    rates = _measured(row)
    layers = [MapLayer(one.name, one.endpoint, one.node or THIS, one.on, index, rates.get(one.name, ()))
              for index, one in enumerate(stack.layers)]  # fmt: skip
    nodes = []
    if survey is not None:
        devices = [" ".join(filter(None, (d.path, (d.model or "").strip()))) for d in survey.devices]
        nodes.append(MapNode(stack.here(survey.hostname) or THIS, _cards(survey.interfaces), _few(devices)))
    said = "" if row is None else row.workload.label
    return stack_map("map", f"{stack.name}: the stack as a map", layers, nodes), said


def _measured(row: LadderRow | None) -> dict[str, tuple[str, ...]]:
    there = () if row is None else (s.summary for s in row.squares if s.summary is not None)
    return {s.layer: _rate(s.iops.value, s.bytes_per_second.value) for s in there}


def _rate(iops: float, bytes_per_second: float | None) -> tuple[str, ...]:
    said = f"{units.count(iops)} IOPS"
    return (said,) if bytes_per_second is None else (said, units.rate(bytes_per_second))


def _traffic(node: NodeNow) -> str:
    parts = (("out", node.tx_bytes_per_second), ("in", node.rx_bytes_per_second))
    return " · ".join(f"{way} {units.rate(moved)}" for way, moved in parts if moved is not None)


def _cards(interfaces: Iterable[Interface]) -> tuple[str, ...]:
    return _few([interface_facts(one) for one in interfaces if one.card])


def _few(lines: list[str]) -> tuple[str, ...]:
    if len(lines) <= LINES_MOST:
        return tuple(lines)
    return (*lines[: LINES_MOST - 1], f"and {len(lines) - LINES_MOST + 1} more")
