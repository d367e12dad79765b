"""`--keep` and `strata clean`: what the user keeps stays, what was left behind goes."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from commands import measured, strata, working_disk

from strata.app.safety_gate import opened
from strata.host import testfile
from strata.host.mark import MARK_BYTES
from strata.model.endpoint import Endpoint
from strata.model.rw import Rw
from strata.model.workload import ClosedLoop, Workload

WORDS = ("--size", "8m", "--bs", "16k", "--runtime", "50ms")


@pytest.fixture
def path() -> Iterator[Path]:
    with working_disk() as disk:
        yield disk / "strata.dat"


def left_behind(path: Path) -> None:
    """A test file of a process that is gone."""
    code = f"from strata.host import testfile; testfile.create({str(path)!r}, 8 << 20)"
    subprocess.run([sys.executable, "-c", code], check=True)


def cleaned() -> None:
    done = strata("clean")
    assert done.returncode == 0, done.stderr


def test_a_file_that_was_made_to_be_kept_stays(path: Path) -> None:
    measured(f"file:{path}", *WORDS, "--keep")
    cleaned()
    assert path.exists()
    assert testfile.was_kept(path)


@pytest.mark.parametrize("rw", ["randread", "randwrite"])
def test_a_file_that_was_left_behind_is_kept_by_who_uses_it_next(path: Path, rw: str) -> None:
    left_behind(path)
    measured(f"file:{path}", "--rw", rw, "--bs", "16k", "--runtime", "50ms", "--keep")
    cleaned()
    assert path.exists()


def test_without_it_a_new_file_goes_and_one_that_was_left_behind_waits_to_be_cleaned(path: Path) -> None:
    measured(f"file:{path}", *WORDS)
    assert not path.exists()
    left_behind(path)
    measured(f"file:{path}", "--bs", "16k", "--runtime", "50ms")
    assert path.exists()
    cleaned()
    assert not path.exists()


@pytest.mark.parametrize("rw", [Rw.RANDREAD, Rw.RANDWRITE])
def test_what_is_kept_is_measured_in_the_same_bytes_the_next_time(path: Path, rw: Rw) -> None:
    endpoint, workload = Endpoint.parse(f"file:{path}"), Workload(rw=rw, bs=16384, arrival=ClosedLoop(iodepth=1))
    with opened(endpoint, workload, 8 << 20, True, None) as target:
        made = target.segments
    with opened(endpoint, workload, None, True, None) as target:
        assert target.segments == made
    assert made[0].target >= MARK_BYTES
