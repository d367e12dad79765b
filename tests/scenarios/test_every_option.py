"""Every option of every command is honoured or refused, in every way a command can be used.

An option that a way does not take ends with exit code 2 and says where it works; one that it takes reaches the use
case. A new command, way or option that nobody placed fails here.
"""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import typer

import strata.app
from strata.cli import tables
from strata.cli.main import app
from strata.errors import StrataError, UsageError
from strata.model.axis import Axis

T = tables
STRATA: Any = typer.main.get_command(app)

USE_CASES = {
    "measure": ("measure_endpoint",),
    "clients": ("engine_of_nodes",),
    "diagnose": ("diagnose_path", "diagnose_demo", "resume", "plan_only"),
    "kept": ("load_kept", "load_report", "list_runs", "named_runs"),
    "matrix": ("measure_matrix", "resume_matrix", "plan_matrix"),
    "verify": ("verify_endpoint",),
    "target": ("serve_and_say",),
    "trace": ("trace", "read"),
    "watch": ("watch",),
    "watch_every": ("watch_on", "look_back"),
    "check": ("check_file", "check_run"),
    "compare": ("compare_runs",),
    "imports": ("import_paths",),
    "emit": ("emit",),
    "stage": ("state_of", "measure_stage"),
    "scale": ("measure_scale", "resume_scale", "scale_again"),
    "scale_table": ("scale_table",),
    "scale_tasks": ("measure_tasks",),
    "scale_elastic": ("measure_elastic",),
    "export": ("export",),
    "schemas": ("schema",),
    "survey": ("survey_path", "compare_surveys"),
    "history": ("history_of", "gate_runs", "save_baseline", "list_baselines"),
    "derive": ("write_profile",),
    "serve": ("listening",),
    "nodes": ("trust", "serve", "join", "list_nodes"),
    "fleet": ("measure_hosts", "compare_hosts"),
    "strata_lab.labs": ("up", "down", "grow", "shrink", "resize", "spread", "state", "enter", "put_in", "trials"),
}
"""Behind these the work begins; what reaches them is looked at, and nothing is done."""

SHOWN = {
    "html",
    "markdown",
    "csv",
    "jsonl",
    "output",
    "junit",
    "json",
    "progress",
    "verbose",
    "write",
    "strict",
    "listed",
}
"""They do not reach a use case: what they do is seen in what is written (`test_outputs_are_written`)."""

VALUES = {
    "runtime": "7s", "ramp": "30ms", "interval": "70ms", "bs": "8k", "size": "32m", "engine": "fio", "rw": "randwrite",
    "random_distribution": "zipf:1.1", "stride": "64k", "offset_increment": "1m", "bssplit": "4k/50:8k/50",
    "limit_bytes": "10m", "thinktime": "10ms", "blockalign": "64k", "misalign": "512", "range": "1m:2m",
    "rate_process": "poisson", "shares": "3:1", "deal": "thread", "cache": "warm", "sync": "dsync",
    "until": "3%", "until_percentile": "99.9:7%", "until_min": "1s", "until_bytes": "1g", "budget": "9m",
    "cpus": "0", "numa_node": "0", "precondition": "5s", "precondition_bytes": "64m", "cooldown": "1s",
    "layers": "file system", "workloads": "randread*", "matrix": "small", "profile": "etcd", "demo": "slow-wire",
    "destructive": "/dev/x", "progress": "none", "sector": "512", "order": "sequential", "stuck_after": "5s",
    "flush_every": "9", "passes": "3", "listen": "127.0.0.1:7", "bandwidth": "1m", "latency": "2ms",
    "service_time": "1ms", "fault": "lost", "memory": "64m", "null": "64m", "max_loss": "7%", "noise": "3%",
    "margin": "3%", "between_runs": "3%", "column": "BW=rate [MiB/s]", "max_events": "2000", "against": "other",
    "rwmixread": "70", "numjobs": "3", "iodepth": "3", "dedupe_percentage": "20", "buffer_compress_percentage": "20",
    "from_trace": "fio --name=a --rw=read --bs=4k", "seed": "77", "service_threads": "3", "since": "7d",
    "settings": "fs=xfs", "clients": "3", "nodes": "tcp://127.0.0.1:7", "rounds": "7",
    "table": "rounds", "layer": "disk", "over": "threads", "points": "1,2,4,8,16",
    "make": "true {}", "task": "b=true", "worth": "30%", "what_if": "limit=2x", "for_": "7s", "within": "7m",
}  # fmt: skip
"""Values that each option can have, and that are no default. Others: a number, or a new file."""

WRITES, MIXED, SEQUENTIAL = ("--rw", "randwrite"), ("--rw", "randrw"), ("--rw", "read")
BESIDE = {
    "rwmixread": MIXED, "rwmix_run": MIXED, "fsync": WRITES, "fdatasync": WRITES, "dsync": WRITES, "sync": WRITES,
    "buffer_compress_percentage": WRITES, "dedupe_percentage": WRITES, "refill_buffers": WRITES, "zero_buffers": WRITES,
    "interlocked": SEQUENTIAL, "stride": SEQUENTIAL, "offset_increment": SEQUENTIAL,
    "rate_process": ("--rate-iops", "100"), "rate_burst": ("--rate-iops", "100"),
    "thinktime_blocks": ("--thinktime", "5ms"), "until_percentile": ("--until", "2%"), "until_min": ("--until", "2%"),
    "until_bytes": ("--until", "2%"), "deal": ("--numjobs", "4"), "journal_sync": ("--journal", "{new}.journal"),
    "column": ("--plan", "{table}"), "now": ("--make", "true {{}}"),
}  # fmt: skip
"""What has to be there for an option to mean something."""


class Reached(BaseException):
    """A use case was called, with this."""

    def __init__(self, asked: tuple[Any, ...]) -> None:
        self.asked = asked


@pytest.fixture
def reached(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    for found in pkgutil.iter_modules(strata.app.__path__):
        # What is imported first while these stand in would keep them.
        importlib.import_module(f"strata.app.{found.name}")
    for module, names in USE_CASES.items():
        loaded = importlib.import_module(module if "." in module else f"strata.app.{module}")
        for name in names:

            def told(*args: Any, _name: str = name, **named: Any) -> None:
                values = [a for a in args if not callable(a)]
                raise Reached((_name, values, {k: v for k, v in named.items() if not callable(v)}))

            monkeypatch.setattr(loaded, name, told)
    yield


@pytest.fixture
def words(tmp_path: Path) -> dict[str, str]:
    """What the samples name: files that are there."""
    files = {
        "job": "[a]\nrw=randread\nbs=16k\n",
        "stack.toml": f'[stack]\nname = "s"\n[[layer]]\nname = "file system"\nendpoint = "file:{tmp_path}/d.dat"\n',
        "table.csv": "IOPS\n1\n",
        "trace": "x",
        "mapping.toml": '[columns]\n"Ops" = "iops"\n',
    }
    for name, text in files.items():
        (tmp_path / name).write_text(text)
    named = {name.partition(".")[0]: str(tmp_path / name) for name in files}
    return named | {"dir": str(tmp_path), "new": str(tmp_path / "new")}


SAMPLES: dict[str, dict[tuple[str, ...], str]] = {
    "measure": {
        (T.ONE, T.WORDS): "null:",
        (T.ONE, T.JOB): "null: --job {job}",
        (T.ONE, T.MATRIX): "null: --matrix small",
        (T.SEVERAL, T.WORDS): "file:{dir}/a --target file:{dir}/b",
        (T.SEVERAL, T.JOB): "file:{dir}/a --target file:{dir}/b --job {job}",
        (T.DIRECTORY, T.USUAL): "{dir}",
        (T.DIRECTORY, T.WORDS): "{dir} --rw read",
        (T.DIRECTORY, T.JOB): "{dir} --job {job}",
        (T.DIRECTORY, T.MATRIX): "{dir} --matrix small",
        (T.STACK, T.USUAL): "{stack}",
        (T.STACK, T.WORDS): "{stack} --rw read",
        (T.STACK, T.JOB): "{stack} --job {job}",
        (T.STACK, T.MATRIX): "{stack} --matrix small",
        (T.RESUME, T.LAYERS): "--resume layers",
        (T.RESUME, T.MATRIX): "--resume matrix",
    },
    "diagnose": {
        (place, cells): f"{where} {more}"
        for place, where in ((T.DIRECTORY, "{dir}"), (T.STACK, "{stack}"), (T.DEMO, "--demo far-wire"))
        for cells, more in ((T.USUAL, ""), (T.PROFILE, "--profile sql-oltp"), (T.JOB, "--job {job}"))
    },
    "plan": {
        **{
            (place, cells): f"{where} {more}"
            for place, where in ((T.DIRECTORY, "{dir}"), (T.STACK, "{stack}"))
            for cells, more in (
                (T.USUAL, ""),
                (T.PROFILE, "--profile sql-oltp"),
                (T.JOB, "--job {job}"),
                (T.DERIVED, "--from-trace {job}"),
                (T.MATRIX, "--matrix full"),
            )
        },
        (T.ONE, T.MATRIX): "null: --matrix full",
    },
    "verify": {
        (T.RUN,): "file:{new}",
        (T.CHECK,): "--check --journal {new}",
        (T.RESUME,): "--resume --journal {new}",
    },
    "target": {
        (T.FILE,): "--file {table}",
        (T.MEMORY,): "--memory 1m",
        (T.NULL,): "--null 1m",
    },
    "trace": {(T.LIVE,): "{dir}", (T.SAVED,): "--from {trace}"},
    "watch": {
        (T.WATCHED,): "{dir}",
        (T.EVERY,): "{dir} --every 10s",
        (T.AROUND,): "{dir} --around 14:05",
    },
    "emit": {
        (T.USUAL,): "fio /t",
        (T.PROFILE,): "fio /t --profile kubernetes-etcd",
        (T.JOB,): "fio /t --job {job}",
        (T.WORDS,): "fio /t --rw read",
        (T.MATRIX,): "fio /t --matrix small",
        (T.LIKE,): "fio /t --run r",
    },
    "survey": {(T.SURVEYED,): "{dir}", (T.COMPARED,): "--compare {dir} {dir}"},
    "scale": {
        (T.SWEEP,): "null:",
        (T.TABLE,): "--table {table}",
        (T.LIKE,): "--run r",
        (T.TASKS,): "--over threads --points 1,2 --task a=true",
        (T.UNDER_LOAD,): "null: --under-load --over queues --points 3 --make true{{}} --now 2",
        (T.RESUME,): "--resume",
    },
    "stage": {(T.STATE,): "stack.toml", (T.MEASURED,): "stack.toml --measure"},
    "node trust": {(T.MAKE,): "n1", (T.REVOKE,): "n1 --revoke", (T.CHECK,): "--check"},
    "check": {(T.FIGURES,): "{table}", (T.STORED,): "run"},
    "baseline": {
        (T.SAVE,): "save main",
        (T.PROMOTE,): "promote main",
        (T.LIST,): "list",
        (T.SHOW,): "show main",
    },
}

ONE_WAY = {
    "import": "{table}", "export": "csv", "compare": "a b", "history": "--all", "gate": "",
    "report": "", "schema": "report", "serve": "",
    "explain": "", "runs": "", "runs delete": "run --yes", "clean": "",
    "node serve": "", "node join": "tcp://127.0.0.1:1", "node list": "tcp://127.0.0.1:1",
    "fleet diagnose": "{dir} --nodes tcp://127.0.0.1:1", "fleet compare": "a b", "completions": "bash",
    "lab up": "local", "lab down": "", "lab grow": "", "lab shrink": "", "lab resize": "queues 3",
    "lab spread": "", "lab list": "",
    "lab status": "", "lab shell": "node",
    "lab exec": "node ls", "lab inject": "slow-wire", "lab selftest": "",
}  # fmt: skip
"""Commands that do one thing: they honour every option they have."""

SELECT = {"matrix", "job", "rw", "target", "resume", "demo", "profile", "from_trace", "check", "file", "memory", "null"}
SELECT |= {"task", "under_load", "from_", "where", "what", "run", "measure", "compare", "every", "around", "revoke"}
"""They make it another way, which is looked at by itself."""

ALL = [(command, way) for command, ways in SAMPLES.items() for way in ways]


def commands() -> dict[str, Any]:
    every = dict(STRATA.commands)
    for name, command in list(every.items()):
        inner = getattr(command, "commands", None)
        if inner:
            if not command.invoke_without_command:
                del every[name]
            every |= {f"{name} {one}": c for one, c in inner.items()}
    return every


def options_of(command: str) -> dict[str, Any]:
    """The options by name, without those that nobody is told of."""
    found = commands()[command].params
    return {p.name: p for p in found if p.opts[0].startswith("-") and p.name != "help"}


def typed(option: Any, words: dict[str, str]) -> list[str]:
    if option.is_flag:
        return [(option.secondary_opts or option.opts)[0] if option.default is True else option.opts[0]]
    known = {
        "job": words["job"],
        "plan": words["table"],
        "from_": words["trace"],
        "file": words["table"],
        "mapping": words["mapping"],
    }
    known |= {"target": f"file:{words['dir']}/c"}
    other = "3" if option.type_descriptor.annotation in (int, float) else words["new"] + ".x"
    return [option.opts[0], known.get(option.name, VALUES.get(option.name, other))]


def run(command: str, line: str, more: list[str], words: dict[str, str]) -> tuple[Any, ...]:
    """What reached the use case. Raises what the command raises."""
    argv = [*command.split(), *(w.format(**words) for w in line.split()), *more]
    try:
        STRATA(argv, standalone_mode=False)
    except Reached as e:
        return e.asked
    raise AssertionError(f"strata {' '.join(argv)} reached no use case")


def unfinished_of(monkeypatch: pytest.MonkeyPatch, command: str, way: tuple[str, ...]) -> None:
    if command == "scale":
        from types import SimpleNamespace

        plan = SimpleNamespace(scale=SimpleNamespace(axis=Axis.QUEUES), stack=SimpleNamespace(scheduler=None))
        run = SimpleNamespace(id="x", plan=plan, environment=SimpleNamespace(engine={"name": "native"}))
        monkeypatch.setattr("strata.app.diagnose.unfinished", lambda *_: run)
    if command == "measure" and way[0] == T.RESUME:
        from types import SimpleNamespace

        plan = SimpleNamespace(matrix=object() if way[1] == T.MATRIX else None, scale=None)
        run = SimpleNamespace(id="x", plan=plan, data=object())
        monkeypatch.setattr("strata.app.diagnose.unfinished", lambda *_: run)


def test_every_command_and_every_way_is_looked_at() -> None:
    assert set(commands()) == set(SAMPLES) | set(ONE_WAY)
    assert set(SAMPLES) == set(T.TABLES)
    assert {c: set(w) for c, w in SAMPLES.items()} == {c: set(t.ways) for c, t in T.TABLES.items()}


def test_the_tables_name_every_parameter_and_no_other() -> None:
    for name, table in T.TABLES.items():
        there = {p.name for p in commands()[name].params} - {"help"}
        assert frozenset().union(*table.ways.values()) == there, name


@pytest.mark.usefixtures("reached")
@pytest.mark.parametrize(("command", "way"), ALL, ids=lambda v: v if isinstance(v, str) else " ".join(v))
def test_what_a_way_cannot_honour_is_refused(command, way, words, monkeypatch) -> None:
    unfinished_of(monkeypatch, command, way)
    line = SAMPLES[command][way]
    takes = T.TABLES[command].ways[way]
    for name, option in options_of(command).items():
        if name in takes or name in SELECT:
            continue
        with pytest.raises(UsageError) as caught:
            asked = run(command, line, typed(option, words), words)
            pytest.fail(f"strata {command} {line} {name} is dropped: {asked}")
        said = caught.value.render()
        refused = any(words in said for words in ("it applies only to", "it needs", "they exclude each other"))
        assert option.opts[0] in said and refused, said


@pytest.mark.usefixtures("reached")
@pytest.mark.parametrize(("command", "way"), ALL, ids=lambda v: v if isinstance(v, str) else " ".join(v))
def test_what_a_way_takes_reaches_the_work(command, way, words, monkeypatch) -> None:
    unfinished_of(monkeypatch, command, way)
    takes = T.TABLES[command].ways[way]
    looked_at(command, SAMPLES[command][way], {n: o for n, o in options_of(command).items() if n in takes}, words)


@pytest.mark.usefixtures("reached")
@pytest.mark.parametrize("command", ONE_WAY)
def test_every_option_of_a_command_with_one_way_reaches_the_work(command, words) -> None:
    if command in ("clean", "lab list", "completions"):
        pytest.skip("nothing is asked of it but how it is shown")
    looked_at(command, ONE_WAY[command], options_of(command), words)


def looked_at(command: str, line: str, options: dict[str, Any], words: dict[str, str]) -> None:
    already = line.split()
    for name, option in options.items():
        if name in SHOWN or any(o in already for o in option.opts):
            continue
        beside = [w.format(**words) for w in BESIDE.get(name, ())]
        if beside and (beside[0] in already or not any(beside[0] in o.opts for o in options.values())):
            beside = []
        here = line.replace("--rw read", "") if beside[:1] == ["--rw"] else line
        plain = here if command != "history" or name != "every" else "any"
        before = outcome(command, plain, beside, words)
        after = outcome(command, here, [*beside, *typed(option, words)], words)
        assert before != after, f"strata {command} {here}: {name} changes nothing"


def outcome(command: str, line: str, more: list[str], words: dict[str, str]) -> Any:
    """What was asked of the use case, or the words in which the value was refused."""
    try:
        return run(command, line, more, words)
    except StrataError as e:
        assert not any(words in e.headline for words in ("applies only to", "it needs", "cannot use together")), (
            e.render()
        )
        return e.headline


def test_a_size_of_what_is_there_already_is_refused_where_it_has_another(disk: Path) -> None:
    path = disk / "kept"
    short = ("--runtime", "300ms", "--ramp-time", "0", "--progress", "none", "--keep")
    for size, fits in (("8m", True), ("8m", True), ("16m", False)):
        words = ["measure", f"file:{path}", "--size", size, *short]
        if fits:
            assert STRATA(words, standalone_mode=False) == 0
            continue
        with pytest.raises(UsageError, match="it exists and has 7 MiB"):
            STRATA(words, standalone_mode=False)
    assert path.exists()


def test_preconditioning_without_a_workload_that_writes_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="no workload writes"):
        STRATA(["plan", str(tmp_path), "--read-only", "--precondition", "5s"], standalone_mode=False)


@pytest.mark.parametrize(
    ("words", "code", "why"),
    [
        (("measure", "null:", "--keep"), 2, "no test file is made there"),
        (("measure", "block:/dev/zero", "--keep"), 2, "no test file is made there"),
        (("measure", "nbd://127.0.0.1:1/x", "--destructive", "nbd://127.0.0.1:1/x"), 2, "it writes nothing"),
        (("measure", "file:{}/new", "--rw", "write", "--destructive", "file:{}/new"), 5, "no option lets Strata write"),
        (("measure", "nbd://127.0.0.1:1/x", "--matrix", "bs=4k;iodepth=1;rw=randread", "--keep"), 2, "no test file"),
        (("verify", "file:{}/new", "--destructive", "file:{}/new"), 5, "no option lets Strata write"),
        (("verify", "nbd://127.0.0.1:1/x", "--keep"), 2, "no test file is made there"),
    ],
)
def test_keep_and_destructive_are_refused_where_they_change_nothing(
    tmp_path: Path, words: tuple[str, ...], code: int, why: str
) -> None:
    with pytest.raises(StrataError, match=why) as refused:
        STRATA([w.format(tmp_path) for w in words], standalone_mode=False)
    assert refused.value.exit_code == code
    assert list(tmp_path.iterdir()) == []
