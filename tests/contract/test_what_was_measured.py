"""Real runs on a real file: sums, histograms that others can read, data that nothing can shrink, the generator."""

from __future__ import annotations

import base64
import lzma
import math
import struct
import zlib
from collections.abc import Iterator

import pytest
from commands import measured, working_disk
from hdrh.histogram import HdrHistogram
from tiers import rest_in_ci

from strata import units
from strata.engine import Timing, build_job, fill, run_job
from strata.engine.layout import file_segments
from strata.host import testfile
from strata.host.mark import MARK_BYTES, header_bytes, read_mark
from strata.model import histogram
from strata.model.endpoint import Endpoint
from strata.model.result import EngineResult, IntervalDirection
from strata.plan.words import workload_from_words

COMPRESSED_V2 = 0x1C849304


@pytest.fixture(scope="module")
def mixed() -> Iterator[EngineResult]:
    """Two threads, reads and writes, on the working disk."""
    with working_disk() as disk:
        path, size = disk / "own.dat", 16 * units.MIB
        mark = testfile.create(path, size)
        fill(str(path), size, 1, header_bytes(mark))
        workload = workload_from_words("randrw", "4k", iodepth=8, threads=2, rwmixread=70)
        timing = Timing(ramp_s=0.05, runtime_s=0.6, interval_s=0.05)
        yield run_job(build_job(Endpoint.parse(f"file:{path}"), workload, file_segments(size), timing))
        testfile.remove(path, mark)


@pytest.mark.parametrize("name", ["read", "write"])
def test_intervals_add_up_to_the_totals(mixed: EngineResult, name: str) -> None:
    parts: list[IntervalDirection] = [getattr(i, name) for i in mixed.intervals]
    whole = getattr(mixed, name)
    assert whole.ops > 0
    assert len(mixed.intervals) == 12
    assert sum(p.ops for p in parts) == whole.ops
    assert sum(p.bytes for p in parts) == whole.bytes == 4096 * whole.ops
    assert sum(p.errors for p in parts) == 0
    assert sum(p.service_sum_ns for p in parts) == whole.service_sum_ns
    merged = histogram.merge(p.service_time for p in parts)
    assert merged is not None
    assert histogram.decode(merged) == histogram.decode(whole.service_time)
    assert sum(histogram.decode(whole.service_time)[1]) == whole.ops
    assert sum(getattr(t, f"{name}_ops") for t in mixed.threads) == whole.ops
    ends = [i.end_ns for i in mixed.intervals]
    assert [i.start_ns for i in mixed.intervals] == [0, *ends[:-1]]
    assert ends[-1] == mixed.measured_ns


def test_every_time_of_the_mix_is_in_one_direction(mixed: EngineResult) -> None:
    assert len(mixed.threads) == 2
    assert all(t.read_ops > t.write_ops > 0 for t in mixed.threads)
    assert mixed.issued == mixed.completed
    assert mixed.errored == mixed.stuck == 0
    assert mixed.effective["direct"] is True


@pytest.mark.parametrize("name", ["read", "write"])
def test_the_public_histogram_library_reads_ours(mixed: EngineResult, name: str) -> None:
    payload = getattr(mixed, name).service_time
    # Ours is the plain V2 encoding; the library wants the compressed wrapper around it.
    packed = zlib.compress(base64.b64decode(payload))
    theirs = HdrHistogram.decode(base64.b64encode(struct.pack(">II", COMPRESSED_V2, len(packed)) + packed))
    assert theirs.get_total_count() == histogram.total(payload) == getattr(mixed, name).ops
    asked, n = (0.5, 0.99, 0.999), theirs.get_total_count()
    ours = histogram.quantiles(payload, list(asked))
    # The library rounds the rank to the nearest, we round it up (as the method's definition does): ask for that rank.
    assert [theirs.get_value_at_percentile(100 * math.ceil(q * n) / n) for q in asked] == ours
    assert 0 < ours[0] <= ours[1] <= ours[2]


@pytest.mark.ci
@pytest.mark.parametrize(("block", "depth"), rest_in_ci([("16k", 4), ("4k", 1)], every_day=1))
def test_data_cannot_be_shrunk_or_shared(block: str, depth: int) -> None:
    with working_disk() as disk:
        path = disk / "written.dat"
        words = (f"file:{path}", "--size", "8m", "--rw", "write", "--bs", block, "--iodepth", depth, "--keep")
        document = measured(*words, "--range", "1m:1m", "--runtime", "400ms")
        # The mark itself is text and zeroes.
        data = path.read_bytes()[MARK_BYTES : 3 * units.MIB]
        # Every block was written by the workload at least once, or by the fill before it; neither may repeat.
        assert document["result"]["write"]["ops"] > 0
        assert len(zlib.compress(data, 6)) > 0.995 * len(data)
        # With a window that holds many writes of one buffer.
        assert len(lzma.compress(data, preset=1)) > 0.995 * len(data)
        for size in (4096, 512):
            pieces = {data[at : at + size] for at in range(0, len(data), size)}
            assert len(pieces) == len(data) // size, f"pieces of {size} bytes repeat"
        mark = read_mark(path)
        assert mark is not None
        testfile.remove(path, mark)


@pytest.mark.alone
def test_the_generator_is_measured_first_and_named_when_it_is_the_limit() -> None:
    """What drives nothing is limited by the generator by construction."""
    for _ in range(3):
        document = measured("null:", "--iodepth", 32, "--runtime", "400ms")
        ceiling = document["generator"]["iops"]["randread-4KiB-qd32"]
        assert ceiling > 10_000
        # A machine that stood still in one of both, and not in the other, drives less than it reaches.
        if said := [c["message"] for c in document["checks"] if c["kind"] == "generator"]:
            break
    assert len(said) == 1, (ceiling, document["summary"]["iops"])
    assert "of what the load generator reaches on a null endpoint" in said[0]


@pytest.mark.alone
def test_a_disk_is_far_below_the_generator() -> None:
    with working_disk() as disk:
        document = measured(f"file:{disk}/x.dat", "--size", "8m", "--dsync", "--rw", "write", "--runtime", "150ms")
    (ceiling,) = document["generator"]["iops"].values()
    assert ceiling > document["summary"]["iops"]["value"] > 0
    assert [c for c in document["checks"] if c["kind"] == "generator"] == []
