"""`strata check`: files and runs in, what does not hold out, and an exit code for scripts."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from invoked import printed

from strata.analyse.laws import laws
from strata.analyse.of_table import PROTOCOLS, ladder_of
from strata.app.check import check_run
from strata.errors import Exit, StrataError, UsageError
from strata.formats.table import read_table
from strata.model.analysis import Equivalence
from strata.model.plan import Plan
from strata.model.result import CellResult
from strata.model.run import Environment, Run, RunStatus
from strata.model.stack import Layer, Stack
from strata.store import open_store

from .analyse.material import cell_result, engine_result, plan_of, workload

DATA = Path(__file__).resolve().parents[1] / "data" / "laws"
W = workload(depth=8)
STACK = Stack(name="s", layers=(Layer(name="disk", endpoint="file:/x"),))

LAWS = f"{sum(law.table is not None for law in laws())} laws"


def strata(*words: str) -> tuple[int, str]:
    return printed("check", *words)


def stored(path: Path, results: list[CellResult], plan: Plan) -> str:
    environment = Environment(strata_version="0", build={}, python="3.11", hostname="h", kernel="k")
    run = Run(id="r1", created_unix_ns=1, status=RunStatus.STOPPED, plan=plan, environment=environment)
    url = f"sqlite:///{path}"
    with open_store(url) as store:
        store.create_run(run)
        for result in results:
            store.save_cell(run.id, result)
    return url


def rounds(mean_ns: float | None = None) -> list[CellResult]:
    return [cell_result("disk", W, r, engine_result(W, 40_000, mean_ns=mean_ns)) for r in range(3)]


def test_a_table_with_a_contradiction_ends_with_the_code_of_a_failed_gate() -> None:
    code, text = strata(str(DATA / "ladder.csv"))
    assert code == Exit.GATE == 3
    assert "direct, other node: sequential write" in text
    assert "Next: Check the units and the columns" in text.replace("\n    ", " ")


def test_a_table_that_only_misleads_is_fine_unless_it_is_to_be_strict() -> None:
    assert strata(str(DATA / "cpu.csv"))[0] == 0
    assert strata(str(DATA / "cpu.csv"), "--strict")[0] == 3


def test_a_table_that_holds_says_so(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text("iops,size,rate [MiB/s]\n100,1M,100\n")
    code, text = strata(str(tmp_path / "t.csv"), "--strict")
    said = " ".join(text.split())
    assert code == 0
    assert f"1 row, 2 of {LAWS} could be asked: all of these hold" in said and "laws: rate, unit-label" in said
    (tmp_path / "two.csv").write_text("iops,time.mean [ms]\n100,1\n")
    assert f"1 of {LAWS} could be asked: it holds" in " ".join(strata(str(tmp_path / "two.csv"))[1].split())


def test_a_table_of_which_no_law_could_be_asked_is_inconclusive(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text("name,iops\na,100\nb,200\n")
    code, text = strata(str(tmp_path / "t.csv"))
    assert code == Exit.INCONCLUSIVE and f"0 of {LAWS} could be asked: inconclusive" in " ".join(text.split())
    assert json.loads(strata(str(tmp_path / "t.csv"), "--json")[1])["asked"] == []


@pytest.mark.parametrize(
    "heading",
    ["Latency ms", "Latency (ms)", "latency_ms", "Avg Latency, ms", "LATENCY MS", "Mean latency / ms", "lat: ms"],
)
def test_a_unit_is_found_however_it_is_written(tmp_path: Path, heading: str) -> None:
    (tmp_path / "t.csv").write_text(f'iodepth,IOPS,"{heading}"\n8,1000,80\n16,2000,8\n')
    code, text = strata(str(tmp_path / "t.csv"))
    assert code == 3 and "Little's law · line 2" in text


def test_numbers_that_were_not_understood_are_not_said_to_hold(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text("Test,iodepth,IOPS,Wibble\na,8,1000,80\nb,16,2000,8\n")
    code, text = strata(str(tmp_path / "t.csv"))
    said = " ".join(text.split())
    assert code == Exit.INCONCLUSIVE and "hold" not in said
    assert "columns not recognised: 'Wibble'" in said and "--column 'Wibble=time.mean [ms]'" in said
    assert json.loads(strata(str(tmp_path / "t.csv"), "--json")[1])["unread"] == ["Wibble"]


def test_what_was_not_taken_for_a_figure_is_said(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text("Test,IOPS,Speed (MB/s)\na,100,100\n")
    _, text = strata(str(tmp_path / "t.csv"))
    assert "figures: iops\n" in text
    assert "labels, not used in calculations: Test, Speed (MB/s)" in text


def test_json_has_a_schema_and_the_same_flags() -> None:
    code, text = strata(str(DATA / "trace.csv"), "--json")
    document = json.loads(text)
    assert (code, document["schema"], document["rows"]) == (3, "strata.check/1", 6)
    first = document["flags"][0]
    assert (first["law"], first["row"], first["broken"]) == ("little", "baseline 1: I/O time (trace)", True)
    assert first["numbers"]["outstanding"] == 8
    assert first["next_step"]


def test_a_plan_in_a_file_of_its_own() -> None:
    _, text = strata(str(DATA / "ladder.csv"), "--plan", str(DATA / "matrix.csv"), "--json")
    assert "execution" in {f["law"] for f in json.loads(text)["flags"]}
    _, text = strata(str(DATA / "ladder.csv"), "--json")
    assert "execution" not in {f["law"] for f in json.loads(text)["flags"]}


def test_columns_are_named_on_the_command_line(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_text("Durchsatz,IOPS,bs\n100,100,1M\n200,200,1M\n30,300,1M\n")
    assert strata(str(path))[0] == Exit.INCONCLUSIVE
    assert strata(str(path), "--column", "Durchsatz=rate [MiB/s]")[0] == 3


def test_a_fio_result() -> None:
    code, text = strata(str(DATA / "fio.json"), "--json")
    assert code == 0
    assert ("tail", "one-at-a-time") in {(f["law"], f["row"]) for f in json.loads(text)["flags"]}


def test_a_run_is_held_against_every_law(tmp_path: Path) -> None:
    url = stored(tmp_path / "runs.db", rounds(), plan_of(STACK, [W]))
    found = check_run("r1", url)
    assert (found.source, found.rows, found.broken) == ("r1", 1, 0)
    assert {f.law for f in found.flags} == {"counters"}
    assert all(f.next_step for f in found.flags)


def test_an_impossible_run_ends_with_three(tmp_path: Path) -> None:
    url = stored(tmp_path / "runs.db", rounds(mean_ns=1e6), plan_of(STACK, [W]))
    code, text = strata("r1", "--store", url, "--json")
    assert code == 3
    flag = json.loads(text)["flags"][0]
    assert (flag["law"], flag["row"], flag["words"]["layer"]) == ("little", f"disk/{W.key}", "disk")


@pytest.mark.parametrize(
    ("words", "why"),
    [
        (("nosuch.csv",), "no such file"),
        (("--column", "a=b"), "applies only to a file"),
        ((str(DATA / "cpu.csv"), "--column", "busy"), "HEADING=KIND"),
        ((str(DATA),), "directory"),
    ],
)
def test_words_that_do_not_add_up_are_refused(words: tuple[str, ...], why: str) -> None:
    with pytest.raises(StrataError) as e:
        strata(*words)
    assert why in e.value.render()


def test_bytes_that_are_no_text_and_our_own_documents_are_refused(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_bytes(b"\xff\xfe\x00")
    (tmp_path / "r.json").write_text('{\n  "schema": "strata.report/1"}')
    for name in ("t.csv", "r.json"):
        with pytest.raises(UsageError):
            strata(str(tmp_path / name))


def test_an_empty_store(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="the store has no runs"):
        check_run(None, f"sqlite:///{tmp_path / 'new.db'}")


LADDER = "layer,below,pattern,size,depth,threads,iops\n"


@pytest.mark.parametrize(
    "rows",
    [
        "disk,,random read,4096,0,1,100\nshare,disk,random read,4096,0,1,90\n",
        "disk,,random read,0,1,1,100\nshare,disk,random read,0,1,1,90\n",
        "disk,,random read,7,1,1,100\nshare,disk,random read,7,1,1,90\n",
        "disk,,random read,4096,1,1e30,100\nshare,disk,random read,4096,1,1e30,90\n",
        "disk,,random read,4096,1,1,0\nshare,disk,random read,4096,1,1,90\n",
        "disk,,random read,4096,-1,-1,-100\nshare,disk,random read,4096,-1,-1,-90\n",
        "disk,,random read,4096,1,1,1e99\nshare,disk,random read,4096,1,1,1e-99\n",
        f"disk,,random read,4096,1,1,1{'0' * 300}\nshare,disk,random read,1{'0' * 300}T,1,1,9\n",
        f"{'x' * 900},,random read,4096,1,1,100\nshare,disk,random read,4096,1,1,90\n",
        "disk,disk,random read,4096,1,1,100\nshare,share,random read,4096,1,1,90\n",
        "# noise = 1e9\ndisk,,random read,4096,1,1,100\nshare,disk,random read,4096,1,1,90\n",
        "# noise = -3\ndisk,,random read,4096,1,1,100\nshare,disk,random read,4096,1,1,90\n",
    ],
)
def test_a_stranger_s_ladder_that_nothing_could_have_given_is_held_against_the_laws_alone(
    tmp_path: Path, rows: str
) -> None:
    (tmp_path / "t.csv").write_text(LADDER + rows)
    code, text = strata(str(tmp_path / "t.csv"))
    assert code in (0, 3, 4) and "2 rows, " in " ".join(text.split()) and "These layers" not in text


def test_what_is_odd_in_one_row_costs_that_row_alone() -> None:
    there = "disk,,random read,4096,{0},1,100\nshare,disk,random read,4096,{0},1,50\n"
    found = ladder_of(read_table(LADDER + there.format(1) + there.format(0), "t"))
    assert found is not None
    assert [c.workload_key for c in found[1].comparisons] == ["randread-4KiB-qd1"]
    assert [c.message.partition(" is ")[2][:8] for c in found[1].checks] == ["left out"] * 2


def test_names_may_hold_what_joins_them() -> None:
    same = "disk + disk,,random read,4096,1,1,100\nshare,disk + disk,random read,4096,1,1,90\n"
    twice = "disk,,random read,4096,1,1,100\nshare,disk + disk,random read,4096,1,1,90\n"
    for rows in (same, twice):
        found = ladder_of(read_table(LADDER + rows, "t"))
        assert found is not None and [len(one.on) for one in found[0].layers] == [0, 1]


def test_what_is_left_out_of_the_ladder_is_said(tmp_path: Path) -> None:
    there = "disk,,random read,4096,{0},1,100\nshare,disk,random read,4096,{0},1,50\n"
    (tmp_path / "t.csv").write_text(LADDER + there.format(1) + there.format(0))
    assert strata(str(tmp_path / "t.csv"))[1].count("is left out") == 2


def test_rows_that_are_called_alike_keep_a_name_each() -> None:
    rows = "r (2),disk,,random read,4096,1,100\n" + "".join(f"r,share,disk,random read,4096,{d},90\n" for d in (1, 2))
    table = read_table("name,layer,below,pattern,size,depth,iops\n" + rows, "t")
    assert len({row.name for row in table.rows}) == 3


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_a_ladder_may_be_of_any_protocol(protocol: str) -> None:
    rows = f"disk,,random read,4096,1,100,\nshare,disk,random read,4096,1,50,{protocol}\n"
    found = ladder_of(read_table("layer,below,pattern,size,depth,iops,protocol\n" + rows, "t"))
    assert found is not None and found[0].layers[1].target.remote


def test_two_rows_of_one_cell_are_its_repetitions() -> None:
    """Whatever they differ in that is not known: no factor is read from one of them."""
    rows = "disk,,random read,4096,1,1,100\ndisk,,random read,4096,1,1,50\nshare,disk,random read,4096,1,1,60\n"
    for text in (rows, "".join(sorted(rows.splitlines(keepends=True)))):
        found = ladder_of(read_table(LADDER + text, "t"))
        assert found is not None
        (one,) = found[1].comparisons
        assert one.verdict is Equivalence.CANNOT_TELL
        assert one.iops.low is not None and one.iops.low < 0.6 and one.iops.high is not None and one.iops.high > 1.2


def test_more_layers_than_a_stack_has_are_refused_in_words() -> None:
    names = [f"l{n}" for n in range(65)]
    few = [(name, " + ".join(names[:n][-1:]), 1) for n, name in enumerate(names)]
    many = [(name, " + ".join(names[:n]), d) for n, name in enumerate(names[:64]) for d in (1, 2)]
    for cells, why in ((few, "more than 64 layers"), (many, "more than 200 comparisons")):
        rows = "".join(f"{name},{below},random read,4096,{depth},1,100\n" for name, below, depth in cells)
        with pytest.raises(UsageError, match=why):
            ladder_of(read_table(LADDER + rows, "t"))
