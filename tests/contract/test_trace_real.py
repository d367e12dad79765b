"""`strata trace` on real devices: what is known by construction is what the trace says."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from commands import STRATA, strata, working_disk
from loops import MIB, image, loop, need_root
from tracing import BLOCK, extents, jittered, trace, with_tracefs

from strata.app.derive import derive
from strata.model.trace import TraceRecording

pytestmark = pytest.mark.root
ROOT = Path(__file__).resolve().parents[2]
PYTHON = [sys.executable, "-c"]


@pytest.fixture
def device(tmp_path: Path) -> Iterator[str]:
    need_root()
    with loop(image(tmp_path / "image", 64 * MIB), "--direct-io=on") as made:
        yield made


def load(device: str, blocks: list[int], threads: int = 1) -> list[str]:
    """A command that reads these blocks in this order."""
    words = f"from tracing import read_in_order as r; r({device!r}, {blocks!r}, {threads})"
    return ["env", f"PYTHONPATH={ROOT}/src:{ROOT}/tests/contract", *PYTHON, words]


def traced(device: str, *command: str, options: tuple[object, ...] = ()) -> dict[str, Any]:
    """The figures of the loop device itself, with the whole document under ``document``."""
    done = trace(device, "--json", *options, "--", *command)
    assert done.returncode == 0, done.stderr
    document = json.loads(done.stdout)
    assert document["recording"]["whole"], document["recording"]["losses"]
    first: dict[str, Any] = document["figures"]["devices"][0]
    return first | {"document": document}


def test_a_stack_file_means_the_devices_of_this_machine_and_says_which_are_not(device: str, tmp_path: Path) -> None:
    stack = tmp_path / "stack.toml"
    share = 'name = "share"\non = ["disk"]\nendpoint = "nbd://192.0.2.7/volume"'
    disk = f'[stack]\nname = "s"\n[[layer]]\nname = "disk"\nendpoint = "block:{device}"\n[[layer]]\n'
    stack.write_text(disk + share)
    for _ in range(3):
        found = traced(str(stack), *load(device, list(range(64))))
        # Whoever looks at all devices of the machine (blkid, mkfs) reads this one, too.
        if found["read"]["issued"]["ios"] == 64:
            break
    assert found["read"]["issued"]["ios"] == 64
    assert [n for n in found["document"]["notes"] if "192.0.2.7, behind share, is another machine" in n]


def test_one_stream_is_sequential_and_every_io_is_there(device: str) -> None:
    found = traced(device, *load(device, list(range(500))))
    order = found["read"]["issued"]["order"]
    assert found["read"]["entered"]["ios"] == found["read"]["issued"]["ios"] == 500
    assert (order["strict_share"], order["windowed_share"], order["backward_share"]) == (1.0, 1.0, 0.0)
    assert (order["reordered"], order["streams"], found["issuing"]["threads"]) == (0, 1, 1)
    assert found["read"]["issued"]["lengths"] == [[BLOCK, 500]]
    assert found["read"]["service"]["count"] == found["read"]["wait"]["count"] == 500
    assert found["depth"] == [[1, 500]]
    assert found["splits"] == found["merges"] == found["errors"] == 0
    assert found["read"]["issued"]["range"] == [0, 500 * BLOCK]
    under = found["document"]["figures"]["devices"][1:]
    assert all(d["target"]["role"].startswith("under ") for d in under)


def test_two_streams_in_turn_are_not_sequential_and_not_out_of_order(device: str) -> None:
    blocks = [b for pair in zip(range(300), range(4000, 4300), strict=True) for b in pair]
    order = traced(device, *load(device, blocks))["read"]["issued"]["order"]
    assert (order["strict_share"], order["reordered"], order["streams"]) == (0.0, 0, 2)
    assert order["windowed_share"] == pytest.approx(598 / 599)


def test_dispatchers_that_reorder_are_seen_exactly(device: str) -> None:
    blocks = jittered(600, most=9)
    found = traced(device, *load(device, blocks, threads=3))
    order = found["read"]["issued"]["order"]
    expected = extents(blocks)
    assert len(expected) > 100
    assert order["reordered"] == len(expected)
    assert sorted(e for e, n in order["extents"] for _ in range(n)) == expected
    assert (found["issuing"]["threads"], found["issuing"]["per_window_max"]) == (3, 3)
    assert found["issuing"]["per_window"] == 3.0


def test_splits_are_counted_against_what_entered(device: str) -> None:
    queue = Path(f"/sys/block/{Path(device).name}/queue/max_sectors_kb")
    queue.write_text("64")
    copy = ["dd", f"if={device}", "of=/dev/null", "bs=256k", "count=20", "iflag=direct"]
    found = traced(device, *copy)
    read = found["read"]
    assert (read["entered"]["ios"], read["issued"]["ios"], found["splits"]) == (20, 80, 60)
    assert read["issued"]["lengths"] == [[64 << 10, 80]]


@pytest.mark.ci
def test_a_saved_trace_gives_the_same_page_again(device: str, tmp_path: Path) -> None:
    kept = tmp_path / "kept.trace"
    live = traced(device, *load(device, list(range(200))), options=("--save", kept))["document"]
    again = json.loads(strata("trace", "--from", kept, "--json").stdout)
    assert again["figures"] == live["figures"]
    assert (again["form"], again["recording"]) == ("strata", live["recording"])
    (workload,) = derive(str(kept)).profile.workloads
    assert (workload.workload.rw.value, workload.workload.bs) == ("read", BLOCK)
    # It is not written over.
    refused = trace(device, "--save", kept, "--seconds", "0.1")
    assert refused.returncode == 2
    assert "already exists" in refused.stderr


def test_the_command_s_failure_is_ours_and_its_output_is_no_result(device: str) -> None:
    done = trace(device, "--json", "--", "sh", "-c", "echo hello; exit 3")
    assert done.returncode == 1
    assert "hello" in done.stderr and "ended with 3" in done.stderr
    assert json.loads(done.stdout)["command_status"] == 3


def test_the_window_is_bounded_by_events_and_says_so(device: str) -> None:
    done = trace(device, "--json", "--max-events", "1000", "--", *load(device, list(range(4000))))
    document = json.loads(done.stdout)
    assert document["recording"]["ended_by"] == "events"
    assert 1000 <= document["figures"]["events"] <= 12_000
    assert any("events were reached" in note for note in document["notes"])


def instances() -> list[str]:
    """The tracing instances there are."""
    look = with_tracefs("ls", "/sys/kernel/tracing/instances")
    return subprocess.run(look, capture_output=True, text=True, check=True).stdout.split()


@contextmanager
def under_way(device: str) -> Iterator[tuple[subprocess.Popen[str], str]]:
    """A trace that has its instance, and the instance's name; killed on the way out if it still runs."""
    argv = with_tracefs(*STRATA, "trace", device, "--seconds", "60", "--json")
    begun = subprocess.Popen(argv, stdout=subprocess.PIPE, text=True)
    name = f"strata-{begun.pid}"
    try:
        deadline = time.monotonic() + 30
        while name not in instances():
            assert begun.poll() is None and time.monotonic() < deadline
            time.sleep(0.1)
        yield begun, name
    finally:
        begun.kill()
        begun.communicate()


def test_a_killed_trace_leaves_an_instance_that_clean_removes(device: str) -> None:
    with under_way(device) as (_, name):
        # One that is at work is nobody's to remove.
        argv = with_tracefs(*STRATA, "clean", "--json")
        done = subprocess.run(argv, capture_output=True, text=True, check=True)
        assert json.loads(done.stdout)["removed"] == []
    assert name in instances()
    done = subprocess.run(argv, capture_output=True, text=True, check=True)
    assert [Path(one).name for one in json.loads(done.stdout)["removed"]] == [name]
    assert name not in instances()


def test_interrupted_it_shows_what_it_has_and_leaves_nothing(device: str) -> None:
    with under_way(device) as (begun, name):
        time.sleep(0.5)
        begun.send_signal(signal.SIGINT)
        said, _ = begun.communicate(timeout=30)
    assert json.loads(said)["recording"]["ended_by"] == "stopped"
    assert name not in instances()


def test_where_tracefs_is_not_mounted_it_refuses_with_the_command(device: str) -> None:
    hide = 'umount -a -t tracefs; exec "$@"'
    argv = ["unshare", "--mount", "sh", "-c", hide, "sh", *STRATA, "trace", device]
    done = subprocess.run(argv, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 1
    assert "tracefs is not mounted here" in done.stderr
    assert "hint: mount -t tracefs tracefs /sys/kernel/tracing" in done.stderr


def test_what_has_no_device_under_it_is_refused() -> None:
    need_root()
    done = trace("/proc", "--seconds", "0.1")
    assert done.returncode == 1
    assert "no block device" in done.stderr


@pytest.mark.ci
def test_measure_adds_a_window_of_its_own(device: str) -> None:
    words = ["measure", f"block:{device}", "--rw", "read", "--bs", "8k", "--runtime", "200ms", "--progress", "none"]
    argv = with_tracefs(*STRATA, *words, "--trace", "--json")
    done = subprocess.run(argv, capture_output=True, text=True, timeout=60, check=False)
    document = json.loads(done.stdout)
    upper = document["summary"]["traces"][0]
    assert upper["device"] == Path(device).name
    assert upper["requests_per_io"] == pytest.approx(1.0, abs=0.01)
    assert upper["read"]["strict_share"] > 0.99
    assert upper["read"]["reordered_share"] == 0.0


SMALL = """
import sys
from pathlib import Path
import strata.probes.trace as probe
from strata.app.trace import targets_of
probe._BUFFER_KIB = 64
with probe.recording(targets_of(Path(sys.argv[1]))[:1], 60.0) as window:
    print("ready", flush=True)
    sys.stdin.readline()
    window.stop()
    print(window.result()[1].model_dump_json(), flush=True)
"""


def test_what_is_lost_is_counted_and_said(device: str) -> None:
    argv = with_tracefs("env", f"PYTHONPATH={ROOT}/src", *PYTHON, SMALL, device)
    begun = subprocess.Popen(argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    try:
        assert begun.stdout is not None
        assert begun.stdout.readline() == "ready\n"
        # Nobody reads the buffers while 90 000 events come; they hold a fifth of them.
        begun.send_signal(signal.SIGSTOP)
        copy = ["dd", f"if={device}", "of=/dev/null", "bs=4k", "count=15000", "iflag=direct"]
        for _ in range(2):
            subprocess.run(copy, check=True, capture_output=True)
        begun.send_signal(signal.SIGCONT)
        said, _ = begun.communicate("\n", timeout=60)
    finally:
        begun.kill()
        begun.communicate()
    told = TraceRecording.model_validate_json(said)
    assert not told.whole
    assert told.losses.overrun > 30_000
    assert told.losses.gaps > 0
    assert told.recorder.records + told.losses.events == pytest.approx(90_000, rel=0.01)


@pytest.mark.ci
def test_diagnose_carries_a_trace_of_every_cell() -> None:
    need_root()
    with working_disk() as folder:
        quick = ["--size", "16m", "--rounds", "1", "--runtime", "400ms", "--ramp-time", "50ms", "--no-confirm"]
        words = ["diagnose", folder, "--layers", "file system", "--workloads", "read-8*,write-8*", *quick]
        argv = with_tracefs(*STRATA, *words, "--trace", "--json", "--progress", "none")
        done = subprocess.run(argv, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode in (0, 4), done.stderr
    document = json.loads(done.stdout)
    cells = document["cells"]
    assert (len(cells), document["failures"]) == (2, [])
    for cell in cells:
        side = "write" if "write" in cell["workload"]["rw"] else "read"
        assert cell["traces"][0][side]["requests"] > 10
