"""Endpoints as they are written: what each means, what is refused, and who reaches it from where."""

from __future__ import annotations

import pytest

from strata.engine.fio.command import refusals
from strata.engine.job import Timing, build_job
from strata.errors import UsageError
from strata.formats.fio import fio_command
from strata.model.caching import check, refusal
from strata.model.endpoint import CLUSTER, REMOTE, Endpoint, EndpointKind, is_loopback
from strata.model.plan import Segment
from strata.model.stack import Layer, Node, Stack
from strata.plan.words import workload_from_words

REMOTES = {
    "nbd://h/x?connections=3": EndpointKind.NBD,
    "nbd+unix:///x?socket=/run/s&connections=3": EndpointKind.NBD,
    "nfs://[fe80::1]:2049/vol/file?connections=3&uid=7": EndpointKind.NFS,
    "iscsi://h:3261/iqn.2026-01.example:disk/0?connections=3": EndpointKind.ISCSI,
    "s3://h:9000/bucket/a/b?connections=3": EndpointKind.S3,
}


@pytest.mark.parametrize("uri", REMOTES)
def test_remote_endpoints(uri: str) -> None:
    endpoint = Endpoint.parse(uri)
    assert (endpoint.kind, endpoint.uri, endpoint.connections) == (REMOTES[uri], uri, 3)
    assert endpoint.remote
    assert endpoint.path is None
    there = endpoint.seen_from("/run/netns/n1")
    workload = workload_from_words("randread", "4k")
    segment = Segment(start=0, length=1 << 20, target=0)
    job = build_job(there, workload, (segment,), Timing(ramp_s=0, runtime_s=1))
    assert job["target"] == {
        "kind": endpoint.kind.value,
        "uri": uri,
        "connections": 3,
        "sync": "none",
        "netns": "/run/netns/n1",
    }
    cold = refusal(endpoint, workload_from_words("randread", "4k", cache="cold"))
    assert cold is not None and "the server's cache cannot be made cold" in cold


def test_every_remote_kind_has_a_case() -> None:
    # SMB has a module of its own: its jobs carry a password. Those of clusters have no job.
    assert {*REMOTES.values(), EndpointKind.SMB, *CLUSTER} == REMOTE


@pytest.mark.parametrize(
    ("uri", "why"),
    [
        ("nfs://host", "the path of the file is missing"),
        ("nfs://host/dir/", "the path of the file is missing"),
        ("nfs:///vol/file", "the host is missing"),
        ("nfs://host/f?version=4.1", "version 4.1 of NFS is not supported, only 3"),
        ("nfs://host:x/f", "port is not a number"),
        ("s3://host/bucket", "bucket and key are missing"),
        ("s3://host/bucket/", "bucket and key are missing"),
        ("s3://host//key", "bucket and key are missing"),
        ("s3://KEY:secret@host/bucket/key", "user names and passwords are not supported there"),
        ("iscsi://host/iqn.x:y", "target and logical unit are missing"),
        ("iscsi://host/iqn.x:y/one", "target and logical unit are missing"),
        ("iscsi://host/iqn.x:y/1?connections=65", "not in 1..64"),
        ("ftp://host/f", "unknown scheme 'ftp'"),
    ],
)
def test_what_cannot_be_used_is_said_with_how_to_write_it(uri: str, why: str) -> None:
    with pytest.raises(UsageError, match=why):
        Endpoint.parse(uri)


@pytest.mark.parametrize("uri", ["nfs://h/vol/file", "iscsi://h/iqn.x:y/1", "s3://h/bucket/key"])
def test_who_does_not_speak_it_says_so(uri: str) -> None:
    endpoint, workload = Endpoint.parse(uri), workload_from_words("randread", "4k")
    (said,) = refusals(endpoint, workload, (), {"nbd", "io_uring"})
    assert f"does not run fio over {endpoint.kind.value}" in said
    assert fio_command(endpoint, workload, (Segment(start=0, length=1 << 20, target=0),), 0, 1) is None


@pytest.mark.parametrize("rw", ["randwrite", "write", "rw", "randtrim"])
def test_a_workload_that_writes_is_refused_where_blocks_cannot_be_changed(rw: str) -> None:
    endpoint, workload = Endpoint.parse("s3://h/bucket/key"), workload_from_words(rw, "4k")
    with pytest.raises(UsageError, match=f"cannot measure with rw={rw} at") as said:
        check(endpoint, workload)
    assert said.value.where == endpoint.uri
    assert "made as a whole" in said.value.why and "--rw randread" in said.value.hint
    assert check(endpoint, workload_from_words("randread", "4k")) is None


def test_a_layer_is_reached_from_its_node() -> None:
    layers = (
        Layer(name="fs", endpoint="file:/data/f", node="a"),
        Layer(name="nfs", endpoint="nfs://h/data/f", node="a"),
        Layer(name="far", endpoint="nfs://h/data/f", node="b"),
        Layer(name="here", endpoint="nfs://h/data/f"),
    )
    stack = Stack(name="s", nodes=(Node(name="a", netns="/run/netns/a"), Node(name="b")), layers=layers)
    seen = {layer.name: stack.endpoint_of(layer).netns for layer in stack.layers}
    assert seen == {"fs": None, "nfs": "/run/netns/a", "far": None, "here": None}
    text = (
        '[stack]\nname = "s"\n[[node]]\nname = "a"\nnetns = "/run/netns/a"\n[[layer]]\nname = "l"\nendpoint = "null:"\n'
    )
    assert Stack.from_toml(text).nodes[0].netns == "/run/netns/a"


@pytest.mark.parametrize(
    ("host", "here"),
    [
        *((name, True) for name in ("localhost", "LOCALHOST.", "ip6-localhost", "127.0.0.1", "127.1", "[::1]")),
        *(("::ffff:127.0.0.1", True), ("2130706433", True), ("10.0.0.1", False), ("::ffff:10.0.0.1", False)),
        *((name, False) for name in ("localhost.example", "host", "", "::")),
    ],
)
def test_the_machine_itself_is_known_however_it_is_written(host: str, here: bool) -> None:
    assert is_loopback(host) is here
