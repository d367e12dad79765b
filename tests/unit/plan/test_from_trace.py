"""From a trace to the words of a workload."""

from __future__ import annotations

from pathlib import Path

import pytest
from traces import figures

from strata.model.trace import TraceFigures
from strata.model.workload import Sync
from strata.plan.from_trace import SizeShare, workload_of, workload_of_trace

SCATTERED = [8 * n for n in range(1, 257)]
"""256 lengths in sectors, 4 KiB to 1 MiB: 0.4 % of the I/Os have each."""
STREAM = [("WS", n) for n in range(60)]


def test_a_stream_of_writes(tmp_path: Path) -> None:
    found = workload_of(figures(tmp_path, STREAM))
    assert found is not None
    assert (found.rw, found.rwmixread, found.iodepth, found.numjobs) == ("write", 0, 1, 1)
    assert [(s.bs, s.share) for s in found.bssplit_write] == [(8192, 1.0)]
    assert found.range_bytes == (0, 60 * 8192)
    assert found.sequential_write == 1.0
    # 60 I/Os, the last of them done 102 µs after the 59th millisecond.
    assert abs(found.iops - 60 / 0.059102) < 1
    assert found.cautions == ()


def test_a_random_mix(tmp_path: Path) -> None:
    ios = [("R" if n % 4 else "WS", n * 7919 % 5000) for n in range(200)]
    found = workload_of(figures(tmp_path, ios, pids=(1, 2)))
    assert found is not None
    assert (found.rw, found.rwmixread, found.numjobs) == ("randrw", 75, 2)


@pytest.mark.parametrize(
    ("much", "stray", "rw", "said"),
    [("R", "WS", "randread", "writes"), ("R", "WFS", "randread", "writes"), ("WS", "R", "randwrite", "reads")],
)
def test_what_rounds_to_nothing_of_the_ios_is_left_out_and_said(
    tmp_path: Path, much: str, stray: str, rw: str, said: str
) -> None:
    """A journal's block beside a stream of reads makes no load of reads and writes."""
    ios = [(stray if n == 100 else much, n * 7919 % 5000) for n in range(400)]
    found = workload_of(figures(tmp_path, ios))
    assert found is not None
    assert (found.rw, found.rwmixread) == (rw, 100 if much == "R" else 0)
    assert f"0.25 % of the I/Os are {said}; they are left out" in found.cautions
    assert workload_of_trace(found)[0].key == f"{rw}-8KiB-qd1"
    # Half of a per cent more is a mix.
    found = workload_of(figures(tmp_path, [(stray if n % 100 == 9 else much, n * 7919 % 5000) for n in range(400)]))
    assert found is not None
    assert found.rw == "randrw"


def test_what_no_single_workload_describes_is_said(tmp_path: Path) -> None:
    half = [("R", n // 2 if n % 2 else n * 7919 % 5000 + 3000) for n in range(200)]
    found = workload_of(figures(tmp_path, half), whole=False)
    assert found is not None
    assert any("partly sequential" in c for c in found.cautions)
    assert any("lost" in c for c in found.cautions)


def test_nothing_gives_nothing() -> None:
    assert workload_of(TraceFigures(window_ns=10, events=0, devices=())) is None


def test_a_trace_as_a_workload(tmp_path: Path) -> None:
    found = workload_of(figures(tmp_path, STREAM))
    assert found is not None
    workload, notes = workload_of_trace(found)
    assert workload.key == "write-8KiB-qd1"
    assert any("pauses" in note for note in notes)
    busy = found.model_copy(update={"under_way": 12.0, "iodepth": 12, "numjobs": 3, "writes_per_flush": 8.4})
    workload, notes = workload_of_trace(busy)
    assert workload.key == "write-8KiB-qd4-t3-fdatasync8"
    assert any("whether the application could issue more" in note for note in notes)
    # More threads than requests under way were not at work at once; flushes as rare as this are somebody else's.
    few = found.model_copy(update={"iodepth": 2, "numjobs": 40, "writes_per_flush": 5000.0})
    assert workload_of_trace(few)[0].key == "write-8KiB-qd1-t2"


def test_sizes_and_their_shares(tmp_path: Path) -> None:
    found = workload_of(figures(tmp_path, [("R" if n % 4 else "WS", n * 7919 % 5000) for n in range(200)]))
    assert found is not None
    thirds = (SizeShare(bs=4096, share=1 / 3), SizeShare(bs=8192, share=1 / 3), SizeShare(bs=65536, share=1 / 3))
    mixed = found.model_copy(update={"bssplit_read": thirds, "write_through_share": 0.75})
    workload, notes = workload_of_trace(mixed)
    assert (workload.bs, workload.sync) == (65536, Sync.DSYNC)
    assert workload.bssplit is not None
    assert [s.weight for s in workload.bssplit.read] == [3333, 3333, 3334]
    assert [s.bs for s in workload.bssplit.write] == [8192]
    assert "75 % of the writes were write-through; in the profile all are" in notes


@pytest.mark.parametrize(("letters", "rw"), [(("R", "WS"), "randrw"), (("WS",), "randwrite"), (("R",), "randread")])
def test_scattered_lengths_become_their_mean(tmp_path: Path, letters: tuple[str, ...], rw: str) -> None:
    ios = [(letters[n % len(letters)], n * 7919 % 50_000) for n in range(512)]
    found = workload_of(figures(tmp_path, ios, lengths=SCATTERED))
    assert found is not None and found.rw == rw
    workload, notes = workload_of_trace(found)
    sides = [side for side in (found.bssplit_read, found.bssplit_write) if side]
    assert len(sides) == len(letters)
    for side in sides:
        (one,) = side
        assert one.bs % 4096 == 0 and abs(one.bs - 128.5 * 4096) <= 4096 and one.share == 1
    assert workload.bs == max(side[0].bs for side in sides)
    assert sum("100 % of the " in note and f"mean size, {workload.bs} bytes" in note for note in notes) >= 1


def test_scattered_writes_beside_reads_of_one_length(tmp_path: Path) -> None:
    lengths = [n for size in SCATTERED for n in (16, size)]
    ios = [("R" if n % 2 == 0 else "WS", n * 7919 % 50_000) for n in range(512)]
    found = workload_of(figures(tmp_path, ios, lengths=lengths))
    assert found is not None
    workload, notes = workload_of_trace(found)
    assert workload.bssplit is not None and [s.bs for s in workload.bssplit.read] == [8192]
    assert not any("of the reads have rare sizes" in n for n in notes)
    assert any("of the writes have rare sizes" in n for n in notes)


def test_what_is_left_out_of_a_mix_is_said(tmp_path: Path) -> None:
    lengths = [16] * 300 + [8 * n for n in range(3, 9)]
    found = workload_of(figures(tmp_path, [("R", n * 7919 % 50_000) for n in range(len(lengths))], lengths=lengths))
    assert found is not None and [s.bs for s in found.bssplit_read] == [8192]
    (note,) = found.cautions
    assert note == "2.0 % of the reads have rare sizes, each below 1 % of the reads; they are left out"


def test_an_io_without_data_has_no_length_and_is_no_load(tmp_path: Path) -> None:
    seen = figures(tmp_path, [("R", n * 7919 % 5000) for n in range(60)])
    (device,) = seen.devices
    empty = device.write.entered.model_copy(update={"ios": 60})
    flushing = device.model_copy(update={"write": device.write.model_copy(update={"entered": empty})})
    found = workload_of(seen.model_copy(update={"devices": (flushing,)}))
    assert found is not None
    assert workload_of_trace(found)[0].key == "randread-8KiB-qd1"
