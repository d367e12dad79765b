"""Threads where they were told to run, by what the kernel says of them."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from commands import measured, strata

ALLOWED = sorted(os.sched_getaffinity(0))
RUN = ("null:", "--threads", 2, "--runtime", "100ms")


def test_each_thread_is_on_its_processor_and_counted_alone() -> None:
    cpus = [ALLOWED[0], ALLOWED[-1]]
    result = measured(*RUN, "--cpus", ",".join(map(str, cpus)))["result"]
    assert [t["cpus"] for t in result["threads"]] == [t["pinned"] for t in result["threads"]] == [str(c) for c in cpus]
    assert sum(t["read_ops"] for t in result["threads"]) == result["read"]["ops"]
    assert sum(t["read_bytes"] for t in result["threads"]) == result["read"]["bytes"]
    for thread in result["threads"]:
        assert thread["service"]["p50_ns"] <= thread["service"]["p99_ns"] <= thread["service"]["max_ns"]


def test_without_a_word_threads_are_free_and_a_node_brings_its_memory() -> None:
    assert all(t["pinned"] is None and t["cpus"] for t in measured(*RUN)["result"]["threads"])
    if not Path("/sys/devices/system/node/node0/cpulist").exists():
        pytest.skip("this kernel knows no NUMA nodes")
    for thread in measured(*RUN, "--numa-node", "0")["result"]["threads"]:
        assert thread["pinned"]
        assert thread["memory"] in ("local", None)


def test_verbose_names_each_thread() -> None:
    done = strata("measure", *RUN, "--cpus", ALLOWED[0], "--verbose", "--progress", "none", "--ramp-time", "10ms")
    assert done.returncode == 0, done.stderr
    assert "thread 1 " in done.stdout
    assert f"pinned to CPUs {ALLOWED[0]}" in " ".join(done.stdout.split())


def test_a_processor_that_is_not_there_is_refused_with_those_that_are() -> None:
    done = strata("measure", *RUN, "--cpus", "1023", "--progress", "none")
    assert done.returncode == 1
    assert "cannot pin thread" in done.stderr
    assert f"this process may use CPUs {ALLOWED[0]}" in done.stderr
    absent = strata("measure", *RUN, "--numa-node", "1023", "--progress", "none")
    assert absent.returncode == 2
    assert "node 1023 is not on this machine" in absent.stderr
