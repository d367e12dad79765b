"""Other programs use the server's CPU: it may use it as it likes, and does not get it."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Set
from pathlib import Path

from strata.host import programs
from strata.model.finding import Cause
from strata_lab import proc
from strata_lab.inject._wire import of_the_server, server_node
from strata_lab.lab import Lab
from strata_lab.parts import busy
from strata_lab.truth import How, ProofCell, Signal, per_severity


def _bound(lab: Lab) -> None:
    """Its healthy twin is bound, too: what the other programs take is then all that differs."""
    server_node(lab)
    for name in {f["process"] for f in lab.facts("server")}:
        for pid in proc.family(lab.process(name).pid):
            bind(pid, _cpu())


def _inject(lab: Lab, value: float) -> None:
    _bound(lab)
    other = lab.run(None, programs.python_file(Path(busy.__file__), f"{value / 100:g}"), name="busy")
    bind(other.pid, _cpu())
    first(other.pid)


def _cpu() -> set[int]:
    return {max(os.sched_getaffinity(0))}


def first(pid: int) -> None:
    """Before ordinary programs, so that it gets what it asks for. A nice value counts within its own session alone."""
    os.sched_setscheduler(pid, os.SCHED_RR, os.sched_param(1))


def bind(pid: int, cpus: Set[int]) -> None:
    """All threads of the process, and so those that they begin later. What ends meanwhile needs no CPU."""
    bound: set[str] = set()
    with contextlib.suppress(FileNotFoundError, ProcessLookupError):
        while new := {thread.name for thread in Path(f"/proc/{pid}/task").iterdir()} - bound:
            for thread in new:
                with contextlib.suppress(ProcessLookupError):
                    os.sched_setaffinity(int(thread), cpus)
            bound |= new


INJECTION = of_the_server(
    title="a busy CPU of the server",
    mechanism="other programs take this share of the CPU to which the server's threads are bound",
    value=per_severity(30, 60, 85),
    unit="% of the CPU",
    bounds=(1, 95),
    prepare=_bound,
    inject=_inject,
    cell=ProofCell("top", "randread", "8k", 16),
    impact=per_severity(1.2, 1.7, 3),
    signals=(Signal("disk.service_us", How.STAYS, 1.5),),
    must=(Cause.PROCESSORS,),
    partly=(Cause.SINGLE_THREAD, Cause.PER_REQUEST_COST),
    never=(Cause.MEDIUM, Cause.WIRE_BANDWIDTH, Cause.QUOTA),
    # A quick medium: otherwise the server has nothing to do.
    options={"model": "c=16 svc=200", "rate": "0"},
)
