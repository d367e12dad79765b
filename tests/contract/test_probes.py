"""The behaviour every probe has, and what each counts of work done on purpose."""

from __future__ import annotations

import importlib
import mmap
import os
import re
import socket
import time
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path

import pytest
from loops import MIB, image, loop, need_root

from strata.errors import UsageError
from strata.host.proc import Sys
from strata.model.counters import cpu
from strata.model.series import Series, SeriesKind
from strata.probes import PROBES, Probe, ProbeScope, Sampler
from strata.probes.port import Column, PersistentFile


def here() -> ProbeScope:
    """What a probe could be asked to look at on this machine."""
    device = sorted(p.name for p in Path("/sys/class/block").iterdir())[0]
    return ProbeScope(devices=(device,), paths=("/",), pids=(os.getppid(),), ports=(1,))


def pick(found: Sequence[Series], metric: str, **labels: str) -> Series:
    hits = [s for s in found if s.metric == metric and s.labels == labels]
    assert len(hits) == 1, (metric, labels, [(s.metric, s.labels) for s in found])
    return hits[0]


@pytest.mark.parametrize("name", PROBES)
def test_a_probe_says_what_it_is(name: str) -> None:
    text = importlib.import_module(f"strata.probes.{name}").__doc__ or ""
    heads = re.findall(r"^(Reads|Makes|Costs|Needs|Blind to)\b", text, re.MULTILINE)
    assert heads == ["Reads", "Makes", "Costs", "Needs", "Blind to"]
    assert re.search(r"Costs +[0-9.]+ µs per sample", text)
    probe = PROBES[name](here())
    try:
        for column in probe.columns:
            assert f"``{column.metric}" in text
            assert all(key in text for key in column.labels)
            assert f"({column.unit}" in text
    finally:
        probe.close()


@pytest.mark.parametrize("name", PROBES)
def test_a_probe_keeps_its_columns_and_gives_its_descriptors_back(name: str) -> None:
    def descriptors() -> int:
        return len(os.listdir("/proc/self/fd"))  # noqa: PTH208 - counting, not walking

    before = descriptors()
    probe = PROBES[name](here())
    samples = [probe.read() for _ in range(3)]
    assert all(len(s) == len(probe.columns) for s in samples)
    assert len({(c.metric, tuple(sorted(c.labels.items()))) for c in probe.columns}) == len(probe.columns)
    for place, column in enumerate(probe.columns):
        values = [s[place] for s in samples if s[place] is not None]
        assert column.kind is SeriesKind.GAUGE or values == sorted(values)
    probe.close()
    probe.close()
    assert descriptors() == before
    assert all(v is None for v in probe.read())


@pytest.mark.parametrize("name", PROBES)
def test_a_machine_that_has_none_of_it_gives_nothing(name: str, tmp_path: Path) -> None:
    probe = PROBES[name](ProbeScope(Sys(tmp_path), devices=("vda",), paths=("/",), pids=(1,), ports=(1,)))
    assert not any(v is not None for v in probe.read())
    probe.close()


def test_a_recording_covers_exactly_what_lies_between_start_and_stop() -> None:
    sampler = Sampler([], interval_s=0.01).start()
    begun = time.process_time()
    while time.process_time() - begun < 0.2:
        pass
    used = time.process_time() - begun
    found = sampler.stop()
    own = pick(found, "process_cpu_seconds")
    assert own.delta is not None and own.delta >= used
    assert len(own.t_ns) >= 3
    assert list(own.t_ns) == sorted(set(own.t_ns))
    assert abs(own.t_ns[-1] - time.time_ns()) < 60e9
    total = pick(found, "cpu_seconds", cpu="all", mode="user")
    parts = [s for s in found if s.metric == "cpu_seconds" and s.labels["mode"] == "user" and s.labels["cpu"] != "all"]
    assert len(parts) == os.cpu_count()
    # The kernel rounds each to a tick.
    assert total.values[-1] == pytest.approx(sum(s.values[-1] for s in parts), abs=0.02 * len(parts) + 0.05)
    assert pick(found, "memory_bytes", kind="available").mean


def test_bytes_through_the_loopback_interface() -> None:
    size = 4 * MIB
    with socket.create_server(("127.0.0.1", 0)) as server, socket.create_connection(server.getsockname()) as client:
        peer, _ = server.accept()
        sampler = Sampler([]).start()
        sent = 0
        while sent < size:
            sent += client.send(bytes(64 << 10))
            peer.recv(1 << 20)
        found = sampler.stop()
        peer.close()
    for direction in ("rx", "tx"):
        grown = pick(found, "net_bytes", interface="lo", direction=direction).delta
        assert grown is not None and grown >= size


@pytest.mark.root
def test_requests_on_a_device_of_our_own(tmp_path: Path) -> None:
    need_root()
    with ExitStack() as held:
        device = held.enter_context(loop(image(tmp_path / "disk.img", 8 * MIB)))
        fd = os.open(device, os.O_RDWR | os.O_DIRECT)
        held.callback(os.close, fd)
        buffer = held.enter_context(mmap.mmap(-1, 64 << 10))
        sampler = Sampler([device]).start()
        for n in range(16):
            os.pwritev(fd, [buffer], n * len(buffer))
        for n in range(8):
            os.preadv(fd, [buffer], n * len(buffer))
        found = sampler.stop()
        flushing = Sampler([device]).start()
        os.fsync(fd)
        flushed = flushing.stop()
    name = device.removeprefix("/dev/")
    assert pick(found, "blockdev_write_bytes", device=name).delta == MIB
    assert pick(found, "blockdev_read_bytes", device=name).delta == MIB // 2
    assert pick(found, "blockdev_writes", device=name).delta == 16
    assert pick(found, "blockdev_reads", device=name).delta == 8
    assert pick(found, "blockdev_in_flight", device=name).values[-1] == 0
    assert pick(flushed, "blockdev_flushes", device=name).delta == 1
    assert pick(flushed, "blockdev_write_bytes", device=name).delta == 0


def stat(root: Path, text: str) -> None:
    at = root / "sys/class/block/sda/stat"
    at.parent.mkdir(parents=True, exist_ok=True)
    at.write_text(text)


def test_the_fields_of_a_device_in_their_units(tmp_path: Path) -> None:
    stat(tmp_path, "1 2 8 4000 5 6 16 8000 9 10000 11000 14 15 32 16000 12 13000")
    probe = PROBES["blockdev"](ProbeScope(Sys(tmp_path), devices=("sda", "/dev/sda", "absent")))
    found = dict(zip([c.metric.removeprefix("blockdev_") for c in probe.columns], probe.read(), strict=True))
    probe.close()
    assert found == {
        "reads": 1,
        "read_merges": 2,
        "read_bytes": 4096,
        "read_seconds": 4.0,
        "writes": 5,
        "write_merges": 6,
        "write_bytes": 8192,
        "write_seconds": 8.0,
        "in_flight": 9,
        "io_seconds": 10.0,
        "weighted_seconds": 11.0,
        "discards": 14,
        "discard_merges": 15,
        "discard_bytes": 16384,
        "discard_seconds": 16.0,
        "flushes": 12,
        "flush_seconds": 13.0,
    }


def test_an_old_kernel_counts_no_flushes(tmp_path: Path) -> None:
    stat(tmp_path, "1 2 8 4 5 6 16 8 9 10 11")
    probe = PROBES["blockdev"](ProbeScope(Sys(tmp_path), devices=("sda",)))
    assert {c.metric for c in probe.columns}.isdisjoint({"blockdev_flushes", "blockdev_flush_seconds"})
    assert len(probe.read()) == 11
    probe.close()


def test_a_device_that_goes_away_leaves_a_gap_not_zeroes(tmp_path: Path) -> None:
    stat(tmp_path, "1 2 8 4 5 6 16 8 9 10 11")
    sampler = Sampler(["sda"], 1000, {"blockdev": PROBES["blockdev"]}, Sys(tmp_path)).start()
    stat(tmp_path, "")
    found = sampler.stop()
    assert {len(s.values) for s in found} == {1}
    assert pick(found, "blockdev_reads", device="sda").delta is None


def test_pressure_memory_and_processors_from_recorded_files(tmp_path: Path) -> None:
    for path, text in {
        "proc/pressure/io": "some avg10=0.00 total=1500000\nfull avg10=0.00 total=250000\n",
        "proc/pressure/cpu": "some avg10=0.00 avg60=0.00 total=7000000\n",
        "proc/meminfo": "MemTotal: 9 kB\nMemAvailable:  5 kB\nCached: 3 kB\nSwapCached: 1 kB\nDirty: 2 kB\n",
        "proc/stat": "cpu  100 50 200 300 10 20 30 40 0 0\ncpu7 1 1 1 1 1 1 1 1 0 0\nintr 5 cpu9\n",
        "proc/net/dev": "h\nh\n eth0:1 2 3 4 0 0 0 0 11 12 13 14 0 0 0 0\n",
        "proc/self/task/1/schedstat": "5 3000000000 1\n",
        "proc/self/task/2/schedstat": "5 1000000000 1\n",
    }.items():
        at = tmp_path / path
        at.parent.mkdir(parents=True, exist_ok=True)
        at.write_text(text)
    found = Sampler([], 1000, sys=Sys(tmp_path)).start().stop()

    def last(metric: str, **labels: str) -> float:
        return pick(found, metric, **labels).values[-1]

    assert last("pressure_seconds", resource="io", kind="some") == 1.5
    assert last("pressure_seconds", resource="io", kind="full") == 0.25
    assert last("pressure_seconds", resource="cpu", kind="some") == 7.0
    assert not any(s.labels.get("resource") == "memory" for s in found)
    assert last("memory_bytes", kind="cached") == 3 << 10
    assert {s.labels["kind"] for s in found if s.metric == "memory_bytes"} == {"total", "cached", "dirty", "available"}
    tick = 1 / os.sysconf("SC_CLK_TCK")
    assert last("cpu_seconds", cpu="all", mode="user") == pytest.approx(150 * tick)
    assert last("cpu_seconds", cpu="7", mode="steal") == pytest.approx(tick)
    assert {s.labels["cpu"] for s in found if s.metric == "cpu_seconds"} == {"all", "7"}
    assert last("net_drops", interface="eth0", direction="tx") == 14
    assert last("process_run_delay_seconds") == 4.0


def test_run_delay_never_falls_when_threads_end(tmp_path: Path) -> None:
    from strata.probes.cpu import RunDelay

    for tid, waited in (("1", 10), ("2", 20)):
        (tmp_path / f"proc/self/task/{tid}").mkdir(parents=True)
        (tmp_path / f"proc/self/task/{tid}/schedstat").write_text(f"0 {waited}000000000 0")
    delay = RunDelay(Sys(tmp_path))
    assert delay.seconds() == 30
    (tmp_path / "proc/self/task/2/schedstat").unlink()
    (tmp_path / "proc/self/task/1/schedstat").write_text("0 15000000000 0")
    assert delay.seconds() == 35
    (tmp_path / "proc/self/task/2/schedstat").write_text("0 1000000000 0")
    assert delay.seconds() == 36


class Broken:
    """A probe that cannot be opened, after one that was."""

    closed = 0
    columns = (Column(cpu.OWN_SECONDS),)
    absent = ()

    def read(self) -> Sequence[float | None]:
        raise MemoryError

    def close(self) -> None:
        Broken.closed += 1


def test_a_start_that_fails_closes_what_it_opened() -> None:
    def opener(scope: ProbeScope) -> Probe:
        return Broken()

    with pytest.raises(MemoryError):
        Sampler([], probes={"broken": opener}).start()
    assert Broken.closed == 1


def test_misuse_is_refused() -> None:
    with pytest.raises(UsageError, match="disturb the measurement"):
        Sampler([], 0.001)
    with pytest.raises(RuntimeError, match="not started"):
        Sampler([]).stop()
    sampler = Sampler([], probes={}).start()
    with pytest.raises(RuntimeError, match="once"):
        sampler.start()
    assert sampler.stop() == ()


def test_a_file_longer_than_one_read(tmp_path: Path) -> None:
    (tmp_path / "long").write_bytes(b"x" * 150_000)
    kept = PersistentFile("/long", Sys(tmp_path))
    assert len(kept.read()) == len(kept.read()) == 150_000
    kept.close()
