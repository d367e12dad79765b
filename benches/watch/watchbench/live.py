"""One trial: build the lab, run the load alone, put in what was drawn, watch the load, remove the lab."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from contextlib import AbstractContextManager, ExitStack, nullcontext
from dataclasses import replace
from pathlib import Path

from diagnosisbench import outside
from diagnosisbench.live import PATH, machine_of, neighbour, revision
from diagnosisbench.setups import SETUPS
from diagnosisbench.trial import Trial

from strata.errors import RunFailed, StrataError
from strata.model.finding import Finding
from strata.model.finding import Verdict as Told
from strata.model.watch import Observed
from strata_lab import inject
from strata_lab.client import inside, layer_of
from strata_lab.down import down
from strata_lab.lab import Lab
from strata_lab.truth import Injection
from strata_lab.up import up
from watchbench import case as kept
from watchbench.case import WatchCase, verdict_of
from watchbench.loads import Does, Load, command, load_of, measured, said
from watchbench.postgres import running

BEFORE_S, WATCHED_S, IDLE_S = 3.0, 13.0, 8.0
LONGEST_S = 90.0
BENCH = os.pathsep.join(
    (PATH, str(Path(__file__).resolve().parents[1]), str(Path(__file__).resolve().parents[2] / "diagnosis"))
)
Say = Callable[[str], None]


def tried(trial: Trial, say: Say, folder: Path = kept.FOLDER) -> WatchCase:
    """The case, which is saved from its beginning on."""
    load = load_of(trial)
    say(f"{trial} · {load.name}")
    case = WatchCase(trial=trial, load=load.name, revision=revision())
    kept.save(case, folder)
    try:
        case = _tried(case, load)
    except Exception as e:  # the bench's own faults too: what is tried is counted
        said = " · ".join((e.headline, *e.problems)) if isinstance(e, StrataError) else f"{type(e).__name__}: {e}"
        case = case.model_copy(update={"failed": said})
    kept.save(case, folder)
    return case


def _tried(case: WatchCase, load: Load) -> WatchCase:
    trial = case.trial
    home = Path(tempfile.mkdtemp(prefix="strata-watchbench-"))
    lab: Lab | None = None
    try:
        lab = up(trial.stack, f"bw{os.getpid() % 10**8}", trial.options)
        truth = _truth(trial) if trial.put else None
        if truth is not None:
            truth.prepare(lab)
        with _serving(lab, load):
            before = None
            if truth is not None:
                before = _alone(lab, load, home)
                inject.InjectionAsked(trial.put[0].what, own=trial.put[0].value).apply(lab, truth)
            return _watched(case, lab, load, home, before)
    finally:
        if lab is not None:
            down(lab)
        shutil.rmtree(home)


def _truth(trial: Trial) -> Injection:
    setup, put = SETUPS[trial.setup], trial.put[0]
    truth = outside.truth_of(put.what, trial.stack)
    return replace(truth, cell=replace(truth.cell, layer=setup.cells.get(truth.cell.layer, truth.cell.layer)))


def _serving(lab: Lab, load: Load) -> AbstractContextManager[None]:
    """What the application is a client of, on the topmost layer's file system."""
    if load.by != "pgbench":
        return nullcontext()
    return running(Path(layer_of(lab, "top").endpoint.removeprefix("file:")).parent)


def _words(lab: Lab, load: Load, seconds: float, output: Path) -> list[str]:
    """The application as a client of the topmost layer, under the limits of the lab's clients."""
    top = layer_of(lab, "top")
    words = command(load, top.endpoint, seconds, str(output))
    return words if top.node is None else inside(lab, lab.node(top.node), words)


def _alone(lab: Lab, load: Load, home: Path) -> tuple[float, float]:
    """(I/Os a second, 99th percentile) of the load without what is to be put in. Longer where the program did not come
    to its end: a rate that is only known to be less than something would make the limit look larger than it is."""
    output = home / "before.out"
    for seconds in (BEFORE_S, WATCHED_S):
        words = _words(lab, load, seconds, output)
        done = subprocess.run(words, capture_output=True, text=True, timeout=LONGEST_S, check=False, cwd="/")
        if done.returncode:
            raise RunFailed("cannot run", load.by, (done.stderr or done.stdout).strip()[-200:])
        if measured(load, text := output.read_text()):
            return said(load, text, seconds)
    raise RunFailed("cannot tell the rate of", load.by, f"it did not come to its end within {WATCHED_S:g} s")


def _watched(case: WatchCase, lab: Lab, load: Load, home: Path, before: tuple[float, float] | None) -> WatchCase:
    fact = lab.last_fact("stack")
    assert fact is not None
    out, output = home / "case.json", home / "load.out"
    idle = load.does is Does.NOTHING
    words = [sys.executable, str(Path(__file__).with_name("recorder.py")), str(out)]
    words += [str(IDLE_S if idle else LONGEST_S), fact["path"]]
    words += [] if idle else ["--", *_words(lab, load, WATCHED_S, output)]
    with ExitStack() as open_ones:
        beside = open_ones.enter_context(neighbour()) if case.trial.neighbour else []
        begun, average = time.monotonic(), os.getloadavg()[0]
        env = os.environ | {"PYTHONPATH": BENCH}
        done = subprocess.run(
            words, env=env, cwd="/", capture_output=True, text=True, timeout=2 * LONGEST_S, check=False
        )
        seconds = time.monotonic() - begun
        running = all(one.poll() is None for one in beside) if beside else None
        machine = machine_of((average, os.getloadavg()[0]), others=0.0, beside=running)
    if done.returncode or not out.exists():
        raise RunFailed("cannot watch", case.trial.name, f"exit status {done.returncode}: {done.stderr.strip()[-300:]}")
    told = json.loads(out.read_text())
    felt = None
    if before is not None:
        after = said(load, output.read_text(), WATCHED_S)
        felt = round(max(before[0] / max(after[0], 0.01), after[1] / before[1] if before[1] else 0.0), 3)
    verdict = Told.model_validate(told["verdict"])
    findings = tuple(Finding.model_validate(f) for f in told["findings"])
    return case.model_copy(
        update={
            "seconds": round(seconds, 1),
            "machine": machine,
            "felt": felt,
            "failed": None,
            "observed": Observed.model_validate(told["observed"]),
            "verdict": verdict_of(verdict, findings),
        }
    )
