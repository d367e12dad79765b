"""What the device moved against what was asked for: splits, holes, another file, and blocks that lie across its own."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache

import pytest

from strata.diagnose import diagnose, propose
from strata.model.analysis import Analysis, CellSummary, Check
from strata.model.ends import Flow
from strata.model.estimate import Estimate
from strata.model.experiment import Experiment, Prediction, Tried
from strata.model.finding import Cause, Diagnosis, VerdictKind
from strata.model.stack import Layer, Stack
from strata.model.survey import Device

from .queueing import Path
from .scenes import everyday_stack, simulate

STACK = Stack(name="local", layers=everyday_stack().layers[:2])
Moved = Callable[[CellSummary], tuple[float, float]]
"""(bytes for each byte, requests for each I/O) at the device."""


def exactly(value: float) -> Estimate:
    return Estimate(value=value, low=value * 0.99, high=value * 1.01, n=3, unit="1")


@lru_cache
def healthy(seed: int = 1, slow_writes: float = 1.0, stack: Stack = STACK) -> Analysis:
    """A disk of four servers, its file system, and whatever stands on it."""
    medium = {"servers": 4, "service": 1e-3, "per_byte": 4e-9}
    paths = {x.name: Path(**medium, base=5e-6 * n) for n, x in enumerate(stack.layers)}  # type: ignore[arg-type]
    found = simulate(stack, paths, seed=seed, sd=0.03)
    cells = tuple(slowed(c, slow_writes) if c.workload.rw.writes else c for c in found.cells)
    return found.model_copy(update={"cells": cells})


def slowed(cell: CellSummary, factor: float) -> CellSummary:
    iops = cell.iops.model_copy(
        update={k: getattr(cell.iops, k) / factor for k in ("value", "low", "high") if getattr(cell.iops, k)}
    )
    return cell.model_copy(update={"iops": iops})


def reaching(analysis: Analysis, moved: Moved) -> Analysis:
    """The same run with what its cells moved at ``loop0``."""
    cells = []
    for cell in analysis.cells:
        direction = "write" if cell.workload.rw.writes else "read"
        per_byte, per_io = moved(cell)
        flow = Flow(
            place="device loop0", direction=direction, of=direction, per_byte=exactly(per_byte), per_io=exactly(per_io)
        )
        counters = cell.counters | {"blockdev_read_bytes{device=loop0}": 1.0}
        flows = (flow,) if per_byte > 0 else ()
        cells.append(cell.model_copy(update={"flows": flows, "devices": ("loop0",), "counters": counters}))
    return analysis.model_copy(update={"cells": tuple(cells)})


def causes(found: Diagnosis) -> set[Cause]:
    return {f.cause for f in found.findings}


@pytest.mark.parametrize("pieces", [2.0, 4.0, 16.0])
def test_large_requests_that_are_cut_are_named_where_each_piece_costs(pieces: float) -> None:
    def cut(cell: CellSummary) -> tuple[float, float]:
        return 1.0, pieces if cell.workload.bs > 8192 else 1.0

    analysis = reaching(healthy(), cut)
    cells = tuple(slowed(c, 0.8 * pieces) if c.workload.bs > 8192 else c for c in analysis.cells)
    found = diagnose(STACK, analysis.model_copy(update={"cells": cells}))
    assert (found.verdict.layer, found.verdict.cause) == ("disk", Cause.SPLITS), found.verdict.headline
    assert "max_sectors_kb" in found.verdict.next_step


@pytest.mark.parametrize(("most", "named"), [(16 << 10, True), (1280 << 10, False), (None, True)])
def test_pieces_of_a_file_that_lies_apart_are_not_cut_by_a_queue_that_takes_the_whole(
    most: int | None, named: bool
) -> None:
    """Copy-on-write leaves 8 KiB at a time; nothing is won by a setting of the queue."""
    analysis = reaching(healthy(), lambda c: (1.0, 8.0 if c.workload.bs > 8192 else 1.0))
    device = Device(name="loop0", path="/dev/loop0", devno="7:0", kind="loop", max_sectors_bytes=most)
    cells = tuple(slowed(c, 6.0) if c.workload.bs > 8192 else c for c in analysis.cells)
    found = diagnose(STACK, analysis.model_copy(update={"cells": cells, "devices": (device,)}))
    assert (Cause.SPLITS in causes(found)) is named


def test_pieces_that_cost_no_more_than_the_whole_are_no_finding() -> None:
    """Twice the requests and as many bytes a second as ever: bytes are the limit there."""
    analysis = reaching(healthy(), lambda c: (1.0, 1.0 if c.workload.bs <= 8192 else 1.5))
    per_byte = {c.workload.key: c.iops.value for c in analysis.cells if c.workload.bs > 8192}
    assert per_byte
    # As quick for each byte as the large ones are.
    cells = [
        slowed(c, c.iops.value / (16 * min(per_byte.values()))) if c.workload.bs <= 8192 else c for c in analysis.cells
    ]
    found = diagnose(STACK, analysis.model_copy(update={"cells": tuple(cells)}))
    assert Cause.SPLITS not in causes(found)


def test_flushes_and_the_members_of_a_stripe_are_no_pieces() -> None:
    """A write-through write brings a flush, which its device counts as a write; a stripe of two halves a request."""

    def twice(cell: CellSummary) -> tuple[float, float]:
        return 1.0, 2.0 if cell.workload.rw.writes and cell.workload.bs > 8192 else 1.0

    analysis = reaching(healthy(), twice)
    cells = [slowed(c, 1.6) if c.workload.bs > 8192 and c.workload.rw.writes else c for c in analysis.cells]
    loud = [
        c.model_copy(update={"counters": c.counters | {"blockdev_flushes{device=loop0}": c.iops.value}}) for c in cells
    ]
    assert Cause.SPLITS in causes(diagnose(STACK, analysis.model_copy(update={"cells": tuple(cells)})))
    assert Cause.SPLITS not in causes(diagnose(STACK, analysis.model_copy(update={"cells": tuple(loud)})))
    striped = [c.model_copy(update={"carriers": ("loop0", "loop1")}) for c in cells]
    assert Cause.SPLITS not in causes(diagnose(STACK, analysis.model_copy(update={"cells": tuple(striped)})))


@pytest.mark.parametrize(("small", "named"), [(1.0, True), (1.8, False)])
def test_the_requests_of_a_journal_are_no_pieces(small: float, named: bool) -> None:
    """A write-through write at depth 1 brings a commit of its own, and a large one no more than that."""

    def with_commits(cell: CellSummary) -> tuple[float, float]:
        if not cell.workload.rw.writes:
            return 1.0, 1.0
        return 1.0, 1.6 if cell.workload.bs > 8192 else small if cell.workload.rw.random else 1.1

    analysis = reaching(healthy(), with_commits)
    cells = tuple(slowed(c, 1.6) if c.workload.bs > 8192 and c.workload.rw.writes else c for c in analysis.cells)
    assert (Cause.SPLITS in causes(diagnose(STACK, analysis.model_copy(update={"cells": cells})))) is named


def limited_to(most: int | None, analysis: Analysis | None = None) -> Analysis:
    """A healthy run on a device that takes requests of so many bytes."""
    device = Device(name="loop0", path="/dev/loop0", devno="7:0", kind="loop", max_sectors_bytes=most)
    return reaching(analysis or healthy(), lambda _: (1.0, 1.0)).model_copy(update={"devices": (device,)})


def larger_read(analysis: Analysis, stack: Stack = STACK) -> Experiment | None:
    """What is asked first, where it is a read that is larger than a request."""
    asked = propose(stack, analysis)
    return asked if asked is not None and asked.key == "larger-read" else None


def gave(analysis: Analysis, asked: Experiment, times: float, pieces: float | None) -> Tried:
    """The larger read gave so many times the IOPS of the largest that was measured, in so many requests each."""
    reference = analysis.summary(asked.layer, asked.reference)
    assert reference is not None
    cell = slowed(reference, 1 / times).model_copy(update={"workload": asked.workload})
    flows = () if pieces is None else (cell.flows[0].model_copy(update={"per_io": exactly(pieces)}),)
    return Tried.of(asked, reference, cell.model_copy(update={"flows": flows}))


@pytest.mark.parametrize(("pieces", "named"), [(2.0, True), (1.0, False), (None, True)])
def test_reads_larger_than_any_request_are_tried_and_named_where_they_are_split(
    pieces: float | None, named: bool
) -> None:
    """129 KiB are the most; no workload is larger. As few IOPS without pieces are another's."""
    analysis = limited_to(129 << 10)
    assert diagnose(STACK, analysis).verdict.cause is Cause.MEDIUM
    asked = larger_read(analysis)
    assert asked is not None and (asked.layer, asked.workload.bs) == ("disk", 132 << 10)
    split, whole = asked.predictions
    assert (split.cause, whole.cause) == ("splits", "medium") and split.high <= whole.low
    found = diagnose(STACK, analysis, (gave(analysis, asked, 0.5, pieces),))
    assert (Cause.SPLITS in causes(found)) is named
    if named:
        assert (found.verdict.layer, found.verdict.cause) == ("disk", Cause.SPLITS), found.verdict.headline
        assert found.verdict.confidence >= 0.8 and "max_sectors_kb to 256 KiB" in found.verdict.next_step
    as_expected = diagnose(STACK, analysis, (gave(analysis, asked, 0.95, 2.0),))
    assert as_expected.verdict.cause is Cause.MEDIUM and Cause.SPLITS not in causes(as_expected)


@pytest.mark.parametrize("most", [None, 256 << 10, 1280 << 10, 64 << 10])
def test_a_larger_read_is_asked_for_only_where_it_would_be_the_first_that_is_split(most: int | None) -> None:
    """Not known, or as large as is usual; or smaller than what was measured, whose pieces are counted."""
    assert larger_read(limited_to(most)) is None


def test_a_larger_read_is_not_asked_for_where_bytes_are_the_limit_or_the_device_is_anothers() -> None:
    by_bytes = healthy()
    most = max(c.iops.value for c in by_bytes.cells if c.workload.bs > 8192)
    cells = tuple(slowed(c, c.iops.value / (16 * most)) if c.workload.bs <= 8192 else c for c in by_bytes.cells)
    assert larger_read(limited_to(129 << 10, by_bytes.model_copy(update={"cells": cells}))) is None
    elsewhere = STACK.model_copy(update={"scheduler": "n1:7000"})
    assert larger_read(limited_to(129 << 10), elsewhere) is None


@pytest.mark.parametrize("share", [0.9, 0.5, 0.1])
def test_holes_answer_the_same_share_of_every_read(share: float) -> None:
    found = diagnose(STACK, reaching(healthy(), lambda c: (1.0 if c.workload.rw.writes else share, 1.0)))
    assert Cause.HOLES in causes(found)
    assert next(f for f in found.findings if f.cause is Cause.HOLES).layer == "file system"


@pytest.mark.parametrize(("ios", "named"), [(5_000, True), (56, False)])
def test_bytes_of_what_was_under_way_where_a_round_ended_are_no_holes(ios: int, named: bool) -> None:
    """Of a medium that serves 28 I/Os a second, one that is counted in the next round is a part of them."""
    analysis = reaching(healthy(), lambda c: (1.0 if c.workload.rw.writes else 0.95, 1.0))
    cells = tuple(c.model_copy(update={"ios": ios, "rounds": 2}) for c in analysis.cells)
    assert (Cause.HOLES in causes(diagnose(STACK, analysis.model_copy(update={"cells": cells})))) is named


def striped(cell: CellSummary, share: float, carriers: tuple[str, ...]) -> CellSummary:
    """The same cell on two devices of which each moves half of ``share`` bytes for each byte."""
    flows = tuple(
        f.model_copy(update={"place": f"device {name}", "per_byte": exactly(share / 2)})
        for f in cell.flows
        for name in ("sda", "sdb")
    )
    counters = {f"blockdev_read_bytes{{device={name}}}": 1.0 for name in ("sda", "sdb")}
    more = {"flows": flows, "devices": ("sda", "sdb"), "carriers": carriers, "counters": cell.counters | counters}
    return cell.model_copy(update=more)


@pytest.mark.parametrize(("share", "holes"), [(1.0, False), (0.5, True)])
def test_devices_that_share_the_data_count_together(share: float, holes: bool) -> None:
    """Each of two moves half of it: nothing is missing."""
    whole = reaching(healthy(), lambda c: (1.0, 1.0))
    of = [(c, 1.0 if c.workload.rw.writes else share) for c in whole.cells]
    cells = tuple(striped(c, moved, ("sda", "sdb")) for c, moved in of)
    found = diagnose(STACK, whole.model_copy(update={"cells": cells}))
    assert (Cause.HOLES in causes(found)) == holes


def test_a_share_that_depends_on_the_workload_is_a_cache_and_not_holes() -> None:
    shares = {1: 0.2, 8: 0.5, 32: 0.9}
    found = diagnose(STACK, reaching(healthy(), lambda c: (shares[c.workload.outstanding], 1.0)))
    assert Cause.HOLES not in causes(found)


THREE = Stack(
    name="three",
    layers=(*STACK.layers, Layer(name="share", endpoint="nbd://127.0.0.1:3/data", on=("file system",))),
)


def test_a_layer_whose_reads_and_writes_never_reach_the_device_has_another_file() -> None:
    analysis = reaching(healthy(stack=THREE), lambda c: (0.0, 0.0) if c.layer == "share" else (1.0, 1.0))
    found = diagnose(THREE, analysis)
    assert (found.verdict.layer, found.verdict.cause) == ("share", Cause.WRONG_FILE)
    broken = Check(kind="faster-than-below", layer="share", workload_key=None, impossible=True, message="3 times")
    found = diagnose(THREE, analysis.model_copy(update={"checks": (broken,)}))
    assert (found.verdict.kind, found.verdict.cause) == (VerdictKind.LAYER, Cause.WRONG_FILE)
    assert found.verdict.layer == "share" and "impossible" not in found.verdict.headline
    assert "3 times" in found.verdict.explanation and "Nothing is concluded" in found.verdict.explanation
    assert [f.cause for f in found.findings] == [Cause.WRONG_FILE, Cause.IMPOSSIBLE]


@pytest.mark.parametrize(("kind", "layer"), [("little", "share"), ("faster-than-below", "disk")])
def test_a_figure_that_the_cause_does_not_account_for_stays_impossible(kind: str, layer: str) -> None:
    analysis = reaching(healthy(stack=THREE), lambda c: (0.0, 0.0) if c.layer == "share" else (1.0, 1.0))
    known = Check(kind="faster-than-below", layer="share", workload_key=None, impossible=True, message="3 times")
    other = Check(kind=kind, layer=layer, workload_key=None, impossible=True, message="no")
    found = diagnose(THREE, analysis.model_copy(update={"checks": (known, other)}))
    assert (found.verdict.kind, found.verdict.cause) == (VerdictKind.IMPOSSIBLE, Cause.WRONG_FILE)
    assert propose(THREE, analysis.model_copy(update={"checks": (known, other)})) is None


UNREAD = Check(kind="cache", layer="file system", workload_key=None, impossible=True, message="0.2 bytes per byte")


def test_reads_that_a_cache_answers_before_the_device_are_that_cache_and_nothing_impossible() -> None:
    """Shares that depend on the workload are no holes."""
    shares = {1: 0.05, 8: 0.2, 32: 0.4}
    analysis = reaching(healthy(), lambda c: (1.0 if c.workload.rw.writes else shares[c.workload.outstanding], 1.0))
    found = diagnose(STACK, analysis.model_copy(update={"checks": (UNREAD,)}))
    assert (found.verdict.kind, found.verdict.cause) == (VerdictKind.LAYER, Cause.CACHE_FLATTERS)
    assert found.verdict.layer == "file system" and "at least 6" in found.verdict.headline
    assert "--size" in found.verdict.next_step
    assert Cause.CACHE_FLATTERS not in causes(diagnose(STACK, analysis)), "no law says that its own device was not read"


def test_data_that_is_stored_in_less_space_is_no_cache() -> None:
    """A file system that compresses moves a quarter of the bytes in both directions."""
    shares = {1: 0.2, 8: 0.25, 32: 0.3}
    analysis = reaching(healthy(), lambda c: (shares[c.workload.outstanding], 1.0))
    found = diagnose(STACK, analysis.model_copy(update={"checks": (UNREAD,)}))
    assert found.verdict.kind is VerdictKind.IMPOSSIBLE and Cause.CACHE_FLATTERS not in causes(found)


@pytest.mark.parametrize(("shares", "cache"), [((0.3, 0.3, 0.3), False), ((0.05, 0.2, 0.4), True)])
def test_where_nothing_is_written_only_a_share_that_differs_is_a_cache(shares: tuple[float, ...], cache: bool) -> None:
    """The same share everywhere may be that of holes, which are told by writes."""
    by_depth = dict(zip((1, 8, 32), shares, strict=True))
    whole = healthy()
    reads = tuple(c for c in whole.cells if not c.workload.rw.writes)
    analysis = reaching(whole.model_copy(update={"cells": reads}), lambda c: (by_depth[c.workload.outstanding], 1.0))
    found = diagnose(STACK, analysis.model_copy(update={"checks": (UNREAD,)}))
    assert (Cause.CACHE_FLATTERS in causes(found)) is cache
    assert found.verdict.kind is VerdictKind.IMPOSSIBLE, "one kind of evidence is no verdict"


def test_a_cache_that_answers_every_read_of_a_file_that_is_written_is_no_hole() -> None:
    """The writes of the run itself would be read back from the device."""
    analysis = reaching(healthy(), lambda c: (1.0 if c.workload.rw.writes else 0.0, 1.0))
    found = diagnose(STACK, analysis.model_copy(update={"checks": (UNREAD,)}))
    assert (found.verdict.kind, found.verdict.cause) == (VerdictKind.LAYER, Cause.CACHE_FLATTERS)


def test_without_the_counters_of_its_device_no_cause_of_too_good_figures_is_named() -> None:
    analysis = reaching(healthy(), lambda c: (1.0 if c.workload.rw.writes else 0.05, 1.0))
    cells = tuple(c.model_copy(update={"counters": {}}) for c in analysis.cells)
    found = diagnose(STACK, analysis.model_copy(update={"cells": cells, "checks": (UNREAD,)}))
    assert found.verdict.kind is VerdictKind.IMPOSSIBLE
    assert not causes(found) & {Cause.HOLES, Cause.CACHE_FLATTERS, Cause.WRONG_FILE}


def test_a_cache_in_some_workloads_is_claimed_for_no_others() -> None:
    def some(cell: CellSummary) -> tuple[float, float]:
        deep = cell.workload.outstanding == 32
        return (1.0 if cell.workload.rw.writes or deep else 0.05 * cell.workload.outstanding, 1.0)

    found = diagnose(STACK, reaching(healthy(), some).model_copy(update={"checks": (UNREAD,)}))
    named = next(f for f in found.findings if f.cause is Cause.CACHE_FLATTERS)
    assert " workloads" in named.title, named.title


def test_a_cache_that_an_experiment_disagreed_with_is_not_the_verdict() -> None:
    shares = {1: 0.05, 8: 0.2, 32: 0.4}
    analysis = reaching(healthy(), lambda c: (1.0 if c.workload.rw.writes else shares[c.workload.outstanding], 1.0))
    analysis = analysis.model_copy(update={"checks": (UNREAD,)})
    own = next(f for f in diagnose(STACK, analysis).findings if f.cause is Cause.CACHE_FLATTERS)
    key = next(c.workload.key for c in analysis.cells if c.layer == own.layer and not c.workload.rw.writes)
    cell = analysis.summary(own.layer, key)
    assert cell is not None
    gone = Prediction(metric="ratio", low=0.001, high=0.7, unit="ratio", cause=own.cause.value, layer=own.layer)
    experiment = Experiment(
        layer=own.layer, workload=cell.workload, reference=key, changes="a test", prediction=gone, predictions=(gone,),
        otherwise="", key="large-span",
    )  # fmt: skip
    kept = (Tried(experiment=experiment, reference=cell, changed=cell),)
    found = diagnose(STACK, analysis, kept)
    assert (found.verdict.kind, found.verdict.cause) == (VerdictKind.IMPOSSIBLE, Cause.IMPOSSIBLE)


def test_holes_are_named_where_they_make_the_figures() -> None:
    analysis = reaching(healthy(), lambda c: (1.0 if c.workload.rw.writes else 0.3, 1.0))
    found = diagnose(STACK, analysis.model_copy(update={"checks": (UNREAD,)}))
    assert (found.verdict.kind, found.verdict.cause) == (VerdictKind.LAYER, Cause.HOLES)


@pytest.mark.parametrize("written", [0.5, 1.0])
def test_a_cache_at_the_far_end_is_not_another_file(written: float) -> None:
    def moved(cell: CellSummary) -> tuple[float, float]:
        return (0.0, 0.0) if cell.layer == "share" and not cell.workload.rw.writes else (written, 1.0)

    assert Cause.WRONG_FILE not in causes(diagnose(THREE, reaching(healthy(stack=THREE), moved)))


def test_the_same_data_by_way_of_another_device_of_the_stack_is_no_other_file() -> None:
    """Two nodes have one disk attached, each by a device of its own: requests that are redirected meet the other."""
    analysis = reaching(healthy(stack=THREE), lambda c: (1.0, 1.0))
    cells = []
    for cell in analysis.cells:
        if cell.layer == "share":
            flows = tuple(f.model_copy(update={"place": "device loop0"}) for f in cell.flows)
            counters = cell.counters | {"blockdev_read_bytes{device=loop1}": 0.0}
            cell = cell.model_copy(update={"devices": ("loop1",), "flows": flows, "counters": counters})  # noqa: PLW2901
        cells.append(cell)
    found = diagnose(THREE, analysis.model_copy(update={"cells": tuple(cells)}))
    assert Cause.WRONG_FILE not in causes(found)


LOOP = Device(name="loop0", path="/dev/loop0", devno="7:0", kind="loop", detail={"loop_offset": str(63 * 512)})


def crooked(analysis: Analysis) -> Analysis:
    return analysis.model_copy(update={"devices": (LOOP,)})


def shifted(stack: Stack, analysis: Analysis, gain: float) -> tuple[Tried, ...]:
    experiment = propose(stack, analysis)
    assert experiment is not None and experiment.key == "shifted", experiment
    assert experiment.workload.misalign == 512
    reference = analysis.summary(experiment.layer, experiment.reference)
    assert reference is not None
    return (Tried(experiment=experiment, reference=reference, changed=slowed(reference, 1 / gain)),)


def test_a_beginning_off_the_boundary_is_named_when_the_shifted_workload_gains() -> None:
    analysis = crooked(healthy(slow_writes=3.0))
    assert Cause.MISALIGNED not in causes(diagnose(STACK, analysis))
    found = diagnose(STACK, analysis, shifted(STACK, analysis, 2.0))
    assert (found.verdict.kind, found.verdict.cause) == (VerdictKind.LAYER, Cause.MISALIGNED)
    assert found.verdict.confidence >= 0.8 and "times as fast" in found.verdict.explanation


def test_it_is_not_named_when_the_shifted_workload_gains_nothing() -> None:
    analysis = crooked(healthy(slow_writes=3.0))
    found = diagnose(STACK, analysis, shifted(STACK, analysis, 0.9))
    assert Cause.MISALIGNED not in causes(found)
    assert "disk: misaligned" in found.story[0].fell


def test_a_beginning_off_the_boundary_without_slow_writes_is_no_finding() -> None:
    assert Cause.MISALIGNED not in causes(diagnose(STACK, crooked(healthy())))


def test_a_disk_that_is_only_read_is_told_by_what_stands_on_it() -> None:
    """A raw device is not written to: slow writes are seen at the file system, and the shift is tried on reads."""
    whole = crooked(healthy(slow_writes=3.0))
    bottom = STACK.layers[0].name
    analysis = whole.model_copy(
        update={"cells": tuple(c for c in whole.cells if c.layer != bottom or not c.workload.rw.writes)}
    )
    found = diagnose(STACK, analysis, shifted(STACK, analysis, 2.0))
    assert (found.verdict.layer, found.verdict.cause) == (bottom, Cause.MISALIGNED)
    assert found.verdict.confidence >= 0.8
    assert Cause.MISALIGNED not in causes(diagnose(STACK, analysis, shifted(STACK, analysis, 0.9)))
