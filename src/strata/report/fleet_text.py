"""Hosts compared, for the terminal and as Markdown."""

from __future__ import annotations

from strata import units
from strata.model.peers import FleetCompared, PeerView
from strata.report import figures
from strata.report.markdown import bullets, escape, gfm
from strata.report.text_layout import Paint, table, wrap

SHOWN = 24
"""Of more hosts than these, those that differ and the slowest are shown; JSON has all of them."""


def fleet_text(found: FleetCompared, width: int, color: bool = False) -> str:
    """Who differs first, then a row for each host."""
    paint = Paint(color)
    out = paint.lines(wrap(headline(found), width), "bold")
    for line in differing(found):
        out += wrap(line, width, "  ", "    ")
    head, *rows = table(_head(found), _rows(found), width, numeric=frozenset(range(1, 1 + len(found.views))))
    out += ["", paint(head, "bold"), *rows]
    for line in remarks(found):
        out += wrap(f"– {line}", width, "", "  ")
    return "\n".join(out)


def fleet_markdown(found: FleetCompared) -> str:
    """The same."""
    rows = [[escape(cell) for cell in row] for row in _rows(found)]
    parts = [f"**{escape(headline(found))}**", bullets([escape(x) for x in differing(found)])]
    parts += [gfm([escape(x) for x in _head(found)], rows, 1), bullets([escape(x) for x in remarks(found)])]
    return "\n\n".join(part for part in parts if part) + "\n"


def headline(found: FleetCompared) -> str:
    """How many hosts, and how many of them differ."""
    hosts = figures.plural(len(found.hosts), "host")
    layers = figures.plural(len(found.layers), "layer")
    if found.line is None:
        return f"{hosts} · {layers} · none is judged"
    slow = len({one.host for one in found.differs})
    said = (
        "no host is slower than its peers"
        if not slow
        else f"{slow} slower than {'its' if slow == 1 else 'their'} peers"
    )
    return f"{hosts} · {layers} · {said}"


def differing(found: FleetCompared) -> list[str]:
    """One line for each host and layer, the farthest first."""
    against = {(v.layer, v.kind): v.against for v in found.views}
    lines = []
    for one in found.differs:
        under = against[one.layer, one.kind]
        what = f"{one.layer}, {one.kind}" + (f", beyond the time of {under}" if under else "")
        lasts = f", in {one.rounds_slow} of {one.rounds} rounds" if one.rounds > 1 else ""
        lines.append(f"{one.host}: {what}: {one.slower:.3g} times the time of its peers at the same load{lasts}")
    return lines


def remarks(found: FleetCompared) -> list[str]:
    """What the figures are, and what was left out."""
    said = ["time at the same load ÷ the median of all hosts; for a layer above another, the time that it adds"]
    scatter = [f"{_name(v)} {units.percent(v.scatter, 2)}" for v in found.views]
    said.append(f"scatter between hosts (robust standard deviation): {', '.join(scatter)}")
    if found.line is not None:
        said.append(
            f"a host is named if it is slower by at least {found.line:.3g} times this scatter and by 10 %, in most "
            f"rounds; of 100 fleets of equal hosts at most {100 * found.false_alarm:.2g} have such a host"
        )
    said += found.remarks
    said += [f"{one.name} returned no run: {one.why}" for one in found.lost]
    if (more := len(found.hosts) - SHOWN) > 0:
        said.append(f"{figures.plural(more, 'faster host')} not shown; --json shows all")
    return said


def _head(found: FleetCompared) -> list[str]:
    return ["host", *(_name(view) for view in found.views), "run"]


def _name(view: PeerView) -> str:
    return f"{view.layer} {view.kind}"


def _rows(found: FleetCompared) -> list[list[str]]:
    slow = {(d.host, d.layer, d.kind) for d in found.differs}
    shown = list(found.hosts)
    if len(shown) > SHOWN:
        worst = sorted(shown, key=lambda host: -max(view.ratios[host.name] for view in found.views))[:SHOWN]
        shown = [host for host in shown if host in worst]
    return [
        [
            host.name,
            *(
                f"{view.ratios[host.name]:.2f}" + ("!" if (host.name, view.layer, view.kind) in slow else "")
                for view in found.views
            ),
            host.run,
        ]
        for host in shown
    ]
