"""A ring of lines on disk: bounded, read by time, and whole after a crash."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from strata.errors import RunFailed
from strata.host import ring
from strata.host.ring import LINE_MOST, SEGMENT_BYTES, Ring


def test_lines_are_read_by_their_time_also_by_another_process(tmp_path: Path) -> None:
    written = Ring(tmp_path / "r")
    for n in range(100):
        written.append(n * 10, f"line {n}")
    assert [text for _, text in Ring(tmp_path / "r").lines(50, 80)] == ["line 5", "line 6", "line 7", "line 8"]
    assert written.span == (0, 990)


def test_it_never_holds_more_than_its_bounds(tmp_path: Path) -> None:
    kept = Ring(tmp_path / "r", bytes_most=3 * SEGMENT_BYTES)
    for n in range(1000):
        kept.append(n, "x" * 2000)
    there = sum(p.stat().st_size for p in (tmp_path / "r").iterdir())
    assert there <= 4 * SEGMENT_BYTES
    lines = list(kept.lines(0, 1000))
    assert lines[-1][0] == 999
    assert len(lines) < 600


def test_two_processes_may_keep_the_same_path(tmp_path: Path) -> None:
    one, other = (Ring(tmp_path / "r", bytes_most=2 * SEGMENT_BYTES) for _ in range(2))
    for n in range(1200):
        (one, other)[n % 2].append(n, "x" * 1000)
    kept = [at for at, _ in one.lines(0, 10**6)]
    assert 1199 in kept
    assert 1198 in kept


def test_what_is_too_old_goes(tmp_path: Path) -> None:
    kept = Ring(tmp_path / "r", seconds_most=10)
    kept.append(0, "old")
    kept._segment = None
    kept.append(5 * 10**9, "newer")
    kept._segment = None
    kept.append(16 * 10**9, "now")
    assert [text for _, text in kept.lines(0, 10**12)] == ["newer", "now"]


def test_a_line_that_was_cut_off_is_left_out_and_the_next_process_goes_on(tmp_path: Path) -> None:
    Ring(tmp_path / "r").append(1, "whole")
    segment = next((tmp_path / "r").iterdir())
    segment.write_bytes(segment.read_bytes() + b"2 0000")
    after = Ring(tmp_path / "r")
    after.append(3, "after")
    assert [text for _, text in after.lines(0, 9)] == ["whole", "after"]


def test_a_line_whose_bytes_were_changed_is_left_out(tmp_path: Path) -> None:
    Ring(tmp_path / "r").append(1, "abc")
    segment = next((tmp_path / "r").iterdir())
    segment.write_bytes(segment.read_bytes().replace(b"abc", b"abd"))
    assert list(Ring(tmp_path / "r").lines(0, 9)) == []


def test_a_text_that_no_line_can_hold_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="at most"):
        Ring(tmp_path / "r").append(1, "x" * (LINE_MOST + 1))
    with pytest.raises(ValueError, match="line break"):
        Ring(tmp_path / "r").append(1, "a\nb")


def test_where_nothing_can_be_written_it_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object) -> int:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(ring.os, "write", full)
    with pytest.raises(RunFailed, match="No space left"):
        Ring(tmp_path / "r").append(1, "a")


def test_a_ring_says_what_it_is_of_and_what_is_planted_says_nothing(tmp_path: Path) -> None:
    ring = Ring(tmp_path / "ring")
    assert ring.subject is None
    ring.about("/mnt/ä")
    ring.about("/mnt/other")
    ring.append(1, "x")
    assert ring.subject == Ring(tmp_path / "ring").subject == "/mnt/ä" and ring.span == (1, 1)
    (tmp_path / "ring" / "about").unlink()
    (tmp_path / "ring" / "about").symlink_to("/etc/hostname")
    assert ring.subject is None


FULL = """
import resource, sys
from pathlib import Path
from strata.errors import RunFailed
from strata.host.ring import Ring

ring = Ring(Path(sys.argv[1]))
ring.append(1, "a" * 500)
_, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
resource.setrlimit(resource.RLIMIT_FSIZE, (700, hard))  # the kernel writes a part of the next line, as on a full disk
try:
    ring.append(2, "b" * 500)
except RunFailed as e:
    print(e.headline)
resource.setrlimit(resource.RLIMIT_FSIZE, (hard, hard))
ring.append(3, "c" * 500)
"""


def test_a_line_for_which_there_was_no_room_is_an_error_and_costs_no_other(tmp_path: Path) -> None:
    done = subprocess.run([sys.executable, "-c", FULL, str(tmp_path / "r")], capture_output=True, text=True, check=True)
    assert "cannot keep what was watched" in done.stdout and "No space left" in done.stdout
    assert [at for at, _ in Ring(tmp_path / "r").lines(0, 9)] == [1, 3]
