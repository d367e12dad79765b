"""``strata import``: files into the store as runs, that everything which reads runs can work with."""

from __future__ import annotations

import gzip
import io
import json
import os
import tarfile
import zipfile
from pathlib import Path
from typing import Any

import pytest
from invoked import said as strata

from strata.app.check import check_run
from strata.app.imported_run import ImportedAs, id_of
from strata.app.imports import FILES_MOST, import_paths, mapping_of, settings_of
from strata.errors import UsageError
from strata.store import open_store

DATA = Path(__file__).resolve().parents[1] / "data" / "imports"
MIXED = DATA / "fio-mixed.json"


@pytest.fixture
def url(tmp_path: Path) -> str:
    return str(tmp_path / "runs.db")


def again(tmp_path: Path, name: str, factor: float, seconds: int) -> Path:
    """The same jobs later, with other figures."""
    document = json.loads(MIXED.read_text())
    document["timestamp_ms"] += seconds * 1000
    for job in document["jobs"]:
        for side in ("read", "write"):
            for key in ("iops", "total_ios", "io_bytes", "bw_bytes"):
                kind = type(job[side][key])
                job[side][key] = kind(job[side][key] * factor)
    path = tmp_path / name
    path.write_text(json.dumps(document))
    return path


def test_a_run_has_its_source_tool_and_version(url: str) -> None:
    [done] = import_paths([str(MIXED)], url).files
    assert done.run == id_of(done.digest)
    with open_store(url) as store:
        run, cells = store.load_run(done.run), store.cells(done.run)
        figures = store.figures(done.run)
    assert run.source is not None
    assert (run.source.path, run.source.digest, run.source.format) == (str(MIXED), done.digest, "fio-json")
    assert run.environment.engine == {"name": "fio", "version": "3.33"}
    assert run.imported == done.imported
    assert [c.workload_key for c in cells] == ["randrw70-8KiB-qd4-t2-once", "read-128KiB-qd1"]
    said = json.loads(MIXED.read_text())["jobs"]
    for figure, job in zip(figures, said, strict=True):
        assert figure.ops == sum(job[d]["total_ios"] for d in ("read", "write"))
        whole = sum(job[d]["lat_ns"]["mean"] * job[d]["total_ios"] for d in ("read", "write"))
        assert figure.mean_ns == pytest.approx(whole / figure.ops, rel=1e-6)
        assert figure.iops == pytest.approx(sum(job[d]["iops"] for d in ("read", "write")), rel=0.01)


def test_history_compare_report_explain_and_check_read_it(url: str, tmp_path: Path) -> None:
    later = again(tmp_path, "later.json", 0.5, 3600)
    first, second = import_paths([str(MIXED), str(later)], url).files
    code, text = strata("history", "--all", "--store", url, "--json")
    assert code == 0
    assert {len(c["points"]) for c in json.loads(text)["cells"] if "points" in c} <= {2}
    assert "read-128KiB-qd1" in text
    code, text = strata("compare", first.run, second.run, "--store", url, "--json")
    assert code == 0, text
    cells = {c["workload_key"]: c for c in json.loads(text)["cells"]}
    assert cells["read-128KiB-qd1"]["iops"]["value"] == pytest.approx(0.5, rel=0.01)
    for command in (("report",), ("explain",), ("check",), ("runs",)):
        words = (*command, first.run) if command != ("runs",) else command
        code, text = strata(*words, "--store", url)
        assert (code, first.run in text or command == ("explain",)) == (0, True), command
    assert check_run(first.run, url).rows == 4, "its own figures are checked against the laws, not a summary of them"


def test_what_has_no_times_is_in_history_and_has_none(url: str) -> None:
    [done] = import_paths([str(DATA / "diskspd-linux-plain.txt")], url).files
    assert done.run is not None
    with open_store(url) as store:
        [figures] = store.figures(done.run)
        outcome = store.outcome(done.run)
    assert figures.mean_ns is None
    assert outcome is not None
    assert outcome[0].cells == ()
    assert "printed none" in outcome[0].checks[0].message


def test_a_dry_run_keeps_nothing_and_its_exit_code_says_what_was_not_understood(tmp_path: Path, url: str) -> None:
    bad = tmp_path / "bad.json"
    bad.write_text(MIXED.read_text()[:3000])
    code, text = strata("import", "--dry-run", "--json", MIXED, "--store", url)
    found = json.loads(text)
    assert (code, found["schema"], found["dry_run"], len(found["files"])) == (0, "strata.import/1", True, 1)
    assert found["files"][0]["imported"]["cells"][0]["sides"]["read"]["figures"]["ios"]["value"] > 0
    code, text = strata("import", "--dry-run", "--json", MIXED, bad, "--store", url)
    assert code == 1
    broken = json.loads(text)["files"][1]
    assert (broken["imported"], broken["line"] > 1, broken["column"] >= 1) == (None, True, True)
    assert not Path(url).exists()


def test_one_broken_file_costs_no_other(tmp_path: Path, url: str) -> None:
    for n in range(3):
        again(tmp_path, f"r{n}.json", 1.0, n)
    (tmp_path / "broken.json").write_text('{"fio version": "fio-3.33", "jobs": [')
    (tmp_path / ".hidden").write_text("x")
    os.mkfifo(tmp_path / "pipe")
    code, text = strata("import", tmp_path, "--store", url)
    assert code == 1
    assert "3 of 4 files understood, 3 runs kept" in text
    code, text = strata("import", tmp_path, "--store", url)
    assert "0 runs kept, 3 in the store already" in text


def test_patterns_folders_and_what_is_not_there(tmp_path: Path, url: str) -> None:
    (tmp_path / "a" / "b").mkdir(parents=True)
    for n, where in enumerate(("a", "a/b")):
        again(tmp_path, f"{where}/r{n}.json", 1.0, n)
    names = [f.path for f in import_paths([f"{tmp_path}/a/**/*.json"], url, dry_run=True).files]
    assert names == [str(tmp_path / "a/b/r1.json"), str(tmp_path / "a/r0.json")]
    assert len(import_paths([str(tmp_path), str(tmp_path / "a")], url, dry_run=True).files) == 2
    for word in ("nothing.json", str(tmp_path / "no*"), str(tmp_path / "empty")):
        with pytest.raises(UsageError):
            import_paths([word], url, dry_run=True)
    assert FILES_MOST >= 1000


def test_names_and_settings_that_the_user_gives(url: str) -> None:
    names = ImportedAs(layer="disk", stack="csv", host="n1", settings=settings_of(["direct=1", "rwmixread=70"]))
    [done] = import_paths([str(DATA / "fio-mixed.txt")], url, names).files
    assert done.run is not None and done.imported is not None
    assert any("direct=1, rwmixread=70: set by the user" in note for note in done.imported.notes)
    with open_store(url) as store:
        run = store.load_run(done.run)
        assert {f.layer for f in store.figures(done.run)} == {"disk"}
    assert (run.plan.stack.name, run.environment.hostname) == ("csv", "n1")
    [bare] = import_paths([str(DATA / "fio-mixed.txt")], url, dry_run=True).files
    assert bare.imported is not None
    assert bare.imported.cells[0].incomplete == ("not stated: direct, rwmixread",)
    for word in ("direct", "x=1", "direct=maybe"):
        with pytest.raises(UsageError):
            settings_of([word])


def test_what_cannot_be_compared_is_kept_and_says_why(url: str) -> None:
    [done] = import_paths([str(DATA / "fio-terse3.txt")], url).files
    assert done.run is not None and done.imported is not None
    assert done.imported.cells[0].incomplete == ("not stated: rw, bs, iodepth, direct",)
    code, _text = strata("report", done.run, "--store", url)
    assert code == 0
    with open_store(url) as store:
        assert store.load_run(done.run).imported == done.imported


def test_names_that_a_terminal_would_obey_are_shown(tmp_path: Path, url: str) -> None:
    evil = "\x1b[31m\u202e<script>alert(1)</script>"
    path = tmp_path / "evil.json"
    document = json.loads(MIXED.read_text())
    document["jobs"][0]["jobname"] = evil
    document["jobs"][0]["job options"]["filename"] = evil
    path.write_text(json.dumps(document))
    code, text = strata("import", path, "--store", url)
    assert code == 0
    assert "\x1b" not in text
    assert "\\x1b" in text or "\\u001b" in text
    page = tmp_path / "page.html"
    code, text = strata("report", "--store", url, "--html", page)
    assert code == 0
    assert "<script>alert" not in page.read_text()


def test_standard_input(url: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    import subprocess
    import sys

    words = [sys.executable, "-m", "strata", "import", "-", "--dry-run", "--json"]
    done = subprocess.run(words, input=MIXED.read_bytes(), capture_output=True, check=False, timeout=120)
    assert done.returncode == 0, done.stderr
    found: dict[str, Any] = json.loads(done.stdout)["files"][0]
    assert found["path"] == "standard input"
    assert len(found["imported"]["cells"]) == 2


def test_files_in_archives_are_those_of_a_folder(tmp_path: Path, url: str) -> None:
    """A tar in gzip, in a zip beside a plain file and a broken one; the same content is the same run."""
    inner, outer = io.BytesIO(), tmp_path / "all.zip"
    with tarfile.open(fileobj=inner, mode="w:gz") as archive:
        archive.add(DATA / "fio-mixed.txt", "runs/old.txt")
        archive.add(DATA / "fio_lat.1.log", "x_lat.1.log")
    with zipfile.ZipFile(outer, "w") as archive:
        archive.write(MIXED, "new.json")
        archive.writestr("broken.json", '{"fio version": 1, "jobs": [')
        archive.writestr("in.tgz", inner.getvalue())
    packed = tmp_path / "new.json.gz"
    packed.write_bytes(gzip.compress(MIXED.read_bytes()))
    files = import_paths([str(outer), str(packed)], url).files
    said = [(f.member, f.imported is not None, f.known_as is not None) for f in files]
    assert said == [
        ("new.json", True, False), ("broken.json", False, False), ("in.tgz/runs/old.txt", True, False),
        ("in.tgz/x_lat.1.log", True, False), ("", True, True),
    ]  # fmt: skip
    [alone] = import_paths([str(MIXED)], url).files
    assert alone.known_as == files[0].run
    with open_store(url) as store:
        source = store.load_run(files[2].run or "").source
    assert source is not None
    assert (source.path, source.member) == (str(outer), "in.tgz/runs/old.txt")
    deep = MIXED.read_bytes()
    for _ in range(6):
        deep = gzip.compress(deep)
    packed.write_bytes(deep)
    code, text = strata("import", packed, outer, "--dry-run", "--store", url)
    assert code == 1
    assert "an archive within 4 others" in text
    assert "all.zip: broken.json" in " ".join(text.split())


def test_a_mapping_file_says_columns_and_settings_and_what_is_typed_comes_first(tmp_path: Path, url: str) -> None:
    (tmp_path / "t.csv").write_text("layer,pattern,block_size,iodepth,Ops,seconds [s]\na,random read,4096,8,8000,60\n")
    mapping = tmp_path / "m.toml"
    mapping.write_text('[columns]\n"Ops" = "iops"\n[set]\ndirect = true\n')
    code, told = strata("import", tmp_path / "t.csv", "--mapping", mapping, "--dry-run", "--json", "--store", url)
    [cell] = json.loads(told)["files"][0]["imported"]["cells"]
    assert (code, cell["workload"]["direct"], [s["figures"]["iops"]["value"] for s in cell["sides"].values()]) == (
        0,
        True,
        [8000],
    )
    words = ("--set", "direct=0", "--dry-run", "--json", "--store", url)
    code, told = strata("import", tmp_path / "t.csv", "--mapping", mapping, *words)
    assert json.loads(told)["files"][0]["imported"]["cells"][0]["workload"]["direct"] is False
    for wrong in ("x = 1", "[columns]\nOps = 3", "[set]\nwombat = 1", "[columns", "columns = 3"):
        mapping.write_text(wrong)
        with pytest.raises(UsageError):
            mapping_of(mapping)


def test_a_table_of_iops_alone_is_complete_with_the_time_that_was_measured(tmp_path: Path, url: str) -> None:
    (tmp_path / "t.csv").write_text("layer,pattern,block_size,iodepth,IOPS\na,random read,4096,8,8000\n")
    for given, ops in (({"direct": True}, None), (settings_of(["direct=1", "runtime=60s"]), 480_000)):
        named = ImportedAs(settings=given)
        [done] = import_paths([str(tmp_path / "t.csv")], str(tmp_path / f"{ops}.db"), named).files
        with open_store(str(tmp_path / f"{ops}.db")) as store:
            cells = store.cells(done.run or "")
        assert [c.result.ops for c in cells if c.result] == ([] if ops is None else [ops])
