"""Experiments with writes, and over two paths at once: what each changes, who predicts what, and what then falls."""

from __future__ import annotations

from dataclasses import replace
from functools import lru_cache

import pytest

from strata.diagnose.case import Case
from strata.diagnose.experiments.more_paths import dealt
from strata.diagnose.trying import experiments_of, story
from strata.model.analysis import Analysis
from strata.model.cause import Cause
from strata.model.expect import Faster
from strata.model.experiment import Condition, Experiment
from strata.model.rw import Rw
from strata.model.stack import Layer, Stack
from strata.model.workload import Sync

from .queueing import Path
from .scenes import simulate, workload
from .test_battery import SHARE, after_it, falls, maybe, measured_of, proposed, stack_of, standing

FILES = Stack(
    name="files",
    layers=(
        Layer(name="disk", endpoint="block:/dev/vda1"),
        Layer(name="file system", endpoint="file:/srv/data", on=("disk",)),
    ),
)
DURABLE = workload("randwrite", 8, 1).model_copy(update={"fsync": 1})
NOT_WAITED_FOR = workload("randwrite", 8, 8)
FLUSH_S = 8e-3


@lru_cache
def with_flushes(flush_s: float = FLUSH_S, service_s: float = 2e-3) -> Analysis:
    """Writes that take ``service_s``; those with a flush as long as that takes more."""
    paths = {layer.name: Path(servers=8, service=service_s) for layer in FILES.layers}
    found = simulate(FILES, paths, seed=1, sd=0.02, rounds=2, workloads=(DURABLE, NOT_WAITED_FOR))

    def timed(cell):  # type: ignore[no-untyped-def]
        if not cell.workload.fsync:
            return cell
        return cell.model_copy(update={"flushes": cell.ios, "flush_ns": {"mean": flush_s * 1e9}})

    return found.model_copy(update={"cells": tuple(map(timed, found.cells))})


def flushed(*causes: Cause, found: Analysis | None = None) -> tuple[Experiment, Analysis]:
    found = found or with_flushes()
    opinions = tuple(
        replace(o, cells=frozenset({DURABLE.key, NOT_WAITED_FOR.key})) for o in standing(*causes, layer="file system")
    )
    return proposed("with-flush", opinions, FILES, found), found


@pytest.mark.parametrize(
    ("times", "fell"),
    # 2 ms of a write by itself, and 8 ms of a flush: a fifth is left. Or it had waited for the medium before.
    [(0.2, {"slow-medium", "write-cache-full"}), (0.95, {"slow-flush"})],
)
def test_a_flush_that_is_added_tells_slow_flushes_from_a_slow_medium(times: float, fell: set[str]) -> None:
    made, found = flushed(Cause.SLOW_FLUSH, Cause.SLOW_MEDIUM, Cause.WRITE_CACHE_FULL)
    assert (made.reference, made.workload.sync) == (NOT_WAITED_FOR.key, Sync.DSYNC)
    (told,) = story((after_it(made, times, found),))
    assert {name.partition(": ")[2] for name in told.fell} == fell
    assert bool(experiments_of("file system", "slow-flush", (after_it(made, times, found),)).telling) == (times < 0.5)


def test_a_flush_of_thousands_of_writes_is_predicted_to_be_seen() -> None:
    """A write of 20 µs beside a flush of 50 ms: an interval whose ends are turned could not be met."""
    made, found = flushed(Cause.SLOW_FLUSH, Cause.SLOW_MEDIUM, found=with_flushes(5e-2, 2e-5))
    assert all(p.low < p.high for p in made.predictions), made.predictions
    (told,) = story((after_it(made, 1.5e-3, found),))
    assert told.fell == ("file system: slow-medium",), told


def test_a_flush_is_added_only_where_flushes_are_suspected_and_writes_wait_for_nothing() -> None:
    found = with_flushes()
    assert maybe("with-flush", standing(Cause.SLOW_MEDIUM, layer="file system"), FILES, found) is None
    cells = tuple(c for c in found.cells if c.workload.key == DURABLE.key)
    durable = found.model_copy(update={"cells": cells})
    opinion = replace(standing(Cause.SLOW_FLUSH, layer="file system")[0], cells=frozenset({DURABLE.key}))
    assert maybe("with-flush", (opinion,), FILES, durable) is None


def test_a_far_end_in_memory_is_for_writes_as_one_without_a_store_is_for_reads() -> None:
    both = standing(Cause.WIRE_BANDWIDTH, Cause.SLOW_MEDIUM)
    made = proposed("memory-end", both)
    assert made.condition is Condition.MEMORY_END and made.workload.key == made.reference == "randwrite-8KiB-qd8"
    assert falls(made, 5.0) == {"wire-bandwidth"} and falls(made, 1.0) == {"slow-medium"}
    kept = (after_it(made, 1.0, measured_of_plain()),)
    assert experiments_of("share", "wire-bandwidth", kept).telling, "the store is gone, and it keeps its IOPS"
    reads = tuple(replace(o, cells=frozenset({"randread-8KiB-qd32"})) for o in both)
    assert maybe("memory-end", reads) is None and maybe("null-end", reads) is not None
    share = Layer(name="share", endpoint=SHARE, node="n1", on=("disk",))
    assert maybe("memory-end", both, stack_of(share, far=None)) is None, "no node of this machine is there"


def measured_of_plain() -> Analysis:
    return measured_of(stack_of(Layer(name="share", endpoint=SHARE, node="n1", on=("disk",))))


TWO_PATHS = stack_of(
    Layer(name="share", endpoint=SHARE, node="n1", on=("disk",)),
    Layer(name="second", endpoint=f"{SHARE}?connections=4", node="n1", on=("disk",)),
)


def test_one_more_path_tells_too_few_queues_from_what_lies_behind_both() -> None:
    made = proposed("more-paths", standing(Cause.FEW_QUEUES, Cause.WIRE_BANDWIDTH), TWO_PATHS)
    assert (made.layer, made.beside, made.condition) == ("share", "second", Condition.MORE_PATHS)
    reference = measured_of(TWO_PATHS).summary("share", made.reference)
    assert reference is not None and made.workload.outstanding == reference.workload.outstanding
    assert (made.workload.clients, made.workload.shares, made.workload.deal) == (2, (1, 1), "client")
    assert falls(made, 1.9, TWO_PATHS) == {"wire-bandwidth"} and falls(made, 1.0, TWO_PATHS) == {"few-queues"}


def test_a_second_path_reaches_the_same_layers_from_the_same_node_and_is_no_cache() -> None:
    opinions = standing(Cause.FEW_QUEUES)
    assert maybe("more-paths", opinions) is None
    second = TWO_PATHS.layers[2]
    others = (
        second.model_copy(update={"node": "n2"}),
        second.model_copy(update={"endpoint": SHARE}),
        second.model_copy(update={"expect": second.expect.model_copy(update={"faster": Faster.CACHE})}),
    )
    for other in others:
        stack = TWO_PATHS.model_copy(update={"layers": (*TWO_PATHS.layers[:2], other)})
        assert maybe("more-paths", opinions, stack, measured_of(TWO_PATHS)) is None
    assert Case(TWO_PATHS, measured_of(TWO_PATHS)).station("second") is not None


def test_requests_that_cannot_be_halved_are_not_dealt() -> None:
    assert dealt(workload("randread", 8, 1)) is None
    assert dealt(workload("randread", 8, 8).model_copy(update={"rw": Rw.READ, "clients": 2})) is None
