"""Every pattern on a real file through the native engine; data that shrinks as asked; a stall that an open loop tells.

Which offsets a pattern draws is shown by counting in the engine's own tests; here it is that each arrives there.
"""

from __future__ import annotations

import json
import os
import shlex
import signal
import subprocess
import threading
import time
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from commands import measured, strata, target, working_disk
from nbd_peers import need, theirs
from tiers import rest_in_ci

from strata.engine import Timing, build_job, fill, run_job
from strata.engine.layout import file_segments
from strata.errors import RunFailed, UsageError
from strata.formats.fio import fio_command
from strata.host import testfile
from strata.host.mark import header_bytes
from strata.model import histogram
from strata.model.endpoint import Endpoint
from strata.model.plan import HEAD, Segment
from strata.model.result import EngineResult
from strata.model.workload import Workload
from strata.plan.words import workload_from_words
from strata.units import MIB

SIZE = 4 * MIB
SHORT = Timing(ramp_s=0, runtime_s=0.2, interval_s=0.05)

PATTERNS: dict[str, tuple[str, dict[str, Any]]] = {
    "plain": ("randread", {}),
    "zipf": ("randread", {"random_distribution": "zipf:1.2"}),
    "hot and cold": ("randrw", {"random_distribution": "zoned:90/10:10/90"}),
    "hot in bytes": ("randread", {"random_distribution": "zoned_abs:60/1m"}),
    "each block once": ("randwrite", {"randommap": True}),
    "interlocked": ("read", {"interlocked": True}),
    "strided": ("write", {"stride": "12k", "offset_increment": "4k"}),
    "several sizes": ("rw", {"bssplit": "4k/50:16k/50,8k/100"}),
    "runs": ("randrw", {"rwmix_run": 16}),
    "off alignment": ("randread", {"misalign": 512}),
    "aligned elsewhere": ("randread", {"blockalign": "512"}),
    "range": ("randread", {"range": "2m:1m"}),
    "fsync": ("write", {"fsync": 3}),
    "fdatasync": ("randrw", {"fdatasync": 1}),
    "shrinkable data": ("write", {"compress_percent": 50, "dedupe_percent": 30}),
    "refilled data": ("randwrite", {"refill": True}),
    "zeros": ("randrw", {"zero_buffers": True}),
    "a ceiling": ("randread", {"limit_iops": 2000}),
    "a ceiling in bytes": ("randread", {"limit_bytes": "8m"}),
    "thinking": ("randread", {"thinktime": "1ms", "thinktime_blocks": 4}),
}


BLOCKS = {
    "several sizes": (SIZE - HEAD) // 4096 - 3,
    "off alignment": (SIZE - HEAD) // 4096 - 1,
    "aligned elsewhere": (SIZE - HEAD) // 512 - 7,
    "range": MIB // 4096,
}
"""Places where an I/O may begin, where they are not all blocks of 4 KiB behind the head."""


def workload(name: str) -> Workload:
    rw, words = PATTERNS[name]
    return workload_from_words(rw, "4k", iodepth=2, threads=2, direct=False, **words)


@pytest.fixture(scope="module")
def own() -> Iterator[Path]:
    """A filled file of 4 MiB."""
    with working_disk() as disk:
        path = disk / "own.dat"
        mark = testfile.create(path, SIZE)
        fill(str(path), SIZE, 1, header_bytes(mark), direct=False)
        yield path
        testfile.remove(path, mark)


def run(path: Path, asked: Workload, timing: Timing = SHORT, **changes: Any) -> EngineResult:
    job = build_job(Endpoint.parse(f"file:{path}"), asked, file_segments(SIZE), timing) | changes
    for _ in range(3):
        result = run_job(job)
        if result.ops:  # a machine may stand still for 50 ms
            break
    return result


@pytest.mark.parametrize("name", rest_in_ci(PATTERNS, every_day=8))
def test_every_pattern_arrives(own: Path, name: str) -> None:
    asked = workload(name)
    result = run(own, asked)
    assert result.ops > 0
    assert (result.errored, result.stuck, result.message) == (0, 0, None)
    assert bool(result.read.ops) == asked.rw.reads or asked.rwmixread is not None
    mean, deviation = asked.bs_moments
    slack = 0.001 + 5 * deviation / mean / result.ops**0.5
    assert result.bytes / result.ops == pytest.approx(mean, rel=slack)
    assert result.effective["block_bytes"] == asked.bs
    assert result.effective["blocks"] == BLOCKS.get(name, (SIZE - HEAD) // 4096)
    if asked.flushes:
        assert result.sync is not None
        every = asked.fsync or asked.fdatasync
        # Each thread may be up to `every` writes behind its last flush, and a flush may be in flight.
        assert result.sync.ops == pytest.approx(result.write.ops / every, abs=2 * (1 + asked.outstanding))
        assert sum(i.sync.ops for i in result.intervals if i.sync) == result.sync.ops
    else:
        assert result.sync is None


@pytest.mark.parametrize(
    ("words", "most"),
    [
        # What a thread may make up for is 10 ms of its ceiling.
        ({"limit_iops": 2000}, 2000 * 0.31),
        ({"limit_bytes": "8m"}, 8 * MIB / 4096 * 0.31),
        ({"thinktime": "1ms", "thinktime_blocks": 4}, 2 * 4 * 301),
        ({"burst": 20}, 2000 * 0.3 + 2 * 20),
    ],
)
def test_what_holds_back_is_kept(own: Path, words: dict[str, Any], most: float) -> None:
    rate = 2000 if "burst" in words else None
    asked = workload_from_words("randread", iodepth=32, threads=2, direct=False, rate_iops=rate, **words)
    result = run(own, asked, Timing(ramp_s=0, runtime_s=0.3, interval_s=0.3))
    # One I/O of each thread may start at the very beginning.
    assert 0 < result.ops <= most + 2


@pytest.mark.parametrize("block", [4096, 65536])
@pytest.mark.parametrize(("compress", "dedupe"), [(0, 0), (50, 0), (80, 0), (0, 40), (50, 25)])
def test_data_shrinks_as_asked(own: Path, block: int, compress: int, dedupe: int) -> None:
    words = {"compress_percent": compress, "dedupe_percent": dedupe}
    asked = workload_from_words("write", block, iodepth=2, direct=False, **words)
    blocks = (SIZE - HEAD) // block
    done = run(own, asked, Timing(ramp_s=0, runtime_s=30, interval_s=1), stop_after={"ios": blocks})
    assert done.write.ops == blocks
    with own.open("rb") as f:
        f.seek(HEAD)
        data = f.read()
    # Compressed one block at a time, as a device does that cannot know which blocks are alike.
    packed = sum(len(zlib.compress(data[at : at + block], 6)) for at in range(0, len(data), block))
    if block == 4096 or not dedupe:
        assert packed / len(data) == pytest.approx(1 - compress / 100, abs=0.03)
    pieces = [data[at : at + 4096] for at in range(0, len(data), 4096)]
    repeated = 1 - len(set(pieces)) / len(pieces)
    # Five standard deviations of so many draws; exact without.
    assert repeated == pytest.approx(dedupe / 100, abs=5 * (dedupe / 100 * (1 - dedupe / 100) / len(pieces)) ** 0.5)


@pytest.mark.parametrize("zeros", [True, False])
def test_writes_of_zeros_write_nothing_else_also_where_a_read_filled_the_buffer(own: Path, zeros: bool) -> None:
    def contents() -> bytes:
        with own.open("rb") as f:
            f.seek(HEAD)
            return f.read()

    def carry_out(rw: str, zero_buffers: bool = zeros) -> EngineResult:
        asked = workload_from_words(rw, "64k", iodepth=4, direct=False, zero_buffers=zero_buffers)
        return run(own, asked, Timing(ramp_s=0, runtime_s=30, interval_s=1), stop_after={"ios": 4 * SIZE // 65536})

    carry_out("write", zero_buffers=False)
    before = contents()
    done = carry_out("randrw")
    after = contents()
    places = [slice(at, at + 65536) for at in range(0, len(before), 65536)]
    empty = [not any(after[place]) for place in places if after[place] != before[place]]
    assert done.read.ops and done.write.ops
    assert empty and set(empty) == {zeros}
    carry_out("write")
    assert any(contents()) != zeros


def test_a_stall_of_a_second_is_in_the_p99_of_an_open_loop_and_not_of_a_closed_one(tmp_path: Path) -> None:
    asked = {
        "open": workload_from_words("randread", rate_iops=200),
        "closed": workload_from_words("randread", iodepth=1, limit_iops=500),
    }
    results: dict[str, EngineResult] = {}
    with target("--memory", "16m", "--writable", "--socket", tmp_path / "s") as (uri, server):

        def drive(name: str) -> None:
            segments = [Segment(start=0, length=16 * MIB, target=0)]
            timing = Timing(ramp_s=0, runtime_s=3, interval_s=1)
            results[name] = run_job(build_job(Endpoint.parse(uri), asked[name], segments, timing))

        running = [threading.Thread(target=drive, args=(name,)) for name in asked]
        for thread in running:
            thread.start()
        try:
            time.sleep(1)
            os.kill(server.pid, signal.SIGSTOP)
            time.sleep(1)
        finally:
            os.kill(server.pid, signal.SIGCONT)
            for thread in running:
                thread.join()
    opened, closed = results["open"].read, results["closed"].read
    assert opened.response_time is not None
    assert histogram.quantiles(opened.response_time, [0.99])[0] >= 0.5e9
    # The same stall, seen by one I/O of hundreds: the others were not sent.
    assert closed.service_time is not None
    p99, longest = histogram.quantiles(closed.service_time, [0.99, 1.0])
    assert closed.ops > 200
    assert p99 < 0.5e9 < longest


def test_flushes_of_a_server_are_told(tmp_path: Path) -> None:
    with target("--memory", "16m", "--writable", "--socket", tmp_path / "s") as (uri, _):
        words = (uri, "--destructive", uri, "--rw", "write", "--fdatasync", 2, "--runtime", "200ms")
        document = measured(*words)
        text = strata("measure", *map(str, words), "--ramp-time", "10ms", "--progress", "none").stdout
    result, summary = document["result"], document["summary"]
    assert result["sync"]["ops"] == summary["flushes"] == pytest.approx(result["write"]["ops"] / 2, abs=4)
    assert summary["flush_ns"]["mean"] > 0
    assert summary["flush_ns"]["50"] > 0
    # One slot, now with a write and now with a flush: together they fill it.
    assert "little" not in {c["kind"] for c in document["checks"] if c["impossible"]}
    assert "flushes" in text


def test_several_files_have_their_shares() -> None:
    with working_disk() as disk:
        words = (f"file:{disk}/a", "--target", f"file:{disk}/b", "--target", f"file:{disk}/c", "--size", "4m")
        document = measured(*words, "--shares", "3:1:0", "--rw", "randwrite", "--buffered", "--runtime", "100ms")
        assert list(disk.iterdir()) == []
        targets = document["result"]["effective"]["targets"]
        assert [t["weight"] for t in targets] == [3, 1, 0]
        assert [Path(t["path"]).name for t in targets] == ["a", "b", "c"]
        refused = strata("measure", *words[:3], "--shares", "1")
        assert refused.returncode == 2
        assert "2 targets need 2 whole numbers" in refused.stderr
        mixed = strata("measure", *words[:1], "--target", "null:")
        assert mixed.returncode == 2
        assert "one kind" in mixed.stderr


def test_shares_and_targets_must_agree(own: Path) -> None:
    asked = workload("plain").model_copy(update={"shares": (1, 1)})
    with pytest.raises(UsageError, match="2 targets, but 1 are given"):
        run(own, asked)


@pytest.mark.ci
@pytest.mark.peer
def test_fio_takes_every_command_line_that_is_written_for_it(own: Path) -> None:
    endpoint, written = Endpoint.parse(f"file:{own}"), []
    for name in PATTERNS:
        command = fio_command(endpoint, workload(name), file_segments(SIZE), 0, 0.05)
        if command is None:
            continue
        written.append(name)
        words = [w for w in shlex.split(command) if w != "--ioengine=io_uring"]
        done = subprocess.run([*words, "--parse-only"], capture_output=True, text=True, check=False, timeout=60)
        assert done.returncode == 0, (name, done.stdout, done.stderr)
    assert set(PATTERNS) - set(written) == {"interlocked", "runs"}


@pytest.mark.peer
@pytest.mark.parametrize("zeros", [True, False])
def test_fio_that_is_told_of_zeros_writes_them(tmp_path: Path, zeros: bool) -> None:
    path = tmp_path / "a.dat"
    path.write_bytes(b"x" * MIB)
    asked = workload_from_words("write", "64k", direct=False, zero_buffers=zeros)
    segments = (Segment(start=0, length=MIB, target=0),)
    command = fio_command(Endpoint.parse(f"file:{path}"), asked, segments, 0, 0.5)
    assert command is not None
    words = [w for w in shlex.split(command) if w not in ("--ioengine=io_uring", "--time_based")]
    subprocess.run([*words, "--ioengine=psync"], capture_output=True, check=True, timeout=60)
    assert b"x" * 512 not in path.read_bytes()
    assert any(path.read_bytes()) != zeros


def test_wrong_words_are_told_all_at_once() -> None:
    words = ("--rw", "read", "--randommap", "--fsync", 3, "--limit-iops", 5, "--rate-iops", 4, "--range", "5x")
    done = strata("measure", "null:", *words, "--bssplit", "3k/50")
    assert done.returncode == 2
    for part in ("closed loop only", "add up to 50", "does not apply to rw=read", "range=5x"):
        assert part in done.stderr
    assert strata("measure", "null:", "--thinktime-blocks", 4).returncode == 2


@pytest.mark.peer
def test_a_server_without_flushes_is_refused_in_words(tmp_path: Path) -> None:
    need("nbdkit")
    socket, data = tmp_path / "s", tmp_path / "data"
    data.write_bytes(bytes(MIB))
    # A server that takes writes and offers no flush.
    writes = f"pwrite=dd of={data} conv=notrunc oflag=seek_bytes seek=$4 2>/dev/null"
    reads = f"pread=dd if={data} iflag=skip_bytes,count_bytes skip=$4 count=$3 2>/dev/null"
    command = ["nbdkit", "-f", "-U", str(socket), "eval", f"get_size=echo {MIB}", reads, writes, "can_write=exit 0"]
    with theirs([*command, "can_flush=exit 3"], socket) as uri:
        asked = workload_from_words("write", fsync=4)
        job = build_job(Endpoint.parse(uri), asked, [Segment(start=0, length=MIB, target=0)], SHORT)
        with pytest.raises(RunFailed, match="does not offer flushes"):
            run_job(job)


def test_a_fio_job_file_takes_the_place_of_the_usual_set(tmp_path: Path) -> None:
    job = tmp_path / "jobs.fio"
    job.write_text("[global]\nbs=8k\n[hot]\nrw=randread\nrandom_distribution=zipf:1.2\n[log]\nrw=write\nfdatasync=1\n")
    planned = strata("plan", tmp_path, "--job", job, "--json")
    assert planned.returncode == 0, planned.stderr
    cells = json.loads(planned.stdout)["plan"]["cells"]
    asked = {c["workload"]["rw"]: c["workload"] for c in cells}
    assert set(asked) == {"randread", "write"}
    assert asked["randread"]["order"] == {"kind": "zipf", "theta": 1.2}
    assert asked["write"]["fdatasync"] == 1
    both = strata("measure", tmp_path, "--job", job, "--bssplit", "4k/50:8k/50")
    assert both.returncode == 2
    assert "cannot use --bssplit with --job: it applies only to --rw" in both.stderr
    alone = strata("measure", "null:", "--job", job)
    assert alone.returncode == 2
    assert "one endpoint takes one workload" in alone.stderr
