"""A server on another node than what asks it, driven from their nodes: whose times it tells, and by which door."""

from __future__ import annotations

from contextlib import ExitStack
from pathlib import Path

import pytest
from driven import options, quiet, swept, users_volume
from fleet_peers import cluster
from namespaces import inside, star

from strata.app.diagnose import diagnose_path
from strata.engine import Backing, Shaping, TargetConfig, TargetProcess
from strata.host import testfile
from strata.host.mark import MARK_BYTES
from strata.model.counters import target


@pytest.fixture
def data(tmp_path: Path) -> Path:
    return users_volume(tmp_path)


SERVED = """
[stack]
name = "served elsewhere"
{scheduler}

[[node]]
name = "server"
{server_netns}

[[node]]
name = "client"
{client_netns}

[[layer]]
name = "file"
{file_node}
endpoint = "file:{path}"

[[layer]]
name = "share"
node = "client"
on = ["file"]
endpoint = "{share}"
stats = "{stats}"
server = "server"
"""


@pytest.mark.root
@pytest.mark.ci
@pytest.mark.parametrize("driven", [True, False], ids=["from nodes", "from this machine"])
def test_the_target_on_another_node_tells_its_times_by_the_socket_that_the_file_names(
    tmp_path: Path, data: Path, driven: bool
) -> None:
    """Server, client and scheduler each in a namespace of their own; the client's node cannot read the socket."""
    socket = tmp_path / "volume" / "stats"
    with star(["server", "client"]) as spaces, ExitStack() as held:
        file = held.enter_context(testfile.own(data, lock=False))
        backing = Backing(kind="file", path=str(data), fd=file.fd, read_only=False, direct=False)
        shape = Shaping(service_time_ns=500_000)
        config = TargetConfig(
            tcp="10.213.8.2:0", netns=spaces["server"], backing=backing, shape=shape, export="volume",
            guarded_bytes=MARK_BYTES, stats=str(socket),
        )  # fmt: skip
        server = held.enter_context(TargetProcess(config))
        netns = {name: "" if driven else f'netns = "{spaces[name]}"' for name in ("server", "client")}
        where = ""
        if driven:
            apart = {name: inside(spaces[name]) for name in ("server", "client")}
            hidden = 'mount -t tmpfs tmpfs "$0" && exec "$@"'
            apart["client"] += ["unshare", "--mount", "sh", "-c", hidden, str(data.parent)]
            names, hub = list(apart), spaces["hub"]
            held.enter_context(cluster(tmp_path, names, "tcp://10.213.8.1:8786", inside=inside(hub), apart=apart))
            where = f'scheduler = "tcp://10.213.8.1:8786"\nscheduler_netns = "{hub}"'
        words = tmp_path / "stack.toml"
        words.write_text(
            SERVED.format(
                scheduler=where, server_netns=netns["server"], client_netns=netns["client"], path=data,
                share=server.uri(), stats=socket, file_node='node = "server"' if driven else "",
            )
        )  # fmt: skip
        report = diagnose_path(words, options(tmp_path, "randread", "randwrite"), quiet)
        assert not [c.error for c in report.results if c.error]
        for cell in report.results:
            told = {s.labels.get("node") for s in cell.counters if s.metric == target.REQUESTS.name}
            assert told == ({"server"} if cell.layer == "share" else set())
            assert (cell.server is not None) == (cell.layer == "share")
        splits = {(c.layer, s.direction): s for c in report.analysis.cells for s in c.splits}
        assert set(splits) == {("share", "read"), ("share", "write")}
        for one in splits.values():
            assert one.server_ns.value > 450_000 and one.percentiles
        found = swept(words, "--over", "iodepth", "--points", "1,2")
        mean = {(p["layer"], p["value"]): p["latency_ns"].get("mean.server") for p in found["points"]}
        assert mean["file", 1] is None and mean["share", 1]["value"] > 450_000 and mean["share", 2] is not None
        # A socket that is not there costs its figures, and says so.
        words.write_text(words.read_text().replace(str(socket), f"{socket}-gone"))
        report = diagnose_path(words, options(tmp_path, "randread"), quiet)
        shares = [c for c in report.results if c.layer == "share"]
        assert shares and all(c.server is None and c.error is None for c in shares)
        assert [said for c in shares for said in c.absent if f"no statistics at {socket}-gone" in said]
