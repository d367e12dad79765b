"""A sweep over threads of a server that tells its times: the columns of a published file server's tables."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from commands import strata, target


@pytest.fixture(autouse=True)
def own_state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    monkeypatch.delenv("STRATA_STORE", raising=False)


@pytest.mark.alone
def test_each_point_has_client_server_and_wire_cycles_and_what_is_full(tmp_path: Path) -> None:
    """Two servers of 2 ms: with one thread the server takes all of it, with eight the rest is waiting before it."""
    shape = ("--service-time", "2ms", "--service-threads", 2)
    with target("--memory", "64m", "--listen", "127.0.0.1:0", *shape) as (uri, _):
        words = ("--over", "threads", "--points", "1,2,4,8,16", "--bs", "8k", "--iodepth", "1", "--budget", "15s")
        done = strata("scale", uri, *words, "--progress", "none", "--json", "--no-open-loop")
        assert done.returncode == 0, done.stderr
        found = json.loads(done.stdout)
        text = strata("report", found["run"])
    points = {p["value"]: p for p in found["points"]}
    for p in points.values():
        times = p["latency_ns"]
        parts = times["mean.server"]["value"] + times["mean.wire"]["value"]
        assert parts == pytest.approx(p["mean_ns"]["value"], rel=0.05)
        if "90.server" in times:
            assert times["90"]["value"] >= 0.95 * times["90.server"]["value"] > 0
        assert p["cycles"] and all(c["kernel_per_byte"]["value"] > 0 for c in p["cycles"] if c["end"] == "machine")
    assert "90.server" in points[16]["latency_ns"], "the point with most I/Os tells its percentiles"
    assert points[1]["iops"]["value"] == pytest.approx(480, rel=0.15)
    assert points[16]["iops"]["value"] == pytest.approx(1000, rel=0.10)
    (curve,) = found["curves"]
    assert curve["saturated"] is not None and "says" in curve["saturated"]
    assert "p90 server" in text.stdout and "p90 wire" in text.stdout and "cycles/B" in text.stdout
