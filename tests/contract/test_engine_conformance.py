"""What every engine behind the port has to do, whoever generates the load. Asked of each, in the same words."""

from __future__ import annotations

import math
import os
import signal
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from commands import target
from engine_cases import (
    CLUSTERS,
    KIB,
    MIB,
    OVER,
    SIZE,
    data_file,
    engine,
    errors_of,
    failing_server,
    names,
    place,
    request,
)
from loops import loop, need_root
from tiers import rest_in_ci

from strata.engine import Engine
from strata.errors import RunFailed, UsageError
from strata.model import histogram
from strata.model.endpoint import CLUSTER, EndpointKind
from strata.model.plan import Segment
from strata.model.result import EngineResult, Interval
from strata.run.judge import fault

QUANTILES = [0.01, 0.5, 0.9, 0.99, 1.0]
SHAPES = {
    "random read": {"rw": "randread", "iodepth": 4, "threads": 2},
    "mixed": {"rw": "randrw", "rwmixread": 70, "iodepth": 8},
    "sequential write": {"rw": "write", "bs": "64k", "threads": 2},
}


@pytest.fixture(scope="module", params=names())
def load(request: pytest.FixtureRequest) -> Engine:
    return engine(request.param)


@pytest.fixture(
    scope="module",
    params=["null", "file", "nbd", "smb", *OVER, *(pytest.param(kind, marks=pytest.mark.slow) for kind in CLUSTERS)],
)
def uri(request: pytest.FixtureRequest) -> Iterator[str]:
    with place(request.param) as where:
        yield where


@pytest.fixture
def path() -> Iterator[Path]:
    with data_file() as made:
        yield made


def sound(result: EngineResult, bs: int) -> None:
    """What holds for every result."""
    assert result.issued == result.completed + result.errored + result.stuck
    assert result.completed >= result.ops
    for name in ("read", "write"):
        whole, parts = getattr(result, name), [getattr(i, name) for i in result.intervals]
        assert whole.bytes == whole.ops * bs
        assert sum(p.ops for p in parts) == whole.ops
        assert sum(p.bytes for p in parts) == whole.bytes
        assert sum(p.service_sum_ns for p in parts) == whole.service_sum_ns
        assert histogram.total(whole.service_time) == whole.ops
        merged = histogram.merge(p.service_time for p in parts)
        assert whole.ops == 0 or histogram.decode(merged) == histogram.decode(whole.service_time)
        if whole.ops:
            points = histogram.quantiles(whole.service_time, QUANTILES)
            assert points == sorted(points)
            # What answers nothing may do so between two ticks of the clock.
            assert points[0] > 0 or result.engine.get("kind") == "null"
            assert points[-1] > 0
            # The exact mean and the mean of the buckets: of different origin, equal within the coarser bucket.
            values, counts = histogram.decode(whole.service_time)
            rough = sum(v * c for v, c in zip(values, counts, strict=True)) / whole.ops
            assert rough == pytest.approx(whole.service_sum_ns / whole.ops, rel=0.02, abs=2)
    ends = [i.end_ns for i in result.intervals]
    assert [i.start_ns for i in result.intervals] == [0, *ends[:-1]][: len(ends)]
    assert ends == sorted(set(ends))
    if result.ops:
        assert ends[-1] == result.measured_ns
        assert result.started_unix_ns <= time.time_ns()


@pytest.mark.parametrize("shape", rest_in_ci(SHAPES, list(SHAPES)[::3]))
def test_a_result_adds_up(load: Engine, uri: str, shape: str) -> None:
    asked = request(uri, **SHAPES[shape])
    if asked.endpoint.kind in CLUSTER:
        if load.name == "native":
            assert load.refusals(asked.endpoint, asked.workload, asked.segments)
            with pytest.raises(UsageError, match=f"does not support {asked.endpoint.kind.value}"):
                load.run(asked)
            return
        # A cluster on one machine answers in milliseconds.
        asked = request(uri, ramp_s=0.2, runtime_s=1.0, **SHAPES[shape])
    if load.name == "fio" and asked.endpoint.kind is EndpointKind.SMB:
        assert load.refusals(asked.endpoint, asked.workload) == ["fio has no I/O engine for SMB shares"]
        with pytest.raises(UsageError, match="SMB"):
            load.run(asked)
        return
    if load.name != "native" and asked.endpoint.kind.value in OVER:
        assert load.refusals(asked.endpoint, asked.workload, asked.segments)
        with pytest.raises(UsageError, match=f"does not run fio over {asked.endpoint.kind.value}"):
            load.run(asked)
        return
    assert load.refusals(asked.endpoint, asked.workload, asked.segments) == []
    for _ in range(3):
        seen: list[Interval] = []
        result = load.run(asked, seen.append)
        sound(result, asked.workload.bs)
        # A disk that others keep busy may stand still for as long as this measures.
        if (result.read.ops or not asked.workload.rw.reads) and (result.write.ops or not asked.workload.rw.writes):
            break
    assert fault(result) is None
    assert result.stop_reason == "runtime"
    assert (result.read.ops > 0, result.write.ops > 0) == (asked.workload.rw.reads, asked.workload.rw.writes)
    assert result.errored == result.stuck == 0
    assert result.engine["name"] == load.name
    assert result.engine["kind"]
    # What was told on the way is what the result begins with; how much was told is the machine's matter.
    assert [i.start_ns for i in seen] == [i.start_ns for i in result.intervals][: len(seen)]
    assert [i.read.ops for i in seen[:-1]] == [i.read.ops for i in result.intervals][: len(seen[:-1])]
    assert len(result.intervals) > 1
    longest = histogram.quantiles(histogram.merge([result.read.service_time, result.write.service_time]) or "", [1.0])
    # No fixed time: a shared machine may take longer, never less; fio counts from the first I/O that outlives the ramp.
    slow = longest[0] if asked.endpoint.kind in CLUSTER else 0
    assert result.measured_ns + slow >= 0.99 * asked.timing.runtime_s * 1e9
    assert len(result.threads) == asked.workload.threads
    assert sum(t.ops for t in result.threads) == result.ops
    assert result.cpu["user_ns"] is not None
    # Little's law: each slot is taken at most for the span and for what the I/O in it had begun before.
    taken_ns = result.read.service_sum_ns + result.write.service_sum_ns
    assert taken_ns <= 1.02 * asked.workload.outstanding * (result.measured_ns + longest[0])
    if shape == "mixed":
        # Binomial: six standard deviations about 70 %.
        assert abs(result.read.ops - 0.7 * result.ops) <= 6 * math.sqrt(0.21 * result.ops) + 8


def test_the_same_result_after_it_was_saved(load: Engine) -> None:
    result = load.run(request("null:", iodepth=4))
    assert EngineResult.model_validate_json(result.model_dump_json()) == result


def test_an_identity_has_a_name_and_a_version(load: Engine) -> None:
    identity = load.identity()
    assert identity["name"] == load.name
    assert identity["version"]


@pytest.mark.parametrize("process", ["constant", "poisson"])
def test_a_rate_is_kept_or_refused(load: Engine, process: str) -> None:
    rate = 2000
    asked = request("null:", rate_iops=rate, process=process, threads=2, runtime_s=0.5)
    if load.refusals(asked.endpoint, asked.workload, asked.segments):
        assert process == "poisson"
        with pytest.raises(UsageError):
            load.run(asked)
        return
    for _ in range(3):
        result = load.run(asked)
        sound(result, asked.workload.bs)
        expected = rate * result.seconds
        noise = 6 * math.sqrt(expected) if process == "poisson" else 0
        due = rate * (result.seconds + asked.timing.ramp_s)
        # Without the rate it would be hundreds of times as much; one stall at the end of the ramp moves the ramp's into
        # what counts.
        assert result.ops <= 1.03 * due + noise
        # A stall at the very end leaves its share undone: a machine that is full stalls, but not in every run.
        if kept := 0.8 * expected - noise <= result.ops:
            break
    assert kept


def test_a_slow_target_is_seen_in_the_service_time(load: Engine) -> None:
    with target("--null", SIZE, "--listen", "127.0.0.1:0", "--service-time", "2ms", "--service-threads", 1) as (
        where,
        _,
    ):
        result = load.run(request(where, iodepth=2))
    # One at a time, each held for 2 ms, two in flight: each waits for the other.
    assert histogram.quantiles(result.read.service_time, [0.5])[0] >= 3.8e6
    assert result.ops <= 500 * result.seconds + 4


def test_the_submit_call_is_part_of_the_service_time(load: Engine, path: Path) -> None:
    """Data in the page cache: the call is the I/O. A stamp after it would leave nothing."""
    result = load.run(request(f"file:{path}", direct=False))
    assert result.read.submit_latency is not None
    (service,), (submit,) = (
        histogram.quantiles(payload, [0.5]) for payload in (result.read.service_time, result.read.submit_latency)
    )
    assert service >= 0.9 * submit > 0


def test_direct_is_read_back(load: Engine, path: Path) -> None:
    assert load.run(request(f"file:{path}")).effective["direct"] is True
    assert load.run(request(f"file:{path}", direct=False)).effective["direct"] is False
    assert load.run(request(f"file:{path}", "randwrite", sync="dsync")).effective["sync"] == "dsync"


@pytest.mark.parametrize("rw", ["read", "randread"])
def test_reading_changes_nothing(load: Engine, path: Path, rw: str) -> None:
    before, stat = path.read_bytes(), path.stat()
    assert load.run(request(f"file:{path}", rw, "64k", iodepth=4)).ops > 0
    assert path.read_bytes() == before
    assert (path.stat().st_mtime_ns, path.stat().st_ino) == (stat.st_mtime_ns, stat.st_ino)
    path.chmod(0o400)
    assert load.run(request(f"file:{path}", rw)).ops > 0


@pytest.mark.parametrize(("rw", "threads"), [("randwrite", 1), ("write", 3)])
def test_writing_keeps_to_the_blocks_of_the_segment(load: Engine, path: Path, rw: str, threads: int) -> None:
    before = path.read_bytes()
    # Off the grid of 64 KiB at both ends: the first block begins at logical 1088 KiB, the last ends at 3136 KiB.
    segment = Segment(start=MIB + 4 * KIB, length=2 * MIB + 64 * KIB, target=3 * MIB)
    for runtime_s in (0.3, 3.0, 20.0):
        asked = request(f"file:{path}", rw, "64k", iodepth=8, threads=threads, segments=(segment,), runtime_s=runtime_s)
        # The same seed draws the same blocks: a slow disk needs longer, not once more.
        if (written := load.run(asked).write.ops) > 200:
            break
    assert written > 200
    after = path.read_bytes()
    assert len(after) == len(before)
    changed = [at for at in range(0, SIZE, 4 * KIB) if before[at : at + 4 * KIB] != after[at : at + 4 * KIB]]
    first, last = 3 * MIB + 60 * KIB, 3 * MIB + 60 * KIB + 32 * 64 * KIB
    assert first <= min(changed)
    assert max(changed) < last
    # All of it was reached: 32 blocks, over 200 draws (threads leave out what does not divide).
    assert len(changed) >= (32 - (32 % threads)) * 16 * 0.9


def test_a_file_that_is_too_short_is_left_as_it_is(load: Engine, path: Path) -> None:
    before = path.read_bytes()
    beyond = Segment(start=0, length=2 * SIZE, target=0)
    try:
        result = load.run(request(f"file:{path}", "randwrite", segments=(beyond,)))
    except (RunFailed, UsageError):
        pass
    else:
        assert fault(result) is not None or result.errored
    assert path.stat().st_size == SIZE
    assert len(before) == SIZE


def test_a_missing_path_is_a_failed_run(load: Engine, path: Path) -> None:
    gone = path.with_name("gone")
    with pytest.raises(RunFailed, match="No such file"):
        load.run(request(f"file:{gone}", "randwrite"))
    assert not gone.exists()


def test_a_dead_server_is_a_failed_run(load: Engine) -> None:
    with pytest.raises(RunFailed, match="refused"):
        load.run(request("nbd://127.0.0.1:1/x"))


def test_a_stop_gives_what_was_measured(load: Engine) -> None:
    seen: list[Interval] = []
    begun = time.monotonic()
    result = load.run(request("null:", runtime_s=60), seen.append, lambda: len(seen) >= 2)
    assert time.monotonic() - begun < 30
    assert result.stop_reason == "stopped"
    assert result.ops > 0
    assert 0 < result.seconds < 30
    sound(result, 4096)


def test_a_stop_before_anything_is_measured(load: Engine) -> None:
    result = load.run(request("null:", ramp_s=30, runtime_s=60), None, lambda: True)
    assert result.stop_reason == "stopped"
    assert result.ops == 0


def test_an_interrupt_ends_it_and_is_raised(load: Engine) -> None:
    def interrupt(_: Interval) -> None:
        signal.raise_signal(signal.SIGINT)

    before = children()
    with pytest.raises(KeyboardInterrupt):
        load.run(request("null:", runtime_s=60), interrupt)
    assert children() == before


def test_a_file_that_shrinks_is_no_measurement(load: Engine, path: Path) -> None:
    told: list[Interval] = []

    def shrink(interval: Interval) -> None:
        if not told:
            os.truncate(path, MIB)
        told.append(interval)

    # However late the first interval is told, some more follow it.
    result = load.run(request(f"file:{path}", iodepth=4, runtime_s=30), shrink, lambda: len(told) >= 4)
    assert errors_of(result).get("SHORT", 0) > 0
    assert result.issued == result.completed + result.errored + result.stuck


@pytest.mark.peer
def test_failed_requests_are_counted_and_named(load: Engine, tmp_path: Path) -> None:
    with failing_server(tmp_path / "s", SIZE, "5%") as where:
        # Without a ramp: fio tells of failures in a short one too late to know them from those that count.
        result = load.run(request(where, "randrw", rwmixread=50, iodepth=4, ramp_s=0))
    assert result.ops > 0
    assert set(errors_of(result)) == {"EIO"}
    assert result.issued == result.completed + result.errored + result.stuck
    assert result.errored >= errors_of(result)["EIO"] > 0
    assert all(0 <= (e.first_offset or 0) < SIZE for d in (result.read, result.write) for e in d.errors)
    # 5 % of what was tried, within six standard deviations.
    tried = result.ops + errors_of(result)["EIO"]
    assert abs(errors_of(result)["EIO"] - 0.05 * tried) <= 6 * math.sqrt(0.0475 * tried) + 8


def test_a_device_is_read_and_written_with_leave_only(load: Engine, path: Path) -> None:
    need_root()
    before = path.read_bytes()
    with loop(path) as device:
        assert load.run(request(f"block:{device}", iodepth=4)).effective["direct"] is True
        with pytest.raises(UsageError, match="read-only"):
            load.run(request(f"block:{device}", "randwrite"))
        assert path.read_bytes() == before
        allowed = request(f"block:{device}", "randwrite", "64k", iodepth=4).model_copy(update={"allow_write": True})
        assert load.run(allowed).write.ops > 0
    assert path.read_bytes() != before


def test_what_is_no_file_is_not_driven_as_one(load: Engine, tmp_path: Path) -> None:
    fifo = tmp_path / "fifo"
    os.mkfifo(fifo)
    for where in (f"file:{tmp_path}", "block:/dev/null"):
        with pytest.raises((RunFailed, UsageError)):
            load.run(request(where))
    if load.name != "native":
        with pytest.raises(RunFailed, match=r"not a regular file|Invalid argument"):
            load.run(request(f"file:{fifo}"))


def children() -> list[str]:
    """Processes that this thread started and that are not reaped."""
    return Path("/proc/thread-self/children").read_text().split()
