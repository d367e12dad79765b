"""Sequential requests reach the device out of order.

What it claims
    The layer sends a sequential stream to the device in another order than the layer below does, and the device takes
    longer for each request because of that.
Why it matters
    The device, the wire and the CPUs are all healthy. A rotating medium (or one whose writes should be
    sequential) loses most of its speed through the order alone. Random workloads are not affected.
Evidence it needs
    Operational: a trace of both layers' cells at the same device. In the slow sequential cells at least 5 % more of
    the requests are late in their stream than below (RFC 4737), and their service time at the device is at least a
    quarter longer. Without a trace: the device is busy longer for each I/O of the stream, by at least the root of the
    loss, and each of its requests takes longer. Differential: the loss, in sequential cells alone; where the random
    cell of the same depth varies too much, against all random cells of that size.
What rules it out
    Less than half of the loss in what sequential cells lose beyond random ones. A trace that shows the same order;
    another order that the device serves as fast; a random cell that is slow too. A device that is not busy longer for
    an I/O: it waits for requests, and something above it limits the stream. One that is not busy longer for each of
    its requests: below, neighbours are merged into one. Where that was not counted, an experiment
    below confirms it only where the layer gives more requests a second of that size: in the same direction, or in the
    other and the experiment leaves as much (1.15 times) as the layer gives. Streams lose to any limit that random work
    does not reach.
What to do next
    One dispatcher for this layer, or a write-back cache at the device that restores the order of the writes.
How sure
    By the share of the loss that the longer service time at the device explains.
Example
    Sequential writes at 5 % of the disk's own rate, 41 % of them out of order, issued by two threads.
Source
    Microsoft, Cluster Shared Volume: a systematic approach to finding bottlenecks (offsets in the order of issue;
    several dispatchers turn sequential writes into near-random ones); RFC 4737.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence

from strata import units
from strata.analyse.overall import Pooled, pooled
from strata.diagnose import observe
from strata.diagnose.case import Pair
from strata.diagnose.evidence import differential, operational
from strata.diagnose.opinion import Opinion, Weight
from strata.diagnose.view import Point
from strata.model.finding import Cause, Evidence
from strata.model.resources import Disk
from strata.model.trace import OrderSummary, TraceSummary

CAUSE = Cause.REORDERING
PRECEDENCE = 10
MORE_LATE, LONGER = 0.05, 1.25
SLOWER, SAME_BYTES = 1.1, 1.25
"""Times as long as below, at least, that a request takes at the device; and times the bytes at it for each one of the
application, at most: what is more are another's."""
AS_MUCH = 1.15
"""Times what the layer gives, or less, that an experiment leaves of the layer below, to be as much."""
EXPERIMENT = "two-threads"
ORDER_MATTERS, LEAST_EXCESS, LEAST_PART = 1.3, 0.25, 0.5


def judge_pair(pair: Pair) -> Opinion:
    view, slow = pair.view, pair.view.affected
    traced = [(p, both) for p in slow if (both := same_device(p)) is not None]
    if not traced:
        return _untraced(pair)
    random = [p for p in slow if p.workload.rw.random]
    # Where streams lose clearly more than random work, that this is slow too is another cause's, and not against it.
    if random and not _untraced(pair).cells:
        return Opinion(False, f"{random[0].workload.label} has no order to lose and is slow too")
    late = [(p, here, there) for p, (here, there) in traced if _late(p, here) - _late(p, there) >= MORE_LATE]
    if not late:
        most = max(_late(p, here) for p, (here, _) in traced)
        return Opinion(
            False,
            f"the trace shows at most {units.percent(most, 2)} of the requests out of order",
            strength=most,
        )
    hurt = [(p, here, there) for p, here, there in late if _longer(p, here, there) >= LONGER]
    if not hurt:
        return Opinion(False, "requests arrive in another order, but the device does not take longer for them")
    explained = sum(min(p.loss, math.log(_longer(p, h, t))) for p, h, t in hurt) / sum(p.loss for p in slow)
    point, here, there = max(hurt, key=lambda found: found[0].loss)
    times = units.significant(_longer(point, here, there), 2)
    what = "writes" if point.workload.rw.writes else "reads"
    return Opinion(
        weight=Weight.SHOWN,
        title=f"sequential {what} arrive out of order",
        explanation=f"The device {here.called} gets the same requests in another order and takes {times} times as "
        f"long for each. {view.below.name} sends them in order.",
        next_step="Use one dispatcher for this layer, or a write-back cache at the device; random workloads gain "
        "nothing.",
        cells=frozenset(p.key for p, _, _ in hurt),
        strength=explained,
        lead=4 * explained,
        evidence=(observe.slower(view), *(_evidence(p, h, t, pair) for p, h, t in hurt[:2])),
    )


def _untraced(pair: Pair) -> Opinion:
    """By what falls: streams that the layer below profits from, and random work of the same kind hardly."""
    view = pair.view
    fell = [(p, extra) for p in view.affected if (extra := excess(pair, p)) is not None]
    if not fell:
        return Opinion(None, "the order at the device was not traced")
    hurt = [(p, extra) for p, extra in fell if not _waits(p, extra)]
    if not hurt:
        return Opinion(False, _why_it_waits([p for p, _ in fell]), strength=0.5)
    counted = max((longer for p, _ in hurt if (longer := busier(p)) is not None), default=None)
    told = counted is not None or any(_told(pair, p) for p, _ in hurt)
    point, extra = max(hurt, key=lambda one: one[1])
    what = "writes" if point.workload.rw.writes else "reads"
    directions = {p.workload.rw.writes for p, _ in hurt}
    # Streams of other sizes have no random twin among the workloads; they have an order to lose all the same.
    streams = [p for p in view.affected if not p.workload.rw.random]
    alike = [p for p in streams if p.workload.rw.writes in directions or _seen_longer(p)]
    # What random work of the same kind loses too is not lost by the order.
    by = {p.key: extra for p, extra in hurt}
    lost = sum(by[p.key] if p.key in by else _beside(pair, p) for p in alike)
    part = min(1.0, lost / sum(p.loss for p in view.affected))
    if part < LEAST_PART:
        return Opinion(None, f"the order could explain {units.percent(part, 2)} of the loss, and was not traced")
    return Opinion(
        holds=None,
        because="the order at the device was not traced",
        title=f"sequential {what} probably arrive out of order",
        explanation=f"{point.workload.label} keeps {units.percent(math.exp(-extra), 2)} of what random {what} keep, "
        f"and {view.below.name} is faster in order.",
        next_step="Use one dispatcher for this layer, or a write-back cache at the device; random workloads gain "
        "nothing.",
        cells=frozenset(p.key for p in alike),
        strength=part,
        lead=2.0,
        evidence=(
            observe.slower(view),
            differential(
                f"{len(hurt)} sequential workloads lose more than random ones of the same size and depth, "
                f"{point.workload.label} the most: {units.significant(math.exp(extra), 2)} times as much",
                observe.cells(view, [p for p, _ in hurt]),
            ),
            *(() if counted is None else (_by_the_device(pair, hurt, counted),)),
        ),
        missing=(
            "a trace of the order at the device (--trace), or two threads on the layer below",
            *(() if told else ("the time that the device is busy for each I/O (counters of its node)",)),
        ),
        alike=not told,
    )


def _beside(pair: Pair, point: Point) -> float:
    """What the order may take of a stream whose random cell tells nothing: all, where there is none; else as much as
    the device is seen to be busy longer, beyond what random work loses."""
    if _twin(pair, point) is None:
        return point.loss
    longer, random = busier(point), _random(pair, point)
    if longer is None or random is None or not _seen_longer(point):
        return 0.0
    return max(0.0, min(point.loss, math.log(longer)) - max(0.0, -math.log(random.value)))


def _seen_longer(point: Point) -> bool:
    """Whether the device was seen to be busy longer for each I/O, by half the loss or more."""
    return busier(point) is not None and not _waits(point, point.loss)


def _waits(point: Point, extra: float) -> bool:
    """Whether the device was seen to be busy for each I/O hardly longer than below: its order costs it nothing."""
    longer = busier(point)
    return longer is not None and math.log(longer) < LEAST_PART * extra


def _why_it_waits(points: Iterable[Point]) -> str:
    most = max((longer for p in points if (longer := busier(p)) is not None), default=1.0)
    if most <= 1:
        return "the device serves each request as quickly as from below"
    return f"the device is busy at most {units.significant(most, 2)} times as long for an I/O: it waits for requests"


def busier(point: Point) -> float | None:
    """Times as long as below that the device is busy for each I/O (its demand; Denning, Buzen 1978); 1 where each of
    its requests takes no longer: fewer at once leave a device of several servers busy as well, and so do neighbours
    that are merged below and not here. None where it was not counted, or where bytes of others reach it too.

    Of several devices that with the largest demand counts: it alone can limit the stream. One that is hardly used (a
    log's) may be busy many times as long, and costs nothing.
    """
    below = {d.name: d for d in point.lower.resources.disks}
    both = [(d, below[d.name]) for d in point.upper.resources.disks if d.name in below]
    most = max(both, key=lambda one: one[0].demand_ns or 0.0, default=None)
    return None if most is None else _times(point, *most)


def _times(point: Point, here: Disk, there: Disk) -> float | None:
    one, other = ((d.write_ns if point.workload.rw.writes else d.read_ns) for d in (here, there))
    mine, theirs = ((d.read_bytes_per_byte or 0.0) + (d.write_bytes_per_byte or 0.0) for d in (here, there))
    if not (one and other and here.demand_ns and there.demand_ns) or mine > SAME_BYTES * theirs:
        return None
    longer = one >= SLOWER * other and _each(here) >= SLOWER * _each(there)
    return here.demand_ns / there.demand_ns if longer else 1.0


def _each(disk: Disk) -> float:
    """What the device is busy for each of its requests: more of them for as many I/Os are not merged, and in order."""
    return (disk.demand_ns or 0.0) / (disk.requests_per_io or 1.0)


def _told(pair: Pair, point: Point) -> bool:
    """Whether figures alone exclude a limit above the device: any that random work does not reach would look like a
    lost order. Of requests in the other direction this is true only with an experiment that brought the layer below
    down to the very figure: a limit of one direction is there by chance."""
    here = point.workload.rw.writes
    directions = {p.workload.rw.writes for p in pair.view.everything if _beyond(p, point)}
    return here in directions or (bool(directions) and _brought_down(pair, point))


def _beyond(other: Point, point: Point) -> bool:
    """Whether the layer gives clearly more requests there, of at least that size and with no more at once."""
    return other.bs >= point.bs and other.n <= point.n and other.x >= LONGER * point.x


def _brought_down(pair: Pair, point: Point) -> bool:
    below = pair.view.below.name
    tried = (t for t in pair.case.outcomes(EXPERIMENT) if t.experiment.layer == below)
    here = (t for t in tried if t.experiment.reference == point.key and t.reference.iops.value > 0)
    times = (t.changed.iops.value / t.reference.iops.value * point.x_below / point.x for t in here)
    return any(1 / AS_MUCH <= one <= AS_MUCH for one in times)


def _by_the_device(pair: Pair, hurt: Sequence[tuple[Point, float]], counted: float) -> Evidence:
    return operational(
        f"the device is busy {units.significant(counted, 2)} times as long for each I/O as from {pair.view.below.name}",
        observe.cells(pair.view, [p for p, _ in hurt]),
    )


def to_trace(pair: Pair) -> tuple[Point, ...]:
    """The workloads whose order at the device, here and below, would tell; the one that lost most first."""
    slow = pair.view.affected
    told = judge_pair(pair) if slow else None
    if told is None or told.holds is not None:
        return ()
    streams = [p for p in slow if p.key in told.cells]
    if not told.cells and not any(p.workload.rw.random for p in slow):
        streams = list(slow)
    return tuple(sorted(streams, key=lambda p: -p.loss))


def excess(pair: Pair, point: Point) -> float | None:
    """How much more a sequential cell loses (−ln) than the random one of its direction, size and depth; None where it
    is not clearly more, or the layer below does not care about the order.

    Where that one alone varies too much to be held against it, all random ones of its size are: of its direction, and
    of both where the device was seen to be busy longer for the stream.
    """
    if point.workload.rw.random or point.n < 2:
        return None
    twin = _twin(pair, point)
    if twin is None or point.x_below < ORDER_MATTERS * twin.x_below:
        return None
    extra, unsure = twin.ratio_log - point.ratio_log, 2 * math.hypot(point.sd, twin.sd)
    if extra > max(LEAST_EXCESS, unsure):
        return extra
    if extra <= LEAST_EXCESS and not _seen_longer(point):
        return None
    random = _random(pair, point)
    if random is None:
        return None
    steadied = math.log(random.value) - point.ratio_log
    if steadied <= 2 * math.hypot(point.sd, random.error):
        return None
    if extra > LEAST_EXCESS:
        return min(extra, steadied)
    return steadied if LEAST_EXCESS < steadied <= extra + unsure else None


def _random(pair: Pair, point: Point) -> Pooled | None:
    """What all random work of the stream's direction and size keeps of the layer below; of both directions, where the
    device itself was seen to take longer for the stream: then no limit of one direction slows it."""
    both = _seen_longer(point)
    random = [p for p in pair.view.points if p.workload.rw.random and p.bs == point.bs]
    return pooled([p.comparison for p in random if both or _alike(p, point)])


def random_part(pair: Pair, point: Point) -> float:
    """What is left at the layer below of a sequential cell of which all order is lost: what its random one gives."""
    twin = _twin(pair, point)
    return 1.0 if twin is None else min(1.0, twin.x_below / point.x_below)


def _twin(pair: Pair, point: Point) -> Point | None:
    """The random cell of the same direction, size and depth."""
    points = (p for p in pair.view.points if p.workload.rw.random)
    return next((p for p in points if p.n == point.n and _alike(p, point)), None)


def _alike(one: Point, other: Point) -> bool:
    """Whether they are of the same direction and size."""
    return (one.workload.rw.writes, one.bs) == (other.workload.rw.writes, other.bs)


def same_device(point: Point) -> tuple[TraceSummary, TraceSummary] | None:
    """(this layer's trace, that of the layer below) of the lowest device that both reached; None without one."""
    there = {t.called: t for t in point.lower.traces if _requests(point, t)}
    both = [(t, there[t.called]) for t in point.upper.traces if t.called in there and _requests(point, t)]
    return both[-1] if both else None


def _half(point: Point, trace: TraceSummary) -> OrderSummary:
    return trace.write if point.workload.rw.writes else trace.read


def _requests(point: Point, trace: TraceSummary) -> int:
    return _half(point, trace).requests


def _late(point: Point, trace: TraceSummary) -> float:
    return _half(point, trace).reordered_share or 0.0


def _longer(point: Point, here: TraceSummary, there: TraceSummary) -> float:
    upper, lower = _half(point, here).service_mean_ns, _half(point, there).service_mean_ns
    return upper / lower if upper and lower else 0.0


def _evidence(point: Point, here: TraceSummary, there: TraceSummary, pair: Pair) -> Evidence:
    half, below = _half(point, here), _half(point, there)
    what = "writes" if point.workload.rw.writes else "reads"
    by = "" if here.dispatchers is None else f", issued by {units.significant(here.dispatchers, 2)} threads"
    lost = "" if here.whole and there.whole else " (events were lost: figures cover the recorded ones)"
    service = units.duration(half.service_mean_ns or 0), units.duration(below.service_mean_ns or 0)
    return operational(
        f"{point.workload.label}: issued in sequence; at {here.called} {_follow(half)} of the {what} "
        f"follow the one before and {units.percent(_late(point, here), 2)} arrive out of order{by} (from "
        f"{pair.view.below.name}: {_follow(below)} and {units.percent(_late(point, there), 2)}). The device takes "
        f"{service[0]} for each, against {service[1]} in order{lost}",
        observe.cells(pair.view, [point]),
    )


def _follow(half: OrderSummary) -> str:
    return "not known" if half.strict_share is None else units.percent(half.strict_share, 2)
