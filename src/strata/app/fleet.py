"""The same run on many hosts: have it measured on every node of a cluster, and compare the hosts."""

from __future__ import annotations

import uuid
from collections import Counter
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from strata.app.fleet_here import RunWords, run_here
from strata.app.kept import opened
from strata.errors import InconclusiveError, RunFailed, StrataError, UsageError
from strata.model.nodes import Lost
from strata.model.peers import LEAST, FleetCompared, HostLost, HostRun
from strata.model.run import Run, RunBrief

if TYPE_CHECKING:
    from strata.store import Store

Say = Callable[[str], None]
LONGEST_S = 3600.0
"""What the run of a host may take."""


def compare_hosts(runs: Sequence[str], store_url: str | None) -> FleetCompared:
    """Runs of the store, one of each host, by their ids or the beginnings of these.

    Raises `UsageError` for a run that is not there or is named twice, and `InconclusiveError` where they have no cell
    in common.
    """
    with opened(store_url) as store:
        first, *others = runs
        return _compared(store, store.load_run(first), store.load_briefs(others), ())


def measure_hosts(address: str, words: RunWords, only: Sequence[str], store_url: str | None, say: Say) -> FleetCompared:
    """Has the run measured on the nodes that have joined ``address`` (``only`` those of these names) at once, keeps the
    runs in the store, and compares them. A host without a run is named, and the others are compared.

    Raises `RunFailed` where no host gave a run.
    """
    from strata.fleet import Call, Cluster

    with Cluster.connect(address) as cluster:
        there = [node.name for node in cluster.nodes()]
        if missing := [name for name in only if name not in there]:
            raise UsageError("there is no node", ", ".join(missing), "", f"strata node list {address}")
        nodes = list(only) or there
        if not nodes:
            raise RunFailed("no node has joined", address, "", f"strata node join {address} --name NAME")
        run = uuid.uuid4().hex[:8]
        say(f"{len(nodes)} hosts measure {words.where}: {', '.join(nodes[:8])}{' …' if len(nodes) > 8 else ''}")
        given = cluster.at_once(
            {node: Call.of(run_here, words, run) for node in nodes}, LONGEST_S,
            lambda node, message: say(f"{node}: {message.get('done', '')}"),
        )  # fmt: skip
    done, lost = [], []
    with opened(store_url) as store:
        for node, answer in given.items():
            if isinstance(answer, Lost):
                lost.append(HostLost(name=node, why=answer.why))
                continue
            try:
                store.keep_whole([answer])
                done.append(answer[0])
            except StrataError as e:
                lost.append(HostLost(name=node, why=e.headline))
        if not done:
            raise RunFailed("no host measured", words.where, lost[0].why)
        return _compared(store, done[0], done[1:], lost)


def _compared(store: Store, first: Run, others: Sequence[RunBrief], lost: Sequence[HostLost]) -> FleetCompared:
    runs = [first, *others]
    if twice := [run for run, n in Counter(run.id for run in runs).items() if n > 1]:
        raise UsageError("cannot compare with itself:", ", ".join(twice), "", "strata runs lists all runs")
    from strata.analyse.peers import Host, judge

    names = _names(runs)
    hosts = list(map(Host, names, store.times([run.id for run in runs])))
    # The cells of all runs must be the same; layers are in the order of the first one's stack.
    stack = first.plan.stack
    below = {layer.name: next(iter(layer.against), None) for layer in stack.layers}
    writes = {cell.workload.key: cell.workload.rw.writes for cell in first.plan.cells}
    judged = judge(hosts, below, writes)
    if not judged.views:
        why, hint = "no cell was measured on all hosts", "measure the same workloads at layers of the same names"
        raise InconclusiveError("cannot compare", f"{len(runs)} hosts", why, hint)
    remarks = []
    if judged.line is None:
        remarks.append(f"{len(hosts)} hosts are too few to name one that differs: {LEAST} are needed")
    builds = Counter(str(run.environment.engine.get("version")) for run in runs)
    if len(builds) > 1:
        remarks.append(f"the hosts ran different versions of Strata: {', '.join(sorted(builds))}")
    return FleetCompared(
        hosts=tuple(
            HostRun(name=name, hostname=run.environment.hostname, run=run.id)
            for name, run in zip(names, runs, strict=True)
        ),
        lost=tuple(lost),
        layers=tuple(below),
        views=judged.views,
        differs=judged.differs,
        line=judged.line,
        remarks=tuple(remarks),
    )


def _names(runs: Sequence[RunBrief]) -> list[str]:
    """What a run is called, else its host; with the run's id where several have that name."""
    said = [run.label.name or run.environment.hostname for run in runs]
    several = {name for name, n in Counter(said).items() if n > 1}
    return [f"{name} ({run.id})" if name in several else name for name, run in zip(said, runs, strict=True)]
