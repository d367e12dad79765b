"""One trial from nothing to a kept case: build, inject with its proof, diagnose as a user would, remove."""

from __future__ import annotations

import json
import os
import platform
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from pathlib import Path

from diagnosisbench import beside, kept, outside, recorder
from diagnosisbench.kept import Case, Machine, Proof, verdict_of
from diagnosisbench.replay import diagnosed
from diagnosisbench.setups import REMEMBERED, SETUPS, Setup
from diagnosisbench.trial import Put, Trial
from strata.errors import Exit, RunFailed, StrataError
from strata.host import programs
from strata.model.analysis import Analysis
from strata.model.experiment import Tried
from strata.model.finding import Diagnosis
from strata.model.stack import Stack
from strata_lab import inject, prove
from strata_lab.client import CellMeasured, client_groups, measure
from strata_lab.down import down
from strata_lab.lab import Lab
from strata_lab.tracefs import with_tracefs
from strata_lab.truth import Injection
from strata_lab.up import up

ROOT = Path(__file__).resolve().parents[3]
JUDGES = ("src", "lab", "crates", "requirements", "benches/diagnosis/diagnosisbench", "benches/diagnosis/split.toml")
"""What a verdict and its truth come of."""
PATH = os.pathsep.join((str(ROOT / "src"), str(ROOT / "lab" / "src")))
MOST_SECONDS = 900.0
SAME = 0.03
"""Confidences that differ by less are the same but for the digits that a case leaves out."""
NEIGHBOUR_PROCESSOR, NEIGHBOUR_MB_S = 0.5, 20
Say = Callable[[str], None]


def tried(trial: Trial, say: Say, battery: bool = False, folder: Path = kept.FOLDER, again: bool = False) -> Case:
    """The case, which is saved; whatever goes wrong is kept with it, and of a stop by the user that it was begun.

    ``again``: a trial that has a case; what came of it before stays in the new one.
    """
    say(str(trial))
    case = Case(trial=trial, revision=revision(), machine=machine_of((os.getloadavg()[0],) * 2, 0.0))
    begun = kept.begin(case, folder, again)
    try:
        case = _measured(begun, say, battery)
    except Exception as e:  # the bench's own faults too: what is tried is counted
        told = (e.headline, *e.problems) if isinstance(e, StrataError) else (type(e).__name__, str(e))
        case = begun.model_copy(update={"failed": " · ".join(told)})
    packed = kept.load(kept.save(case, folder))
    if packed.verdict is not None and not battery:
        _same(packed, say)
    return packed


def _measured(case: Case, say: Say, battery: bool) -> Case:
    """With its proofs and, unless something failed, its verdict. The lab is gone afterwards."""
    trial, proofs = case.trial, list[Proof]()
    lab: Lab | None = None
    home = Path(tempfile.mkdtemp(prefix="strata-bench-"))
    try:
        apart = _without_the_first(trial) if len(trial.put) > 1 else None
        lab = up(trial.stack, _lab_name(), trial.options)
        _remembered(trial, lab, home)
        for put in trial.put:
            proofs.append(_put_in(lab, put, SETUPS[trial.setup], say))
        if apart is not None:
            proofs[0] = _still_felt(lab, trial, apart, proofs[0], say)
        case = case.model_copy(update={"proofs": tuple(proofs), "failed": None})
        case = _diagnosed(case, lab, home, battery)
    except StrataError as e:
        case = case.model_copy(update={"proofs": tuple(proofs), "failed": " · ".join((e.headline, *e.problems))})
    finally:
        if lab is not None:
            case = _removed(case, lab)
        shutil.rmtree(home)
    return case


def _lab_name() -> str:
    return f"bd{os.getpid() % 10**8}"


def _without_the_first(trial: Trial) -> list[CellMeasured]:
    """What the first limit's own cell gives where only the others are in: of a lab of its own, which is gone then."""
    lab = up(trial.stack, _lab_name(), trial.options)
    try:
        for put in trial.put[1:]:
            truth = _truth(lab, put, SETUPS[trial.setup])
            truth.prepare(lab)
            inject.InjectionAsked(put.what, own=put.value).apply(lab, truth)
        return _twice(lab, _truth(lab, trial.put[0], SETUPS[trial.setup]))
    finally:
        down(lab)


def _still_felt(lab: Lab, trial: Trial, apart: list[CellMeasured], alone: Proof, say: Say) -> Proof:
    """The first limit's proof, with what it costs beside the others where that is less: one that another limit hides
    in its own cell cannot be found, and is none that a diagnosis has to find."""
    first = trial.put[0]
    truth = _truth(lab, first, SETUPS[trial.setup])
    both = prove.proven(lab, inject.InjectionAsked(first.what, own=first.value), truth, apart, _twice(lab, truth))
    say(f"  beside the other {both.line}")
    if both.impact >= alone.impact:
        return alone
    return alone.model_copy(
        update={"impact": round(both.impact, 3), "line": f"{alone.line}; beside the other {both.line}"}
    )


def _twice(lab: Lab, truth: Injection) -> list[CellMeasured]:
    return [measure(lab, truth.cell), measure(lab, truth.cell)]


def _remembered(trial: Trial, lab: Lab, home: Path) -> None:
    """A run of the healthy lab in the store, where what is put in can only be seen against one."""
    if not (kinds := REMEMBERED & {put.what for put in trial.put}):
        return
    for what in kinds:
        outside.truth_of(what, lab.stack).prepare(lab)
    if failed := _run(_limited(lab, _words(lab, home)), os.environ | {"PYTHONPATH": PATH}):
        raise RunFailed("the healthy lab", lab.name, failed)


def _words(lab: Lab, home: Path) -> list[str]:
    fact = lab.last_fact("stack")
    assert fact is not None
    words = [sys.executable, str(Path(recorder.__file__)), str(home / "case.json")]
    store = ["--store", f"sqlite:///{home / 'runs.db'}"]
    # Where somebody else has started this machine, tracefs is not mounted as it is on those of users.
    return with_tracefs([*words, "diagnose", fact["path"], "--json", "--progress", "none", *store])


def _removed(case: Case, lab: Lab) -> Case:
    """The same case: that something of its lab stays behind takes nothing from its verdict. It is said all the same."""
    try:
        down(lab)
    except StrataError as e:
        print(e.render(), file=sys.stderr, flush=True)
    return case


def _same(case: Case, say: Say) -> None:
    """Says where a replay of what was kept does not give the verdict that was given."""
    then, now = case.verdict, verdict_of(diagnosed(case))
    assert then is not None
    for a, b in zip(then.said, now.said, strict=False):
        if (a.layer, a.cause) != (b.layer, b.cause) or abs(a.confidence - b.confidence) > SAME:
            say(f"  the replay says {b.layer}: {b.cause} {b.confidence:.2f}")
            say(f"  then it was     {a.layer}: {a.cause} {a.confidence:.2f}")


def _put_in(lab: Lab, put: Put, setup: Setup, say: Say) -> Proof:
    truth = _truth(lab, put, setup)
    proof = prove.measured(lab, inject.InjectionAsked(put.what, own=put.value), truth)
    say(f"  {proof.line}")
    return Proof(what=put.what, impact=round(proof.impact, 3), cell=truth.cell.text, line=proof.line)


def _truth(lab: Lab, put: Put, setup: Setup) -> Injection:
    """As it is on this stack, with the layer's name that it has there."""
    truth = outside.truth_of(put.what, lab.stack)
    return replace(truth, cell=replace(truth.cell, layer=setup.cells.get(truth.cell.layer, truth.cell.layer)))


def _diagnosed(case: Case, lab: Lab, home: Path, battery: bool) -> Case:
    (home / "case.json").unlink(missing_ok=True)
    with ExitStack() as open_ones:
        beside_it = open_ones.enter_context(neighbour()) if case.trial.neighbour else []
        environment = os.environ | {"PYTHONPATH": PATH}
        environment |= {"STRATA_BENCH_BATTERY": "1"} if battery else {}
        load, before, begun = os.getloadavg()[0], _processors(), time.monotonic()
        own = os.times()
        failed = _run(_limited(lab, _words(lab, home)), environment)
        seconds, spent, after = time.monotonic() - begun, os.times(), _processors()
        used = spent.children_user + spent.children_system - own.children_user - own.children_system
        all_of_them = seconds * (os.cpu_count() or 1)
        machine = machine_of(
            (load, os.getloadavg()[0]),
            others=max(0.0, after[0] - before[0] - used) / all_of_them,
            stolen=round((after[1] - before[1]) / all_of_them, 3),
            beside=all(one.poll() is None for one in beside_it) if beside_it else None,
        )
        case = case.model_copy(update={"seconds": round(seconds, 1), "machine": machine, "failed": failed})
        if not (home / "case.json").exists():
            return case.model_copy(update={"failed": failed or "it ended well and judged nothing"})
        return _with_evidence(case, json.loads((home / "case.json").read_text()))


def _with_evidence(case: Case, found: dict[str, object]) -> Case:
    """What was judged last. Of a diagnosis that failed after that it is no verdict: nobody was told it."""
    listed = found["tried"]
    assert isinstance(listed, list)
    battery = found["battery_s"]
    assert isinstance(battery, float)
    return case.model_copy(
        update={
            "seconds": round(case.seconds - battery, 1),
            "stack": Stack.model_validate(found["stack"]),
            "analysis": Analysis.model_validate(found["analysis"]),
            "tried": tuple(Tried.model_validate(t) for t in listed),
            "verdict": None if case.failed else verdict_of(Diagnosis.model_validate(found["diagnosis"])),
        }
    )


def _run(words: list[str], environment: dict[str, str]) -> str | None:
    """Why there is no verdict, with its last words; None: there is one.

    It is ended, with what it started, when it takes too long or this is stopped.
    """
    client = subprocess.Popen(
        words, env=environment, cwd="/", stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True
    )
    try:
        _, said = client.communicate(timeout=MOST_SECONDS)
    except subprocess.TimeoutExpired:
        return f"no verdict in {MOST_SECONDS:g} s"
    finally:
        if client.poll() is None:
            client.send_signal(signal.SIGINT)
            client.communicate()
    if client.returncode in (Exit.FINE, Exit.INCONCLUSIVE):
        return None
    return f"exit status {client.returncode}: {' · '.join(said.strip().splitlines()[-3:])}"


def _limited(lab: Lab, words: list[str]) -> list[str]:
    """Under the limits of the lab's clients: here one process is the client of every layer."""
    groups = [group for node in lab.nodes for group in client_groups(lab, node)]
    if not groups:
        return words
    join = "".join(f"echo $$ > {group}/cgroup.procs && " for group in groups)
    return [programs.find("sh") or "/bin/sh", "-c", f'{join}exec "$@"', "sh", *words]


@contextmanager
def neighbour() -> Iterator[list[subprocess.Popen[bytes]]]:
    """Half of one processor's time, and writing to the disk that the machine's own files are on."""
    program, folder = (
        [sys.executable, "-I", str(Path(beside.__file__))],
        tempfile.mkdtemp(dir="/var/tmp", prefix="strata-beside-"),
    )
    asked = [["burn", str(NEIGHBOUR_PROCESSOR)], ["write", f"{folder}/data", str(NEIGHBOUR_MB_S)]]
    running = [subprocess.Popen([*program, *words]) for words in asked]
    try:
        yield running
    finally:
        for one in running:
            one.terminate()
        for one in running:
            one.wait()
        shutil.rmtree(folder)


def machine_of(
    load: tuple[float, ...], others: float, stolen: float | None = None, beside: bool | None = None
) -> Machine:
    return Machine(
        processors=os.cpu_count() or 1,
        memory_bytes=os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES"),
        kernel=platform.release(),
        load=(round(load[0], 2), round(load[-1], 2)),
        others=round(others, 3),
        stolen=stolen,
        beside=beside,
    )


def _processors() -> tuple[float, float]:
    """Seconds that all processors together were busy, and that were stolen, since the machine was started."""
    fields = [int(x) for x in Path("/proc/stat").read_text().split("\n", 1)[0].split()[1:9]]
    user, nice, system, _, _, interrupts, soft, stolen = (x / os.sysconf("SC_CLK_TCK") for x in fields)
    return user + nice + system + interrupts + soft, stolen


def revision() -> str:
    """Of the history, with a mark where what judges or measures differs from it."""
    git = ["git", "-C", str(ROOT)]
    commit = _said(*git, "rev-parse", "--short", "HEAD")
    return f"{commit}-dirty" if _said(*git, "status", "--porcelain", "--", *JUDGES) else commit


def _said(*words: str) -> str:
    return subprocess.run(words, capture_output=True, text=True, check=True).stdout.strip()
