"""``--matrix`` with the real engine: a plan, a killed run that goes on where it was, a refused promise."""

from __future__ import annotations

import json
import sqlite3
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from commands import started, strata, target

from strata.model.percentiles import PERCENTILES, supported

CELLS = "bs=4k,16k,64k;iodepth=1,8;rw=randread"
FEW, BRIEF = "bs=4k,16k,64k;iodepth=8;rw=randread", "4s"
"""Where the test asks what is kept or refused, and not what is concluded."""


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Two servers of 2 ms each: 500 IOPS at depth 1, 1000 above it, whatever the size."""
    socket: Path = tmp_path_factory.mktemp("served") / "s"
    shape = ("--service-threads", 2, "--service-time", "2ms")
    with target("--memory", "16m", "--writable", *shape, "--socket", socket) as (uri, _):
        yield uri


def said(done: subprocess.CompletedProcess[str], status: int = 0) -> dict[str, Any]:
    assert done.returncode == status, done.stderr
    document: dict[str, Any] = json.loads(done.stdout)
    return document


@pytest.mark.alone
def test_a_matrix_finds_what_the_target_was_made_to_do_and_report_tells_it_again(
    served: str, tmp_path: Path, own_state: Path
) -> None:
    words = ("--matrix", CELLS, "--budget", "8s", "--progress", "none", "--json")
    document = said(strata("measure", served, *words))
    assert document["schema"] == "strata.matrix/1" and len(document["cells"]) == 6
    for cell in document["cells"]:
        iops = cell["iops"]
        assert cell["given"] in ("measured", "smoothed") and cell["visits"] >= 1 and cell["seconds"] > 0
        assert iops["low"] <= iops["value"] <= iops["high"]
        times = cell["percentiles_ns"]
        assert tuple(times) == supported(PERCENTILES, cell["ios"]) and [*times.values()] == sorted(times.values())
        assert cell["p99_ns"] == times.get("99") and times.get("50", 2e6) >= 1.9e6
        # The target gives no more than it was set to, a little of its own overhead less.
        assert 200 <= iops["value"] <= (550 if cell["iodepth"] == 1 else 1100)
    assert document["noise"]["cells"] == 6 and document["written"] == 0
    assert {p["known_from"] for p in document["predictions"]} == {"noise floor", "noise of all cells"}
    again = said(strata("report", document["run"], "--json", "--markdown", tmp_path / "matrix.md"))
    assert (tmp_path / "matrix.md").read_text().count(" ±") > 6
    assert again == document
    # Without what it said in the end it is worked out again, to the same.
    with sqlite3.connect(own_state / "strata" / "strata.db") as raw:
        assert raw.execute("DELETE FROM matrices").rowcount == 1
    assert said(strata("report", document["run"], "--json")) == document
    # The next plan starts from what this run showed.
    plan = said(strata("plan", served, "--matrix", CELLS, "--budget", "9s", "--json"))
    assert plan["prediction"]["known_from"] == "noise of earlier runs"
    assert plan["prediction"]["noise"]["runs"] == [document["run"]]


def test_a_plan_of_several_clients_is_that_of_their_matrix() -> None:
    words = ("plan", "null:", "--matrix", FEW, "--budget", "30s", "--clients", "3")
    plan = said(strata(*words, "--json"))["plan"]
    assert {cell["workload"]["clients"] for cell in plan["cells"]} == {3}
    assert "clients   3, each with these depths" in strata(*words).stdout
    assert strata("plan", ".", "--matrix", FEW, "--clients", "3").returncode == 2


def test_a_killed_matrix_goes_on_and_keeps_its_visits(served: str, own_state: Path) -> None:
    words = ["measure", served, "--matrix", FEW, "--budget", BRIEF, "--progress", "plain"]
    store = own_state / "strata" / "strata.db"
    killed_after(2, words, store)
    before = visits(store)
    document = said(strata("measure", "--resume", "--progress", "none", "--json"))
    assert all(c["iops"] is not None for c in document["cells"])
    assert sum(c["visits"] for c in document["cells"]) >= before
    assert visits(store) > before


@pytest.mark.ci
def test_a_matrix_of_a_file_goes_on_with_no_other(tmp_path: Path, own_state: Path) -> None:
    path, other = tmp_path / "a.dat", tmp_path / "b.dat"
    words = ["measure", f"file:{path}", "--size", "8m", "--matrix", FEW, "--budget", BRIEF, "--buffered"]
    store = own_state / "strata" / "strata.db"
    killed_after(2, [*words, "--progress", "none"], store)
    done = strata("measure", f"file:{other}", "--size", "8m", "--keep", "--runtime", "50ms", "--progress", "none")
    assert done.returncode == 0, done.stderr
    path.rename(tmp_path / "first.dat")
    other.rename(path)
    done = strata("measure", "--resume", run_of(store), "--progress", "none")
    assert done.returncode == 5 and "not the one that this run started with" in done.stderr, done.stderr
    path.unlink()
    (tmp_path / "first.dat").rename(path)
    done = strata("measure", "--resume", run_of(store), "--progress", "none")
    assert done.returncode == 0, done.stderr


def killed_after(seen: int, words: list[str], store: Path) -> None:
    """`strata WORDS…`, killed when the store holds so many visits."""
    child = started(*words)
    try:
        deadline = time.monotonic() + 60
        while visits(store) < seen:
            assert child.poll() is None and time.monotonic() < deadline
            time.sleep(0.05)
    finally:
        child.kill()
        child.communicate(timeout=30)


def run_of(store: Path) -> str:
    """The unfinished run of the store."""
    with sqlite3.connect(f"file:{store}?mode=ro", uri=True) as connection:
        return str(connection.execute("SELECT id FROM runs WHERE status != 'done'").fetchone()[0])


def visits(store: Path) -> int:
    """Steps in the store, as any SQLite tool reads them."""
    import sqlite3

    if not store.exists():
        return 0
    try:
        with sqlite3.connect(f"file:{store}?mode=ro", uri=True) as connection:
            return int(connection.execute("SELECT count(*) FROM cells").fetchone()[0])
    except sqlite3.OperationalError:
        return 0


def test_a_promise_that_the_noise_forbids_is_refused_before_the_cells_are_measured(served: str) -> None:
    done = strata("measure", served, "--matrix", FEW, "--budget", BRIEF, "--until", "0.06%", "--progress", "none")
    assert done.returncode == 4 and "cannot promise" in done.stderr and "hint:" in done.stderr
    assert done.stdout == ""


def test_a_plan_makes_nothing_and_says_every_byte(tmp_path: Path) -> None:
    where = f"file:{tmp_path}/new.dat"
    plan = said(strata("plan", where, "--matrix", "full", "--budget", "15m", "--size", "64m", "--json"))
    assert plan["schema"] == "strata.matrix-plan/1" and len(plan["plan"]["cells"]) == 280
    assert plan["plan"]["bytes_written"] > 64 << 20 and plan["prediction"]["known_from"] == "assumed noise"
    text = strata("plan", where, "--matrix", "full", "--budget", "15m", "--size", "64m").stdout
    exact = f"{plan['plan']['bytes_written']:,}".replace(",", "\u202f")
    assert "280 cells in 15 min" in text and "writes at most" in text
    assert exact in text.replace("\n", " ")
    assert not (tmp_path / "new.dat").exists()


@pytest.mark.parametrize(
    "words",
    [
        ("--matrix", "full", "--budget", "5s"),
        ("--matrix", "huge"),
        ("--budget", "5m"),
        ("--matrix", "full", "--rw", "read"),
    ],
)
def test_words_that_do_not_go_together_are_refused(served: str, words: tuple[str, ...]) -> None:
    done = strata("measure", served, *words)
    assert done.returncode == 2 and done.stderr.startswith("error:")


@pytest.mark.ci
def test_layers_of_a_directory_are_measured_interleaved_and_the_file_is_gone(tmp_path: Path) -> None:
    here = tmp_path / "data"
    here.mkdir()
    matrix = "bs=4k;iodepth=8;rw=randread,randwrite"
    words = (
        "--matrix",
        matrix,
        "--budget",
        "9s",
        "--size",
        "16m",
        "--share",
        "--layers",
        "file system,share over loopback",
    )
    document = said(strata("measure", here, *words, "--progress", "none", "--json"))
    assert document["layers"] == ["file system", "share over loopback"] and len(document["cells"]) == 4
    assert all(c["iops"] is not None for c in document["cells"])
    assert document["written"] > 0 and not list(here.iterdir())
