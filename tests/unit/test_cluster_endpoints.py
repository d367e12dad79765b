"""``rbd:`` and ``gluster://``: what they say, what fio is told, and what a client library is asked for."""

from __future__ import annotations

import base64
import errno
from pathlib import Path
from typing import Any

import pytest

from strata.engine import Request, Timing, engine_for, engine_of
from strata.engine.fio import cluster
from strata.engine.fio.cluster import Reached
from strata.engine.fio.command import ioengine_candidates, refusals, words
from strata.engine.fio.drive import Carried
from strata.engine.fio.engine import _let_go_late
from strata.engine.fio.reading import ReportReader
from strata.engine.fio.stream import Stream
from strata.engine.job import build_job
from strata.engine.remote_file import ADDRESSES
from strata.errors import RunFailed, UsageError
from strata.formats.fio import fio_command
from strata.host import registry
from strata.host.libraries.answering import QUESTIONS
from strata.host.libraries.store import load
from strata.host.mark import Mark
from strata.model import cluster_uri
from strata.model.caching import refusal
from strata.model.endpoint import Endpoint, EndpointKind
from strata.model.fio_words import said_first
from strata.model.placement import Placement
from strata.model.plan import Segment
from strata.plan.words import workload_from_words

RBD = "rbd:vms/disk%201?conf=/etc/ceph/two.conf&user=client.ann"
GLUSTER = "gluster://[fe80::1]:24007/vol/dir/a%3Ab.dat"
MIB = 1 << 20


def asked(uri: str, rw: str = "randread", **more: Any) -> Request:
    return Request(
        endpoint=Endpoint.parse(uri),
        workload=workload_from_words(rw, "4k", **more),
        segments=(Segment(start=MIB, length=8 * MIB, target=MIB),),
        timing=Timing(ramp_s=0, runtime_s=1),
    )


def test_what_an_address_says() -> None:
    assert cluster_uri.rbd(RBD) == ("vms", "disk 1", "/etc/ceph/two.conf", "ann")
    assert cluster_uri.rbd("rbd:p/i") == cluster_uri.rbd("rbd://p/i") == ("p", "i", None, None)
    assert cluster_uri.gluster(GLUSTER) == ("fe80::1", "vol", "dir/a:b.dat")
    for uri, kind in ((RBD, EndpointKind.RBD), (GLUSTER, EndpointKind.GLUSTER)):
        endpoint = Endpoint.parse(uri)
        assert (endpoint.kind, endpoint.uri, endpoint.path, endpoint.remote) == (kind, uri, None, True)
        assert endpoint.seen_from("/run/netns/a").netns == "/run/netns/a"


@pytest.mark.parametrize(
    ("uri", "why"),
    [
        ("rbd:image", "pool and image are missing"),
        ("rbd:pool/", "pool and image are missing"),
        ("rbd:pool/space/image", "does not support namespaces"),
        ("rbd:pool/image@snap", "images, not snapshots"),
        ("rbd:pool/image:id=ann", "must follow a question mark"),
        ("rbd:pool/image?id=ann", r"the option 'id' is not supported \(conf, user are\)"),
        ("rbd:pool/image?conf=ceph.conf", "is not absolute"),
        ("rbd:pool/image?user=", "cannot be ''"),
        ("rbd:pool/a%0ab", "an invalid character"),
        ("gluster:///vol/file", "the host is missing"),
        ("gluster://host/vol", "a file below the volume is missing"),
        ("gluster://host/vol/dir/", "a file below the volume is missing"),
        ("gluster://host/vol/../file", "a file below the volume is missing"),
        ("gluster://host:24008/vol/file", "only the default port of glusterd, 24007"),
        ("gluster://host:x/vol/file", "ports that are not a number"),
        ("gluster://host/vol/file?connections=2", "the option 'connections' is not supported"),
    ],
)
def test_what_cannot_be_used_is_said_with_how_to_write_it(uri: str, why: str) -> None:
    with pytest.raises(UsageError, match=why) as refused:
        Endpoint.parse(uri)
    assert refused.value.hint.startswith("write ")


def test_fio_is_told_of_an_image() -> None:
    said = words(asked(RBD, threads=2, iodepth=4), "rbd", "", "-")
    for word in ("--ioengine=rbd", "--pool=vms", "--rbdname=disk 1", "--clientname=ann", "--direct=1", "--readonly"):
        assert word in said
    assert {"--numjobs=2", "--name=strata", f"--offset={MIB}", f"--size={8 * MIB}"} <= set(said)
    assert not [word for word in said if "filename" in word or "conf" in word]
    assert said_first(Endpoint.parse(RBD)) == ["env", "CEPH_CONF=/etc/ceph/two.conf"]
    assert said_first(Endpoint.parse("rbd:p/i")) == []


def test_fio_is_told_of_a_file_with_an_end_for_each_thread() -> None:
    said = words(asked(GLUSTER, "write", threads=2, sync="dsync"), "gfapi", "", "-")
    for word in ("--volume=vol", "--brick=fe80::1", "--filename=dir/a\\:b.dat", "--sync=dsync", "--numjobs=1"):
        assert word in said
    assert said.count("--name=global") == 1
    first, second = (i for i, word in enumerate(said) if word == "--name=strata")
    assert said[first + 1 : second] == [f"--offset={MIB}", f"--size={5 * MIB}", f"--filesize={5 * MIB}"]
    assert said[second + 1 :] == [f"--offset={5 * MIB}", f"--size={9 * MIB}", f"--filesize={9 * MIB}"]
    assert f"--io_size={4 * MIB}" in said[:first]
    assert "--readonly" not in said
    both = words(asked(GLUSTER, threads=2), "gfapi", "", "-")
    assert both.count(f"--offset={MIB}") == both.count(f"--filesize={9 * MIB}") == 2


def test_the_carrier_follows_the_depth() -> None:
    every = {"rbd", "gfapi", "gfapi_async"}
    for uri, depth, carrier in ((RBD, 1, "rbd"), (RBD, 8, "rbd"), (GLUSTER, 1, "gfapi"), (GLUSTER, 2, "gfapi_async")):
        request = asked(uri, iodepth=depth)
        assert ioengine_candidates(request.endpoint, request.workload, every) == [carrier]
        assert refusals(request.endpoint, request.workload, request.segments, every) == []


def test_who_cannot_reach_it_says_what_can() -> None:
    for uri, package in ((RBD, "fio-engine-rbd"), (GLUSTER, "mount the volume")):
        request = asked(uri)
        (said,) = refusals(request.endpoint, request.workload, request.segments, {"io_uring", "nbd"})
        assert "was built without an I/O engine for it" in said and package in said
        (said,) = engine_of("native").refusals(request.endpoint, request.workload)
        assert "does not support" in said
        with pytest.raises(UsageError, match="does not support") as refused:
            engine_of("native").run(request)
        assert "--engine fio" in refused.value.hint
        with pytest.raises(UsageError, match="does not support"):
            build_job(request.endpoint, request.workload, request.segments, request.timing)
        assert fio_command(request.endpoint, request.workload, request.segments, 0, 1) is None
        cold = refusal(request.endpoint, workload_from_words("randread", "4k", cache="cold"))
        assert cold is not None and "from here" in cold
    buffered = asked(RBD, "write", direct=False, sync="dsync")
    assert "no single write is durable" in refusals(buffered.endpoint, buffered.workload, (), {"rbd"})[0]


def test_the_engine_follows_the_endpoints() -> None:
    here, there = Endpoint.parse("null:"), Endpoint.parse(RBD)
    assert engine_for("auto", [here]).name == "native"
    assert engine_for("auto", [here, there]).name == "fio"
    assert engine_for("native", [there]).name == "native"
    with pytest.raises(UsageError, match="cannot pin"):
        engine_for("auto", [there], Placement(cpus=(0,)))
    with pytest.raises(UsageError, match="there is no engine"):
        engine_for("dd", [here])


def test_an_image_is_reached_without_its_clients_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cluster, "remote_size", lambda _: 9 * MIB)
    conf = tmp_path / "two.conf"
    conf.write_text("[global]\nfsid = x")
    uri = f"rbd:p/i?conf={conf}&user=ann"
    with Reached(asked(uri)) as reached:
        made = Path(reached.environment["CEPH_CONF"])
        assert made.name == "two.conf"
        assert made.read_text().startswith("[global]\nfsid = x\n")
        for section in ("[client]", "[client.ann]"):
            assert f"{section}\nrbd cache = false\n" in made.read_text()
    assert not made.exists()
    with Reached(asked(uri, direct=False)) as reached:
        assert reached.environment == {"CEPH_CONF": str(conf)}
    with pytest.raises(RunFailed, match="none") as failed, Reached(asked(f"rbd:p/i?conf={tmp_path}/none")):
        pass
    assert "conf=PATH gives" in failed.value.hint
    monkeypatch.setattr(cluster, "remote_size", lambda _: 9 * MIB - 1)
    with pytest.raises(RunFailed, match="it ends at byte"), Reached(asked(uri)):
        pass


def test_what_is_made_there_is_found_again_after_a_crash() -> None:
    for uri in (RBD, GLUSTER):
        assert registry.Entry.of_remote(uri, None, Mark.new(MIB)).remote
        assert uri.startswith(ADDRESSES)


class Memory:
    """A store of one object, in memory; ``fails`` from its next write on."""

    def __init__(self, data: bytes | None = None, fails: bool = False) -> None:
        self.data, self.fails = None if data is None else bytearray(data), fails

    def open(self, write: bool) -> Memory:
        if self.data is None:
            raise OSError(errno.ENOENT, "none")
        return self

    def create(self, size: int) -> None:
        if self.data is not None:
            raise OSError(errno.EEXIST, "there")
        self.data = bytearray(size)

    def remove(self) -> None:
        self.data = None

    def size(self) -> int:
        assert self.data is not None
        return len(self.data)

    def round_trip(self) -> None:
        pass

    def read(self, offset: int, length: int) -> bytes:
        assert self.data is not None
        # Less than asked, as a library may give.
        return bytes(self.data[offset : offset + min(length, 1000)])

    def write(self, offset: int, data: bytes) -> None:
        if self.fails:
            raise OSError(errno.ENOSPC, "full")
        assert self.data is not None
        self.data[offset : offset + len(data)] = data

    def flush(self) -> None:
        pass

    def close(self) -> None:
        pass


def ask(store: Memory, what: str, **words: Any) -> tuple[dict[str, Any], bytes]:
    sent = {k: base64.b64encode(v).decode() if isinstance(v, bytes) else v for k, v in words.items()}
    return QUESTIONS[what](store, sent)


def test_what_a_client_library_is_asked_for() -> None:
    store, header, size = Memory(), b"H" * 4096, 9 * MIB + 5
    ask(store, "create", size=size, header=header)
    assert ask(store, "probe", rounds=3)[0]["size_bytes"] == size
    ask(store, "fill", size=size, seed=1, header=header)
    assert ask(store, "read", offset=0, length=4096)[1] == header
    assert store.data is not None and len(store.data) == size
    chunks = [bytes(store.data[at : at + 4096]) for at in range(4096, size, 4096)]
    assert len(set(chunks)) == len(chunks), "nothing was left unwritten or written twice"
    with pytest.raises(FileExistsError):
        ask(store, "create", size=size, header=header)
    before = bytes(store.data)
    for what in ("fill", "remove"):
        with pytest.raises(PermissionError):
            ask(store, what, size=size, seed=2, header=b"X" * 4096)
    assert bytes(store.data) == before
    ask(store, "remove", header=header)
    assert store.data is None
    with pytest.raises(FileNotFoundError):
        ask(store, "remove", header=header)


def test_what_cannot_be_marked_is_not_left_there() -> None:
    store = Memory(fails=True)
    with pytest.raises(OSError, match="full"):
        ask(store, "create", size=MIB, header=b"H" * 4096)
    assert store.data is None


def test_a_library_that_is_not_installed_is_named_with_its_package() -> None:
    with pytest.raises(OSError, match=r"libnone.so.9 .*: install libnone9") as failed:
        load("libnone.so.9", "libnone9")
    assert failed.value.errno == errno.ELIBACC


@pytest.mark.parametrize(
    ("uri", "said", "well"),
    [
        (GLUSTER, ["fio seems to be stuck grabbing stat_sem, forcibly exiting", "fio: pid=7, err=35/"], True),
        (GLUSTER, ["fio: pid=7, err=35/"], False),
        (GLUSTER, ["fio seems to be stuck grabbing stat_sem, forcibly exiting", "fio: pid=7, err=5/"], False),
        (RBD, ["fio seems to be stuck grabbing stat_sem, forcibly exiting", "fio: pid=7, err=35/"], False),
    ],
)
def test_a_thread_that_waited_for_another_to_close_the_volume_is_no_failure(
    uri: str, said: list[str], well: bool
) -> None:
    carried = Carried(ReportReader(asked(uri)), Stream(), 1)
    carried.reading.now.read.service[1000] = 1
    carried.stream.feed("".join(f"{line}\n" for line in said).encode())
    assert _let_go_late(asked(uri), carried) is well
    carried.stream.feed(b"fio: io_u error on file a: Input/output error: read offset=0, buflen=4096\n")
    assert not _let_go_late(asked(uri), carried)
