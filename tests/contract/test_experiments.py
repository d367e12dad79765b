"""What an experiment may change, with real files, servers and namespaces; and what of it is kept."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest
from engine_cases import MIB, request
from namespaces import two_nodes

from strata.app import experiment as app_experiment
from strata.app import further as app_further
from strata.app.demos import scenario
from strata.app.diagnose import DEMO_SIZE, chosen_workloads, demo_source
from strata.app.driven.held import Held
from strata.app.driven.words import NodeTask
from strata.app.experiment import Refused, _before, _carried_out, condition, experimented, tried_of
from strata.app.kept import opened
from strata.app.options import BUDGET_S, Options
from strata.app.place import Place
from strata.app.session import Session
from strata.diagnose import diagnose
from strata.diagnose.experiments.more_paths import dealt
from strata.engine import Backing, TargetConfig, TargetProcess, drop_pages, engine_of
from strata.engine.cell import residency
from strata.errors import RunFailed, SafetyRefusal, Stopped, StoreError
from strata.model.access import ByteRange
from strata.model.analysis import NoiseFloor
from strata.model.endpoint import Endpoint, address
from strata.model.estimate import Estimate
from strata.model.experiment import Condition, Experiment, ExperimentRecord, Outcome, Prediction, Refusal, Tried
from strata.model.plan import HEAD, Plan, Step, StepKind
from strata.model.run import Report
from strata.model.rw import Rw
from strata.model.stack import Layer, Node, Stack
from strata.model.workload import ClosedLoop, Sync, Workload
from strata.plan.detail import ROUNDS_LAST
from strata.plan.ident import new_id

NOISE = NoiseFloor(between_rounds=0.05, within_bins=0.05, tolerance=0.05, rounds=2, cells=2)
ONE = "randread-8KiB-qd1"


@contextmanager
def demo(store: Path, **options: Any) -> Iterator[Session]:
    """A modelled stack, every cell measured for a moment."""
    chosen = Options(
        store=f"sqlite:///{store}", workloads=(ONE, "randwrite-8KiB-qd1*"), rounds=2, runtime_s=0.1, ramp_s=0.0,
        **options,
    )  # fmt: skip
    with demo_source(scenario("capped-target")) as source, opened(chosen.store) as kept:
        session = Session(source, chosen, kept, lambda _: None, workloads=chosen_workloads(source.workloads, chosen))
        with session:
            session.prepare(new_id(), DEMO_SIZE)
            yield session


def asked(workload: Workload, condition_: Condition = Condition.NONE, **more: Any) -> Experiment:
    told = Prediction(metric="ratio", low=0.01, high=100.0, unit="ratio")
    return Experiment(
        layer="share", workload=workload, reference=ONE, changes="a test", prediction=told, otherwise="",
        condition=condition_, runtime_s=0.1, **more,
    )  # fmt: skip


@pytest.mark.ci
def test_an_experiment_is_kept_so_that_it_can_be_told_and_judged_again(tmp_path: Path) -> None:
    with demo(tmp_path / "s.db") as session:
        session.measure()
        analysis = session.analyse()
        _, told = experimented(session, analysis)
        run = session.running()
        reads = next(w for w in run.plan.workloads if w.key == ONE)
        cells = session.store.cells(run.id)
        again = tried_of(run.plan, told.story, cells, analysis.noise)
        assert len(again) == len(told.story)
        assert diagnose(run.plan.stack, analysis, again) == told.model_copy(update={"refused": ()})
        # Both sides may be the same workload: what tells them apart is on the cells.
        found = _carried_out(session, asked(reads, Condition.PINNED), analysis.noise)
        assert isinstance(found, Tried), found
        mine = [c for c in session.store.cells(run.id) if c.experiment == found.experiment.label]
        assert {c.kind for c in mine} == {StepKind.CONFIRM.value}
        assert [c.changed for c in mine[:4]] == [False, True, True, False], "turned round from round to round"
        pinned = {c.changed: {t.pinned for t in c.result.threads} for c in mine if c.result is not None}
        # A run that was killed in an experiment left some of its cells, and began it again after that.
        nothing = Estimate(value=1.0, low=1.0, high=1.0, n=2, unit="ratio")
        outcome = Outcome(experiment=found.experiment, measured=nothing, holds=True, statement="a test")
        story, cells = (ExperimentRecord(outcome=outcome),), session.store.cells(run.id)
        left = [c.model_copy(update={"order": c.order - 10**6}) for c in mine if c.round == 0]
        assert left and tried_of(run.plan, story, [*cells, *left], analysis.noise) == (found,)
        no = outcome.model_copy(update={"experiment": found.experiment.model_copy(update={"reference": "elsewhere"})})
        assert tried_of(run.plan, (ExperimentRecord(outcome=no),), cells, analysis.noise) == ()
        refusals = (Refusal(experiment=no.experiment, because="a test"),)
        session.store.save_outcome(run.id, analysis, told.model_copy(update={"story": story, "refused": refusals}))
        assert _before(session, analysis.noise) == ((found,), refusals)
        last = str(sorted(os.sched_getaffinity(0))[-1])
        assert pinned[True] == {last} and pinned[False] != {last}
        # What the battery asks of a workload reaches a real server: a piece of the data, and one connection more.
        piece = reads.model_copy(update={"range": ByteRange(start=HEAD, length=64 * reads.bs)})
        for workload in (piece, reads.model_copy(update={"threads": 2})):
            tried = _carried_out(session, asked(workload), analysis.noise)
            assert isinstance(tried, Tried) and tried.changed.ios > 0, tried
        slowed = _carried_out(session, asked(reads, Condition.SLOWED, added_ns=2e7), analysis.noise)
        assert isinstance(slowed, Tried), slowed
        assert slowed.changed.mean_ns.value > slowed.reference.mean_ns.value + 1.5e7
        orders = [c.order for c in session.store.cells(run.id)]
        assert len(orders) == len(set(orders))
        assert Report.model_validate_json(
            Report(run=run, results=mine, analysis=analysis, diagnosis=told).model_dump_json()
        )


def test_the_time_that_no_experiment_needs_is_for_further_rounds(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of a verdict that blames nobody: a round at a time, judged anew after each, to the last that is left."""
    monkeypatch.setattr(app_experiment, "_rounds_first", lambda *_: True)
    asked_for: list[tuple[float, int]] = []

    def twice(plan: Plan, _found: object, seconds: float, first: int, _doubted: object, most: int) -> tuple[Step, ...]:
        asked_for.append((seconds, most))
        number = plan.rounds_most
        cells = plan.cells if len(asked_for) <= 2 else ()
        return tuple(Step(order=first + i, round=number, cell=cell.key) for i, cell in enumerate(cells))

    with demo(tmp_path / "s.db", screen=True) as session:
        session.measure()
        monkeypatch.setattr(app_further, "further_round", twice)
        before = session.analyse()
        after, told = experimented(session, before)
        assert {c.rounds for c in after.cells} == {c.rounds + 2 for c in before.cells}
        assert session.store.outcome(session.running().id) == (after, told)
        assert {most for _, most in asked_for} == {ROUNDS_LAST} and len(asked_for) == 3
        left = [seconds for seconds, _ in asked_for]
        assert left == sorted(left, reverse=True)
        assert 0 < left[0] <= BUDGET_S / 2, "an experiment that the round asks for has its time"


def test_what_cannot_be_done_here_is_refused_with_the_reason(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with demo(tmp_path / "s.db", budget_s=0.0) as session:
        run = session.running()
        reads, writes = run.plan.workloads

        def because(experiment: Experiment) -> str:
            found = _carried_out(session, experiment, NOISE)
            assert isinstance(found, Refusal)
            return found.because

        assert "no added time" in because(asked(reads, Condition.SLOWED))
        servers = session.place._servers
        servers["share"] = servers["share"].model_copy(update={"tcp": "203.0.113.1:0"})
        why = because(asked(reads, Condition.SLOWED, added_ns=1.0))
        assert "cannot listen there" in why, "one that fails does not end the diagnosis, and says why"
        foreign = {"place": SimpleNamespace(slower=Place(run.plan.stack, tmp_path, {}).slower)}
        with (
            pytest.raises(Refused, match="not slowed down"),
            condition(cast("Session", SimpleNamespace(**foreign)), asked(reads, Condition.SLOWED, added_ns=1.0)),
        ):
            pass
        assert "over a network" in because(asked(reads, Condition.NULL_END)), "every node has a loopback"
        away = Endpoint.parse("nbd://203.0.113.1:10809/share")
        with monkeypatch.context() as patched:
            patched.setitem(session.place._endpoints, "share", away)
            assert "not a network namespace" in because(asked(reads, Condition.NULL_END))
        assert "more data than the plan allows" in because(asked(writes))
        assert "was not measured" in because(asked(reads).model_copy(update={"reference": "elsewhere"}))
        assert "no layer" in because(asked(reads).model_copy(update={"layer": "elsewhere"}))
        assert not [c for c in session.store.cells(run.id) if c.experiment]
        for error in (SafetyRefusal, StoreError, Stopped):
            monkeypatch.setattr(app_experiment, "condition", partial(_ends, error("about the run")))
            with pytest.raises(error):
                _carried_out(session, asked(reads), NOISE)


def _ends(error: Exception, *_: object) -> None:
    raise error


def test_a_server_on_an_address_with_colons_is_reached_by_its_uri() -> None:
    if not Path("/proc/net/if_inet6").exists() or not Path("/proc/net/if_inet6").read_text():
        pytest.skip("this machine has no IPv6")
    backing = Backing(kind="null", size_bytes=8 * MIB)
    for tcp in ("::1:0", address("::1", 0)):
        with TargetProcess(TargetConfig(tcp=tcp, backing=backing)) as server:
            assert engine_of("native").run(request(server.uri())).ops > 0


def test_a_far_end_on_a_loopback_is_not_replaced_by_one_on_another_nodes() -> None:
    there = Endpoint.parse("nbd://127.0.0.1:10809/x").seen_from("/run/netns/near")
    stack = Stack(
        name="s",
        nodes=(Node(name="near", netns="/run/netns/near"), Node(name="far", netns="/run/netns/far")),
        layers=(Layer(name="share", endpoint=there.uri),),
    )
    run = SimpleNamespace(plan=SimpleNamespace(stack=stack), data=SimpleNamespace(size=8 * MIB))
    session = SimpleNamespace(running=lambda: run, place=SimpleNamespace(endpoint=lambda _layer: there))
    experiment = asked(request(there.uri).workload, Condition.NULL_END)
    with pytest.raises(Refused, match="over a network"), condition(cast("Session", session), experiment):
        pass


def test_cold_means_that_no_page_of_our_file_is_in_memory() -> None:
    path = Path(__file__).resolve().parents[2] / ".pytest-disk" / "cold.dat"
    path.parent.mkdir(exist_ok=True)
    try:
        path.write_bytes(os.urandom(4 * MIB))
        path.read_bytes()
        before, _ = residency(str(path), [(0, 4 * MIB)])
        assert before is not None and before.resident == before.pages
        assert drop_pages(str(path), 4 * MIB) == 0.0
    finally:
        path.unlink(missing_ok=True)


@contextmanager
def far_end(size: int = 8 * MIB) -> Iterator[tuple[Session, Endpoint, str]]:
    """A session whose share is on another node; that node runs no server. Its near node's namespace."""
    with two_nodes() as nodes:
        there = Endpoint.parse(f"nbd://{nodes.second_address}:10809/x").seen_from(nodes.first)
        stack = Stack(
            name="s",
            nodes=(Node(name="near", netns=nodes.first), Node(name="far", netns=nodes.second)),
            layers=(Layer(name="share", endpoint=there.uri),),
        )
        run = SimpleNamespace(plan=SimpleNamespace(stack=stack), data=SimpleNamespace(size=size))
        place = Place(stack, Path("/nowhere"), {})
        place._endpoints["share"] = there
        yield cast("Session", SimpleNamespace(running=lambda: run, place=place)), there, nodes.first


@pytest.mark.root
def test_a_far_end_in_memory_keeps_what_is_written_as_long_as_the_experiment() -> None:
    with far_end() as (session, there, near):
        plain = request(there.uri).model_copy(update={"endpoint": there})
        durable = plain.workload.model_copy(update={"rw": Rw.RANDWRITE, "sync": Sync.DSYNC})
        plain = plain.model_copy(update={"workload": durable})
        with condition(session, asked(durable, Condition.MEMORY_END)) as change:
            changed = change(plain)
            result = engine_of("native").run(changed)
            assert result.write.ops > 0 and result.errored == 0 and result.effective["netns"] == near
        with pytest.raises(Exception, match="cannot open"):
            engine_of("native").run(changed)
        for error in (KeyboardInterrupt, RunFailed):
            with pytest.raises(error), condition(session, asked(durable, Condition.MEMORY_END)) as change:
                changed = change(plain)
                raise error("a test")
            with pytest.raises(Exception, match="cannot open"):
                engine_of("native").run(changed)
    with (
        far_end(size=1 << 50) as (session, _, _),
        pytest.raises(RunFailed, match="a quarter of what is available"),
        condition(session, asked(durable, Condition.MEMORY_END)),
    ):
        pass


def test_a_node_lends_an_experiment_no_file_and_its_memory_only_where_it_is_the_far_end() -> None:
    held = Held(NodeTask("a test", None, "", "native", direct=False, writes=False, watches=True))
    small, large = (Backing(kind="memory", size_bytes=size, read_only=False) for size in (8 * MIB, 1 << 50))
    file = Backing(kind="file", path=__file__, read_only=False)
    try:
        with pytest.raises(SafetyRefusal, match="no file"):
            held.other_end("127.0.0.1", file, 2, 1)
        assert held.other_end("203.0.113.1", large, 2, 1) is None, "the address is another node's"
        with pytest.raises(RunFailed, match="a quarter of what is available"):
            held.other_end("127.0.0.1", large, 2, 1)
        held.end_servers()
        uri = held.other_end("127.0.0.1", small, 2, 1)
        assert uri is not None and engine_of("native").run(request(uri)).ops > 0
        held.end_servers()
        with pytest.raises(Exception, match="cannot open"):
            engine_of("native").run(request(uri))
    finally:
        held.close()


@pytest.mark.ci
def test_two_paths_to_the_same_data_are_read_at_the_same_time(tmp_path: Path) -> None:
    with demo(tmp_path / "s.db") as session:
        session.measure()
        reads, writes = session.running().plan.workloads
        deep = dealt(reads.model_copy(update={"arrival": ClosedLoop(iodepth=2)}))
        assert deep is not None
        experiment = asked(deep, Condition.MORE_PATHS, beside="medium")
        found = _carried_out(session, experiment, NOISE)
        assert isinstance(found, Tried) and found.changed.ios > 0, found
        mine = [c for c in session.store.cells(session.running().id) if c.experiment == experiment.label and c.changed]
        clients = [c.result.clients for c in mine if c.result is not None]
        assert clients and all(len(each) == 2 for each in clients)
        assert all(one.result.ops > 0 for each in clients for one in each)
        for one, why in ((asked(deep, Condition.MORE_PATHS), "no second path"), (
            asked(writes, Condition.MORE_PATHS, beside="medium"), "never written",
        )):  # fmt: skip
            with pytest.raises(Refused, match=why), condition(session, one):
                pass


@pytest.mark.root
def test_a_null_far_end_is_started_on_the_far_node_and_goes_again() -> None:
    with far_end() as (session, there, near):
        plain = request(there.uri).model_copy(update={"endpoint": there})
        experiment = asked(plain.workload, Condition.NULL_END)
        with condition(session, experiment) as change:
            changed = change(plain)
            result = engine_of("native").run(changed)
            assert result.ops > 0 and result.effective["netns"] == near
            crowd = changed.model_copy(update={"endpoint": changed.endpoint.model_copy(update={"connections": 8})})
            with pytest.raises(Exception, match="cannot open"):
                engine_of("native").run(crowd)
        with pytest.raises(Exception, match="cannot open"):
            engine_of("native").run(changed)
        with (
            pytest.raises(Refused, match="serves reads only"),
            condition(session, asked(plain.workload.model_copy(update={"rw": Rw.RANDWRITE}), Condition.NULL_END)),
        ):
            pass
