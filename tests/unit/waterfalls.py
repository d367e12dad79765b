"""A waterfall made up, so that the tests of what is shown need no trace: 2 000 reads over TCP."""

from __future__ import annotations

from pathlib import Path

from traces import figures, recording

from strata.model import histogram
from strata.model.times import Times
from strata.model.trace import TraceResult
from strata.model.waterfall import (
    Deed,
    LayerTimes,
    NotFollowed,
    PartKind,
    PartTimes,
    PathKind,
    PathLayer,
    RequestGroup,
    SampledRequest,
    SubmittedBy,
    Waterfall,
)

COUNT = 2000
US = 1000
LAYERS = (
    PathLayer(kind=PathKind.CLIENT, name="", of="", depth=0),
    PathLayer(kind=PathKind.WIRE, name="", of="nbd\x1b[31m-server-with-a-long-name", depth=1),
    PathLayer(kind=PathKind.SERVER, name="", of="nbd\x1b[31m-server-with-a-long-name", depth=2),
    PathLayer(kind=PathKind.CALL, name="", of="nbd\x1b[31m-server-with-a-long-name", depth=4),
    PathLayer(kind=PathKind.DEVICE, name="loop0", of="", depth=5),
)
PARTS = (
    (0, PartKind.OWN, 10 * US),
    (1, PartKind.OWN, 300 * US),
    (2, PartKind.QUEUE, 20 * US),
    (2, PartKind.OWN, 40 * US),
    (3, PartKind.OWN, 30 * US),
    (4, PartKind.QUEUE, 100 * US),
    (4, PartKind.SERVICE, 500 * US),
)
SEGMENTS = (
    (1, PartKind.OWN, 0, 150 * US),
    (2, PartKind.QUEUE, 150 * US, 20 * US),
    (2, PartKind.OWN, 170 * US, 20 * US),
    (3, PartKind.OWN, 190 * US, 15 * US),
    (4, PartKind.QUEUE, 205 * US, 100 * US),
    (4, PartKind.SERVICE, 305 * US, 500 * US),
    (3, PartKind.OWN, 805 * US, 15 * US),
    (2, PartKind.OWN, 820 * US, 20 * US),
    (1, PartKind.OWN, 840 * US, 150 * US),
    (0, PartKind.OWN, 990 * US, 10 * US),
)
"""Of one request of 1 ms: the parts of a layer may come twice."""


def times(ns: int, count: int = COUNT) -> Times:
    """All of one length."""
    payload = histogram.from_bins({ns: count})
    return Times(count=count, mean_ns=float(ns), p50_ns=ns, p99_ns=ns, max_ns=ns, histogram=payload)


def waterfall(**missing: int) -> Waterfall:
    """Its parts add up to 1 ms; a second request overlaps the first, a third is slow."""
    layers = tuple(
        LayerTimes(
            layer=n,
            parts=tuple(PartTimes(part=part, mean_ns=ns, times=times(ns)) for at, part, ns in PARTS if at == n),
        )
        for n in range(len(LAYERS))
    )
    none = dict.fromkeys(NotFollowed.model_fields, 0)
    one = SampledRequest(group=0, at_ns=2_000_000, ns=1_000_000, tid=41, comm="app", slow=False, segments=SEGMENTS)
    over = one.model_copy(update={"at_ns": 2_500_000, "tid": 42})
    slow = ((1, PartKind.OWN, 0, 9_000_000),)
    long = one.model_copy(update={"at_ns": 5_000_000, "ns": 9_000_000, "slow": True, "segments": slow})
    return Waterfall(
        layers=LAYERS,
        groups=(RequestGroup(way=SubmittedBy.EXCHANGE, deed=Deed.READ, total=times(1_000_000), layers=layers),),
        samples=(one, over, long),
        missing=NotFollowed(**{**none, **missing}),
        marks=12_000,
    )


def traced(folder: Path, **missing: int) -> TraceResult:
    """A whole result around it."""
    found = figures(folder, [("R", n) for n in range(20)])
    told = recording(0)
    return TraceResult(where="/dev/sda", form="live", figures=found, recording=told, waterfall=waterfall(**missing))
