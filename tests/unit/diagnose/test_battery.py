"""What each experiment of the battery changes, who predicts what of it, and what then falls."""

from __future__ import annotations

import math
from dataclasses import replace
from functools import lru_cache

import pytest

from strata.diagnose import predict
from strata.diagnose.case import Case
from strata.diagnose.expected import MOST
from strata.diagnose.models import Fit, LimitDirection, LimitKind
from strata.diagnose.opinion import Opinion, Weight
from strata.diagnose.registry import trials
from strata.diagnose.separation import apart, worth
from strata.diagnose.sides import CauseSide, on
from strata.diagnose.trying import after, experiments_of, story
from strata.diagnose.variants import reshape
from strata.model.analysis import Analysis, CellSummary
from strata.model.cause import Cause
from strata.model.ends import Flow
from strata.model.estimate import Estimate
from strata.model.experiment import Condition, Experiment, Metric, Prediction, Tried
from strata.model.stack import Layer, Node, Stack
from strata.model.steadiness import Cliff, Episodes, Steadiness

from .queueing import Path
from .scenes import simulate, workload

SHARE = "nbd://10.0.0.2:10809/data"
WORKLOADS = (workload("randread", 8, 1), workload("randread", 8, 32), workload("randwrite", 8, 8))
ALL = frozenset(w.key for w in WORKLOADS)


def stack_of(*layers: Layer, far: str | None = "/run/netns/b") -> Stack:
    nodes = (Node(name="n1", netns="/run/netns/a"), Node(name="n2", owner=True, netns=far))
    below = Layer(name="disk", endpoint="block:/dev/vda1")
    return Stack(name="s", nodes=nodes, layers=(below, *layers))


PLAIN = stack_of(Layer(name="share", endpoint=SHARE, node="n1", on=("disk",)))


@lru_cache
def measured_of(stack: Stack) -> Analysis:
    paths = {layer.name: Path() for layer in stack.layers}
    return simulate(stack, paths, seed=1, sd=0.02, rounds=2, workloads=WORKLOADS)


def standing(*causes: Cause, layer: str = "share", **more: object) -> tuple[Opinion, ...]:
    return tuple(
        Opinion(weight=Weight.SHOWN, layer=layer, cells=ALL, cause=cause, **more)  # type: ignore[arg-type]
        for cause in causes
    )


def proposed(
    key: str, opinions: tuple[Opinion, ...], stack: Stack = PLAIN, found: Analysis | None = None
) -> Experiment:
    made = maybe(key, opinions, stack, found)
    assert made is not None
    return made


def maybe(
    key: str, opinions: tuple[Opinion, ...], stack: Stack = PLAIN, found: Analysis | None = None
) -> Experiment | None:
    trial = next(t for t in trials() if t.key == key)
    return trial.propose(Case(stack, found or measured_of(stack)), opinions)


def after_it(experiment: Experiment, times: float, found: Analysis) -> Tried:
    """As it would be kept where the changed cell gives so many times the IOPS of the reference."""
    reference = found.summary(experiment.reference_layer or experiment.layer, experiment.reference)
    assert reference is not None
    scaled = {k: v * times for k in ("value", "low", "high") if (v := getattr(reference.iops, k)) is not None}
    changed = reference.model_copy(
        update={"iops": reference.iops.model_copy(update=scaled), "workload": experiment.workload}
    )
    return Tried(experiment=experiment, reference=reference, changed=changed)


def falls(experiment: Experiment, times: float, stack: Stack = PLAIN) -> set[str]:
    (told,) = story((after_it(experiment, times, measured_of(stack)),))
    return {name.partition(": ")[2] for name in told.fell}


def test_a_small_span_tells_a_cold_cache_from_what_is_full() -> None:
    made = proposed("small-span", standing(Cause.COLD_CACHE, Cause.WIRE_BANDWIDTH, Cause.HOLES))
    span = made.workload.range
    assert span is not None and span.length is not None and span.length >= 64 * made.workload.bs
    assert made.reference == "randread-8KiB-qd32" and made.workload.key != made.reference
    assert falls(made, 6.0) == {"wire-bandwidth"}
    assert falls(made, 1.0) == {"cold-cache"}
    assert maybe("small-span", standing(Cause.WIRE_BANDWIDTH)) is None


def test_a_cause_that_cannot_say_is_not_held_to_anything() -> None:
    made = proposed("small-span", standing(Cause.COLD_CACHE, Cause.REORDERING))
    assert [p.cause for p in made.predictions] == ["cold-cache"]


def test_a_request_that_waits_its_own_time_gains_what_the_medium_took() -> None:
    half = measured_of(PLAIN).summary("share", "randread-8KiB-qd32")
    assert half is not None
    delay = Fit(LimitKind.DELAY, LimitDirection.BOTH, 16 / half.iops.value, 0.0, 0.0, 0.0, 1.0, 0.0, ALL, {})
    wire = standing(Cause.WIRE_LATENCY, model=delay)
    made = proposed("null-end", wire + standing(Cause.SLOW_MEDIUM))
    assert made.condition is Condition.NULL_END
    mine = made.predictions[0]
    assert (mine.low, mine.idle) == (0.8, False) and mine.high == pytest.approx(2.5)
    assert falls(made, 8.0) == {"wire-latency"} and falls(made, 1.0) == {"slow-medium"}


def test_what_waits_behind_the_bytes_of_others_gains_what_the_medium_took() -> None:
    """A card that others fill delays also what carries few bytes, or carries them the other way: then it is no limit of
    what the workload moves, and more of it may pass where the rest of its time is gone."""
    large = workload("read", 128, 8)
    paths = {"disk": Path(servers=8, service=2e-3), "share": Path(servers=8, service=2e-3, delay=2e-3)}
    found = simulate(PLAIN, paths, seed=1, sd=0.01, rounds=2, workloads=(*WORKLOADS, large))
    filled = frozenset({large.key, "randread-8KiB-qd1"})
    others, server = standing(Cause.NOISY_WIRE, Cause.PER_REQUEST_COST)
    made = proposed("null-end", (replace(others, cells=filled), server), found=found)
    assert made.workload.key == "randread-8KiB-qd1"
    noisy = made.predictions[0]
    assert (noisy.cause, noisy.low) == ("noisy-wire", 0.8) and noisy.high == pytest.approx(1.25 * 2, rel=0.1)
    (told,) = story((after_it(made, 2.0, found),))
    assert told.fell == (), "both allow it, so it confirms neither"
    assert not any(
        experiments_of("share", cause, (after_it(made, 2.0, found),)).telling
        for cause in ("noisy-wire", "per-request-cost")
    )
    # Where it carries them all itself it stays full.
    full = standing(Cause.WIRE_BANDWIDTH)[0]
    assert proposed("null-end", (full, server), found=found).predictions[0].high == 1.25


def test_what_others_fill_too_is_no_fixed_rate() -> None:
    """Requests wait behind theirs: a quarter of the size gives from as many of them to four times, twice the depth up
    to twice as many. A neighbour that counters had shown fell by a prediction of four times the requests."""
    case = Case(PLAIN, measured_of(PLAIN))
    cell = case.analysis.summary("share", "randwrite-8KiB-qd8")
    assert cell is not None
    others, own = standing(Cause.NOISY_WIRE)[0], standing(Cause.WIRE_BANDWIDTH)[0]
    asked = Prediction(metric=Metric.IOPS, low=0.0, high=0.0, unit="IOPS")

    def of(opinion: Opinion, **changed: float) -> Prediction | None:
        made = Experiment(
            layer="share", workload=reshape(cell.workload, **changed), reference=cell.workload.key, changes="",
            prediction=asked, otherwise="",
        )  # fmt: skip
        return predict.predicted(case, opinion, "share", made)

    def times(opinion: Opinion, **changed: float) -> tuple[float, float]:
        told, wide = of(opinion, **changed), math.exp(predict.slack(case.analysis.noise.tolerance))
        assert told is not None and told.idle is (opinion is others), "to be right with anything confirms nothing"
        return told.low * wide / cell.iops.value, told.high / wide / cell.iops.value

    assert times(others, blocks=0.25) == pytest.approx((1, 4)) and times(others, blocks=4) == pytest.approx((0.25, 1))
    assert times(others, depth=2) == pytest.approx((1, 2))
    assert times(own, depth=2) == pytest.approx((1, 1)) and times(own, blocks=4) == pytest.approx((0.25, 0.25))
    # What lies below would give no more of smaller requests: then that limits them.
    assert of(own, blocks=0.25) is None


def test_who_waits_for_a_turn_may_serve_more_in_it_and_who_is_used_up_may_not() -> None:
    """A server beside the work of others gets a CPU seldom, and then takes all requests that wait."""
    case = Case(PLAIN, measured_of(PLAIN))
    cell = case.analysis.summary("share", "randread-8KiB-qd1")
    assert cell is not None
    asked = Prediction(metric=Metric.IOPS, low=0.0, high=0.0, unit="IOPS")
    deeper = reshape(cell.workload, depth=2)
    made = Experiment(
        layer="share", workload=deeper, reference=cell.workload.key, changes="twice the depth", prediction=asked,
        otherwise="",
    )  # fmt: skip
    used_up, in_turns = (
        predict.predicted(case, *standing(Cause.PROCESSORS, in_turns=t), "share", made) for t in (False, True)
    )
    assert used_up is not None and used_up.high < 2 * cell.iops.value
    assert in_turns is not None
    assert (in_turns.low, in_turns.high) == (used_up.low, pytest.approx(2 * used_up.high))
    # No gain and all of it are within: it refutes nothing here, and so it confirms nothing.
    assert in_turns.idle and not used_up.idle
    rival = used_up.model_copy(
        update={"cause": Cause.PER_REQUEST_COST.value, "low": 1.6 * cell.iops.value, "high": 9e9}
    )
    for mine, told in ((used_up, 1), (in_turns, 0)):
        tried = after_it(made.model_copy(update={"prediction": mine, "predictions": (mine, rival)}), 1.0, case.analysis)
        assert len(experiments_of("share", "processors", (tried,)).telling) == told


@pytest.mark.parametrize("causes", [(Cause.WIRE_BANDWIDTH, Cause.WIRE_LATENCY), (Cause.MEDIUM, Cause.QUOTA)])
def test_a_null_end_is_for_causes_of_both_sides(causes: tuple[Cause, ...]) -> None:
    assert maybe("null-end", standing(*causes)) is None


def test_a_null_end_is_not_asked_for_where_no_far_node_is_here() -> None:
    both = standing(Cause.WIRE_BANDWIDTH, Cause.SLOW_MEDIUM)
    share = Layer(name="share", endpoint=SHARE, node="n1", on=("disk",))
    assert maybe("null-end", both, stack_of(share, far=None)) is None
    confirmed = (after_it(proposed("null-end", both), 1.0, measured_of(PLAIN)),)
    assert experiments_of("share", "wire-bandwidth", confirmed).telling, "the store is gone, and it keeps its IOPS"


def test_a_large_span_is_for_what_asks_for_a_piece() -> None:
    flatters = standing(Cause.CACHE_FLATTERS, Cause.IOPS_CAP)
    assert maybe("large-span", flatters) is None
    hot = proposed("small-span", standing(Cause.COLD_CACHE, Cause.IOPS_CAP)).workload
    found = measured_of(PLAIN)
    cells = tuple(c.model_copy(update={"workload": hot}) if c.workload.bs == hot.bs else c for c in found.cells)
    found = found.model_copy(update={"cells": cells})
    made = proposed("large-span", flatters, found=found)
    assert made.workload.range is None and made.reference == hot.key
    (told,) = story((after_it(made, 0.2, found),))
    assert told.fell == ("share: iops-cap",) and told.agreed == ("share: cache-flatters",)


def at_the_device(found: Analysis, share: float) -> Analysis:
    value = Estimate(value=share, low=share, high=share, n=3, unit="1")
    flow = Flow(place="device vda1", direction="read", of="read", per_byte=value, per_io=value)
    cells = tuple(
        c.model_copy(
            update={
                "flows": (flow,),
                "devices": ("vda1",),
                "counters": c.counters | {"blockdev_read_bytes{device=vda1}": 1.0},
            }
        )
        for c in found.cells
    )
    return found.model_copy(update={"cells": cells})


def test_reading_back_cold_needs_memory_of_this_machine() -> None:
    flatters = standing(Cause.CACHE_FLATTERS, Cause.MEDIUM)
    found = measured_of(PLAIN)
    made = proposed("read-back-cold", flatters, found=at_the_device(found, 0.1))
    assert maybe("read-back-cold", flatters, found=at_the_device(found, 1.0)) is None, "the device's own cache"
    assert made.condition is Condition.COLD and made.workload.key == made.reference
    assert falls(made, 0.1) == {"medium"} and falls(made, 1.0) == {"cache-flatters"}
    elsewhere = Stack(name="far", layers=(Layer(name="share", endpoint=SHARE),))
    assert maybe("read-back-cold", flatters, elsewhere, at_the_device(measured_of(elsewhere), 0.1)) is None
    unbuffered = Stack(name="own", layers=(Layer(name="share", endpoint="file:/srv/data"),))
    assert maybe("read-back-cold", flatters, unbuffered, at_the_device(measured_of(unbuffered), 0.1)) is None


def steady(cell: CellSummary, **found: object) -> CellSummary:
    return cell.model_copy(update={"steadiness": Steadiness(bin_s=0.02, bins=250, spread=0.1, **found)})  # type: ignore[arg-type]


def episodes(share: float, count: int = 20) -> Episodes:
    return Episodes(share=share, count=count, length_s=0.1, longest_s=0.1)


def longer(cause: Cause, before: dict[str, object], then: dict[str, object]) -> tuple[Experiment, set[str], set[str]]:
    found = measured_of(PLAIN)
    seen = tuple(steady(c, **before) for c in found.cells)
    opinions = standing(cause, Cause.NOISY_WIRE)
    made = proposed("longer", opinions, found=found.model_copy(update={"cells": seen}))
    tried = after_it(made, 1.0, found)
    (told,) = story((tried.model_copy(update={"changed": steady(tried.changed, **then)}),))
    return made, {n.partition(": ")[2] for n in told.agreed}, {n.partition(": ")[2] for n in told.fell}


def test_stalls_come_again_in_five_seconds_or_were_none() -> None:
    made, agreed, fell = longer(Cause.STALLS, {"stalls": episodes(0.2)}, {"stalls": episodes(0.25)})
    assert made.runtime_s == 5 and made.prediction.metric == Metric.STALLED
    assert (agreed, fell) == ({"stalls"}, {"noisy-wire"})
    _, agreed, fell = longer(Cause.STALLS, {"stalls": episodes(0.2)}, {})
    assert (agreed, fell) == ({"noisy-wire"}, {"stalls"})
    _, _, fell = longer(Cause.SLOW_PHASES, {"slow": episodes(0.4)}, {"slow": episodes(0.3)})
    assert fell == {"noisy-wire"}


@pytest.mark.parametrize("limit", sorted(on(CauseSide.BETWEEN)))
def test_a_limit_on_the_rate_between_stalls_is_not_held_to_the_stalls(limit: Cause) -> None:
    """Two limits at once: that the stalls come again refutes no cap, and a cap is not confirmed where they do not."""
    found = measured_of(PLAIN)
    seen = tuple(steady(c, stalls=episodes(0.2)) for c in found.cells)
    opinions = standing(Cause.STALLS, limit)
    made = proposed("longer", opinions, found=found.model_copy(update={"cells": seen}))
    assert [p.cause for p in made.predictions] == ["stalls"]
    # A run of an earlier version held it to them.
    old = made.prediction.model_copy(update={"cause": limit.value, "low": 0.0, "high": 0.02, "idle": True})
    old_one = made.model_copy(update={"predictions": (*made.predictions, old)})
    for then, held in (({"stalls": episodes(0.25)}, True), ({}, False)):
        tried = after_it(old_one, 1.0, found)
        tried = tried.model_copy(update={"changed": steady(tried.changed, **then)})
        stalls, beside = (experiments_of("share", cause.value, (tried,)) for cause in (Cause.STALLS, limit))
        assert (bool(stalls.telling), bool(stalls.fell)) == (held, not held)
        assert not beside.telling and not beside.fell


def test_slow_phases_of_few_bins_may_hide_the_stalls_and_refute_nothing() -> None:
    """A stall that fills two bins in part looks like a phase of both, and the device was not counted."""
    before: dict[str, object] = {"stalls": episodes(0.2)}
    phases = {"count": 20, "longest_s": 0.05, "factor": 2.4}
    short, long = (Episodes(share=0.3, length_s=length, **phases) for length in (0.05, 0.09))  # type: ignore[arg-type]
    _, agreed, fell = longer(Cause.STALLS, before, {"slow": short})
    assert "stalls" not in agreed | fell
    _, _, fell = longer(Cause.STALLS, before, {"slow": long})
    assert fell == {"stalls"}


def test_what_was_not_cut_finely_enough_decides_nothing() -> None:
    found = measured_of(PLAIN)
    seen = tuple(steady(c, stalls=episodes(0.2)) for c in found.cells)
    made = proposed("longer", standing(Cause.STALLS), found=found.model_copy(update={"cells": seen}))
    (told,) = story((after_it(made, 1.0, found),))
    assert told.open == ("share: stalls",)


@pytest.mark.parametrize(("of_before", "fell"), [(0.12, "noisy-wire"), (0.2, "noisy-wire"), (1.0, "write-cache-full")])
def test_a_write_cache_gives_what_it_drains_in_five_seconds(of_before: float, fell: str) -> None:
    """Full when the measurement begins, or empty; or there is no such cache."""
    found = measured_of(PLAIN)
    write = found.summary("share", "randwrite-8KiB-qd8")
    assert write is not None
    rate = write.bytes_per_second.value
    cliff = Cliff(written=0.5 * rate, before=2 * rate, after=0.1 * rate, at_s=0.3, rounds=2)
    seen = tuple(steady(c, cliff=cliff) if c.workload.rw.writes else c for c in found.cells)
    opinions = standing(Cause.WRITE_CACHE_FULL, Cause.NOISY_WIRE)
    made = proposed("longer", opinions, found=found.model_copy(update={"cells": seen}))
    assert made.workload.rw.writes and maybe("longer", opinions) is None, "without a cliff nothing is known of it"
    (told,) = story((after_it(made, of_before, found),))
    assert told.fell == (f"share: {fell}",)


def test_one_queue_more_tells_too_few_from_a_limit_behind_them() -> None:
    made = proposed("more-queues", standing(Cause.FEW_QUEUES, Cause.LIMITED_QUEUE, Cause.SINGLE_THREAD))
    reference = measured_of(PLAIN).summary("share", made.reference)
    assert reference is not None
    assert made.workload.threads == 2 and made.workload.outstanding == reference.workload.outstanding
    assert falls(made, 1.8) == {"limited-queue"}
    assert falls(made, 1.0) == {"few-queues"}


def test_another_processor_is_tried_where_one_is_busy_and_others_are_not() -> None:
    found = measured_of(PLAIN)
    opinions = standing(Cause.CLIENT_PROCESSORS, Cause.WIRE_BANDWIDTH)
    assert maybe("pinned-elsewhere", opinions) is None
    busy = found.model_copy(
        update={"cells": tuple(c.model_copy(update={"cpu_busiest": 0.98, "cpu_busy": 0.5}) for c in found.cells)}
    )
    made = proposed("pinned-elsewhere", opinions, found=busy)
    assert made.condition is Condition.PINNED
    assert falls(made, 1.6) == {"wire-bandwidth"} and falls(made, 1.0) == {"client-processors"}


def test_the_owner_node_tells_a_redirected_path_from_what_both_nodes_share() -> None:
    there = Layer(name="owner", endpoint="nbd://10.0.0.1:10809/data", node="n2", on=("disk",))
    here = Layer(name="share", endpoint=SHARE, node="n1", on=("disk",))
    both = stack_of(there, here)
    opinions = standing(Cause.REDIRECTED, Cause.MIRROR_COPIES, Cause.WIRE_BANDWIDTH)
    made = proposed("owner-node", opinions, both)
    assert (made.layer, made.reference_layer) == ("owner", "share")
    assert falls(made, 3.0, both) == {"mirror-copies"}
    assert falls(made, 0.85, both) == {"redirected-path"}
    assert maybe("owner-node", opinions, PLAIN) is None


def test_the_other_card_tells_the_wrong_one_from_what_lies_behind() -> None:
    other = Layer(name="other", endpoint="nbd://10.1.0.2:10809/data", node="n1", on=("disk",))
    here = Layer(name="share", endpoint=SHARE, node="n1", on=("disk",))
    both = stack_of(other, here)
    made = proposed("other-card", standing(Cause.WRONG_CARD, Cause.QUOTA), both)
    assert (made.layer, made.reference_layer) == ("other", "share")
    assert falls(made, 3.0, both) == {"processor-quota"} and falls(made, 0.85, both) == {"wrong-card"}
    assert maybe("other-card", standing(Cause.WRONG_CARD), PLAIN) is None


def predicted(cause: Cause, low: float, high: float) -> Prediction:
    return Prediction(metric="ratio", low=low, high=high, unit="ratio", cause=cause.value, layer="share")


def test_what_two_causes_predict_alike_confirms_neither_until_one_of_them_falls() -> None:
    trio = (predicted(Cause.STALLS, 2, 3), predicted(Cause.SPLITS, 2, 3), predicted(Cause.QUOTA, 0.9, 1.1))
    made = proposed("small-span", standing(Cause.COLD_CACHE))
    first = made.model_copy(update={"prediction": trio[0], "predictions": trio})
    one = after_it(first, 2.5, measured_of(PLAIN))
    assert not experiments_of("share", "stalls", (one,)).telling
    assert not experiments_of("share", "splits", (one,)).telling
    pair = (predicted(Cause.STALLS, 0.9, 1.1), predicted(Cause.SPLITS, 2, 3))
    second = made.model_copy(update={"prediction": pair[0], "predictions": pair})
    two = after_it(second, 1.0, measured_of(PLAIN))
    assert experiments_of("share", "stalls", (one, two)).telling
    assert after(Opinion(cause=Cause.SPLITS), "share", (one, two)).holds is False


def test_the_worth_is_what_is_expected_to_fall_over_all_pairs() -> None:
    stalls, splits, quota = (standing(c)[0] for c in (Cause.STALLS, Cause.SPLITS, Cause.QUOTA))
    alike = (predicted(Cause.STALLS, 1, 2), predicted(Cause.SPLITS, 1, 2), predicted(Cause.QUOTA, 1, 2))
    favourite = (alike[0], predicted(Cause.SPLITS, 4, 8), predicted(Cause.QUOTA, 4, 8))
    others = (alike[0], alike[1], predicted(Cause.QUOTA, 4, 8))
    every = (alike[0], predicted(Cause.SPLITS, 4, 8), predicted(Cause.QUOTA, 16, 32))
    three = (stalls, splits, quota)
    assert worth(alike, three) == 0
    assert worth(every, three) == pytest.approx(2 / 3)
    # Not only favourite against others: two of three pairs are told, whichever they are.
    assert worth(favourite, three) == pytest.approx(worth(others, three)) == pytest.approx(4 / 9)
    unlikely = Opinion(None, layer="share", cause=Cause.QUOTA)
    assert worth(others, (stalls, splits, unlikely)) < worth(others, three), "a cause that hardly stands is worth less"


def test_open_ends_are_alike_where_they_overlap_and_said_without_a_number() -> None:
    gains, anything = predicted(Cause.STALLS, 1.2, MOST), predicted(Cause.SPLITS, 0.8, MOST)
    assert apart(gains, anything) == apart(anything, gains) == 0
    assert apart(gains, predicted(Cause.SPLITS, 0.8, 1.1)) == 1
    assert gains.words == "at least 1.2 times the IOPS"


OURS = stack_of(Layer(name="share", endpoint="nbd://127.0.0.1:0/data", node="n1", on=("disk",)))


def shared(lock: float, delay: float) -> Analysis:
    """Through a server that serves one request at a time for ``lock`` seconds, and a way of ``delay``."""
    paths = {"disk": Path(), "share": Path(lock=lock, delay=delay)}
    few = (workload("randread", 8, 1), workload("randread", 8, 8))
    return simulate(OURS, paths, seed=1, sd=0.02, rounds=3, workloads=few)


@pytest.mark.parametrize(("lock", "delay", "fell"), [(1e-3, 0.0, "wire-latency"), (0.0, 6e-3, "processors")])
def test_what_is_full_hides_a_slower_far_end_and_a_time_of_its_own_adds_to_it(
    lock: float, delay: float, fell: str
) -> None:
    model = Fit(LimitKind.DELAY, LimitDirection.BOTH, 5e-3, 0.0, 0.0, 0.0, 1.0, 0.0, frozenset(), {})
    cells = frozenset({"randread-8KiB-qd8"})
    full, alone = (
        Opinion(layer="share", cells=cells, model=fit, cause=cause)
        for cause, fit in ((Cause.PROCESSORS, None), (Cause.WIRE_LATENCY, model))
    )
    made = proposed("slow-down", (full, alone), OURS, shared(1e-3, 0.0))
    assert made.condition is Condition.SLOWED and made.added_ns == pytest.approx(0.5 * 8e6, rel=0.1)
    before, then = (
        shared(lock, delay + added).summary("share", made.reference) for added in (0.0, made.added_ns / 1e9)
    )
    assert before is not None and then is not None
    (told,) = story((Tried(experiment=made, reference=before, changed=then),))
    assert told.fell == (f"share: {fell}",)
    assert maybe("slow-down", (full, alone)) is None, "what is not ours is not slowed"
