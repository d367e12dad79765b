"""`import strata` on real storage: a small file on the disk of this checkout, measured in seconds."""

from __future__ import annotations

from pathlib import Path

import pytest
from commands import working_disk

import strata
from strata.api import Document, Label, OneResult
from strata.errors import SafetyRefusal
from strata.model.progress import Phase, Progress

SIZE = 16 << 20
BRIEF = {"runtime_s": 0.1, "ramp_s": 0.02, "size": SIZE}


def test_an_endpoint_is_measured_and_only_its_value_tells_of_it(capfd: pytest.CaptureFixture[str]) -> None:
    heard: list[Progress] = []
    words = {"rw": "randwrite", "bs": "8k", "iodepth": 4}
    with working_disk() as disk:
        found = strata.measure(
            f"file:{disk / 'new.dat'}", words, runtime_s=0.3, interval_s=0.1, ramp_s=0.02, size=SIZE,
            label=Label(name="by a program"), on_progress=heard.append,
        )  # fmt: skip
        assert list(disk.iterdir()) == [], "the test file is removed"
    assert capfd.readouterr() == ("", "")
    assert isinstance(found, OneResult) and found.trouble is None and found.result.write.ops > 0
    assert found.workload.bs == 8192 and found.summary.iops.value > 0
    assert heard and {h.phase for h in heard} == {Phase.MEASURE}
    kept = strata.load("by a program")
    assert isinstance(kept, Document) and kept.run.id == found.run
    assert kept.run.environment.command == () and not any("this run" in r.what for r in kept.repeat)


def test_layers_are_diagnosed_twice_kept_and_compared(capfd: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    with working_disk() as disk:
        first, second = (
            strata.diagnose(
                disk, layers=("file system",), workloads=("randread-8KiB-qd8",), rounds=2, confirm=False, **BRIEF
            )
            for _ in range(2)
        )
        assert list(disk.iterdir()) == []
    assert capfd.readouterr() == ("", "")
    assert [c.layer for c in first.cells] == ["file system"] and first.failures == ()
    kept = strata.load(first.run.id)
    assert isinstance(kept, Document)
    assert (kept.verdict, kept.cells, kept.comparisons) == (first.verdict, first.cells, first.comparisons)
    (tmp_path / "first.json").write_text(first.model_dump_json(indent=2))
    assert strata.load(tmp_path / "first.json") == first
    compared = strata.compare(first, second, anyway=True)
    assert [c.workload_key for c in compared.cells] == ["randread-8KiB-qd8"]


def test_what_strata_did_not_create_is_not_written_to(tmp_path: Path) -> None:
    theirs = tmp_path / "theirs.dat"
    theirs.write_bytes(bytes(SIZE))
    with pytest.raises(SafetyRefusal):
        strata.measure(f"file:{theirs}", {"rw": "randwrite"}, runtime_s=0.1)
    assert theirs.read_bytes() == bytes(SIZE)
