"""The stack as a map: machines as boxes, layers as boxes in them, and on each arrow what went along it.

Requests go downward, from the layer that a program uses to the medium. The picture is as wide as its widest row of
layers and keeps its size, so that its text can be read at 400 px; what does not fit is cut, and whole in its title.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby

from markupsafe import Markup

from strata.report.html.charts import svg

WIDTH, COLUMN, EDGE, PAD, LANE = 340, 164, 6, 14, 12
"""The least width, that of a layer beside another, the rim of the picture and of a node, and an arrow past others."""
TITLE, LINE, STATION, GAP, BETWEEN = 24, 15, 42, 42, 30
"""Heights: a node's name, a card, a layer, what is between two layers, and between two nodes."""
_LETTER, _BOLD = 6.4, 7.3
"""Pixels of a character; of wider ones less is shown."""


@dataclass(frozen=True)
class MapLayer:
    """A layer, ``index`` its place in the stack. ``rate``: what was issued at it, in parts that stay whole; ``busy``:
    it is now."""

    name: str
    endpoint: str
    node: str
    on: tuple[str, ...]
    index: int
    rate: tuple[str, ...] = ()
    busy: bool = False


@dataclass(frozen=True)
class MapNode:
    """A machine: its network cards and its devices, each a line of words; ``traffic`` of all cards together."""

    name: str
    cards: tuple[str, ...] = ()
    devices: tuple[str, ...] = ()
    traffic: str = ""


Row = tuple[MapLayer, ...]
_Box = tuple[float, float, float]
"""The middle of a layer, its top, its width."""


def stack_map(ident: str, name: str, layers: Sequence[MapLayer], nodes: Sequence[MapNode]) -> Markup | None:
    """The picture; None without layers."""
    if not layers:
        return None
    rows = _rows(layers)
    past = [(one, below) for one in layers for below in one.on if not _adjacent(rows, one.name, below)]
    widest = max(map(len, rows))
    inner = max(WIDTH - 2 * (EDGE + PAD), widest * COLUMN)
    right = EDGE + 2 * PAD + inner
    width = right + EDGE + LANE * len(past)
    boxes: dict[str, _Box] = {}
    known = {node.name: node for node in nodes}
    frames: list[Markup] = []
    stations: list[Markup] = []
    grounds: dict[str, float] = {}
    y = float(EDGE)
    stretches = [(node, list(there)) for node, there in groupby(rows, key=lambda row: row[0].node)]
    for title, there in stretches:
        node = known.get(title, MapNode(title))
        top, lines = y, _wires(node, wired=len(stretches) > 1)
        y += TITLE + LINE * len(lines) + PAD / 2
        for row in there:
            each = inner / len(row)
            for n, one in enumerate(row):
                boxes[one.name] = EDGE + PAD + each * (n + 0.5), y, each - (8 if len(row) > 1 else 0)
                stations.append(_station(one, boxes[one.name]))
            y += STATION + GAP
        if not there[-1][0].on:
            grounds |= {one.name: y for one in there[-1]}
            stations += _medium(node.devices, EDGE + PAD, y, inner)
            y += LINE * max(1, len(node.devices)) + PAD
        frames.append(svg.rect(EDGE, top, right - EDGE, y - top, "node"))
        stations += _title(title, lines, top, right - EDGE)
        y += BETWEEN
    arrows = [part for one in layers for part in _arrows(one, boxes, grounds, past, right)]
    height = int(y - BETWEEN + EDGE)
    drawn = (*frames, *arrows, *stations)
    return svg.picture(ident, name, _told(layers, nodes), int(width), height, *drawn, stretched=False)


def _rows(layers: Sequence[MapLayer]) -> list[Row]:
    """What a program uses first; beside each other stands what is as far from the medium and on the same machine."""
    height: dict[str, int] = {}
    for one in layers:
        # A stack names what a layer stands on before the layer.
        height[one.name] = 1 + max((height.get(below, -1) for below in one.on), default=-1)
    found: list[Row] = []
    for level in sorted(set(height.values()), reverse=True):
        above = found[-1][0].node if found else None
        there = [one for one in layers if height[one.name] == level]
        names = sorted(dict.fromkeys(one.node for one in there), key=lambda name: name != above)
        found += [tuple(one for one in there if one.node == name) for name in names]
    return found


def _adjacent(rows: Sequence[Row], above: str, below: str) -> bool:
    at = {one.name: n for n, row in enumerate(rows) for one in row}
    return at[below] == at[above] + 1


def _wires(node: MapNode, *, wired: bool) -> tuple[str, ...]:
    """The lines below a node's name: how it is reached by the others."""
    cards = node.cards or (("its cards are not known",) if wired else ())
    return (*cards, *((node.traffic,) if node.traffic else ()))


def _title(title: str, lines: Sequence[str], top: float, width: float) -> list[Markup]:
    room = width - 2 * PAD
    below = (_text(EDGE + PAD, top + TITLE + 9 + LINE * n, line, room, "tick over") for n, line in enumerate(lines))
    return [_text(EDGE + PAD, top + 17, title, room, "figure over"), *below]


def _station(one: MapLayer, box: _Box) -> Markup:
    middle, top, width = box
    left = middle - width / 2
    return svg.element(
        "g",
        svg.rect(left, top, width, STATION, "station busy" if one.busy else "station"),
        svg.mark(left + 12, top + 14, one.index),
        _text(left + 22, top + 18, one.name, width - 28, "figure"),
        _text(left + 8, top + 34, one.endpoint, width - 14, "tick"),
        class_=svg.layer_class(one.index),
    )


def _medium(devices: Sequence[str], left: float, top: float, width: float) -> list[Markup]:
    lines = devices or ("what the lowest layer stands on",)
    return [
        svg.line(left, top, left + width, top, "ground"),
        *(_text(left + 4, top + LINE * (n + 1), line, width - 8, "tick") for n, line in enumerate(lines)),
    ]


def _arrows(
    one: MapLayer, boxes: dict[str, _Box], grounds: dict[str, float], past: Sequence[tuple[MapLayer, str]], right: float
) -> list[Markup]:
    """From a layer to each that it stands on, or to the medium; what was issued at it stands beside them."""
    centre, top, width = boxes[one.name]
    start, kind = top + STATION, "arrow busy" if one.busy else "arrow"
    # Beside others a layer is narrow: what stands beside its arrow has three quarters of it.
    middle = centre if width > COLUMN else centre - width / 4
    drawn: list[Markup] = []
    beside = [below for below in one.on if (one, below) not in past]
    for below in one.on:
        if below not in beside:
            lane = right + LANE * (past.index((one, below)) + 0.5)
            at, end, half = boxes[below]
            out, into = top + STATION / 2, end + STATION / 2
            side = at + half / 2
            drawn.append(svg.path([(centre + width / 2, out), (lane, out), (lane, into), (side + 6, into)], kind))
            drawn.append(_head(side, into, sideways=True))
            continue
        x = middle + (beside.index(below) - (len(beside) - 1) / 2) * 14
        at, end, _ = boxes[below]
        turn = start + GAP - 8
        drawn += [svg.path([(x, start), (x, turn), (at, turn), (at, end - 6)], kind), _head(at, end)]
    if not one.on:
        ground = grounds[one.name]
        drawn += [svg.path([(middle, start), (middle, ground - 6)], kind), _head(middle, ground)]
    side = middle + 8 + 7 * max(0, len(beside) - 1)
    room = centre + width / 2 - side
    whole = " · ".join(one.rate)
    lines = (whole,) if len(whole) * _BOLD <= room else one.rate
    drawn += [_text(side, start + 15 + LINE * n, line, room, "figure over") for n, line in enumerate(lines)]
    return drawn


def _head(x: float, y: float, *, sideways: bool = False) -> Markup:
    there = ((x, y), (x + 7, y - 4), (x + 7, y + 4)) if sideways else ((x, y), (x - 4, y - 7), (x + 4, y - 7))
    return svg.element("polygon", points=" ".join(f"{svg.coordinate(a)},{svg.coordinate(b)}" for a, b in there),
                       class_="head")  # fmt: skip


def _text(x: float, y: float, content: str, room: float, kind: str) -> Markup:
    """A line that ends within its ``room``; what is cut is whole in its title."""
    most = max(3, int(room / (_BOLD if "figure" in kind else _LETTER)))
    if len(content) <= most:
        return svg.text(x, y, content, kind)
    whole, cut = svg.title(content), content[: most - 1] + "…"
    return svg.element("text", whole, cut, x=float(x), y=float(y), class_=kind, text_anchor="start")


def _told(layers: Sequence[MapLayer], nodes: Sequence[MapNode]) -> str:
    said = []
    for one in layers:
        rate = f": {' · '.join(one.rate)}" if one.rate else ""
        said.append(f"{one.name} on {one.node} stands on {', '.join(one.on) or 'the medium'}{rate}")
    said += [f"{node.name}: {', '.join((*node.cards, *node.devices, *filter(None, (node.traffic,))))}"
             for node in nodes if node.cards or node.devices or node.traffic]  # fmt: skip
    return "; ".join(said)
