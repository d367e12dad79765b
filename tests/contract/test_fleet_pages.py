"""Clients on nodes: their own page caches are made cold and warm, a block device is read and not written to, and
targets of every scheme that has a server here are reached from a node."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from commands import target, working_disk
from fleet_peers import cluster
from iscsi_peer import iscsi_server
from loops import image, loop
from namespaces import inside
from nfs_peer import nfs_server
from samba import smbd

from strata.engine.cell import Prepared, run_cell
from strata.engine.job import Timing
from strata.engine.port import Elsewhere, Request
from strata.errors import ClientsLost, RunFailed, UsageError
from strata.fleet import Cluster
from strata.fleet.clients import NodesEngine
from strata.host import testfile
from strata.model.endpoint import Endpoint
from strata.model.plan import Segment
from strata.model.workload import Cache
from strata.plan.words import workload_from_words

MIB = 1 << 20
SIZE = 16 * MIB
TWO = ["a", "b"]


@pytest.fixture
def nodes(tmp_path: Path) -> Iterator[NodesEngine]:
    with cluster(tmp_path, TWO) as running, Cluster.connect(running.address) as connected:
        yield NodesEngine(connected)


def request(endpoint: Endpoint, rw: str = "randread", *, direct: bool = False, cache: str = "as-found") -> Request:
    workload = workload_from_words(rw, clients=2, rate_iops=400.0, iodepth=4, bs=4096, direct=direct)
    workload = workload.model_copy(update={"cache": Cache(cache)})
    return Request(
        endpoint=endpoint,
        workload=workload,
        segments=(Segment(start=MIB, length=SIZE - MIB, target=MIB),),
        timing=Timing(ramp_s=0.0, runtime_s=0.4, interval_s=0.1),
        allow_write=True,
    )


def test_the_page_cache_of_the_nodes_is_cold_or_warm_as_asked(nodes: NodesEngine) -> None:
    assert isinstance(nodes, Elsewhere)
    with working_disk() as disk, testfile.new(disk / "data", SIZE) as held:
        where = Endpoint.parse(f"file:{held.path}").beside(held.fd)
        # Nothing is prepared here: what is cold or warm is what the nodes made so.
        for cache, least, most in (("warm", 0.99, 1.0), ("cold", 0.0, 0.01)):
            prepared = Prepared(request(where, cache=cache), (), None, None)
            result = run_cell(nodes, prepared)
            assert result.caching is not None and result.caching.before is not None
            assert result.caching.before.pages == (SIZE - MIB) // result.caching.before.page_bytes, "each page once"
            assert least <= result.caching.before.resident / result.caching.before.pages <= most
            assert result.caching.in_force.cache == Cache(cache).value
            assert result.caching.after is not None and result.caching.after.resident > 0
        held.remove()


@pytest.mark.root
def test_a_block_device_is_read_from_nodes_and_not_written_to(nodes: NodesEngine, tmp_path: Path) -> None:
    with loop(image(tmp_path / "image", SIZE)) as device:
        where = Endpoint.parse(f"block:{device}")
        result = nodes.run(request(where, direct=True))
        assert [c.node for c in result.clients] == TWO and result.read.ops > 0 and not result.lost
        before = Path(tmp_path / "image").read_bytes()
        with pytest.raises(ClientsLost, match="by the process that claimed it alone"):
            nodes.run(request(where, "randwrite", direct=True))
        assert Path(tmp_path / "image").read_bytes() == before
        with pytest.raises(UsageError, match="no warm page cache"):
            nodes.run(request(where, cache="warm"))


def test_a_node_that_goes_while_its_clock_is_read_is_named(nodes: NodesEngine, monkeypatch: pytest.MonkeyPatch) -> None:
    """Seen once in a node that was killed between two cells; the moment is too short to be met on purpose."""

    def gone(asked: object) -> None:
        raise RunFailed("cannot read the clock of", TWO[1], "it does not answer")

    monkeypatch.setattr(nodes._cluster, "clocks", gone)
    with pytest.raises(ClientsLost, match=f"the clock of {TWO[1]}: it does not answer"):
        nodes.run(request(Endpoint.parse("null:")))


def test_nbd_over_tcp_and_over_a_socket(nodes: NodesEngine, tmp_path: Path) -> None:
    for words in (("--listen", "127.0.0.1:0"), ("--socket", tmp_path / "s")):
        with target("--memory", "16m", *words) as (uri, _):
            result = nodes.run(request(Endpoint.parse(uri)))
            assert len(result.clients) == 2 and result.read.ops > 0 and not result.lost


@pytest.mark.root
@pytest.mark.ci
@pytest.mark.parametrize("scheme", ["iscsi", "nfs"])
def test_servers_of_others_are_reached_from_the_network_of_the_nodes(scheme: str, tmp_path: Path) -> None:
    """Node, server and scheduler are in the server's namespace: from here it cannot be reached at all."""
    (tmp_path / "server").mkdir()
    with working_disk() as disk:
        backing = disk / "unit.img"
        backing.write_bytes(os.urandom(SIZE))
        made = (
            iscsi_server(tmp_path / "server", backing) if scheme == "iscsi" else nfs_server(tmp_path / "server", disk)
        )
        with made as server:
            words = inside(server.netns)
            apart = dict.fromkeys(TWO, words)
            with (
                cluster(tmp_path, TWO, inside=words, apart=apart) as running,
                Cluster.connect(running.address, netns=server.netns) as connected,
            ):
                uri = server.uri() if scheme == "iscsi" else server.uri("unit.img")
                result = NodesEngine(connected).run(request(Endpoint.parse(uri), direct=True))
                assert [c.node for c in result.clients] == TWO and result.read.ops > 0 and not result.lost


@pytest.mark.peer
def test_a_share_is_read_from_nodes(nodes: NodesEngine, tmp_path: Path) -> None:
    with smbd(tmp_path / "smb") as server:
        (server.share / "unit.img").write_bytes(os.urandom(SIZE))
        result = nodes.run(request(Endpoint.parse(server.uri("unit.img")), direct=True))
        assert len(result.clients) == 2 and result.read.ops > 0 and not result.lost
