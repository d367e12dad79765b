"""What a change would bring, in the words of ``--what-if``: ``NAME=VALUE``, where VALUE is an amount or ``2x``.

``@N`` behind it: at that value of the axis, and not at the largest that was measured. Some names are resources that
were counted, or the limit that no counter names; the others are of the stack: `COUNTED` says where it has their number.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from strata import units
from strata.analyse.scaling import whatif
from strata.analyse.scaling.beneath import Beneath, dealt_window, window_gain, windowed
from strata.analyse.scaling.busy import CARD
from strata.analyse.scaling.demands import demands_of
from strata.analyse.scaling.fitted import Fitted, NoCurve
from strata.analyse.scaling.network import Network
from strata.analyse.scaling.whatif import ChangeGain, Demands
from strata.model.scale import Axis, ScaleAsk, ScalePoint, WhatIf
from strata.model.stack import Stack

CONNECTIONS, DISKS, NODES, COPIES, CACHE = "connections", "disks", "storage-nodes", "copies", "cache"
COUNTED = {
    CONNECTIONS: "connections= of its endpoint",
    DISKS: "1: a layer is one disk",
    NODES: "expect.members of it or of what it stands on",
    COPIES: "expect.copies of it or of what it stands on",
}
"""Where the stack says how many there are now."""
SENDS = 0.5
"""Bytes that a card sends for each byte of the application, from which on it sends the copies."""


@dataclass(frozen=True)
class Around:
    """What the stack says of a layer: ``counted`` by the names of `COUNTED`; ``below`` the curve it stands on."""

    counted: Mapping[str, int] = field(default_factory=dict)
    below: Fitted | None = None


def around(stack: Stack, layer: str, fits: Mapping[str, Fitted | NoCurve]) -> Around:
    """Of the layer and of what it stands on, nearest first."""
    mine = stack.layer(layer)
    way = (mine, *stack.stands_on(mine))
    counted = {CONNECTIONS: mine.target.connections} if mine.target.remote else {}
    for name, key in ((NODES, "members"), (COPIES, "copies")):
        found = next((n for one in way if (n := getattr(one.expect, key)) is not None), None)
        if found is not None:
            counted[name] = found
    below = next((f for one in way[1:] if isinstance(f := fits.get(one.name), Fitted)), None)
    if below is not None:
        counted[DISKS] = 1
    return Around(counted, below)


def what_if(
    asked: str, layer: str, points: Sequence[ScalePoint], ask: ScaleAsk, found: Fitted | NoCurve, per: float,
    beside: Around,
) -> WhatIf:  # fmt: skip
    """One change at one layer. ``per``: I/Os in flight of one unit of the axis."""
    name, _, text = asked.partition("=")
    text, _, place = text.partition("@")
    name, text = name.strip().lower(), text.strip().lower()
    if ask.axis is Axis.RANGE and name == CACHE:
        return _cache(asked, layer, points, text, float(units.parse_size(place)) if place else None)
    if isinstance(found, NoCurve):
        return WhatIf(asked=asked, layer=layer, refused=f"there is no curve to predict from: {found.why}")
    if ask.axis.size or (ask.axis.means and name != ask.axis.value):
        return WhatIf(asked=asked, layer=layer, refused=f"a sweep over {ask.axis.value} has no load to predict from")
    at = (float(units.parse_size(place)) if place else float(points[-1].value)) * per
    demands = demands_of(points)
    try:
        if name == ask.axis.value:
            made, rests = _along(found, ask.axis, amount(text, float(points[-1].value)), per, at)
        elif name in COUNTED:
            made, rests = _counted(name, text, found, demands, at, beside)
        else:
            made, rests = _resource(name, text, found, demands, at, beside)
    except _Refused as e:
        return WhatIf(asked=asked, layer=layer, refused=str(e))
    return WhatIf(
        asked=asked, layer=layer, load=made.load / per, now=made.now, rate=made.rate, gain=made.gain, rests_on=rests
    )


class _Refused(Exception):
    """Why nothing is predicted."""


def amount(text: str, of: float) -> float:
    """``2x`` of what there is, or a number."""
    return float(text[:-1]) * of if text.endswith("x") else float(text)


def _along(found: Fitted, axis: Axis, value: float, per: float, at: float) -> tuple[ChangeGain, str]:
    made = whatif.at_load(found, value * per, at)
    rests = f"the curve over {axis.value}, {found.form.value}, rms {units.percent(found.rms)}"
    rests += f"; {value:g} was not measured and lies beyond the largest value" if made.beyond else ""
    return made, rests


def _resource(
    name: str, text: str, found: Fitted, demands: Demands, at: float, beside: Around
) -> tuple[ChangeGain, str]:  # fmt: skip
    network = whatif.network_of(found, demands)
    known = [s.name for s in network.stations] + [whatif.DELAY, *demands.apart]
    meant = demands.named(name)
    if name not in known and not meant:
        more = [n for n in COUNTED if n in beside.counted]
        raise _Refused(f"{name} has no measured demand here: {', '.join([*known, *more])} have")
    factor = _factor(name, text, network, demands)
    made = whatif.with_change(found, demands, name, factor, at, below=beside.below)
    each = [f"{d.name} {units.duration(d.seconds * 1e9)} on {d.servers:g}" for d in demands.each]
    if any(s.name == whatif.LIMIT for s in network.stations):
        each.append(f"a limit of {units.count(network.most)} IOPS that no counter names")
    rests = f"demands of an I/O over all points: {'; '.join(each)}; "
    rests += f"and {units.duration(network.delay * 1e9)} in which it waits for nobody"
    if made.beyond and factor > 1:
        rests += f". Then {made.full} is full first; what was never near its limit may be full earlier"
    return made, rests


def _factor(name: str, text: str, network: Network, demands: Demands) -> float:
    """How many times as much of it ``text`` asks for: ``2x``, or an amount in the resource's own unit."""
    if text.endswith("x"):
        return amount(text, 1.0)
    if name == whatif.DELAY:
        return units.parse_duration_ns(text) / 1e9 / max(network.delay, 1e-12)
    if name in demands.apart:
        return units.parse_duration_ns(text) / 1e9 / max(demands.apart[name], 1e-12)
    if name == whatif.LIMIT:
        return amount(text, 1.0) / network.most
    meant = demands.named(name)
    return amount(text, 1.0) / (len(meant) if name.startswith(CARD) else meant[0].servers)


def _counted(
    name: str, text: str, found: Fitted, demands: Demands, at: float, beside: Around
) -> tuple[ChangeGain, str]:  # fmt: skip
    now = beside.counted.get(name)
    if now is None:
        where = "the layer below was not measured" if name == DISKS else f"the stack does not say it ({COUNTED[name]})"
        raise _Refused(f"how many {name} there are now is not known: {where}")
    then = amount(text, float(now))
    said = f"{now} {name} now, {then:g} then"
    if name == COPIES:
        return _copies(found, demands, then - now, at, beside), f"{said}; each one more is sent once more"
    if name == NODES:
        return _nodes(found, demands, then / now, at, beside), f"{said}; each has an equal part of the I/Os"
    if beside.below is None:
        raise _Refused(f"{name} are as fast as what they lead to, and the layer below was not measured")
    made = _queues(found, beside.below, now, then, at, dealt=name == CONNECTIONS)
    return made, f"{said}, and the curve of the layer below"


def _queues(found: Fitted, below: Fitted, now: int, then: float, at: float, *, dealt: bool) -> ChangeGain:
    """``dealt``: I/Os go to any of them as they come; else each has an equal part of them."""
    top, under, times = found.curve, below.curve, then / now
    gains = [window_gain(top, under, at, times)]
    draws = [window_gain(a, b, at, times) for a, b in zip(found.draws, below.draws, strict=False)]
    if dealt and windowed(top, under) and top.most is not None:
        # Dealt in turn, one of them is full while another has room: between both lies what a client does.
        inside = Beneath.of(top, under).inside(top.most)
        filled = [dealt_window(at, k / now * inside, max(1, round(k))) for k in (then, float(now))]
        gains.append(window_gain(top, under, at, filled[0] / min(at, filled[1])))
    return whatif.told(found, at, gains, [*gains, *(float(q) for q in np.quantile(draws, [0.025, 0.975]))])


def _nodes(found: Fitted, demands: Demands, times: float, at: float, beside: Around) -> ChangeGain:
    below = beside.below
    if below is not None and windowed(found.curve, below.curve):
        gain = window_gain(found.curve, below.curve, at, members=times)
        draws = [window_gain(a, b, at, members=times) for a, b in zip(found.draws, below.draws, strict=False)]
        return whatif.told(found, at, [gain], [float(q) for q in np.quantile(draws, [0.025, 0.975])])
    network = whatif.network_of(found, demands)
    if not any(s.name == whatif.LIMIT for s in network.stations):
        raise _Refused(f"{network.fullest} is full first: more storage nodes would change nothing of it")
    return whatif.with_change(found, demands, whatif.LIMIT, times, at, budgets=(True,))


def _copies(found: Fitted, demands: Demands, more: float, at: float, beside: Around) -> ChangeGain:
    senders = [d for d in demands.each if d.name.startswith(f"{CARD}@") and d.per_byte >= SENDS]
    if not senders:
        raise _Refused("no card was full that sends the copies, so what one more costs is not known")

    def after(one: Demands) -> Demands:
        each = (_sends(d, more) if d.name in {s.name for s in senders} else d for d in one.each)
        return replace(one, each=tuple(each))

    return whatif.with_demands(found, demands, after, at, below=beside.below)


def _sends(d: whatif.Demand, more: float) -> whatif.Demand:
    return replace(d, seconds=d.seconds * max(d.per_byte + more, 1e-3) / d.per_byte)


def _cache(asked: str, layer: str, points: Sequence[ScalePoint], text: str, at: float | None) -> WhatIf:
    """Uniform I/Os over W bytes hit a cache of C as often as those over W ÷ k hit one of C ÷ k: the same points say
    what k times the cache gives."""
    times = amount(text, 1.0) if text.endswith("x") else 0.0
    if times <= 0:
        return WhatIf(asked=asked, layer=layer, refused="the size of the cache is not known: ask for a factor (2x)")
    at = at or float(points[-1].value)
    if not points[0].value <= at / times <= points[-1].value or not points[0].value <= at <= points[-1].value:
        need = units.size(round(at / times))
        return WhatIf(asked=asked, layer=layer, refused=f"working sets of {need} and of {units.size(round(at))} are "
                      "needed, and one lies outside of what was measured")  # fmt: skip
    read: Callable[[str, float], float] = lambda end, w: _between(points, end, w)  # noqa: E731
    now, then = read("value", at), read("value", at / times)
    left = [abs(math.log(read(end, w) / read("value", w))) for w in (at, at / times) for end in ("low", "high")]
    most = math.hypot(max(left[:2]), max(left[2:]))
    gains = [then / now]
    made = _told_cache(points, at, now, gains, [gains[0] * math.exp(-most), gains[0] * math.exp(most)])
    rests = f"the rate at a working set of {units.size(round(at / times))}, of which as much is in the cache now"
    return WhatIf(
        asked=asked, layer=layer, load=at, now=made.now, rate=made.rate, gain=made.gain, rests_on=rests
    )  # fmt: skip


def _told_cache(
    points: Sequence[ScalePoint], at: float, now: float, gains: Sequence[float], ends: Sequence[float]
) -> ChangeGain:  # fmt: skip
    one = points[0].iops.model_copy(update={"value": now, "low": None, "high": None})
    gain = whatif.wider(
        one.model_copy(update={"value": gains[0], "low": min(ends), "high": max(ends), "unit": "ratio"})
    )
    assert gain.low is not None and gain.high is not None
    rate = one.model_copy(update={"value": now * gain.value, "low": now * gain.low, "high": now * gain.high})
    return ChangeGain(at, one, rate, gain, None, False)


def _between(points: Sequence[ScalePoint], end: str, at: float) -> float:
    """The rate at a working set, on the line between two of them (of the time of an I/O over 1 ÷ W: the share of hits
    is a straight line there)."""
    x = np.array([1 / p.value for p in points])
    rates = np.array([e if (e := getattr(p.iops, end)) is not None else p.iops.value for p in points])
    return float(1 / np.interp(1 / at, x[::-1], (1 / rates)[::-1]))
