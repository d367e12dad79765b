"""A folder as somebody brings it from Windows: a ladder of diskspd with PerfMon beside it, to a verdict and a page."""

from __future__ import annotations

import json
import re
from pathlib import Path

from made_files import diskspd, loaded

from strata.errors import Exit

AHEAD_S = 37.4
LADDER = {
    "disk": {"read": 19_906, "write": 17_311, "randread": 359, "randwrite": 473},
    "volume": {"read": 19_800, "write": 17_100, "randread": 358, "randwrite": 470},
    "share": {"read": 19_700, "write": 810, "randread": 357, "randwrite": 468},
}
"""The order of writes is lost at the share."""


def stack(more: str = "") -> str:
    """The ladder; ``more``: of the volume, measured afterwards."""
    files = {layer: ", ".join(f'"results/{layer}-{rw}.xml"' for rw in rates) for layer, rates in LADDER.items()}
    return f"""[stack]
name = "cluster volume"

[[layer]]
name = "disk"
measured = [{files["disk"]}, "results/perfmon.csv"]

[[layer]]
name = "volume"
on = ["disk"]
measured = [{files["volume"]}{more}]

[[layer]]
name = "share"
endpoint = "smb://server/share/t.dat"
on = ["volume"]
measured = [{files["share"]}]
"""


def test_a_folder_of_diskspd_and_perfmon_is_imported_and_diagnosed(strata, tmp_path: Path) -> None:
    folder, store, page = tmp_path / "results", tmp_path / "runs.db", tmp_path / "report.html"
    folder.mkdir()
    for layer, rates in LADDER.items():
        for rw, iops in rates.items():
            diskspd(folder, f"{layer}-{rw}.xml", iops, rw=rw)
    loaded(folder, AHEAD_S, LADDER["disk"]["write"])
    done = strata("import", folder, "--store", store, "--json")
    assert done.returncode == 0, done.stderr
    files = {Path(one["path"]).name: one["imported"] for one in json.loads(done.stdout)["files"]}
    assert {found["format"] for name, found in files.items() if name.endswith(".xml")} == {"diskspd-xml"}
    assert files["perfmon.csv"]["format"] == "pdh-csv"
    assert any("not in it: LogicalDisk" in note for note in files["perfmon.csv"]["notes"])
    path = tmp_path / "stack.toml"
    path.write_text(stack())
    done = strata("diagnose", path, "--store", store, "--json", "--html", page)
    assert done.returncode == Exit.INCONCLUSIVE, "one workload does not tell the cause"
    report = json.loads(done.stdout)
    assert report["verdict"]["layer"] == "share"
    [asked] = [r["command"] for r in report["repeat"] if "to confirm" in r["what"] and "diskspd" in r["what"]]
    assert "-t2" in asked and "-s16384" in asked
    verdicts = {(c["layer"], c["below"], c["workload_key"]): c["verdict"] for c in report["comparisons"]}
    assert {pair for pair, verdict in verdicts.items() if verdict == "above"} == {("share", "volume", "write-8KiB-qd8")}
    told = [c["message"] for c in report["checks"] if c["kind"] == "clocks"]
    assert len(told) == 4, "each of the disk's files, by what one of them shows"
    assert all(
        re.match(r"the clock of perfmon.csv is 3[67]\.\d s \(.*\) ahead of that of disk-", text) for text in told
    )
    assert "the clock of perfmon.csv is" in page.read_text()
    diskspd(tmp_path, "two.xml", 820, threads=2)
    path.write_text(stack(', "two.xml"'))
    done = strata("diagnose", path, "--store", store, "--json", "--html", page)
    assert done.returncode == 0, done.stderr
    verdict = json.loads(done.stdout)["verdict"]
    assert (verdict["layer"], verdict["cause"]) == ("share", "reordering")
    kept = json.loads(strata("runs", "--store", store, "--json").stdout)["runs"]
    assert len(kept) == 16, "14 files and two diagnoses: the files of the stages are the runs that were imported"
