"""Baselines, histories, the gate and comparisons of stored runs, through the command line as a pipeline uses them."""

from __future__ import annotations

import csv
import io
import json
import math
import random
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import junitparser
import pytest
from invoked import printed as strata
from rich.cells import cell_len
from tiers import rest_in_ci

from strata.errors import InconclusiveError, StrataError, UsageError
from strata.model import histogram
from strata.model.plan import Cell, Plan, Step
from strata.model.result import CellResult, Direction, EngineResult
from strata.model.run import Environment, Run, RunStatus
from strata.model.rw import Rw
from strata.model.stack import Layer, Stack
from strata.model.workload import ClosedLoop, Workload
from strata.store import open_store

WORKLOADS = [Workload(rw=Rw.RANDREAD, bs=8192, arrival=ClosedLoop(iodepth=d)) for d in (1, 8)]
DAY_NS = 86_400 * 10**9
ROUNDS = 3


def run_of(number: int, stack: str = "volume", endpoint: str = "block:/dev/x", **environment: object) -> Run:
    cells = tuple(Cell(layer="disk", workload=w) for w in WORKLOADS)
    steps = tuple(Step(order=i, round=i // 2, cell=cells[i % 2].key) for i in range(2 * ROUNDS))
    plan = Plan(
        id=f"run-{number:03}", stack=Stack(name=stack, layers=(Layer(name="disk", endpoint=endpoint),)),
        cells=cells, steps=steps, rounds=ROUNDS, seed=1, ramp_s=0.5, runtime_s=1.0, interval_s=0.5, file_size=1 << 30,
        seconds=9.0, bytes_written=0, assumed_write_bps=1e9,
    )  # fmt: skip
    fields: dict[str, object] = {
        "strata_version": "0.1.0", "build": {"profile": "release"}, "python": "3.11", "hostname": "h", "kernel": "6.1",
    }  # fmt: skip
    return Run(
        id=plan.id, created_unix_ns=1_770_000_000 * 10**9 + number * DAY_NS, status=RunStatus.DONE, plan=plan,
        environment=Environment.model_validate(fields | environment),
    )  # fmt: skip


def step_of(run: Run, order: int, iops: float) -> CellResult:
    workload = WORKLOADS[order % 2]
    ns = 1e9 * workload.outstanding / iops
    payload = histogram.from_bins({round(ns * (0.5 + i / 1000)): 10 for i in range(1000)})
    ops = round(iops)
    side = Direction(ops=ops, bytes=ops * 8192, service_time=payload, service_sum_ns=round(ops * ns))
    result = EngineResult(
        engine={}, effective={}, started_unix_ns=1, ramp_ns=0, measured_ns=10**9, stop_reason="time", issued=ops,
        completed=ops, errored=0, stuck=0, read=side, write=Direction(ops=0, bytes=0), intervals=(),
    )  # fmt: skip
    return CellResult(
        order=order, round=order // 2, cell=f"disk/{workload.key}", kind="measure", layer="disk",
        workload_key=workload.key, result=result,
    )  # fmt: skip


@pytest.fixture
def keep(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """Keeps a run at so many times the usual IOPS; the noise between runs is 1.5 %."""
    path = tmp_path / "s.db"
    monkeypatch.setenv("STRATA_STORE", str(path))
    monkeypatch.setenv("COLUMNS", "80")
    rng = random.Random(1)

    def one(number: int, level: float = 1.0, fails: int | None = None, **environment: Any) -> str:
        run = run_of(number, **environment)
        shift = math.exp(rng.gauss(0, 0.015))
        with open_store(str(path)) as store:
            store.create_run(run)
            for order in range(2 * ROUNDS):
                base = 20_000 if order % 2 else 5_000
                step = step_of(run, order, base * level * shift * math.exp(rng.gauss(0, 0.005)))
                failed = {"result": None, "error": "an I/O failed: EIO"} if order % 2 == fails else {}
                store.save_cell(run.id, step.model_copy(update=failed))
        return run.id

    one.path, one.rng = path, rng  # type: ignore[attr-defined]
    return one


_made: dict[int, tuple[bytes, Any]] = {}
"""By the number of runs: a store with their baseline, and the state of the noise after them. It takes a second."""


def history(keep, count: int = 8) -> None:
    empty = not keep.path.exists()
    if empty and count in _made:
        held, state = _made[count]
        keep.path.touch(0o600)
        keep.path.write_bytes(held)
        keep.rng.setstate(state)
        return
    for n in range(count):
        keep(n)
    strata("baseline", "save", "main", "--last", str(count))
    assert not keep.path.with_name(f"{keep.path.name}-wal").exists(), "all of it is in the one file"
    if empty:
        _made[count] = keep.path.read_bytes(), keep.rng.getstate()


def test_an_equal_run_passes_and_a_slower_one_does_not(keep, tmp_path: Path) -> None:
    history(keep)
    keep(20)
    keep(21)
    assert strata("gate", "--last", "2")[0] == 0
    for n in range(30, 33):
        keep(n, 0.88)
    assert strata("gate")[0] == 4  # one run alone may have been hit by a neighbour
    code, text = strata("gate", "--last", "3", "--junit", str(tmp_path / "j.xml"), "--markdown", str(tmp_path / "m.md"))
    assert code == 3
    assert "2 of 2 cells lost IOPS" in text
    root = ElementTree.parse(tmp_path / "j.xml").getroot()
    assert (root.get("tests"), root.get("failures")) == ("2", "2")
    assert {c.get("name") for c in root.iter("testcase")} == {w.key for w in WORKLOADS}
    assert (tmp_path / "m.md").read_text().startswith("### Strata: 🔴 regression")
    # A second time: its own files are replaced.
    assert strata("gate", "--last", "3", "--junit", str(tmp_path / "j.xml"))[0] == 3


def test_a_cell_that_the_candidate_could_not_measure_does_not_pass(keep, tmp_path: Path) -> None:
    history(keep)
    for n in (20, 21, 22):
        keep(n, fails=1)
    junit, markdown = tmp_path / "j.xml", tmp_path / "m.md"
    code, text = strata("gate", "--last", "3", "--junit", str(junit), "--markdown", str(markdown))
    said = " ".join(text.split())
    assert code == 4 and said.startswith("inconclusive: 1 of 2 baseline cells was not measured")
    assert "strata report run-022" in said and "too noisy" not in said
    missing = f"disk/{WORKLOADS[1].key}"
    assert missing in said and missing in markdown.read_text().replace("\\", "")
    root = ElementTree.parse(junit).getroot()
    assert [root.get(n) for n in ("tests", "failures", "errors", "skipped")] == ["2", "0", "1", "0"]
    (case,) = (c for c in root.iter("testcase") if c.find("error") is not None)
    assert (case.get("classname"), case.get("name")) == ("strata.disk", WORKLOADS[1].key)


def test_a_regression_beside_a_cell_that_was_not_measured_is_one(keep) -> None:
    history(keep)
    for n in (20, 21, 22):
        keep(n, 0.8, fails=1)
    code, text = strata("gate", "--last", "3")
    said = " ".join(text.split())
    assert code == 3 and "1 of 1 cells lost IOPS" in said and "1 of 2 baseline cells was not measured" in said


def test_nothing_measured_of_what_the_baseline_has_cannot_be_told(keep) -> None:
    history(keep)
    keep(20, fails=1)
    strata("baseline", "save", "other", "run-020")
    keep(21, fails=0)
    code, text = strata("gate", "--against", "other")
    assert code == 4 and "1 of 1 baseline cells was not measured" in " ".join(text.split())


def test_too_noisy_to_say_says_how_many_runs_would_do(keep) -> None:
    for n, level in enumerate((1, 1.06, 0.95, 1.03, 0.96, 1.04, 0.98, 1.05, 0.94)):
        keep(n, level)
    strata("baseline", "save", "main", "--last", "9")
    keep(9, 0.95)
    code, text = strata("gate")
    assert code == 4
    assert "runs of the candidate, but there are 1" in " ".join(text.split())


def test_a_baseline_of_one_run_cannot_tell_unless_the_noise_is_said(keep) -> None:
    keep(0)
    strata("baseline", "save", "main")
    for n in range(1, 4):
        keep(n, 0.8)
    code, text = strata("gate", "--last", "3")
    assert code == 4 and "save three or more" in " ".join(text.split())
    assert strata("gate", "--last", "3", "--noise", "2%")[0] == 3


def test_where_the_noise_is_unknown_no_interval_is_made_up(keep, tmp_path: Path) -> None:
    keep(0)
    strata("baseline", "save", "main")
    keep(1, 0.97)
    code, text = strata("gate", "--json")
    cells = json.loads(text)["cells"]
    assert code == 4 and cells
    assert all(c["ratio"]["low"] is c["ratio"]["high"] is c["noise"] is c["detectable"] is None for c in cells)
    code, text = strata("gate", "--junit", str(tmp_path / "j.xml"))
    said = " ".join(text.split())
    assert said.startswith("inconclusive: ") and "noise unknown" in said and "too noisy" not in said
    assert "…" not in said and "−100" not in said
    assert "too noisy" not in (tmp_path / "j.xml").read_text()


def test_a_candidate_is_newer_than_its_baseline_or_is_said_not_to_be(keep) -> None:
    for n in range(5):
        keep(n, 0.8 if n == 0 else 1.0)
    strata("baseline", "save", "main", "run-001", "run-002", "run-003", "run-004")
    with pytest.raises(StrataError) as none:
        strata("gate")
    assert "newer than the baseline's" in none.value.render() and "strata gate run-000" in none.value.render()
    assert "run-000 was made before the newest run of the baseline" in " ".join(strata("gate", "run-000")[1].split())
    keep(9)
    assert json.loads(strata("gate", "--json")[1])["candidate_runs"] == ["run-009"]


def test_promoting_makes_the_next_version_and_keeps_the_last(keep) -> None:
    history(keep, 3)
    new = keep(5, 0.7)
    strata("baseline", "promote", "main", new, "--note", "slower disks")
    listed = json.loads(strata("baseline", "list", "--json")[1])
    assert [(b["version"], len(b["runs"])) for b in listed["baselines"]] == [(2, 1), (1, 3)]
    assert "slower disks" in strata("baseline", "show", "main")[1]
    with pytest.raises(StrataError):
        strata("baseline", "save", "main")


def test_a_history_shows_where_the_level_changed_and_what_changed_with_it(keep) -> None:
    for n in range(16):
        keep(n, 0.85 if n >= 9 else 1.0, kernel="6.6" if n >= 9 else "6.1")
    cell = f"disk/{WORKLOADS[1].key}"
    (told,) = json.loads(strata("history", cell, "--json")[1])["cells"]
    (change,) = told["changes"]
    assert change["run"] == "run-009" and change["ratio"]["value"] == pytest.approx(0.85, abs=0.03)
    assert [(f["name"], f["a"], f["b"]) for f in change["environment"]] == [("kernel", "6.1", "6.6")]
    text = strata("history", cell)[1]
    assert "kernel" in text and "6.1 → 6.6" in text and "^" in text and "new level" in text
    both = strata("history", "--all")[1]
    assert both.count("6.1 → 6.6") == 2 and "▁" in both


def test_equal_cells_of_two_places_are_told_apart_and_demos_are_left_out(keep) -> None:
    keep(0)
    keep(1, endpoint="block:/dev/y")
    keep(2, stack="demo-far-wire")
    keep(3, stack="demo-of-my-own")  # no demo has this name
    text = strata("history", "--all")[1]
    for place in ("block:/dev/x", "block:/dev/y", "demo-of-my-own"):
        assert "disk · h · " in text and place in text
    assert "demo-far-wire" not in text and "demo-far-wire" in strata("history", "--all", "--demos")[1]
    assert len(json.loads(strata("history", "--all", "--json")[1])["cells"]) == 6


def test_a_store_of_demos_alone_says_how_to_see_them(keep) -> None:
    keep(0, stack="demo-far-wire")
    with pytest.raises(StrataError) as none:
        strata("history", "--all")
    assert "strata history --all --demos" in none.value.render()


def test_one_round_on_each_side_shows_no_noise(keep, monkeypatch: pytest.MonkeyPatch) -> None:
    keep(0)
    monkeypatch.setitem(globals(), "ROUNDS", 1)
    keep(1)
    keep(2)
    assert json.loads(strata("compare", "run-001", "run-002", "--json")[1])["noise"] is None
    text = strata("compare", "run-001", "run-002")[1]
    assert "noise between rounds unknown (one round each)" in " ".join(text.split()) and "0.0 %" not in text


@pytest.mark.ci
def test_no_line_is_wider_than_the_terminal(keep, monkeypatch: pytest.MonkeyPatch) -> None:
    for n in range(12):
        keep(n, 0.8 if n >= 6 else 1.0, kernel="6.6" if n >= 6 else "6.1")
    strata("baseline", "save", "main", "run-000", "run-001", "run-002", "run-003")
    for width in (80, 200):
        monkeypatch.setenv("COLUMNS", str(width))
        for words in (
            ("compare", "run-005", "run-006"), ("history", "--all"), ("history", f"disk/{WORKLOADS[0].key}"),
            ("gate", "--last", "3"), ("baseline", "list"),
        ):  # fmt: skip
            assert [line for line in strata(*words)[1].splitlines() if cell_len(line) > width] == [], words


def test_two_runs_are_compared_field_by_field(keep, tmp_path: Path) -> None:
    keep(0)
    keep(1, 0.8, kernel="6.6")
    told = json.loads(strata("compare", "run-000", "--json")[1])
    assert told["schema"] == "strata.compare/1" and told["b"]["run"] == "run-001"
    assert {c["verdict"] for c in told["cells"]} == {"slower"}
    assert all(c["beyond_margin"] for c in told["cells"])
    for c in told["cells"]:
        shift = next(s for s in c["shifts"] if s["percentile"] == "50")
        assert shift["ratio"]["value"] == pytest.approx(1.25, abs=0.06)
    assert [f["name"] for f in told["environment"] if f["fairness"] == "colours"] == ["kernel"]
    text = strata("compare", "run-000", "--markdown", str(tmp_path / "c.md"))[1]
    assert "2 slower" in text and "largest difference between the distributions" in text
    assert "| kernel | 6.1 | 6.6 |" in (tmp_path / "c.md").read_text()


@pytest.mark.parametrize("other", [{"engine": {"name": "fio", "version": "fio-3.33"}}, {"build": {"profile": "debug"}}])
def test_two_different_measurements_are_refused(keep, other: dict[str, object]) -> None:
    history(keep, 3)
    keep(8, 1.0, **other)
    for words in (("compare", "run-000", "run-008"), ("gate", "run-008")):
        with pytest.raises(InconclusiveError) as caught:
            strata(*words)
        assert caught.value.exit_code == 4 and caught.value.problems and "--anyway" in caught.value.hint
    assert strata("compare", "run-000", "run-008", "--anyway")[0] == 0


@pytest.mark.parametrize(
    "words",
    rest_in_ci([
        ["history"], ["history", "disk/none"], ["gate", "--against", "none"], ["baseline", "save"],
        ["baseline", "promote", "none"], ["baseline", "show", "none"], ["compare", "run-000"],
        ["compare", "run-000", "run-000"], ["gate", "run-000"], ["gate", "--max-loss", "0%"], ["gate", "--last", "90"],
        ["gate", "run-002", "--last", "2"], ["baseline", "save", "a/b"],
    ], every_day=4),
)  # fmt: skip
def test_what_cannot_be_done_is_refused_with_a_next_step(keep, words: list[str]) -> None:
    history(keep, 1)
    with pytest.raises(StrataError) as caught:
        strata(*words)
    assert caught.value.exit_code == 2 and caught.value.hint


def test_what_equal_runs_differ_by_is_learnt_from_the_store(keep) -> None:
    keep(0)
    keep(1)
    told = json.loads(strata("compare", "run-000", "run-001", "--json")[1])
    assert told["between_runs"] is None and told["learnt_from"] is None
    for n in range(2, 12):
        keep(n)
    told = json.loads(strata("compare", "run-000", "run-001", "--json")[1])
    assert told["learnt_from"] == 10  # the two that are compared are no witnesses of what they should differ by
    assert 0.005 < told["between_runs"] < 0.03  # 1.5 % were put in
    said = json.loads(strata("compare", "run-000", "run-001", "--json", "--between-runs", "4%")[1])
    assert (said["between_runs"], said["learnt_from"]) == (0.04, None)


def test_the_page_of_a_history_shows_every_run_and_change_and_escapes_names(keep, tmp_path: Path) -> None:
    for n in range(12):
        keep(n, 0.8 if n >= 6 else 1.0, kernel="<b>6.6" if n >= 6 else "6.1")
    strata("history", "--all", "--html", str(tmp_path / "h.html"))
    page = (tmp_path / "h.html").read_text()
    assert page.count("<circle") == 24 and page.count("&lt;b&gt;6.6") == 2 and "<b>6.6" not in page
    assert page.count('class="link"') == 2
    strata("history", "--all", "--html", str(tmp_path / "h.html"))  # its own file is replaced


def test_a_comparison_has_a_page_that_replaces_its_own_and_nobody_elses(keep, tmp_path: Path) -> None:
    keep(0)
    keep(1, 0.7, kernel="<b>6.6")
    page = tmp_path / "c.html"
    strata("compare", "run-000", "run-001", "--html", str(page))
    text = page.read_text()
    assert "slower" in text and "&lt;b&gt;6.6" in text and "<b>6.6" not in text
    strata("compare", "run-000", "run-001", "--html", str(page))  # its own is replaced
    page.write_text("somebody's")
    with pytest.raises(StrataError) as caught:
        strata("compare", "run-000", "run-001", "--html", str(page))
    assert caught.value.exit_code == 5 and page.read_text() == "somebody's"


def test_a_comparison_is_written_as_tables_with_the_keys_of_its_cells(keep, tmp_path: Path) -> None:
    history(keep, 3)
    files = tmp_path / "c.csv", tmp_path / "c.jsonl"
    code, printed = strata("compare", "run-000", "run-002", "--csv", str(files[0]), "--jsonl", str(files[1]), "--json")
    cells = json.loads(printed)["cells"]
    rows = list(csv.DictReader(io.StringIO(files[0].read_text())))
    lines = [json.loads(line) for line in files[1].read_text().splitlines()]
    assert code == 0 and len(rows) == len(lines) == len(cells) == 2
    for row, line, cell in zip(rows, lines, cells, strict=True):
        assert (row["layer"], row["workload"]) == (line["layer"], line["workload"]) == ("disk", cell["workload_key"])
        assert float(row["iops B/A low"]) == line["iops_ratio_low"] == cell["iops"]["low"]
        assert row["beyond margin"] == str(line["beyond_margin"]).lower() == "false"
        assert line["p50_ratio"] == next(s["ratio"]["value"] for s in cell["shifts"] if s["percentile"] == "50")
    with pytest.raises(UsageError, match="two options name this file"):
        strata("compare", "run-000", "run-002", "--csv", str(files[0]), "--jsonl", str(files[0]))


@pytest.mark.ci
def test_a_history_and_a_gate_are_written_as_tables(keep, tmp_path: Path) -> None:
    history(keep)
    for n in (20, 21, 22):
        keep(n, 0.7, fails=1 if n == 22 else None)
    told = {}
    for words in (("history", "disk/*"), ("gate", "--last", "3", "--max-loss", "10%")):
        files = [tmp_path / f"{words[0]}.{form}" for form in ("csv", "jsonl")]
        printed = json.loads(strata(*words, "--csv", str(files[0]), "--jsonl", str(files[1]), "--json")[1])
        lines = [json.loads(line) for line in files[1].read_text().splitlines()]
        assert len(list(csv.DictReader(io.StringIO(files[0].read_text())))) == len(lines)
        told[words[0]] = printed["cells"], lines
    cells, lines = told["history"]
    assert [one["iops"] for one in lines] == [p["iops"] for c in cells for p in c["points"]]
    changes = [(c["workload_key"], p["run"]) for c in cells for p in c["changes"]]
    assert changes and [(one["workload"], one["run"]) for one in lines if "change_ratio" in one] == changes
    cells, lines = told["gate"]
    assert [(one["workload"], one["outcome"], one["iops_ratio_high"]) for one in lines] == [
        (c["workload_key"], c["outcome"], c["ratio"]["high"]) for c in cells
    ]


def test_a_run_is_judged_as_a_test_report_that_others_read(keep, tmp_path: Path) -> None:
    history(keep)
    lost, other, file = keep(20, 0.7), keep(21, kernel="6.9", engine={"name": "fio"}), tmp_path / "j.xml"
    assert strata("export", "junit", lost, other, "--output", str(file)) == (0, "")
    suites = list(junitparser.JUnitXml.fromfile(str(file)))
    assert [s.name for s in suites] == [f"laws over {lost}", "against main", f"laws over {other}", "against main"]
    laws, gate, _, unlike = suites
    for suite in suites:
        endings = [case.result[0].__class__.__name__ if case.result else "" for case in suite]
        assert (suite.tests, suite.failures, suite.errors, suite.skipped) == (
            len(endings), endings.count("Failure"), endings.count("Error"), endings.count("Skipped")
        )  # fmt: skip
    checked = json.loads(strata("check", lost, "--json")[1])
    assert {case.name for case in laws} == set(checked["laws"])
    assert {case.name for case in laws if case.is_skipped} == set(checked["laws"]) - set(checked["asked"])
    assert {case.name for case in laws if case.is_failure} == {f["law"] for f in checked["flags"] if f["broken"]}
    assert {(case.classname, case.name) for case in gate} == {("strata.disk", w.key) for w in WORKLOADS}
    (case,) = unlike
    assert case.is_skipped and "cannot compare" in case.result[0].message
