"""No layer is faster than what it stands on: what breaks the law, and what gives a reason."""

from __future__ import annotations

import pytest

from strata.analyse import analyse
from strata.model.analysis import Check
from strata.model.counters import net
from strata.model.expect import Expect, Faster
from strata.model.result import CellResult
from strata.model.rw import Rw
from strata.model.series import Series
from strata.model.stack import Layer, Stack
from strata.model.workload import ClosedLoop, Sync, Workload

from .material import cell_result, counter, engine_result, plan_of, workload
from .test_laws import STACK, W, look, of, over, rounds


@pytest.mark.parametrize(("factor", "impossible"), [(3.0, True), (1.08, False)])
def test_a_layer_cannot_beat_what_it_stands_on(factor: float, impossible: bool) -> None:
    found = of(look([*rounds("file"), *rounds("share", 40_000 * factor)]), "faster-than-below")
    assert [c.impossible for c in found] == [impossible]


@pytest.mark.parametrize(("factor", "told"), [(1.42, [False]), (9.0, [True])])
def test_rounds_that_agree_by_chance_make_no_layer_faster(factor: float, told: list[bool]) -> None:
    """Seen live: at 80 000 IOPS two processors were busy, and the ratio of three rounds was 1.25 to 1.61 of cells that
    gave 46 000 to 103 000 and 69 000 to 110 000 in all of theirs."""
    others = [workload(depth=n) for n in range(20, 32)]

    def measured(layer: str, iops: float) -> list[CellResult]:
        loud = [cell_result(layer, W, r, engine_result(W, iops * x)) for r, x in enumerate((0.75, 1.0, 1.3))]
        return loud + [one for w in others for one in rounds(layer, w=w)]

    results = [*measured("file", 40_000), *measured("share", 40_000 * factor)]
    found = analyse(plan_of(STACK, [W, *others]), results)
    one = next(c for c in found.comparisons if c.workload_key == W.key)
    assert one.iops.low is not None and one.iops.low > 1.2
    assert [c.impossible for c in of(found, "faster-than-below")] == told


def faster(share: Layer, w: Workload = W) -> list[Check]:
    """What is said where ``share``, above "file" and "other", gives three times the IOPS of either."""
    below = (Layer(name="file", endpoint="file:/x"), Layer(name="other", endpoint="nbd://h:1/x"))
    results = [*rounds("file", w=w), *rounds("other", w=w), *rounds("share", 120_000, w)]
    return of(analyse(plan_of(Stack(name="s", layers=(*below, share)), [w]), results), "faster-than-below")


def test_a_layer_with_a_reason_to_be_faster_is_not_impossible() -> None:
    assert [(c.layer, c.impossible) for c in faster(over())] == [("share", True)]
    assert faster(over(against=("other",))) == []
    assert len(faster(over(against=("other", "file")))) == 1
    assert faster(over(expect=Expect(faster=Faster.CACHE))) == []
    assert faster(over(on=("file", "other"))) == []
    assert faster(Layer(name="share", endpoint="nbd://h:1/y?connections=4", on=("file",))) == []
    assert faster(over(), W.model_copy(update={"threads": 4})) == []


def copies(here: float, there: float, wire: float) -> tuple[Series, ...]:
    """Bytes a second that both copies of a mirror give, and what the wire to the far one carries."""
    reads = [("blockdev_read_bytes", d, b) for d, b in (("loop0", here), ("loop2", there))]
    told = [(name, {"device": d}, value) for name, d, value in reads]
    told += [(name, {"device": d}, 1.0) for d in ("loop0", "loop2") for name in ("blockdev_reads", "blockdev_writes")]
    told += [("blockdev_write_bytes", {"device": d}, 0.0) for d in ("loop0", "loop2")]
    told += [
        (net.BYTES.name, {"node": "n2", "interface": "eth0", "direction": d}, wire) for d in (net.SENT, net.RECEIVED)
    ]
    return tuple(counter(name, value, **labels) for name, labels, value in told)


def test_a_reader_of_the_near_copy_beats_one_of_the_far_copy() -> None:
    w, small = workload(kib=128, depth=8), workload(kib=8, depth=8)
    layers = (Layer(name="mounted", endpoint="file:/x"), Layer(name="owner", endpoint="nbd://h:1/x", on=("mounted",)))
    plan = plan_of(Stack(name="s", layers=layers), [w, small])

    def said(below: tuple[Series, ...], above: tuple[Series, ...], usual: tuple[Series, ...]) -> list[bool]:
        results = [*rounds("mounted", 120.0, w, below), *rounds("owner", 390.0, w, above)]
        results += [r for layer in ("mounted", "owner") for r in rounds(layer, 400.0, small, usual)]
        return [c.impossible for c in of(analyse(plan, results), "faster-than-below")]

    mib, near = 1 << 20, copies(390 * (1 << 17), 0, 0)
    far, both = copies(4 * mib, 11 * mib, 11 * mib), copies(3 * mib, 0, 0)
    assert said(far, near, both) == []
    # A cache: nothing read here. Another volume: what is read here never serves the layer below. No wire: no reason.
    assert said(far, copies(0, 0, 0), both) == [True]
    assert said(copies(0, 15 * mib, 15 * mib), near, copies(0, 3 * mib, 0)) == [True]
    assert said(copies(15 * mib, 0, 0), near, both) == [True]
    # The same device below, behind a wire: this layer passes the one below by.
    assert said(copies(15 * mib, 0, 15 * mib), near, both) == [True]


def test_a_server_may_make_several_writes_durable_at_once() -> None:
    durable = Workload(rw=Rw.RANDWRITE, bs=8192, arrival=ClosedLoop(iodepth=8), sync=Sync.DSYNC)
    assert faster(over(), durable) == []
    alone = durable.model_copy(update={"arrival": ClosedLoop(iodepth=1)})
    assert len(faster(over(), alone)) == 1
    assert len(faster(over(), durable.model_copy(update={"sync": Sync.NONE}))) == 1


def test_buffered_workloads_may_be_answered_from_memory() -> None:
    w = workload(direct=False)
    found = of(look([*rounds("file", w=w), *rounds("share", 120_000, w=w)], w), "faster-than-below")
    assert [c.impossible for c in found] == [False]
