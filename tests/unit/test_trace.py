"""Which devices a path means, and the instances that are written down before they are made."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from traces import figures, recording, text

from strata.app.trace import _notes, read
from strata.errors import UsageError
from strata.host import instances
from strata.host.proc import Sys
from strata.probes.trace import target

STREAM = [("R", n) for n in range(20)]
NODES = {
    "sda": {"dev": "8:0", "mq/0/nr_tags": "1"},
    "sda/sda1": {"dev": "8:1", "partition": "1", "start": "2048", "size": "4096"},
    "zram0": {"dev": "252:0"},
}


@pytest.fixture
def sys_(tmp_path: Path) -> Sys:
    """A disk with a partition, and a device without requests."""
    for name, files in NODES.items():
        folder = tmp_path / "sys/devices" / name
        for file, words in files.items():
            (folder / file).parent.mkdir(parents=True, exist_ok=True)
            (folder / file).write_text(words + "\n")
        link = tmp_path / "sys/class/block" / name.rsplit("/", 1)[-1]
        link.parent.mkdir(parents=True, exist_ok=True)
        link.symlink_to(folder)
    return Sys(tmp_path)


def test_a_partition_is_its_disk_s_requests_and_its_own_sectors(sys_: Sys) -> None:
    found = target("sda1", "device", sys_)
    assert found is not None
    assert (found.dev, found.entrance, found.sectors, found.by_bio) == (8 << 20, 8 << 20 | 1, (2048, 6144), False)
    whole = target("sda", "device", sys_)
    assert whole is not None
    assert (whole.dev, whole.entrance, whole.sectors) == (8 << 20, None, None)


def test_a_device_without_requests_is_known_as_one(sys_: Sys) -> None:
    found = target("zram0", "device", sys_)
    assert found is not None and found.by_bio
    assert target("sdz", "device", sys_) is None


def test_an_instance_is_noted_by_its_process_and_left_alone_while_it_lives() -> None:
    instances.note("strata-1")
    (one,) = instances.noted()
    assert (one.name, one.pid, one.abandoned) == ("strata-1", os.getpid(), False)
    assert instances.clean() == ((), ())
    instances.forget("strata-1")
    assert instances.noted() == ()


def test_what_a_dead_process_noted_is_left_over(own_state: Path) -> None:
    code = "from strata.host import instances; instances.note('strata-2')"
    subprocess.run(
        [sys.executable, "-c", code], check=True, env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    )
    (one,) = instances.noted()
    assert one.abandoned


def test_only_instances_of_ours_are_removed(tmp_path: Path) -> None:
    for name in ("perf", "strata-3"):
        (tmp_path / "instances" / name).mkdir(parents=True)
    assert not instances.remove(str(tmp_path), "perf")
    assert not instances.remove(str(tmp_path), "strata-3/../perf")
    assert instances.remove(str(tmp_path), "strata-3")
    assert [p.name for p in (tmp_path / "instances").iterdir()] == ["perf"]


def test_a_note_that_is_none_is_passed_over(own_state: Path) -> None:
    instances.note("strata-4")
    folder = next(own_state.rglob("tracing"))
    (folder / "strata-5.json").write_text("{")
    (folder / "strata-6.json").write_text(json.dumps({"name": "strata-7", "pid": 1, "process": ""}))
    assert [one.name for one in instances.noted()] == ["strata-4"]


def test_text_that_is_no_trace_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "letter.txt"
    path.write_text("dear kernel\n")
    with pytest.raises(UsageError, match="no line is an event"):
        read(path)
    with pytest.raises(UsageError, match="no such file"):
        read(tmp_path / "none")
    path.write_text(text([("R", 1)]) + "\n8,0 0 9 0.5 7 P N [job7]\n")
    assert read(path).notes == ("1 lines of other actions (plugs, remaps …) were ignored",)


def test_the_cost_is_said_above_three_percent_and_not_below(tmp_path: Path) -> None:
    slow = figures(tmp_path, STREAM, service_us=100)
    assert _notes(slow, recording(records=60_000, cpu_ns=10_000_000), 1.0, 10**6) == ()
    (said,) = _notes(slow, recording(records=400_000, cpu_ns=40_000_000), 1.0, 10**6)
    assert "took about 11 % of one CPU at this rate" in said
    # Three events for each of these I/Os of 5 µs that waited for 2: 0.51 µs of 7.
    (said,) = _notes(figures(tmp_path, STREAM, service_us=5), recording(), 1.0, 10**6)
    assert "added about 510 ns to each I/O, 7.3 % of its time" in said


def test_losses_come_first(tmp_path: Path) -> None:
    (said,) = _notes(figures(tmp_path, STREAM), recording(lost=17), 1.0, 10**6)
    assert said.startswith("incomplete: at least 17 events were lost")
