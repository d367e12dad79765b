"""A ladder whose layers were measured at other times: named as one that is measured now, or not at all."""

from __future__ import annotations

import csv
import os
import re
from pathlib import Path

import pytest
from invoked import said as strata
from made_files import diskspd, loaded

from strata.app.diagnose import diagnose_path
from strata.app.options import Options
from strata.app.stages import ANCHOR
from strata.errors import Exit, InconclusiveError, UsageError
from strata.model.analysis import Equivalence
from strata.model.counters import blockdev
from strata.model.finding import Cause, VerdictKind
from strata.model.run import Report
from strata.store import open_store

DATA = Path(__file__).resolve().parents[1] / "data"
HEAD = "layer,pattern,block_size,iodepth,threads,IOPS,seconds [s]"


WRITES = blockdev.WRITES.name


def table(folder: Path, name: str, rows: list[str]) -> None:
    (folder / name).write_text("\n".join([HEAD, *rows]))


def ladder(folder: Path, size: int = 8192) -> None:
    """The author's cases of a cluster volume, as two tables: before it became one, and after."""
    with (DATA / "laws" / "ladder.csv").open() as file:
        rows = [r for r in csv.DictReader(file) if r["role"] == "measured"]
    for name, layer, at in (("before.csv", "baseline 1", 8192), ("after.csv", "baseline 2", size)):
        mine = [f"{layer},{r['pattern']},{at},8,1,{r['iops']},60" for r in rows if r["layer"] == layer]
        table(folder, name, mine)


def stack(folder: Path, head: str = "", disk: str = 'measured = "before.csv"', share: str = "") -> Path:
    path = folder / "stack.toml"
    path.write_text(
        f'[stack]\nname = "cluster volume"\n{head}\n'
        f'[[layer]]\nname = "disk"\n{disk}\nset = {{ direct = true }}\n'
        '[[layer]]\nname = "share"\nendpoint = "smb://server/share/t.dat"\non = ["disk"]\n'
        f'measured = "after.csv"\nset = {{ direct = true }}\n{share}'
    )
    return path


def said(path: Path) -> Report:
    return diagnose_path(path, Options(store=str(path.parent / "runs.db")), lambda _: None)


def test_the_author_s_cases_lead_to_his_experiment_and_its_outcome_names_reordering(tmp_path: Path) -> None:
    """A disk and the share of it as printed, then his own two threads on the disk: "and bingo"."""
    ladder(tmp_path)
    before = said(stack(tmp_path))
    verdict = before.diagnosis.verdict
    assert (verdict.kind, verdict.layer) == (VerdictKind.INCONCLUSIVE, "share")
    asked = [command for what, command in before.repeat if what.startswith("to confirm") and "diskspd" in what]
    assert ["-t2" in c and "-s16384" in c and "-T8192" in c for c in asked] == [True]
    diskspd(tmp_path, "two.xml", 820, threads=2)
    after = said(stack(tmp_path, disk='measured = ["before.csv", "two.xml"]'))
    verdict = after.diagnosis.verdict
    assert (verdict.kind, verdict.layer, verdict.cause) == (VerdictKind.LAYER, "share", Cause.REORDERING)
    assert verdict.confidence >= 0.8
    diskspd(tmp_path, "two.xml", 17_200, threads=2)
    kept = said(stack(tmp_path, disk='measured = ["before.csv", "two.xml"]'))
    assert kept.diagnosis.verdict.cause is not Cause.REORDERING


def test_a_rate_that_was_rounded_beside_the_iops_is_no_contradiction(tmp_path: Path) -> None:
    for name in ("before.csv", "after.csv"):
        rows = [
            f"{name},{kind} read,8192,8,1,{iops},{rate}" for kind, iops, rate in (("seq", 19906, 155), ("rand", 359, 2))
        ]
        (tmp_path / name).write_text("\n".join(["layer,pattern,block_size,iodepth,threads,IOPS,MB/s", *rows]))
    path = stack(tmp_path)
    path.write_text(path.read_text().replace("direct = true", 'direct = true, runtime = "60s"'))
    report = said(path)
    assert report.diagnosis.verdict.kind is not VerdictKind.IMPOSSIBLE
    assert {round(c.bytes_per_second.value / c.iops.value) for c in report.analysis.cells} == {8192}


def test_what_is_kept_is_a_run_with_its_stages(tmp_path: Path) -> None:
    ladder(tmp_path)
    run = said(stack(tmp_path)).run
    assert [Path(s.sources[0]).name for s in run.stages] == ["before.csv", "after.csv"]
    assert [s.layer for s in run.stages] == ["disk", "share"]
    assert "drift between stages: not known" in (run.message or "")


def test_no_layer_is_blamed_for_another_block_size(tmp_path: Path) -> None:
    ladder(tmp_path, size=65536)
    verdict = said(stack(tmp_path)).diagnosis.verdict
    assert (verdict.kind, verdict.confidence) == (VerdictKind.INCONCLUSIVE, 0.0)


@pytest.mark.parametrize(("host", "tool", "refused"), [("NODE-2", "2.1.0", False), ("NODE-1", "2.2.0", True)])
def test_another_host_is_said_and_another_tool_is_refused(tmp_path: Path, host: str, tool: str, refused: bool) -> None:
    diskspd(tmp_path, "before.xml", 17_000)
    diskspd(tmp_path, "after.csv", 9000, host=host, tool=tool)
    path = stack(tmp_path, disk='measured = "before.xml"')
    if not refused:
        told = said(path).analysis
        assert any("NODE-1 and NODE-2" in c.message for c in told.checks if c.kind == "stages")
        assert told.comparisons
        return
    with pytest.raises(InconclusiveError) as e:
        said(path)
    assert e.value.exit_code == Exit.INCONCLUSIVE
    assert any("generator's version: 2.1.0 and 2.2.0" in p for p in e.value.problems)
    path = stack(tmp_path, 'may_differ = ["generator\'s version"]', disk='measured = "before.xml"')
    assert said(path).analysis.comparisons


@pytest.mark.parametrize(("anchors", "by"), [((10_000, 10_100), 0.01), ((10_000, 14_000), 0.34)])
def test_the_anchor_bounds_the_drift_between_stages(tmp_path: Path, anchors: tuple[int, int], by: float) -> None:
    for name, layer, iops, anchor in (("before.csv", "a", 8000, anchors[0]), ("after.csv", "b", 6000, anchors[1])):
        rows = [f"{layer},random read,8192,8,1,{iops},60", f"null {layer},random read,8192,8,1,{anchor},60"]
        table(tmp_path, name, rows)
    disk = 'measured = "before.csv"\nanchor = "null*"'
    report = said(stack(tmp_path, disk=disk, share='anchor = "null*"'))
    (one,) = report.analysis.comparisons
    assert one.iops.low is not None and one.iops.value / one.iops.low >= 1 + by
    assert not any("drift" in c.title for c in report.analysis.checks)
    assert (one.verdict == "above") is (by < 0.1)


def test_a_layer_that_was_faster_on_another_day_is_told_and_is_not_impossible(tmp_path: Path) -> None:
    table(tmp_path, "before.csv", ["a,random read,8192,8,1,1000,60", "a,random read,4096,8,1,1000,60"])
    table(tmp_path, "after.csv", ["b,random read,8192,8,1,4000,60", "b,random read,4096,8,1,4000,60"])
    report = said(stack(tmp_path))
    assert report.diagnosis.verdict.kind is not VerdictKind.IMPOSSIBLE
    assert {c.verdict for c in report.analysis.comparisons} == {Equivalence.FASTER}


@pytest.mark.parametrize(
    ("disk", "why"),
    [
        ('measured = "none.csv"', "none.csv"),
        ('measured = "before.csv"\nof = "other*"', "none of its names matches"),
        ('measured = "stack.toml"', "cannot use the measurement of layer disk"),
        ('run = "20200101-000000-aaaa"', "20200101-000000-aaaa"),
    ],
)
def test_what_is_no_measurement_of_the_layer_is_said(tmp_path: Path, disk: str, why: str) -> None:
    ladder(tmp_path)
    with pytest.raises(UsageError) as e:
        said(stack(tmp_path, disk=disk))
    assert why in e.value.render()


SHORT = ("--size", "16m", "--rounds", "1", "--runtime", "50ms", "--progress", "none")


def cluster(folder: Path) -> Path:
    """Two layers of files, measured in stages, with an anchor."""
    path = folder / "stack.toml"
    path.write_text(
        f'[stack]\nname = "volume"\nstages = true\nanchor = "null:"\n[[layer]]\nname = "disk"\n'
        f'endpoint = "file:{folder}/disk.dat"\n[[layer]]\nname = "volume"\nendpoint = "file:{folder}/volume.dat"\n'
        'on = ["disk"]\nprepare = "Add the disk to the cluster."\n'
    )
    return path


def anchored(layer: str, path: Path, *words: str | Path) -> str:
    """What is said once the next stage, ``layer``, is measured. A machine that stands still for the whole of a short
    cell completes no I/O in it, and it says that the anchor is missing: then again, as a user would."""
    code, told = strata("stage", path, "--measure", *words)
    for _ in range(3):
        if "without the anchor" not in told:
            break
        code, told = strata("stage", path, "--measure", "--layer", layer, *words)
    assert code == (Exit.FINE if "Every layer" in told else Exit.INCONCLUSIVE), told
    assert "without the anchor" not in told
    return told


@pytest.mark.ci
def test_an_anchor_that_failed_is_none(tmp_path: Path) -> None:
    """Its cell completed no I/O: the stage says that it is without the anchor; how far they are apart is not known."""
    path, store = cluster(tmp_path), ("--store", tmp_path / "runs.db")
    for layer in ("disk", "volume"):
        anchored(layer, path, *SHORT, *store)
    with open_store(str(tmp_path / "runs.db")) as kept:
        [run] = (r for r in kept.list_runs(9) if r.stage_of == "volume")
        [cell] = (c for c in kept.cells(run.id) if c.layer == ANCHOR)
        kept.save_cell(run.id, cell.model_copy(update={"error": "no I/O completed within 0.05 s"}))
    _, told = strata("stage", path, *store)
    assert told.count("without the anchor") == 1
    assert "drift between stages: not known" in (said(path).run.message or "")


@pytest.mark.ci
def test_stages_are_led_through_measured_and_remembered(tmp_path: Path) -> None:
    path, store = cluster(tmp_path), ("--store", tmp_path / "runs.db")
    code, told = strata("diagnose", path, *store)
    assert code == Exit.INCONCLUSIVE and "missing: disk, volume" in told and "strata stage" in told
    code, told = strata("stage", path, *store)
    assert code == Exit.INCONCLUSIVE and "Then measure disk" in told
    told = anchored("disk", path, *SHORT, *store)
    assert "Next, by hand: Add the disk to the cluster." in told
    told = anchored("volume", path, "--progress", "none", *store)
    assert "Every layer has a measurement" in told
    report = said(path)
    assert [s.layer for s in report.run.stages] == ["disk", "volume"]
    assert report.analysis.comparisons
    assert "by the anchor" in (report.run.message or "")
    assert not list(tmp_path.glob("*.dat")), "its own files are removed"
    code, told = strata("stage", path, "--measure", *store)
    assert code == Exit.USAGE and "--layer NAME" in told


def perfmon(folder: Path, begin: str, seconds: int, busy: float, queue: float) -> None:
    """Performance Monitor's CSV of a node whose clock is 5:30 h ahead of UTC. Made up, as the fixture is."""
    head = '"(PDH-CSV 4.0) (India Standard Time)(-330)"'
    disk = "PhysicalDisk(0 D:)"
    names = (
        "Processor Information(_Total)\\% Processor Time",
        *(f"{disk}\\{name}" for name in ("Avg. Disk Queue Length", "Disk Read Bytes/sec", "Disk Write Bytes/sec")),
    )
    lines = [",".join([head, *(f'"\\\\NODE-1\\{n}"' for n in names)])]
    day, _, clock = begin.partition(" ")
    hour, minute, second = (int(part) for part in clock.split(":"))
    for at in range(seconds):
        now = hour * 3600 + minute * 60 + second + at
        lines.append(
            f'"{day} {now // 3600:02}:{now // 60 % 60:02}:{now % 60:02}.000","{busy}","{queue}","0","139264000"'
        )
    (folder / "perfmon.csv").write_text("\n".join(lines))


@pytest.mark.parametrize(("begin", "there"), [("03/04/2023 10:36:05", True), ("03/04/2023 05:06:05", False)])
def test_counters_of_another_file_are_the_cells_of_their_time(tmp_path: Path, begin: str, there: bool) -> None:
    """The result begins at 05:06:07 UTC, 10:36:07 on the node's clock."""
    diskspd(tmp_path, "before.xml", 17_000)
    diskspd(tmp_path, "after.csv", 9000)
    perfmon(tmp_path, begin, 40, 80.0, 7.5)
    report = said(stack(tmp_path, disk='measured = ["before.xml", "perfmon.csv"]'))
    disk, share = (report.analysis.summary(name, "write-8KiB-qd8") for name in ("disk", "share"))
    assert disk is not None and share is not None and share.cpu_busy is None
    if there:
        assert (disk.cpu_busy, disk.device_in_flight) == (pytest.approx(0.8), pytest.approx(7.5))
    else:
        assert disk.cpu_busy is None, "half a day earlier, if the zone is read the wrong way round"


@pytest.mark.parametrize(
    ("ahead", "iops", "moved"),
    [(37.4, 17_000, True), (-3605.0, 17_000, True), (0.2, 17_000, False), (37.4, 9000, False)],
)
def test_counters_whose_clock_is_ahead_are_moved_by_what_both_saw_and_by_nothing_else(
    tmp_path: Path, ahead: float, iops: float, moved: bool
) -> None:
    diskspd(tmp_path, "before.xml", 17_000)
    diskspd(tmp_path, "after.csv", 9000)
    loaded(tmp_path, ahead, iops)
    report = said(stack(tmp_path, disk='measured = ["before.xml", "perfmon.csv"]'))
    [clock] = report.run.stages[0].clocks
    told = [c.message for c in report.analysis.checks if c.title == "clocks of counters"]
    disk = report.analysis.summary("disk", "write-8KiB-qd8")
    assert disk is not None
    if iops != 17_000:
        assert (clock.seconds, clock.applied_s) == (None, 0.0)
        assert len(told) == 1 and "are taken to agree" in told[0]
        return
    assert clock.seconds is not None and clock.within_s is not None
    assert abs(clock.seconds - ahead) <= clock.within_s <= 1.0
    assert bool(clock.applied_s) is moved
    assert [("ahead of" if ahead > 0 else "behind") in text for text in told] == [True] * moved
    assert sum(v for k, v in disk.counters.items() if k.startswith(WRITES)) == pytest.approx(17_000, rel=0.05)


def test_a_file_that_does_not_say_when_it_was_measured_gets_counters_only_by_what_both_saw(tmp_path: Path) -> None:
    table(tmp_path, "before.csv", ["disk,sequential write,8192,8,1,17000,15"])
    table(tmp_path, "after.csv", ["share,sequential write,8192,8,1,9000,15"])
    for iops, there in ((17_000, True), (400, False)):
        loaded(tmp_path, 0, iops)
        report = said(stack(tmp_path, disk='measured = ["before.csv", "perfmon.csv"]'))
        disk = report.analysis.summary("disk", "write-8KiB-qd8")
        assert disk is not None
        assert any(key.startswith(WRITES) for key in disk.counters) is there


@pytest.mark.parametrize(
    ("anchor", "why"),
    [
        ("smb://user:sesame-42@server/share/t.dat", "passwords are not supported for anchor"),
        ("nothing://x", "[stack]: anchor nothing://x"),
        ("x" * 5000, "[stack]: anchor"),
    ],
)
def test_an_anchor_that_cannot_be_kept_or_reached_is_refused_when_the_stack_is_read(
    tmp_path: Path, anchor: str, why: str
) -> None:
    path = stack(tmp_path, f'stages = true\nanchor = "{anchor}"')
    code, text = strata("stage", path, "--store", tmp_path / "runs.db")
    assert (code, "sesame" in text) == (Exit.USAGE, False), text
    assert why in text


@pytest.mark.parametrize(
    "source", ["nowhere.csv", "/dev/zero", "/dev/stdin", "pipe", "loop", ".", "\\u0000", "x" * 4097, "%s" * 9]
)
def test_a_measurement_that_is_no_file_is_refused_and_not_waited_for(tmp_path: Path, source: str) -> None:
    ladder(tmp_path)
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "loop").symlink_to("loop")
    path = stack(tmp_path, disk=f'measured = "{source}"')
    code, text = strata("diagnose", path, "--store", tmp_path / "runs.db")
    assert code == Exit.USAGE, text


def test_names_of_a_foreign_table_cannot_speak_for_the_terminal(tmp_path: Path) -> None:
    ladder(tmp_path)
    path = stack(tmp_path, disk='measured = "before.csv"\nprepare = "a\\u001b[2J\\u202eb"\nof = "\\u001b[31m*"')
    for words in (("stage", path), ("diagnose", path)):
        _, text = strata(*words, "--store", tmp_path / "runs.db")
        assert not re.search(r"[\x1b\u202e]", text), repr(text)


def test_a_pattern_that_leads_a_matcher_astray_comes_to_an_end(tmp_path: Path) -> None:
    """A matcher that goes back has 2^n ways to fail, and would not end."""
    ladder(tmp_path)
    pattern = "*a" * 100 + "b"
    name, written = "a" * 250, "sequential write"
    table(tmp_path, "before.csv", [f"{name},{written},8192,8,1,1000,60"])
    path = stack(tmp_path, disk=f'measured = "before.csv"\nof = "{pattern}"')
    code, text = strata("diagnose", path, "--store", tmp_path / "runs.db")
    assert code == Exit.USAGE and "none of its names matches" in text
