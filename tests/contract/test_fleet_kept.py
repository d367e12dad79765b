"""What nodes keep of a measurement on their own disks, and clients that stand still, are stopped or lose their link.

Real processes: `strata node serve` and `join`, asked by the engine of the nodes.
"""

from __future__ import annotations

import signal
import threading
import time
from pathlib import Path

import pytest
from fleet_peers import BOUND_S, cluster, ended, results_of
from loops import need, run
from namespaces import inside, star

from strata.engine.clients.client import LEASE_S
from strata.engine.job import Timing
from strata.engine.port import Keeping, Request
from strata.fleet import Cluster
from strata.fleet import results as kept
from strata.fleet.clients import NodesEngine
from strata.model.clients import clients_of
from strata.model.endpoint import Endpoint
from strata.model.plan import Segment
from strata.plan.words import workload_from_words


def request(name: str | None, clients: int = 2) -> Request:
    return Request(
        endpoint=Endpoint.parse("null:"),
        workload=workload_from_words("randread", clients=clients, rate_iops=200.0 * clients, iodepth=4),
        segments=(Segment(start=0, length=1 << 26, target=0),),
        timing=Timing(ramp_s=0.1, runtime_s=0.5, interval_s=0.1),
        kept_as=name,
    )


def test_a_result_that_nobody_fetched_is_given_out_and_is_gone_once_it_is_stored(tmp_path: Path) -> None:
    with cluster(tmp_path, ["a", "b"]) as running:
        with Cluster.connect(running.address) as first:
            measured = NodesEngine(first).run(request("run.0.x", clients=3))
            NodesEngine(first).run(request(None))
        # Whoever asked is gone before it was in a store.
        assert results_of(running) == {"a": 1, "b": 1}
        with Cluster.connect(running.address) as second:
            engine = NodesEngine(second)
            assert isinstance(engine, Keeping)
            again = engine.run(request("run.0.x", clients=3))
            assert again == measured, "it is the same one, and was not measured again"
            assert [c.node for c in again.clients] == ["a", "b", "a"]
            assert engine.run(request("run.0.x")).started_unix_ns != measured.started_unix_ns, "of other clients"
            engine.stored("run.0.x")
            engine.close()
        assert results_of(running) == {"a": 0, "b": 0}


@pytest.mark.root
def test_a_node_whose_disk_is_full_says_so_and_its_result_counts(tmp_path: Path) -> None:
    full = tmp_path / "full"
    small = 'mount -t tmpfs -o size=256k,mode=700 tmpfs "$0" && exec "$@"'
    apart = {"full": ["unshare", "--mount", "sh", "-c", small, str(full)]}
    full.mkdir(mode=0o700)
    with cluster(tmp_path, ["full", "well"], apart=apart) as running, Cluster.connect(running.address) as connected:
        # Its own mounts are seen through its process alone.
        seen = Path(f"/proc/{running.nodes['full'].pid}/root{full}")
        with pytest.raises(OSError, match="No space left"), (seen / "fill").open("wb", buffering=0) as fill:
            while True:
                fill.write(bytes(4096))
        engine = NodesEngine(connected)
        result = engine.run(request("run.0.x"))
        found = clients_of(result)
        assert found is not None and len(found.each) == 2 and not result.lost
        assert engine.unkept == {"full": "No space left on device"}
        assert results_of(running)["well"] == 1


@pytest.mark.ci
def test_a_client_that_stands_still_is_named_in_time_and_the_others_count(tmp_path: Path) -> None:
    with cluster(tmp_path, ["a", "b", "c"]) as running, Cluster.connect(running.address) as connected:
        asked = request("run.0.x", clients=3)
        asked = asked.model_copy(update={"timing": Timing(ramp_s=0.1, runtime_s=3.0, interval_s=0.5)})
        stopped: list[float] = []

        def stop(_: object) -> None:
            if not stopped:
                running.nodes["b"].send_signal(signal.SIGSTOP)
                stopped.append(time.monotonic())

        result = NodesEngine(connected).run(asked, stop)
        assert time.monotonic() - stopped[0] < BOUND_S
        assert [one.node for one in result.lost] == ["b"]
        found = clients_of(result)
        assert found is not None and found.together is not None and found.together.clients == (0, 2)
        assert found.before_loss is not None
        # The others kept theirs; it alone is no cell.
        assert results_of(running) == {"a": 1, "b": 0, "c": 1}
        running.nodes["b"].send_signal(signal.SIGCONT)


@pytest.mark.ci
def test_a_client_that_was_stopped_for_a_while_has_no_result_and_all_measure_again(tmp_path: Path) -> None:
    """Its node answers before its scheduler gives it up, when the load has come to its end: only itself knows that it
    did nothing."""
    with cluster(tmp_path, ["a", "b"]) as running, Cluster.connect(running.address) as connected:
        asked = request("run.0.x")
        asked = asked.model_copy(update={"timing": Timing(ramp_s=0.1, runtime_s=2.0, interval_s=0.2)})
        goes_on = threading.Timer(LEASE_S + 1.0, running.nodes["b"].send_signal, [signal.SIGCONT])

        def stop(_: object) -> None:
            if goes_on.ident is None:
                running.nodes["b"].send_signal(signal.SIGSTOP)
                goes_on.start()

        engine = NodesEngine(connected)
        result = engine.run(asked, stop)
        goes_on.join()
        (lost,) = result.lost
        assert lost.node == "b" and lost.why.startswith("its process did not run")
        assert [one.node for one in result.clients] == ["a"]
        assert results_of(running) == {"a": 1, "b": 0}, "it has no result that could be taken for a whole one"
        again = engine.run(asked)
        assert [one.node for one in again.clients] == ["a", "b"] and not again.lost
        assert again.started_unix_ns > result.started_unix_ns and again.iops == pytest.approx(400, rel=0.1)


@pytest.mark.ci
@pytest.mark.first
@pytest.mark.root
def test_a_client_whose_link_is_cut_is_named_in_time_and_ends_its_load(tmp_path: Path) -> None:
    """Each node in a namespace of its own on a wire to the scheduler's; the load is on each node itself."""
    names = ["a", "b", "c"]
    with star(names) as spaces:
        apart = {name: inside(spaces[name]) for name in names}
        where = "tcp://10.213.8.1:8786"
        with (
            cluster(tmp_path, names, where, inside=inside(spaces["hub"]), apart=apart) as running,
            Cluster.connect(running.address, netns=spaces["hub"]) as connected,
        ):
            asked = request("run.0.x", clients=3)
            asked = asked.model_copy(update={"timing": Timing(ramp_s=0.1, runtime_s=4.0, interval_s=0.5)})
            cut: list[float] = []

            def now(_: object) -> None:
                if not cut:
                    run(need("ip"), "-n", Path(spaces["b"]).name, "link", "set", "wire", "down")
                    cut.append(time.monotonic())

            result = NodesEngine(connected).run(asked, now)
            assert time.monotonic() - cut[0] < BOUND_S
            assert [one.node for one in result.lost] == ["b"]
            found = clients_of(result)
            assert found is not None and found.together is not None and found.together.clients == (0, 2)
            code, err = ended(running.nodes["b"], 30)
            assert code == 1 and "the scheduler of node b is gone" in err
            # Its own load came to its end meanwhile, and is on its disk: what nobody asks for again stays there.
            assert results_of(running)["a"] == results_of(running)["c"] == 1


def test_names_of_results_lead_nowhere_else(tmp_path: Path) -> None:
    for name in ("../x", "a/b", "", ".hidden", "x" * 300):
        with pytest.raises(ValueError, match="name of a result"):
            kept.keep(tmp_path, name, {})
    assert kept.keep(tmp_path, "a.1", {"clients": []}) is None
    (tmp_path / "results" / "b.2.json").write_text("{broken")
    assert kept.kept(tmp_path, "a.1") == {"clients": []}
    assert kept.kept(tmp_path, "b.2") is None and kept.kept(tmp_path, "c.3") is None
    kept.forget(tmp_path, ["a.1", "c.3"])
    assert kept.kept(tmp_path, "a.1") is None
