"""From a trace to the words of a workload."""

from __future__ import annotations

from pathlib import Path

from traces import figures

from strata.model.trace import TraceFigures
from strata.plan.from_trace import workload_of

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
