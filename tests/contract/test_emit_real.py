"""A script of `strata emit`, run by a real shell with a real fio, and its results imported again."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest
from commands import ROOT, strata

from strata.app.imported_run import ImportedAs
from strata.app.imports import import_paths
from strata.app.profiles import find_profile
from strata.model.workload import Workload
from strata.plan.workloads import DIAGNOSE
from strata.store import open_store

FIO = ROOT / "tests" / "data" / "imports" / "fio-plus.json"
pytestmark = pytest.mark.peer
WORDS = ("--size", "16m", "--rounds", "2", "--runtime", "100ms", "--ramp-time", "0ms", "--workloads", "*8KiB*")


def emitted(form: str, target: Path, *more: str) -> str:
    done = strata("emit", form, str(target), *WORDS, *more)
    assert done.returncode == 0, done.stderr
    return str(done.stdout)


def run(script: str, folder: Path, *, status: int = 0) -> str:
    (folder / "run.sh").write_text(script)
    done = subprocess.run(["sh", "run.sh", "res"], cwd=folder, capture_output=True, text=True, check=False, timeout=120)
    assert done.returncode == status, done.stderr
    return done.stderr


MATRIX = ("--matrix", "bs=4k,8k;iodepth=2;rw=randread,randrw:70")


@pytest.mark.parametrize(
    "words", [MATRIX, ("--profile", "kubernetes-etcd"), ("--run", "imported-")], ids=lambda w: w[0]
)
def test_what_was_emitted_is_imported_as_the_cells_that_were_meant(words: tuple[str, str], tmp_path: Path) -> None:
    """A matrix, a profile, and a run that was itself imported: the keys are those by which `compare` finds them."""
    store = f"sqlite:///{tmp_path}/s.db"
    more = ("--size", "16m", "--runtime", "50ms", "--ramp-time", "0ms", "--rounds", "2")
    if words[0] == "--run":
        first = import_paths([str(FIO)], store, ImportedAs())
        with open_store(store) as kept:
            meant = [w.key for w in kept.load_run(first.files[0].run or "").plan.workloads]
        words = ("--run", first.files[0].run or "")
        more += ("--store", store)
    elif words[0] == "--profile":
        meant = [w.workload.key for w in find_profile(words[1]).workloads]
    else:
        meant = ["randread-4KiB-qd2", "randread-8KiB-qd2", "randrw70-4KiB-qd2-dsync", "randrw70-8KiB-qd2-dsync"]
    done = strata("emit", "shell", tmp_path / "t.dat", *words, *more)
    assert done.returncode == 0, done.stderr
    run(done.stdout, tmp_path)
    again = import_paths([str(tmp_path / "res" / "fio.json")], store, ImportedAs(layer="there"))
    (one,) = again.files
    with open_store(store) as kept:
        found = kept.load_run(one.run or "")
    assert sorted(c.key for c in found.plan.cells) == sorted(f"there/{key}" for key in meant)
    assert found.plan.rounds == 2 and len(found.plan.steps) == 2 * len(meant)


@pytest.mark.ci
def test_the_shell_s_results_are_the_same_workloads_again_and_nothing_else_is_left(tmp_path: Path) -> None:
    target = tmp_path / "a b: t.dat"
    run(emitted("shell", target), tmp_path)
    assert {p.name for p in tmp_path.iterdir()} == {"run.sh", "res", "res.environment.txt"}
    found = import_paths([str(tmp_path / "res")], None, dry_run=True)
    assert not found.refused
    cells = [cell for one in found.files if one.imported is not None for cell in one.imported.cells]
    asked = [w for w in DIAGNOSE if "8KiB" in w.key]
    read = [cell.workload for cell in cells]
    assert all(isinstance(w, Workload) for w in read)
    assert sorted(w.key for w in read if w) == sorted(2 * [w.key for w in asked])
    assert all(cell.sides for cell in cells)


@pytest.mark.parametrize("there", ["t.dat", "link", "res", "res.environment.txt"])
def test_what_is_there_already_is_not_touched(tmp_path: Path, there: str) -> None:
    target = tmp_path / "t.dat"
    script = emitted("shell", target)
    if there == "link":
        target.symlink_to(tmp_path / "elsewhere")
    else:
        (tmp_path / there).write_text("mine")
    assert "is there already" in run(script, tmp_path, status=5)
    assert {p.name for p in tmp_path.iterdir()} == {"run.sh", "t.dat" if there == "link" else there}
    assert not (tmp_path / "elsewhere").exists()
    assert target.is_symlink() if there == "link" else True
    if there != "link":
        assert (tmp_path / there).read_text() == "mine"


def test_fio_takes_the_job_file(tmp_path: Path) -> None:
    (tmp_path / "t.fio").write_text(emitted("fio", tmp_path / "t.dat"))
    done = subprocess.run(
        ["fio", "--parse-only", str(tmp_path / "t.fio")], capture_output=True, text=True, check=False, timeout=60
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert [p.name for p in tmp_path.iterdir()] == ["t.fio"]
