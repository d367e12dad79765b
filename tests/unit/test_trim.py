"""`rw=trim` and `rw=randtrim`: whoever asks whether a workload writes is told that it does."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from strata import units
from strata.analyse.summary import cell_summary
from strata.app import safety_gate
from strata.app.safety_gate import check_words, opened
from strata.engine import build_job
from strata.engine.fio.command import refusals
from strata.engine.job import Timing
from strata.errors import SafetyRefusal, UsageError
from strata.formats.fio import fio_command
from strata.host import registry, testfile
from strata.model.caching import check, refusal
from strata.model.endpoint import Endpoint
from strata.model.plan import Segment
from strata.model.rw import Rw
from strata.model.stack import Layer, Stack
from strata.plan.cost import bytes_written
from strata.plan.expand import Schedule, expand
from strata.plan.matrix import matrix_of
from strata.plan.words import workload_from_words

from .analyse.material import cell_result, counter, engine_result, workload

TRIMS = ("trim", "randtrim")
SEGMENT = Segment(start=0, length=units.MIB, target=0)


@pytest.mark.parametrize("word", TRIMS)
def test_it_changes_its_target_and_moves_no_data(word: str) -> None:
    w = workload_from_words(word, "64k", iodepth=4)
    assert (w.rw.writes, w.rw.reads, w.rw.carries, w.rw.discards) == (True, False, False, True)
    assert (w.durable, w.read_share, bytes_written(w, 1.0, 1e9)) == (False, 0.0, 0)
    assert w.key == f"{word}-64KiB-qd4"
    assert w.pattern == ("random trim" if word == "randtrim" else "sequential trim")
    assert [mode for mode in Rw if mode.discards] == [Rw.TRIM, Rw.RANDTRIM]


@pytest.mark.parametrize("word", TRIMS)
@pytest.mark.parametrize("uri", ["nbd://host/x", "nfs://host/x/y", "iscsi://host/iqn.2020-01.com.example:a/1", "null:"])
def test_only_files_and_devices_of_this_machine_are_trimmed(word: str, uri: str) -> None:
    w = workload_from_words(word)
    with pytest.raises(UsageError, match=f"cannot measure with rw={word} at"):
        check(Endpoint.parse(uri), w)
    for there in ("file:/mnt/new.dat", "block:/dev/sdb"):
        assert refusal(Endpoint.parse(there), w) is None
        assert "read-only" in (refusal(Endpoint.parse(there), w, read_only=True) or "")


def test_fio_is_not_asked() -> None:
    file, w = Endpoint.parse("file:/mnt/new.dat"), workload_from_words("trim")
    assert refusals(file, w, (SEGMENT,), ("io_uring",)) == ["rw=trim is not supported with fio"]
    assert fio_command(file, w, (SEGMENT,), 0.0, 1.0) is None


def test_it_is_measured_by_itself() -> None:
    with pytest.raises(UsageError, match="leaves no data for other cells"):
        matrix_of("rw=randread,trim;bs=4k;iodepth=1")
    times = Schedule(rounds=2, ramp_s=0.0, runtime_s=1.0, interval_s=1.0)
    with pytest.raises(UsageError) as refused:
        stack = Stack(name="s", layers=(Layer(name="file system", endpoint="file:/mnt/x"),))
        expand(stack, [workload_from_words("trim")], times, file_size=units.GIB, seed=1)
    assert "leaves no data" in refused.value.render()


def test_a_device_needs_the_same_right_as_for_a_write() -> None:
    device, w = Endpoint.parse("block:/dev/strata-none"), workload_from_words("randtrim")
    check_words(device, w, keep=False, destructive="/dev/strata-none")
    with pytest.raises(SafetyRefusal, match="raw devices are read-only"), opened(device, w, None, False, None):
        pass
    with pytest.raises(UsageError, match="raw devices are read-only"):
        build_job(device, w, (SEGMENT,), Timing(ramp_s=0, runtime_s=1))
    job = build_job(device, w, (SEGMENT,), Timing(ramp_s=0, runtime_s=1), allow_write=True)
    assert job["workload"]["rw"] == "randtrim" and job["target"]["allow_write"]


def test_a_file_of_others_is_left_alone(tmp_path: Path) -> None:
    theirs = tmp_path / "theirs"
    theirs.write_bytes(b"x" * units.MIB)
    file = Endpoint.parse(f"file:{theirs}")
    with pytest.raises(SafetyRefusal), opened(file, workload_from_words("trim"), None, False, None):
        pass
    assert theirs.read_bytes() == b"x" * units.MIB


@pytest.fixture
def filled(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[Any]]:
    found: list[Any] = []
    monkeypatch.setattr(safety_gate, "fill", lambda path, *_, **__: found.append(path))
    yield found


@pytest.mark.parametrize("keep", [False, True])
def test_a_file_that_stays_is_filled_again_and_kept_only_then(tmp_path: Path, filled: list[Any], keep: bool) -> None:
    path = tmp_path / "new.dat"
    file, w = Endpoint.parse(f"file:{path}"), workload_from_words("trim")
    with opened(file, w, 4 * units.MIB, keep, None) as target:
        assert target.mark is not None
        entry = registry.entry_of(target.mark)
        assert len(filled) == 1 and entry is not None and not entry.kept
    assert (len(filled), path.exists()) == ((2, True) if keep else (1, False))
    if keep:
        assert testfile.was_kept(path)
        # Once more, on what is there: the user's before, and afterwards.
        with opened(file, w, None, False, None) as target:
            entry = registry.entry_of(target.mark or "")
            assert entry is not None and not entry.kept
        assert len(filled) == 3 and testfile.was_kept(path)


def test_what_could_not_be_filled_again_is_for_clean(tmp_path: Path, filled: list[Any], monkeypatch: Any) -> None:
    path = tmp_path / "new.dat"
    file, w = Endpoint.parse(f"file:{path}"), workload_from_words("trim")

    def trimmed() -> None:
        with opened(file, w, 4 * units.MIB, True, None):
            monkeypatch.setattr(safety_gate, "fill", full)

    def full(*_: Any, **__: Any) -> None:
        raise OSError("no space")

    with pytest.raises(OSError, match="no space"):
        trimmed()
    assert not testfile.was_kept(path)


@pytest.mark.parametrize("word", ["randwrite", "randtrim"])
def test_its_bytes_are_held_against_no_device(word: str) -> None:
    w = workload(word)
    labels = {"device": "sda"}
    moved = [counter(f"blockdev_{name}", rate, **labels) for name, rate in (("write_bytes", 4e6), ("read_bytes", 0.0))]
    rounds = [cell_result("fs", w, n, engine_result(w, 1000.0), moved, devices=("sda",)) for n in range(3)]
    found = cell_summary("fs", w, rounds)
    assert found is not None
    assert bool(found.flows) == bool(found.notes) == (word == "randwrite")
