"""More of what the stack counts: connections, virtual disks, storage nodes, copies.

Connections and disks let a number of I/Os through at once; storage nodes serve a part of the load each; a copy more is
sent once more. What stands below is the layer's own measured curve (`strata.analyse.scaling.beneath`).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

import numpy as np

from strata import units
from strata.analyse.scaling import whatif
from strata.analyse.scaling.beneath import Beneath, UnderWay, dealt_window, window_gain, windowed
from strata.analyse.scaling.busy import CARD
from strata.analyse.scaling.fitted import Fitted
from strata.analyse.scaling.least import Curve
from strata.analyse.scaling.members import Members, members_of
from strata.analyse.scaling.unpredicted import UnpredictedError
from strata.analyse.scaling.whatif import ChangeGain, Demands

CONNECTIONS, DISKS, NODES, COPIES = "connections", "disks", "storage-nodes", "copies"
COUNTED = {
    CONNECTIONS: "connections= of its endpoint",
    DISKS: "1: a layer is one disk",
    NODES: "expect.members of it or of what it stands on",
    COPIES: "expect.copies of it or of what it stands on",
}
"""Where the stack says how many there are now."""
SENDS = 0.5
"""Bytes that a card sends for each byte of the application, from which on it sends the copies."""
GROWS = 1.05
"""Times the rate of half the load, from which on a layer may give more to a load that was not measured."""


@dataclass(frozen=True)
class Around:
    """What is known of a layer: ``counted``, of the stack, by the names of `COUNTED`; ``below`` the curve it stands on;
    ``under_way`` what is under way at the devices of both; ``random``: whether its I/Os go anywhere; ``full_below``:
    kinds of resources that are full in the layer below."""

    counted: Mapping[str, int] = field(default_factory=dict)
    below: Fitted | None = None
    under_way: UnderWay | None = None
    random: bool = True
    full_below: frozenset[str] = frozenset()


def counted(
    name: str, then: float, found: Fitted, demands: Demands, at: float, beside: Around
) -> tuple[ChangeGain, str]:  # fmt: skip
    """``then`` of them in place of those there are. Raises `UnpredictedError`."""
    now = beside.counted[name]
    said = f"{now} {name} now, {then:g} then"
    if name == COPIES:
        return _copies(found, demands, then - now, at, beside), f"{said}; each further copy is sent once more"
    if name == NODES:
        return _nodes(found, demands, now, then, at, beside, said)
    if beside.below is None:
        raise UnpredictedError(f"{name} are as fast as what they lead to, and the layer below was not measured")
    return _queues(found, beside.below, now, then, at, beside, said, dealt=name == CONNECTIONS)


def _queues(
    found: Fitted, under: Fitted, now: int, then: float, at: float, beside: Around, said: str, *, dealt: bool
) -> tuple[ChangeGain, str]:  # fmt: skip
    """``dealt``: I/Os go to any of them as they come; else each has an equal part of them."""
    under, times = under.traced(), then / now
    top, below = found.curve, under.curve
    layer = Beneath.of(top, below)
    window: float | None = None if beside.under_way is None else beside.under_way.window()
    if window is None and windowed(top, below) and top.most is not None:
        inside, how = layer.inside(top.most), "from its limit and Little's law"
        gain = window_gain(top, below, at, times)
        draws = [window_gain(a, b, at, times) for a, b in zip(found.draws, under.draws, strict=False)]
    elif window is not None:
        # Of a queue whole I/Os are let through; what the layer gives with them inside it has been measured itself.
        window = max(1, round(window / now)) * now
        inside, how = layer.around(window), f"{window:.3g} of them below, from the requests in flight there"
        held = min(at, layer.around(window * times))
        gain = layer.rate(held) / found.traced().curve.rate(at)
        draws = [b.rate(held) / a.rate(at) for a, b in zip(found.draws, _drawn(found, under), strict=False)]
    else:
        text = "it limits nothing in the measured range; more of them would change nothing"
        gain, draws, inside, how = 1.0, [1.0], at, text
    _reached(under, min(at, times * inside))
    open_ = [float(q) for q in np.quantile(draws, [0.025, 0.975])]
    if dealt and inside < at:
        # In turn, and one of them may be full while another has room: at the worst as if they were dealt at random.
        filled = [dealt_window(at, k / now * inside, max(1, round(k))) for k in (then, float(now))]
        open_.append(layer.rate(filled[0]) / layer.rate(min(at, filled[1])))
    made = whatif.told(found, at, [gain], [gain, *open_])
    return made, f"{said}; now {units.significant(inside)} I/Os are let through at once ({how}), and the layer below"


def _within(now: Beneath, then: Beneath, load: float, window: float, before: float) -> float:
    """The gain of a layer with at most ``window`` I/Os below in place of ``before``."""
    return then.rate(min(load, then.around(window))) / now.rate(min(load, now.around(before)))


def _drawn(found: Fitted, under: Fitted) -> list[Beneath]:
    return [Beneath.of(a, b) for a, b in zip(found.draws, under.draws, strict=False)]


def _reached(under: Fitted, load: float) -> None:
    """Raises `UnpredictedError` for a load at which nothing is known of the layer below."""
    last = under.most_load
    if load > 1.05 * last and under.curve.rate(last) > GROWS * under.curve.rate(last / 2):
        raise UnpredictedError(
            f"the layer below would have {load:.3g} I/Os in flight; it was measured up to {last:g}, and "
            "its rate still rose there: measure more (--points)"
        )


def _nodes(
    found: Fitted, demands: Demands, now: int, then: float, at: float, beside: Around, said: str
) -> tuple[ChangeGain, str]:  # fmt: skip
    network = whatif.network_of(found, demands)
    window = None if beside.under_way is None else beside.under_way.window()
    if not any(s.name == whatif.LIMIT for s in network.stations) and window is None:
        raise UnpredictedError(f"{network.fullest} is full first: more storage nodes would not change that")
    below = found if beside.below is None else beside.below
    under, times = below.traced(), then / now
    even = [_spread(a, b, at, times) for a, b in zip(found.draws, below.draws, strict=False)]
    if not beside.random or then != round(then):
        gain = _spread(found.curve, below.curve, at, times)
        text = f"{said}; each has an equal part of the I/Os"
    else:
        few, many = _members(under, now, round(then))
        extra = 0.0 if beside.below is None else Beneath.of(found.curve, under.curve).extra
        layers = [Beneath(c, extra) for c in (few, many)]
        inside = window or at
        gain = _within(layers[0], layers[1], at, inside, inside)
        text = f"{said}; each I/O goes to any of them, so some are busier than others"
        if window is not None:
            text += f"; {window:.3g} I/Os at most are below at once, from the requests in flight there"
    # How far the points leave it open is as with equal parts.
    middle = _spread(found.curve, below.curve, at, times)
    ends = [gain * float(q) / middle for q in np.quantile(even, [0.025, 0.975])]
    return whatif.told(found, at, [gain], ends), text


def _spread(top: Curve, below: Curve, at: float, times: float) -> float:
    """The gain with equal parts: of the layer below, or of the layer itself."""
    if windowed(top, below):
        return window_gain(top, below, at, members=times)
    return times * top.rate(at / times) / top.rate(at)


def _members(under: Fitted, now: int, then: int) -> tuple[Curve, Curve]:
    """The curves of as many members as there are and as there would be."""
    if now == 1:
        return under.curve, Members(under.curve, then)
    few = members_of([p.load for p in under.points], [p.rate for p in under.points], now)
    return few, replace(few, many=then)


def _copies(found: Fitted, demands: Demands, more: float, at: float, beside: Around) -> ChangeGain:
    senders = [d for d in demands.each if d.name.startswith(f"{CARD}@") and d.per_byte >= SENDS]
    if not senders:
        raise UnpredictedError("the card that sends the copies was not full, so the cost of one more is not known")

    def after(one: Demands) -> Demands:
        each = (_sends(d, more) if d.name in {s.name for s in senders} else d for d in one.each)
        return replace(one, each=tuple(each))

    return whatif.with_demands(found, demands, after, at, below=beside.below)


def _sends(d: whatif.Demand, more: float) -> whatif.Demand:
    return replace(d, seconds=d.seconds * max(d.per_byte + more, 1e-3) / d.per_byte)
