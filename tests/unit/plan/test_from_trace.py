"""From a trace to the words of a workload."""

from __future__ import annotations

from pathlib import Path

from traces import figures

from strata.model.trace import TraceFigures
from strata.model.workload import Sync
from strata.plan.from_trace import SizeShare, workload_of, workload_of_trace

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
    assert any("whether more was asked" in note for note in notes)
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
    assert "75 % of the writes were write-through; here all are" in notes
