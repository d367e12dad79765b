"""Images and files in clusters: the safety gate, what is made there, what fio may do to it, a cluster that goes."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from cluster_peers import cluster, endpoint_of
from commands import QUICK, STRATA
from engine_cases import KIB, MIB, SEEN_FROM, request
from namespaces import inside

from strata.engine import engine_of, own_mark, probe_remote, read_remote, remote_file
from strata.engine.fio import drive
from strata.errors import RunFailed, SafetyRefusal, UsageError
from strata.host import registry
from strata.model.endpoint import Endpoint, EndpointKind
from strata.model.plan import Segment
from strata.run.judge import fault
from strata_lab.lab import Lab
from strata_lab.proc import marked

pytestmark = [pytest.mark.root, pytest.mark.slow]

SIZE = 8 * MIB


@pytest.fixture(scope="module", params=["gluster", "rbd"])
def lab(request: pytest.FixtureRequest) -> Iterator[Lab]:
    with cluster(request.param) as made:
        yield made


@pytest.fixture
def own(lab: Lab) -> Iterator[Endpoint]:
    endpoint = endpoint_of(lab, "own.dat")
    SEEN_FROM[endpoint.uri] = endpoint.netns or ""
    mark = remote_file.create(endpoint, SIZE)
    remote_file.fill(endpoint, mark, 1)
    yield endpoint
    remote_file.remove(endpoint, mark)


def foreign(lab: Lab, content: bytes) -> Endpoint:
    """An object that Strata did not make, with this in it."""
    endpoint = endpoint_of(lab, "foreign.dat")
    if endpoint.kind is EndpointKind.GLUSTER:
        (Path(lab.facts("volume")[0]["path"]) / "foreign.dat").write_bytes(content)
        return endpoint
    conf = endpoint.uri.partition("conf=")[2]
    argv = ["rbd", "-c", conf, "--no-progress", "import", "-", "strata/foreign.dat"]
    subprocess.run([*inside(endpoint.netns), *argv], input=content, check=True, timeout=60, capture_output=True)
    return endpoint


def strata(endpoint: Endpoint, *words: object) -> subprocess.CompletedProcess[str]:
    """The command line on a machine that reaches the cluster."""
    argv = [*inside(endpoint.netns), *STRATA, *map(str, words)]
    return subprocess.run(argv, capture_output=True, text=True, timeout=240, check=False)


def test_it_is_made_filled_measured_and_removed(lab: Lab) -> None:
    endpoint = endpoint_of(lab, "new.dat")
    words = ("measure", endpoint.uri, "--rw", "randrw", "--rwmixread", 70, "--bs", "8k", "--iodepth", 8, "--size", "8m")
    done = strata(endpoint, *words, "--runtime", "1s", *QUICK, "--json")
    assert done.returncode == 0, done.stderr
    result = json.loads(done.stdout)["result"]
    assert result["engine"]["name"] == "fio"
    assert result["read"]["ops"] and result["write"]["ops"]
    assert not remote_file.exists(endpoint)


def test_what_is_not_ours_is_read_and_never_written(lab: Lab) -> None:
    content = os.urandom(MIB)
    endpoint = foreign(lab, content)
    assert probe_remote("l", endpoint).min_rtt_ns > 0
    done = strata(endpoint, "measure", endpoint.uri, "--rw", "randwrite", "--runtime", "1s", *QUICK)
    assert done.returncode == 5, done.stderr
    assert "does not carry Strata's mark" in done.stderr
    with pytest.raises(SafetyRefusal, match="a file of this name exists"):
        remote_file.create(endpoint, SIZE)
    assert strata(endpoint, "measure", endpoint.uri, "--runtime", "1s", *QUICK).returncode == 0
    assert read_remote(endpoint, 0, MIB) == content


def test_what_took_its_place_is_neither_filled_nor_removed(lab: Lab, own: Endpoint) -> None:
    mark = own_mark(own)
    assert mark is not None
    other = type(mark).new(mark.size)
    with pytest.raises(RunFailed, match="no longer carries the mark of this file"):
        remote_file.fill(own, other, 1)
    with pytest.raises(SafetyRefusal, match="it carries the mark"):
        remote_file.remove(own, other)
    assert own_mark(own) == mark


def test_what_a_crash_left_behind_is_cleaned(lab: Lab, monkeypatch: pytest.MonkeyPatch) -> None:
    endpoint = endpoint_of(lab, "left.dat")
    remote_file.create(endpoint, SIZE)
    assert endpoint.uri not in remote_file.clean()[0], "its maker lives"
    monkeypatch.setattr(registry.Entry, "abandoned", property(lambda _: True))
    assert endpoint.uri in remote_file.clean()[0]
    assert not remote_file.exists(endpoint)


def test_fio_makes_and_lengthens_nothing(lab: Lab, own: Endpoint) -> None:
    """Its gfapi engine does both, for a workload that only reads."""
    gone = endpoint_of(lab, "gone.dat")
    SEEN_FROM[gone.uri] = gone.netns or ""
    with pytest.raises(RunFailed, match="cannot open the"):
        engine_of("fio").run(request(gone.uri))
    assert not remote_file.exists(gone)
    beyond = Segment(start=0, length=2 * SIZE, target=0)
    with pytest.raises(RunFailed, match="it ends at byte"):
        engine_of("fio").run(request(own.uri, segments=(beyond,)))
    mark = own_mark(own)
    assert mark is not None and mark.size == SIZE, "the size the mark states is the one it has"


@pytest.mark.parametrize(("rw", "threads"), [("randwrite", 1), ("write", 3)])
def test_writing_keeps_to_the_blocks_of_the_segment(own: Endpoint, rw: str, threads: int) -> None:
    before = read_remote(own, 0, SIZE)
    segment = Segment(start=MIB + 4 * KIB, length=2 * MIB + 64 * KIB, target=3 * MIB)
    asked = request(own.uri, rw, "64k", iodepth=8, threads=threads, segments=(segment,), ramp_s=0.0, runtime_s=3.0)
    assert engine_of("fio").run(asked).write.ops > 100
    after = read_remote(own, 0, SIZE)
    changed = [at for at in range(0, SIZE, 4 * KIB) if before[at : at + 4 * KIB] != after[at : at + 4 * KIB]]
    first, last = 3 * MIB + 60 * KIB, 3 * MIB + 60 * KIB + 32 * 64 * KIB
    assert first <= min(changed)
    assert max(changed) < last
    assert len(changed) >= (32 - (32 % threads)) * 16 * 0.85


def test_reading_changes_nothing_and_reaches_every_thread(own: Endpoint) -> None:
    before = read_remote(own, 0, SIZE)
    whole = Segment(start=MIB, length=SIZE - MIB, target=MIB)
    asked = request(own.uri, "read", "64k", threads=3, segments=(whole,), ramp_s=0.0, runtime_s=1.0)
    result = engine_of("fio").run(asked)
    assert len(result.threads) == 3
    assert all(t.read_ops for t in result.threads)
    # A job whose range is taken for shorter than it is ends early, and fio calls that a good end.
    assert result.measured_ns >= 0.99e9
    assert result.measured_ns <= 1e9 + 1.1 * result.read.service_sum_ns
    assert read_remote(own, 0, SIZE) == before


def test_the_native_engine_says_who_can(own: Endpoint) -> None:
    with pytest.raises(UsageError, match=f"does not support {own.kind.value}"):
        engine_of("native").run(request(own.uri))


def test_a_cluster_that_goes_is_no_measurement(lab: Lab, monkeypatch: pytest.MonkeyPatch) -> None:
    """The last one: the lab is of no use afterwards. gfapi_async takes I/Os that fail at once for done, and librbd
    waits for ever."""
    monkeypatch.setattr(drive, "STARTUP_S", 10.0)
    monkeypatch.setattr(drive, "DRAIN_S", 3.0)
    endpoint = endpoint_of(lab, "last.dat")
    SEEN_FROM[endpoint.uri] = endpoint.netns or ""
    mark = remote_file.create(endpoint, SIZE)
    remote_file.fill(endpoint, mark, 1)
    registry.forget(mark.uuid)
    asked = request(endpoint.uri, iodepth=4, ramp_s=0.0, runtime_s=1.0)
    servers = {EndpointKind.GLUSTER: "glusterfsd", EndpointKind.RBD: "ceph-osd"}

    def kill(_: object) -> None:
        for pid, _started in marked(lab.token):
            with contextlib.suppress(OSError):
                if servers[endpoint.kind] in Path(f"/proc/{pid}/cmdline").read_text():
                    os.kill(pid, signal.SIGKILL)

    if endpoint.kind is EndpointKind.GLUSTER:
        with pytest.raises(RunFailed, match=r"cannot reach|cannot open"):
            engine_of("fio").run(asked, kill)
        return
    result = engine_of("fio").run(asked, kill)
    assert result.stop_reason == "stuck"
    assert result.stuck > 0
    assert fault(result) is not None
