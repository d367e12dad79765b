"""IOR's text and JSON against its own summary, which is another calculation of the same repetitions."""

from __future__ import annotations

import json
from statistics import fmean

import pytest
from results_of import DATA, read_bytes, read_file

from strata.formats.results import Misread

TEXT = (DATA / "ior.txt").read_text()


def summary(name: str) -> dict[str, dict[str, float]]:
    """By operation the extremes and the means that IOR printed."""
    if name.endswith(".json"):
        rows = json.loads((DATA / name).read_text())["summary"]
        keys = ("bwMaxMIB", "bwMinMIB", "bwMeanMIB", "OPsMax", "OPsMin", "OPsMean")
        return {
            r["operation"]: dict(zip(("hi", "lo", "mean", "ops_hi", "ops_lo", "ops"), map(r.get, keys), strict=False))
            for r in rows
        }
    lines = [line.split() for line in TEXT[TEXT.index("Summary of all tests") :].splitlines()[2:4]]
    return {
        w[0]: dict(zip(("hi", "lo", "mean", "sd", "ops_hi", "ops_lo", "ops"), map(float, w[1:8]), strict=False))
        for w in lines
    }


@pytest.mark.parametrize("name", ["ior.txt", "ior.json"])
def test_repetitions_add_up_to_its_summary(name: str) -> None:
    found = read_file(name)
    for access, said in summary(name).items():
        sides = [c.sides[access] for c in found.cells if access in c.sides]
        rates = [s.base("rate") / 2**20 for s in sides]
        iops = [s.base("iops") for s in sides]
        assert (max(rates), min(rates)) == (said["hi"], said["lo"])
        assert fmean(rates) == pytest.approx(said["mean"], abs=0.01)
        assert fmean(iops) == pytest.approx(said["ops"], abs=0.2)
        assert (max(iops), min(iops)) == pytest.approx((said["ops_hi"], said["ops_lo"]), abs=0.2)
        for side in sides:
            low, high = side.figures["iops"].bounds()
            assert low <= side.base("iops") <= high
    cell = found.cells[0]
    assert cell.asked == {"rw": "write", "bs": 65536, "iodepth": 1, "threads": 2, "direct": True}
    assert (cell.sides["write"].base("ios"), cell.sides["write"].base("bytes")) == (64, 4 << 20)
    assert (found.host, found.system, found.version) == ("vm", "Linux", "4.1.0+dev")
    line = (DATA / name).read_text().splitlines()[cell.line - 1]
    assert line.strip().startswith(("write ", '"access": "write"'))


def test_what_an_older_version_does_not_print_is_absent() -> None:
    old = TEXT.replace("IOPS       Latency(s)  ", "")
    for line in TEXT.splitlines():
        w = line.split()
        if len(w) == 11 and w[0] in ("write", "read"):
            old = old.replace(line, " ".join([w[0], w[1], *w[4:]]))
    side = read_bytes(old.encode()).cells[0].sides["write"]
    assert "time.mean" not in side.figures
    assert side.base("rate") == 566.19 * 2**20


def test_a_run_that_ended_early_counts_nothing_that_it_did_not_do() -> None:
    early = TEXT.replace("-F -o", "-F -D 1 -o").replace("--posix.odirect", "")
    cell = read_bytes(early.encode()).cells[0]
    assert {"ios", "bytes"}.isdisjoint(cell.sides["write"].figures)
    assert cell.seconds == 0.007065
    assert cell.asked["direct"] is False
    unknown = TEXT.replace("Command line        : ../ior", "X : ").splitlines()
    assert "direct" not in read_bytes("\n".join(unknown).encode()).cells[0].asked


def test_the_latency_of_one_task_is_not_the_mean_time_of_an_io() -> None:
    """It is a task's time ÷ the transfers that it counted last: 310 s beside 424 000 IOPS in public results."""
    for name in ("ior.txt", "ior.json"):
        found = read_file(name)
        assert all("time.mean" not in side.figures for cell in found.cells for side in cell.sides.values())
        assert any("the latency" in why for why in found.left_out)


def test_a_row_that_is_short_is_named() -> None:
    with pytest.raises(Misread, match="10 values for 11 columns") as e:
        read_bytes(TEXT.replace("0.000220    1024.00", "1024.00").encode())
    assert TEXT.splitlines()[e.value.line - 1].startswith("write ")
