"""When a device stands still: requests under way, and nothing completed for 35 ms or more."""

from __future__ import annotations

import os
import random
import time
from pathlib import Path

import pytest

from strata.host.proc import Sys
from strata.model.series import Series
from strata.probes import PROBES, Probe, ProbeScope, Sampler
from strata.probes.recording import SELDOM, ProbeRecording, Watched
from strata.probes.stalls import DEVICES_MOST, EVERY_S, IDLE_LOOKS, LEAST_S, _Device

DEVICE = "sys/class/block/sda/stat"


def line(done: int, in_flight: int) -> list[bytes]:
    return [b"%d" % v for v in (done, 0, 0, 0, 0, 0, 0, 0, in_flight, 0, 0, 0, 0, 0, 0, 0, 0)]


def seen(
    stalls_ms: list[tuple[float, float]], *, iops: float = 2000.0, depth: int = 8, until_ms: float = 2000
) -> _Device:
    """A device that completes steadily but for these spans (begin, end), sampled with some jitter."""
    device, rng, at, done = _Device(None), random.Random(5), 0.0, 0.0  # type: ignore[arg-type]
    while at < until_ms:
        device.look(line(int(round(done, 3)), depth), at / 1e3)
        step = 1e3 * EVERY_S * rng.uniform(0.9, 1.1)
        idle = sum(max(0.0, min(at + step, end) - max(at, begin)) for begin, end in stalls_ms)
        done, at = done + iops * (step - idle) / 1e3, at + step
    return device


def test_long_stalls_are_counted_and_their_time_is_nearly_all_told() -> None:
    device = seen([(200, 320), (700, 820), (1200, 1320)])
    assert device.stalls == 3
    assert 3 * 0.120 - 3 * 2.2 * EVERY_S <= device.stalled_s <= 3 * 0.120
    assert seen([(200, 260), (700, 760), (1200, 1260)]).stalls == 3, "60 ms of every 500"


def test_a_device_that_is_busy_idle_or_pauses_shortly_does_not_stand_still() -> None:
    assert seen([]).stalls == 0
    assert seen([(200, 233), (700, 720)]).stalled_s == 0.0
    # Nothing is asked of it: nothing is completed, and nobody waits.
    assert seen([(0, 2000)], depth=0).stalls == 0


def test_a_stall_goes_on_as_one_and_a_slow_request_is_one_each() -> None:
    device = seen([(100, 1900)])
    assert device.stalls == 1
    assert 1.8 - 2.2 * EVERY_S <= device.stalled_s <= 1.8
    slow = seen([], iops=5, depth=1)
    assert slow.stalls == pytest.approx(10, abs=1), "200 ms each: for the reader to hold against their time"


def sampled(tmp_path: Path, devices: list[str]) -> tuple[tuple[Series, ...], Sampler]:
    from strata.host.proc import Sys

    sampler = Sampler(devices, 60, {"stalls": PROBES["stalls"]}, Sys(tmp_path)).start()
    for _ in range(60):
        if sampler._paced and len(sampler._paced["stalls"].watched[0].rows) > 5:
            break
        time.sleep(0.05)
    return sampler.stop(), sampler


def test_it_has_a_pace_of_its_own_and_what_did_not_move_takes_no_room(tmp_path: Path) -> None:
    at = tmp_path / DEVICE
    at.parent.mkdir(parents=True)
    at.write_bytes(b" ".join(line(7, 3)))
    found, _ = sampled(tmp_path, ["sda"])
    by = {s.metric: s for s in found}
    assert by["blockdev_stalls"].values[0] == 0 and by["blockdev_stalls"].values[-1] == 1
    assert len(by["blockdev_stalls"].values) <= 4, "before it moved, and after: two points each"
    assert by["blockdev_stalled_seconds"].values[-1] >= LEAST_S


def test_while_nothing_is_asked_of_any_device_it_looks_a_fifth_as_often(tmp_path: Path) -> None:
    files = [tmp_path / f"sys/class/block/{name}/stat" for name in ("sda", "sdb")]
    for file in files:
        file.parent.mkdir(parents=True)
        file.write_bytes(b" ".join(line(7, 0)))
    probe = PROBES["stalls"](ProbeScope(sys=Sys(tmp_path), devices=("sda", "sdb")))
    for _ in range(IDLE_LOOKS):
        assert not probe.idle
        probe.read()
    probe.read()
    assert probe.idle
    for moves in (line(7, 1), line(8, 0)):
        files[1].write_bytes(b" ".join(moves))
        probe.read()
        assert not probe.idle, "a request is under way, or one was completed since"
    for _ in range(IDLE_LOOKS + 1):
        probe.read()
    assert probe.idle
    probe.close()


class Clock(Probe):
    """How often it is read."""

    def __init__(self, *, idle: bool) -> None:
        super().__init__()
        self.reads, self.idle = 0, idle

    def read(self) -> tuple[float, ...]:
        self.reads += 1
        return ()


def test_a_recording_of_idle_probes_alone_is_read_more_rarely_and_ends_at_once() -> None:
    idle, busy, beside = Clock(idle=True), Clock(idle=False), Clock(idle=True)
    recordings = []
    for probes in ((idle,), (busy, beside)):
        recordings.append(ProbeRecording(EVERY_S))
        recordings[-1].watched = [Watched(probe) for probe in probes]
    late = ProbeRecording(600.0)
    late.watched = [Watched(Clock(idle=True))]
    for recording in (*recordings, late):
        recording.run()
    time.sleep(1.0)
    for recording in (*recordings, late):
        recording.end()
        recording.end()
    assert 1 <= idle.reads <= 1.0 / (SELDOM * EVERY_S) + 1
    assert busy.reads == beside.reads > idle.reads


def test_without_a_device_nothing_wakes_up(tmp_path: Path) -> None:
    threads = set(os.listdir("/proc/self/task"))  # noqa: PTH208 - names
    sampler = Sampler(["sdx"], 60, {"stalls": PROBES["stalls"]}).start()
    assert set(os.listdir("/proc/self/task")) <= threads  # noqa: PTH208
    assert sampler.stop() == ()
    assert PROBES["stalls"](ProbeScope(devices=("sdx",))).read() == []


def test_of_very_many_devices_not_all_are_read_so_often(tmp_path: Path) -> None:
    names = [f"sd{n}" for n in range(DEVICES_MOST + 6)]
    for name in names:
        (tmp_path / f"sys/class/block/{name}").mkdir(parents=True)
        (tmp_path / f"sys/class/block/{name}/stat").write_bytes(b" ".join(line(1, 0)))
    probe = PROBES["stalls"](ProbeScope(sys=Sys(tmp_path), devices=tuple(names)))
    assert {c.labels["device"] for c in probe.columns} == set(names[:DEVICES_MOST])
    assert probe.absent == ("stalls of 6 more devices, because at most 64 are read this often",)
    probe.close()
