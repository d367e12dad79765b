"""`import strata`: the commands as functions, with the commands' defaults, giving the values of their JSON."""

from __future__ import annotations

import inspect
import json
import subprocess
import sys
from pathlib import Path
from typing import Any, get_type_hints

import pytest
from invoked import printed
from store import store_samples as sample

import strata
from strata import api
from strata.app import circumstances, compare, diagnose, matrix, measure, survey
from strata.app.options import Options
from strata.cli import tables
from strata.errors import InconclusiveError, UsageError
from strata.model.run import Label, RunStatus
from strata.model.rw import Rw
from strata.model.stack import Layer, Stack
from strata.model.workload import ClosedLoop, Workload
from strata.store import open_store

A, B = "20260301-120000-aaaa", "20260302-120000-bbbb"
FUNCTIONS = ("compare", "diagnose", "load", "measure", "survey")
STACK = Stack(name="two", layers=(Layer(name="file system", endpoint="file:/x/d.dat"),))


def said(*words: str) -> str:
    return printed(*words)[1].strip()


@pytest.fixture
def store(tmp_path: Path) -> str:
    """Two runs of one cell, the second a tenth slower, and a matrix."""
    url = str(tmp_path / "s.db")
    with open_store(url) as store:
        for number, (run_id, ops) in enumerate(((A, 10_000), (B, 9_000)), start=1):
            run = sample.run(run_id, created=number, status=RunStatus.DONE)
            store.create_run(run.model_copy(update={"label": Label(name=f"night {number}")}))
            store.save_cell(run_id, sample.cell(ops=ops))
            store.save_outcome(run_id, *sample.outcome())
    return url


def test_importing_the_package_loads_nothing_of_it() -> None:
    code = "import sys; before = set(sys.modules); import strata; print(*(set(sys.modules) - before))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    loaded = set(done.stdout.split())
    assert {name for name in loaded if name.startswith("strata.")} == set()
    assert loaded & {"numpy", "pydantic", "sqlalchemy", "typer", "json", "typing"} == set()


def test_the_functions_load_no_numbers_and_no_database_before_they_are_called() -> None:
    code = "import sys, strata; strata.survey; print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    loaded = set(done.stdout.split())
    assert loaded & {"numpy", "scipy", "sqlalchemy", "jinja2", "typer", "rich", "strata.cli"} == set()
    assert "strata.api" in loaded


def test_a_room_of_the_same_name_does_not_take_the_functions_place() -> None:
    code = (
        "import strata.diagnose.page, strata; from strata import diagnose as f; print(f is strata.diagnose, f.__name__)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["True", "diagnose"]


def test_the_package_names_its_functions_and_no_others() -> None:
    assert set(strata.__all__) == {*FUNCTIONS, "__version__"} <= set(dir(strata))
    assert all(inspect.getdoc(getattr(strata, name)) for name in FUNCTIONS)
    with pytest.raises(AttributeError, match="no attribute 'mesure'"):
        strata.mesure  # type: ignore[attr-defined]  # noqa: B018


def test_the_keywords_are_the_fields_of_the_options_with_their_types() -> None:
    hints = {**get_type_hints(api.MeasureOptions), **get_type_hints(api.DiagnoseOptions)}
    fields = get_type_hints(Options)
    inside = {"screen", "load_seconds", "model_config"}
    assert hints == {name: fields[name] for name in hints}
    assert set(fields) - set(hints) - inside == {"profile"}, "it is a parameter, as it may be a name"


ASKED_AS = {
    "runtime": "runtime_s", "ramp": "ramp_s", "interval": "interval_s", "precondition": "precondition_s",
    "cpus": "placement", "numa_node": "placement", "cooldown": "cooldown_s", "name": "label", "note": "label",
    "budget": "budget_s", "job": "only",
}  # fmt: skip
PARAMETERS = {"where", "demo", "profile", "only", "matrix", "until", "until_percentile", "until_min", "until_bytes"}
PARAMETERS |= {
    "destructive",
    "nodes",
    "html",
    "markdown",
    "csv",
    "jsonl",
    "json",
    "progress",
    "verbose",
    "buffered",
    "sync",
    "dsync",
}
T = tables
WAYS = {
    ("measure", "one endpoint"): (T.MEASURE, (T.ONE, T.WORDS)),
    ("measure", "several endpoints"): (T.MEASURE, (T.SEVERAL, T.WORDS)),
    ("measure", "a directory"): (T.MEASURE, (T.DIRECTORY, T.USUAL)),
    ("measure", "a stack"): (T.MEASURE, (T.STACK, T.USUAL)),
    ("matrix", "one endpoint"): (T.MEASURE, (T.ONE, T.MATRIX)),
    ("matrix", "a directory"): (T.MEASURE, (T.DIRECTORY, T.MATRIX)),
    ("matrix", "a stack"): (T.MEASURE, (T.STACK, T.MATRIX)),
    ("diagnose", "a directory"): (T.DIAGNOSE, (T.DIRECTORY, T.JOB)),
    ("diagnose", "a stack"): (T.DIAGNOSE, (T.STACK, T.JOB)),
    ("diagnose", "a demo"): (T.DIAGNOSE, (T.DEMO, T.JOB)),
}


def test_every_use_takes_what_the_command_line_takes_there() -> None:
    of_words = T.WORKLOAD | {"target", "shares", "deal"}
    for use, (table, parts) in WAYS.items():
        takes = table.ways[parts] - of_words
        # The budget of a matrix and its ramp are in its words.
        takes -= {"budget", "ramp"} if use[0] == "matrix" else set()
        named = {ASKED_AS.get(name, name) for name in takes}
        assert api._TAKES[use] - PARAMETERS == named - PARAMETERS, use
    assert set(WAYS) == set(api._TAKES)


class Reached(BaseException):
    """A use case was called, with this."""


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """What reaches the use cases, in turn; what is only called back is left out."""
    found: list[Any] = []
    cases = (
        (compare, "compare_runs"), (diagnose, "diagnose_path"), (diagnose, "diagnose_demo"),
        (matrix, "measure_matrix"), (measure, "measure_endpoint"), (survey, "survey_path"),
    )  # fmt: skip
    for module, name in cases:

        def told(*args: Any, _name: str = name, **named: Any) -> None:
            found.append(
                (_name, [a for a in args if not callable(a)], {k: v for k, v in named.items() if not callable(v)})
            )
            raise Reached

        monkeypatch.setattr(module, name, told)
    return found


SAME = {
    "survey": (("survey",), lambda _: strata.survey()),
    "survey of a path": (("survey", "{}"), strata.survey),
    "diagnose": (("diagnose", "{}"), strata.diagnose),
    "diagnose a demo": (("diagnose", "--demo", "far-wire"), lambda _: strata.diagnose(demo="far-wire")),
    "diagnose so long": (
        ("diagnose", "{}", "--rounds", "7", "--no-confirm", "--cooldown", "2s", "--name", "x"),
        lambda here: strata.diagnose(here, rounds=7, confirm=False, cooldown_s=2.0, label=Label(name="x")),
    ),
    "diagnose a profile": (
        ("diagnose", "{}", "--profile", "sql-oltp"), lambda here: strata.diagnose(str(here), profile="sql-oltp"),
    ),
    "measure": (("measure", "null:"), lambda _: strata.measure("null:")),
    "measure words": (
        ("measure", "null:", "--rw", "randrw", "--bs", "8k", "--iodepth", "4", "--runtime", "2s", "--seed", "5"),
        lambda _: strata.measure("null:", {"rw": "randrw", "bs": "8k", "iodepth": 4}, runtime_s=2.0, seed=5),
    ),
    "measure a value": (
        ("measure", "null:", "--rw", "read", "--bs", "8k", "--iodepth", "4"),
        lambda _: strata.measure("null:", Workload(rw=Rw.READ, bs=8192, arrival=ClosedLoop(iodepth=4))),
    ),
    "measure until": (
        ("measure", "null:", "--until", "2%", "--runtime", "9s"),
        lambda _: strata.measure("null:", until="2%", runtime_s=9.0),
    ),
    "measure several": (
        ("measure", "file:{}/a", "--target", "file:{}/b"),
        lambda here: strata.measure([f"file:{here}/a", f"file:{here}/b"]),
    ),
    "measure layers": (("measure", "{}", "--trace"), lambda here: strata.measure(here, trace=True)),
    "measure layers with words": (
        ("measure", "{}", "--rw", "read"), lambda here: strata.measure(here, {"rw": "read"}),
    ),
    "measure a matrix": (("measure", "null:", "--matrix", "small"), lambda _: strata.measure("null:", matrix="small")),
    "compare": (("compare", A, B), lambda _: strata.compare(A, B)),
    "compare with the newest": (
        ("compare", A, "--margin", "3%", "--between-runs", "2%", "--anyway"),
        lambda _: strata.compare(A, margin=0.03, between_runs=0.02, anyway=True),
    ),
}  # fmt: skip


@pytest.mark.parametrize("use", SAME)
def test_a_function_asks_for_what_its_command_asks_for(use: str, asked: list[Any], tmp_path: Path) -> None:
    words, call = SAME[use]
    with pytest.raises(Reached):
        said(
            *(word.format(tmp_path) for word in words),
            *(("--progress", "none") * (words[0] in ("measure", "diagnose"))),
        )
    with pytest.raises(Reached):
        call(tmp_path)
    by_command, by_function = map(_plain, asked)
    assert by_function == by_command


def _plain(told: Any) -> Any:
    """By position or by name is the same, and so are a shape of a matrix that is not looked at and its default."""
    name, args, named = told
    options = [a for a in args if isinstance(a, Options)]
    if name == "measure_matrix":
        args = [a if a not in options else a.model_copy(update={"rounds": 1}) for a in args]
    return name, args, named


def test_a_stack_is_taken_as_a_value(asked: list[Any]) -> None:
    for call in (strata.survey, strata.diagnose, strata.measure):
        with pytest.raises(Reached):
            call(STACK)  # type: ignore[operator]
    assert [args[0] for _, args, _ in asked] == [STACK] * 3


@pytest.mark.parametrize(
    ("call", "why"),
    [
        (strata.diagnose, "name one of where and demo"),
        (lambda: strata.diagnose("/", demo="far-wire"), "name one of where and demo"),
        (lambda: strata.diagnose(demo="far-wire", keep=True), "a demo: keep"),
        (lambda: strata.diagnose(STACK, share=True), "a stack: share"),
        (lambda: strata.diagnose("/", rounds=0), "invalid options"),
        (lambda: strata.diagnose("/", profile="etcd", only=(sample.WORKLOAD,)), "profile and only"),
        (lambda: strata.diagnose("/", rounds=3, confirm=False, budget_s=9.0), "the rounds are fixed"),
        (lambda: strata.diagnose("null:"), "it is a single endpoint"),
        (lambda: strata.measure("null:", rounds=3), "one endpoint: rounds"),
        (lambda: strata.measure("null:", [sample.WORKLOAD, sample.WORKLOAD]), "takes one workload"),
        (lambda: strata.measure("null:", {"rw": "backwards"}), "cannot use the workload"),
        (lambda: strata.measure(["null:", "/"]), "several targets are endpoints"),
        (lambda: strata.measure("/", until="2%"), "layers and until"),
        (lambda: strata.measure("null:", matrix="small", until="2%"), "matrix and until"),
        (lambda: strata.measure(STACK, matrix="small"), "a matrix of two: it is a value"),
        (lambda: strata.survey("/there/is/nothing"), "does not exist"),
    ],
)  # fmt: skip
def test_what_cannot_be_honoured_is_refused(call: Any, why: str) -> None:
    with pytest.raises(UsageError, match=why):
        call()


@pytest.mark.parametrize("call", [strata.measure, strata.diagnose])
def test_an_unknown_keyword_is_pythons_error(call: Any) -> None:
    with pytest.raises(TypeError, match="unexpected keyword 'runtime'"):
        call("/", runtime="5s")


def test_what_a_program_measures_is_repeated_by_no_command_line() -> None:
    assert circumstances.environment({"name": "native"}).command == tuple(sys.argv)
    with circumstances.called():
        assert circumstances.environment({"name": "native"}).command == ()


def test_a_stored_run_is_the_document_that_report_prints(store: str, capfd: pytest.CaptureFixture[str]) -> None:
    found = strata.load(A, store=store)
    assert capfd.readouterr() == ("", "")
    assert found.model_dump_json(indent=2) == said("report", A, "--json", "--store", store)
    assert isinstance(found, api.Document) and found.run.id == A


@pytest.mark.parametrize(("what", "run"), [(None, B), (A[:-2], A), ("night 1", A), ("night*", B)])
def test_a_run_is_found_by_its_id_its_beginning_and_its_name(store: str, what: str | None, run: str) -> None:
    found = strata.load(what, store=store)
    assert isinstance(found, api.Document) and found.run.id == run


def test_a_matrix_and_a_run_without_an_outcome(store: str) -> None:
    with open_store(store) as kept:
        kept.create_run(sample.run("20260303-120000-cccc", created=3))
    with pytest.raises(InconclusiveError, match="has no verdict"):
        strata.load("20260303", store=store)
    with pytest.raises(UsageError, match="nobody"):
        strata.load("nobody", store=store)


def test_two_runs_are_compared_as_the_command_does(store: str) -> None:
    found = strata.compare(A, B, store=store)
    assert found.model_dump_json(indent=2) == said("compare", A, B, "--json", "--store", store)
    one, other = strata.load(A, store=store), strata.load(B, store=store)
    assert isinstance(one, api.Document) and isinstance(other, api.Document)
    assert strata.compare(one, other, store=store) == found
    with pytest.raises(UsageError, match="both runs are the same"):
        strata.compare(A, A, store=store)


def test_a_document_comes_back_from_its_file(store: str, tmp_path: Path) -> None:
    for value in (strata.load(A, store=store), strata.compare(A, B, store=store), sample.matrix(A)):
        path = tmp_path / "d.json"
        path.write_text(value.model_dump_json(indent=2))
        assert strata.load(path) == strata.load(str(path)) == value


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("", "it is not valid JSON"), ("{" * 200, "it is not valid JSON|too deep|nested"),
        ("[1]", "has no schema key"), ('{"schema": "strata.report/9"}', "report/9"),
        ('{"schema": "strata.report/1"}', "verdict: Field required"),
    ],
)  # fmt: skip
def test_a_file_that_is_no_document_is_refused(text: str, why: str, tmp_path: Path) -> None:
    (tmp_path / "d.json").write_text(text)
    with pytest.raises(UsageError, match=why):
        strata.load(tmp_path / "d.json")


def test_a_survey_is_the_one_in_its_json(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    found = strata.survey(tmp_path)
    assert capfd.readouterr() == ("", "") and found.path == str(tmp_path)
    # The load of the machine is another one a moment later.
    monkeypatch.setattr(survey, "survey_path", lambda *_: found)
    text = said("survey", str(tmp_path), "--json")
    assert json.loads(text)["survey"] == found.model_dump(mode="json")
    (tmp_path / "s.json").write_text(text)
    assert strata.load(tmp_path / "s.json") == found
