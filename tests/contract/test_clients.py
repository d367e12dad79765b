"""Several clients of one target as real processes: started at one instant, killed, stopped, left alone."""

from __future__ import annotations

import ctypes
import json
import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from strata.engine.clients import client_words, measure_client
from strata.engine.job import Timing
from strata.engine.native import NativeEngine, run_job
from strata.engine.port import Request
from strata.errors import ClientsLost, SafetyRefusal
from strata.host import testfile
from strata.model.clients import clients_of
from strata.model.endpoint import Endpoint
from strata.model.plan import Segment
from strata.model.result import Interval
from strata.model.workload import OpenLoop, Workload
from strata.plan.words import workload_from_words
from strata.run.judge import fault

MIB = 1 << 20
NULL = Endpoint.parse("null:")
CLIENTS_RATE = 200.0
"""Of each: that many processes on two cores shall wait for their I/Os and not for a core."""


def request(
    clients: int, seconds: float, rw: str = "randread", endpoint: Endpoint = NULL, size: int = 64 * MIB
) -> Request:
    workload = Workload(
        rw=workload_from_words(rw).rw, bs=4096, clients=clients, direct=False,
        arrival=OpenLoop(iops=CLIENTS_RATE * clients, iodepth=4),
    )  # fmt: skip
    return Request(
        endpoint=endpoint,
        workload=workload,
        segments=(Segment(start=MIB, length=size - MIB, target=MIB),),
        timing=Timing(ramp_s=0.5, runtime_s=seconds, interval_s=0.5),
    )


def children() -> list[int]:
    """Processes of ours that carry out a client, in the order in which they were started."""
    found = []
    for task in Path("/proc/self/task").iterdir():
        for pid in (task / "children").read_text().split():
            if b"strata.engine.clients.child" in Path(f"/proc/{pid}/cmdline").read_bytes():
                found.append(int(pid))
    return sorted(found)


def test_clients_begin_together_and_are_summed() -> None:
    for _ in range(3):
        seen: list[Interval] = []
        result = NativeEngine().run(request(3, 2.0), seen.append)
        found = clients_of(result)
        assert found is not None and found.together is not None and found.start_skew is not None
        # Waited for by one instant, not by messages: on a full machine one of them may get its CPU late.
        if found.start_skew.ns < 300_000_000:
            break
    assert [c.client for c in found.each] == [0, 1, 2] and not found.lost
    assert result.ops == sum(c.result.ops for c in result.clients) == found.together.ops
    assert result.measured_ns == 2_000_000_000 and len(result.intervals) == 4
    # 600 a second asked of all together, in shares: what a standstill moves across an end of 2 s is less.
    assert result.iops == pytest.approx(600, rel=0.25)
    assert found.start_skew.ns < 300_000_000
    assert seen and [now.client for now in seen[0].clients] == [0, 1, 2]
    assert seen[0].read.ops == pytest.approx(sum(now.iops for now in seen[0].clients) / 2)
    assert fault(result) is None and children() == []


@pytest.mark.ci
def test_of_ten_clients_one_is_killed_and_one_stopped_and_the_others_are_valid() -> None:
    harmed: dict[str, float] = {}

    def harm(_: Interval) -> None:
        if not harmed:
            pids = children()
            assert len(pids) == 10
            os.kill(pids[3], signal.SIGKILL)
            os.kill(pids[7], signal.SIGSTOP)
            harmed["at"] = time.monotonic()

    result = NativeEngine().run(request(10, 6.0), harm)
    took_s = time.monotonic() - harmed["at"]
    assert children() == []
    assert took_s < 15, f"what is lost was said {took_s:.1f} s later"
    found = clients_of(result)
    assert found is not None and found.together is not None
    assert [(one.client, one.why) for one in found.lost] == [
        (3, "it was ended by signal 9"), (7, "nothing was heard of it for 10 s")
    ]  # fmt: skip
    assert found.together.clients == (0, 1, 2, 4, 5, 6, 8, 9)
    assert found.together.seconds == pytest.approx(6.0, abs=0.01)
    assert result.iops == pytest.approx(8 * CLIENTS_RATE, rel=0.1)
    assert found.before_loss is not None and len(found.before_loss.clients) == 10
    # It is half a second, and a standstill moves a good part of that into it or out of it.
    assert found.before_loss.iops == pytest.approx(10 * CLIENTS_RATE, rel=0.7)
    said = fault(result)
    assert said is not None and said.startswith("2 of 10 clients were lost (client 3 on ")


def test_a_stop_is_passed_on() -> None:
    began = time.monotonic()
    result = NativeEngine().run(request(2, 60.0), None, lambda: time.monotonic() - began > 4)
    assert time.monotonic() - began < 30
    assert result.stop_reason == "stopped" and result.ops > 0 and children() == []


def test_no_client_measured_is_an_error_that_says_why() -> None:
    gone = Endpoint.parse("file:/tmp/there-is-no-such-file-of-strata")
    with pytest.raises(ClientsLost, match="no client measured") as caught:
        NativeEngine().run(request(2, 1.0, endpoint=gone))
    assert caught.value.there, "none of them is gone"
    assert "there-is-no-such-file" in str(caught.value) and children() == []


def test_clients_end_with_who_started_them(tmp_path: Path) -> None:
    told = tmp_path / "pids"
    code = f"""
import pathlib, test_clients as t
from strata.engine.native import NativeEngine
def tell(_):
    pathlib.Path({str(told)!r}).write_text(' '.join(map(str, t.children())))
NativeEngine().run(t.request(2, 60.0), tell)
"""
    path = os.pathsep.join([str(Path(__file__).parent), *sys.path])
    with subprocess.Popen([sys.executable, "-c", code], env=os.environ | {"PYTHONPATH": path}) as parent:
        while not (told.exists() and told.read_text()):
            assert parent.poll() is None
            time.sleep(0.05)
        pids = [int(pid) for pid in told.read_text().split()]
        assert len(pids) == 2
        parent.kill()
    deadline = time.monotonic() + 10
    while time.monotonic() < deadline and any(Path(f"/proc/{pid}/fd").exists() for pid in pids):
        time.sleep(0.05)
    assert not any(_runs(pid) for pid in pids)


def _runs(pid: int) -> bool:
    try:
        return b"strata.engine.clients" in Path(f"/proc/{pid}/cmdline").read_bytes()
    except FileNotFoundError:
        return False


def lone_job(seconds: float, **more: object) -> dict[str, object]:
    (words,) = client_words(request(1, seconds))
    job: dict[str, object] = words["job"]
    return job | more


def test_the_lease_ends_a_run_while_python_hangs_with_its_lock() -> None:
    """A Python that holds its lock in C renews nothing, and no thread of it runs: the engine stops all the same."""
    hung = threading.Event()

    def hang(_: Interval) -> None:
        if not hung.is_set():
            hung.set()
            # PyDLL keeps the lock while it calls.
            ctypes.PyDLL(None).sleep(4)

    began = time.monotonic()
    result = run_job(lone_job(60.0, lease_ns=1_000_000_000), hang)
    assert time.monotonic() - began < 20
    assert result.stop_reason == "lease" and result.ops > 0
    assert fault(result) is not None
    # Renewed until the first interval, 1 s after the start at most; then for a second, not for four.
    assert result.measured_ns < 3_000_000_000


def test_a_run_is_renewed_while_somebody_lives_and_no_longer() -> None:
    began = time.monotonic()
    job = lone_job(60.0, lease_ns=1_000_000_000)
    result = run_job(job, alive=lambda: time.monotonic() - began < 3)
    assert (result.stop_reason, result.ops > 0) == ("lease", True)
    assert 2 < result.seconds < 6


def test_a_client_writes_to_nothing_whose_mark_is_another(tmp_path: Path) -> None:
    path = tmp_path / "a"
    with testfile.new(path, 64 * MIB) as held:
        held.keep()
        held.settle()
        asked = request(2, 0.5, "randwrite", Endpoint.parse(f"file:{path}").beside(held.fd))
        one, other = client_words(asked)
        assert one["marks"] == [held.own.uuid]
        spans = [[(s["start"], s["length"]) for s in w["job"]["workload"]["segments"]] for w in (one, other)]
        assert spans == [[(MIB, 31 * MIB + MIB // 2)], [(32 * MIB + MIB // 2, 31 * MIB + MIB // 2)]]
        assert one["job"]["workload"]["seed"] != other["job"]["workload"]["seed"]
        told = measure_client(json.loads(json.dumps(one)))
        assert told["write"]["ops"] > 0 and told["stop_reason"] == "runtime"
        for wrong in ("another", None):
            with pytest.raises(SafetyRefusal, match="will not write to"):
                measure_client({**one, "marks": [wrong]})
    # Without a descriptor, as on another machine: found and checked by its name.
    elsewhere = json.loads(json.dumps(one))
    elsewhere["job"]["target"]["fd"] = None
    assert measure_client(elsewhere)["write"]["ops"] > 0
    with pytest.raises(SafetyRefusal, match="will not write to"):
        measure_client({**elsewhere, "marks": ["another"]})


def test_a_file_that_others_wrote_to_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "theirs"
    path.write_bytes(b"x" * 2 * MIB)
    (words,) = client_words(request(1, 0.5, "randwrite", Endpoint.parse(f"file:{path}"), 2 * MIB))
    with pytest.raises(SafetyRefusal):
        measure_client({**words, "marks": ["any"]})
    assert path.read_bytes() == b"x" * 2 * MIB
