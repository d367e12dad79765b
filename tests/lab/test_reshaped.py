"""The lab's own server, started again with more limits, or as it was."""

from __future__ import annotations

import pytest

from strata.errors import RunFailed
from strata_lab import data, ledger
from strata_lab.lab import Lab
from strata_lab.servers import answers, nbd

pytestmark = pytest.mark.root


@pytest.mark.ci
def test_a_server_that_does_not_start_with_more_limits_is_started_as_it_was(name: str) -> None:
    with ledger.Ledger(name).claimed():
        lab = Lab.create(name, "block-share")
        node = lab.add_node("n1")
        file = data.file(lab.data / "disk.img", 1 << 20)
        served = nbd.start(lab, node, file, kind="strata", shape=("--latency", "1ms"))
        with pytest.raises(RunFailed, match="exited before it was ready"):
            nbd.reshape(lab, "--service-time", "1.5e+06us")
        assert not served.child.alive and answers(node, served.port)()
        assert lab.facts("server")[-1]["shape"] == ["--latency", "1ms"]
        running = [p for p in lab.processes if p.alive]
        assert [p.name for p in running] == ["strata-n1"]
        nbd.reshape(lab, "--service-time", "2ms")
        assert lab.facts("server")[-1]["shape"] == ["--latency", "1ms", "--service-time", "2ms"]
