"""What a change would bring, in the words of ``--what-if``: ``NAME=VALUE``, where VALUE is an amount or ``2x``.

``@N`` behind it: at that value of the axis, and not at the largest that was measured. Some names are resources that
were counted, or the limit that no counter names; the others are of the stack: `COUNTED` says where it has their number.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from strata import units
from strata.analyse.scaling import whatif
from strata.analyse.scaling.beneath import UnderWay
from strata.analyse.scaling.busy import CARD, FULL
from strata.analyse.scaling.cached import larger_cache
from strata.analyse.scaling.counted import CONNECTIONS, COPIES, COUNTED, DISKS, NODES, Around, counted
from strata.analyse.scaling.demands import demands_of
from strata.analyse.scaling.fitted import Fitted, NoCurve
from strata.analyse.scaling.network import Network
from strata.analyse.scaling.unpredicted import UnpredictedError
from strata.analyse.scaling.whatif import ChangeGain, Demands
from strata.analyse.scaling.wire import wire_gain
from strata.model.axis import Axis
from strata.model.scale import ScaleAsk, ScalePoint, WhatIf
from strata.model.stack import Stack

CACHE = "cache"
VARIES = 0.15
"""Standard deviation of what an I/O asks of a quota, over all loads and as a share, from which on nothing is predicted:
a server that is held back may do more or less of its work for each I/O."""
SCATTERED = 0.2
"""Root mean square of the points around a curve, as a share, from which on a layer tells nothing of the one on it."""


def around(
    stack: Stack, layer: str, fits: Mapping[str, Fitted | NoCurve], points: Mapping[str, Sequence[ScalePoint]]
) -> Around:  # fmt: skip
    """Of the layer and of what it stands on, nearest first; ``points`` of every layer."""
    mine = stack.layer(layer)
    way = (mine, *stack.stands_on(mine))
    counted = {CONNECTIONS: mine.target.connections} if mine.target.remote else {}
    for name, key in ((NODES, "members"), (COPIES, "copies")):
        found = next((n for one in way if (n := getattr(one.expect, key)) is not None), None)
        if found is not None:
            counted[name] = found
    under = next(((one.name, f) for one in way[1:] if (f := _curves(fits.get(one.name))) is not None), None)
    mine_points = points.get(layer, ())
    random = all(p.workload is None or p.workload.rw.random for p in mine_points)
    if under is None:
        return Around(counted, random=random)
    counted[DISKS] = 1
    last = points.get(under[0], ())[-1:]
    full = frozenset(b.name.partition("@")[0] for p in last for b in p.busy if b.share >= FULL)
    return Around(counted, under[1], _under_way(mine_points, points.get(under[0], ())), random, full)


def _curves(found: Fitted | NoCurve | None) -> Fitted | None:
    """Its curve, or what the points tell between them where there is none; None where they are too scattered."""
    curve = found.through if isinstance(found, NoCurve) else found
    return None if curve is None or curve.rms > SCATTERED else curve


def _under_way(top: Sequence[ScalePoint], below: Sequence[ScalePoint]) -> UnderWay | None:
    """At the block devices that were counted at every point of both layers."""
    if not top or not below:
        return None
    names = set.intersection(*(set(p.in_flight) for p in (*top, *below)))
    if not names:
        return None
    each = [tuple((float(p.outstanding), sum(p.in_flight[n] for n in names)) for p in some) for some in (top, below)]
    return UnderWay(*each)


def what_if(
    asked: str, layer: str, points: Sequence[ScalePoint], ask: ScaleAsk, found: Fitted | NoCurve, per: float,
    beside: Around,
) -> WhatIf:  # fmt: skip
    """One change at one layer. ``per``: I/Os in flight of one unit of the axis."""
    name, _, text = asked.partition("=")
    text, _, place = text.partition("@")
    name, text = name.strip().lower(), text.strip().lower()
    place_value = float(units.parse_size(place)) if place else float(points[-1].value)
    try:
        made, rests = _made(name, text, place_value, points, ask, found, per, beside)
    except UnpredictedError as e:
        return WhatIf(asked=asked, layer=layer, refused=str(e))
    if ask.axis is Axis.RANGE:
        per = 1.0
    return WhatIf(
        asked=asked, layer=layer, load=made.load / per, now=made.now, rate=made.rate, gain=made.gain, rests_on=rests
    )


def _made(
    name: str, text: str, place: float, points: Sequence[ScalePoint], ask: ScaleAsk, found: Fitted | NoCurve,
    per: float, beside: Around,
) -> tuple[ChangeGain, str]:  # fmt: skip
    """The gain and what it rests on. Raises `UnpredictedError`."""
    if ask.axis is Axis.RANGE and name == CACHE:
        if not text.endswith("x"):
            raise UnpredictedError("the size of the cache is not known: ask for a factor (2x)")
        return larger_cache(points, amount(text, 1.0), place)
    curve = _curves(found)
    if curve is None:
        off = found.why if isinstance(found, NoCurve) else f"the points deviate from it by {units.percent(found.rms)}"
        raise UnpredictedError(f"there is no curve to predict from: {off}")
    if ask.axis.size or (ask.axis.means and name != ask.axis.value):
        raise UnpredictedError(f"a sweep over {ask.axis.value} has no load to predict from")
    at = place * per
    demands = demands_of(points, at)
    if name == ask.axis.value:
        made, rests = _along(curve, ask.axis, amount(text, float(points[-1].value)), per, at)
        if made.beyond and isinstance(found, NoCurve):
            raise UnpredictedError(f"it is beyond the measured range, and there is no curve: {found.why}")
    elif name in COUNTED:
        made, rests = _counted(name, text, curve, demands, at, beside)
    else:
        made, rests = _resource(name, text, curve, demands, at, beside)
    if isinstance(found, NoCurve):
        rests += f". No curve fits ({found.why}): a line through the points is used instead"
    return made, rests


def _counted(
    name: str, text: str, found: Fitted, demands: Demands, at: float, beside: Around
) -> tuple[ChangeGain, str]:  # fmt: skip
    now = beside.counted.get(name)
    if now is None:
        where = "the layer below was not measured" if name == DISKS else f"the stack does not say it ({COUNTED[name]})"
        raise UnpredictedError(f"how many {name} there are now is not known: {where}")
    return counted(name, amount(text, float(now)), found, demands, at, beside)


def amount(text: str, of: float) -> float:
    """``2x`` of what there is, or a number."""
    return float(text[:-1]) * of if text.endswith("x") else float(text)


def _along(found: Fitted, axis: Axis, value: float, per: float, at: float) -> tuple[ChangeGain, str]:
    made = whatif.at_load(found, value * per, at)
    rests = f"the curve over {axis.value}, {found.form.value}, rms {units.percent(found.rms)}"
    rests += f"; {value:g} is beyond the largest measured value" if made.beyond else ""
    return made, rests


def _resource(
    name: str, text: str, found: Fitted, demands: Demands, at: float, beside: Around
) -> tuple[ChangeGain, str]:  # fmt: skip
    network = whatif.network_of(found, demands)
    known = [s.name for s in network.stations] + [whatif.DELAY, *demands.apart]
    meant = demands.named(name)
    if name not in known and not meant:
        more = [n for n in COUNTED if n in beside.counted]
        raise UnpredictedError(f"{name} has no measured demand here: {', '.join([*known, *more])} have")
    for one in meant:
        if one.varies > VARIES:
            raise UnpredictedError(
                f"the demand of an I/O on {one.name} varies by {units.percent(one.varies)} between loads, so "
                "it is not known at another load"
            )
    factor = _factor(name, text, network, demands)
    if name == whatif.RTT and beside.below is not None:
        through = wire_gain(found, beside.below, demands, factor, at)
        if through is not None:
            return through
    # What fills the layer below as well moves its limit too.
    same = name.partition("@")[0].removesuffix("s") in beside.full_below
    made = whatif.with_change(found, demands, name, factor, at, below=None if same else beside.below)
    each = [f"{d.name} {units.duration(d.seconds * 1e9)} on {d.servers:g}" for d in demands.each]
    if any(s.name == whatif.LIMIT for s in network.stations):
        each.append(f"a limit of {units.count(network.most)} IOPS that no counter names")
    rests = f"demands of an I/O over all points: {'; '.join(each)}; "
    rests += f"and {units.duration(network.delay * 1e9)} without waiting for any of them"
    if made.beyond and factor > 1:
        rests += f". Then {made.full} is full first; a resource that was never near its limit may be full earlier"
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
