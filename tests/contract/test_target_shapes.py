"""`strata target` through `strata measure`: every option does what it says. Upper bounds are the shape's, so they are
tight; lower bounds leave room for a busy machine."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest
from commands import QUICK, measured, strata, target, working_disk

from strata import units
from strata.host import testfile
from strata.host.mark import read_mark
from strata.model import histogram

LIMITS = {
    "cap": (("--iops", 800), ("--iodepth", 16)),
    "bandwidth": (("--bandwidth", "40m"), ("--bs", "64k", "--iodepth", 8)),
    "latency": (("--latency", "4ms"), ("--iodepth", 1)),
    "service": (("--service-threads", 2, "--service-time", "4ms"), ("--iodepth", 8)),
}
EXPECTED = {"cap": 800.0, "bandwidth": 640.0, "latency": 250.0, "service": 500.0}
"""IOPS that the shape allows: the cap; 40 MiB/s ÷ 64 KiB; 1 ÷ 4 ms; 2 ÷ 4 ms."""


@pytest.mark.alone
@pytest.mark.parametrize("name", LIMITS)
def test_a_limit_is_kept_and_reached(name: str, tmp_path: Path) -> None:
    shape, load = LIMITS[name]
    with target("--memory", "16m", "--writable", "--socket", tmp_path / "s", *shape) as (uri, _):
        for _ in range(3):
            iops = measured(uri, *load, "--runtime", "800ms")["summary"]["iops"]["value"]
            # A handful of I/Os that were in flight when the ramp ended may come on top.
            assert iops <= 1.03 * EXPECTED[name] + 16 / 0.8
            # What a machine that stood still did not do is not made up for.
            if iops >= 0.6 * EXPECTED[name]:
                break
    assert iops >= 0.6 * EXPECTED[name]


@pytest.mark.alone
def test_latency_delays_and_does_not_limit(tmp_path: Path) -> None:
    with target("--memory", "16m", "--writable", "--socket", tmp_path / "s", "--latency", "4ms") as (uri, _):
        result = measured(uri, "--iodepth", 16, "--runtime", "600ms")["result"]
    least, median = histogram.quantiles(result["read"]["service_time"], [0.0, 0.5])
    assert least >= 4e6
    assert median < 12e6
    assert result["read"]["ops"] / 0.6 > 250 * 4, "sixteen in flight, far beyond what one at a time would give"


@pytest.mark.alone
def test_bandwidth_holds_for_each_direction_by_itself(tmp_path: Path) -> None:
    with target("--null", "1g", "--listen", "127.0.0.1:0", "--bandwidth", "40m") as (uri, _):
        assert uri.startswith("nbd://127.0.0.1:")
        words = ("--rw", "randrw", "--bs", "64k", "--iodepth", 16, "--runtime", "800ms", "--destructive", uri)
        result = measured(uri, *words)["result"]
    both = (result["read"]["bytes"] + result["write"]["bytes"]) / 0.8
    assert result["read"]["bytes"] / 0.8 <= 1.2 * 40 * units.MIB
    assert result["write"]["bytes"] / 0.8 <= 1.2 * 40 * units.MIB
    assert both > 1.1 * 40 * units.MIB, "the two directions do not share one wire"


def test_several_connections_share_one_shape(tmp_path: Path) -> None:
    with target("--memory", "16m", "--writable", "--socket", tmp_path / "s", "--iops", 800) as (uri, _):
        document = measured(f"{uri}&connections=4", "--threads", 2, "--iodepth", 8, "--runtime", "800ms")
    assert document["result"]["effective"]["connections"] == 4
    assert document["summary"]["iops"]["value"] <= 1.03 * 800 + 20


def _size_of(document: dict[str, Any]) -> int:
    return int(document["result"]["effective"]["blocks"] * document["result"]["effective"]["block_bytes"])


def test_what_is_served_and_under_which_name() -> None:
    with working_disk() as disk:
        image = disk / "image.raw"
        image.write_bytes(os.urandom(4 * units.MIB))
        with target("--file", image, "--socket", disk / "s", "--export", "vol", "--buffered") as (uri, _):
            assert uri == f"nbd+unix:///vol?socket={disk / 's'}"
            document = measured(uri, "--iodepth", 4, "--runtime", "150ms")
            assert _size_of(document) == 4 * units.MIB
            assert document["result"]["errored"] == 0
            done = strata("measure", uri.replace("/vol?", "/other?"), "--runtime", "150ms", *QUICK)
            assert done.returncode == 1
            assert "vol" in done.stderr, "the exports that are there are named"
            done = strata("measure", uri, "--rw", "write", "--destructive", uri, "--runtime", "150ms", *QUICK)
            assert done.returncode == 1
            assert "read-only" in done.stderr


def test_a_file_of_our_own_is_served_for_writing() -> None:
    with working_disk() as disk:
        path, size = disk / "own.dat", 4 * units.MIB
        mark = testfile.create(path, size)
        with target("--file", path, "--writable", "--socket", disk / "s") as (uri, _):
            document = measured(uri, "--rw", "randwrite", "--iodepth", 4, "--dsync", "--runtime", "150ms")
        assert document["result"]["write"]["ops"] > 0
        assert document["result"]["effective"]["sync"] == "dsync"
        assert read_mark(path) == mark
        testfile.remove(path, mark)
