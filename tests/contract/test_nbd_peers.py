"""NBD against peers that nobody here wrote: their clients on our server, our client on their servers."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from nbd_peers import load, need, ours, run, theirs

from strata import _core

SIZE = 64 << 20
MEMORY = {"kind": "memory", "size_bytes": SIZE}


@pytest.fixture
def address(tmp_path: Path) -> Iterator[str]:
    """A memory target of ours on a unix socket."""
    socket = tmp_path / "ours"
    with ours({"listen": {"unix": str(socket)}, "backing": MEMORY}) as ready:
        assert ready["port"] is None and ready["pid"] > 0
        yield f"nbd+unix:///?socket={socket}"
    assert not socket.exists()


@pytest.fixture
def image(tmp_path: Path) -> Path:
    path = tmp_path / "image"
    path.write_bytes(os.urandom(8 << 20))
    return path


# --- their clients, our server -------------------------------------------------------------------


def test_qemu_io_patterns(address: str) -> None:
    need("qemu-io")
    commands = [
        "write -P 0xab 0 1M",
        "write -f -P 0xcd 1M 64k",
        "write -P 0x11 4095 3",
        "flush",
        "write -z 512k 4k",
        "read -P 0xab 4098 4k",
        "read -P 0x11 4095 3",
        "read -P 0xcd 1M 64k",
        "read -P 0 512k 4k",
        "discard 2M 1M",
        f"read -P 0 {SIZE - 100} 100",
    ]
    output = run("qemu-io", "-f", "raw", address, *(part for c in commands for part in ("-c", c)))
    assert "failed" not in output.lower()
    assert output.count("ops;") == len(commands) - 1  # flush says nothing


def test_qemu_img_round_trip(address: str, image: Path, tmp_path: Path) -> None:
    need("qemu-img")
    run("qemu-img", "convert", "-n", "-f", "raw", "-O", "raw", image, address)
    back = tmp_path / "back"
    run("qemu-img", "convert", "-f", "raw", "-O", "raw", address, back)
    assert back.read_bytes()[: 8 << 20] == image.read_bytes()
    run("qemu-img", "compare", "-f", "raw", "-F", "raw", address, back)


def test_nbdinfo_sees_what_is_announced(address: str) -> None:
    need("nbdinfo")
    told = json.loads(run("nbdinfo", "--json", address))
    assert told["protocol"] == "newstyle-fixed" and told["structured"] is True
    export = told["exports"][0]
    assert export["export-size"] == SIZE
    for able in ("can_df", "can_flush", "can_fua", "can_multi_conn", "can_trim", "can_zero"):
        assert export[able] is True, able
    assert export["is_read_only"] is False
    assert export["block_size_maximum"] == 32 << 20


def test_nbdcopy_both_ways_over_several_connections(address: str, image: Path, tmp_path: Path) -> None:
    need("nbdcopy")
    back = tmp_path / "back"
    run("nbdcopy", "--connections=4", "--requests=16", image, address)
    run("nbdcopy", "--connections=4", "--requests=16", address, back)
    assert back.read_bytes()[: 8 << 20] == image.read_bytes()


def test_fio_verifies(address: str, tmp_path: Path) -> None:
    need("fio")
    if "nbd" not in run("fio", "--enghelp").split():
        pytest.skip("this fio has no nbd engine")
    run(
        *("fio", "--name=v", "--ioengine=nbd", f"--uri={address}", "--rw=randwrite", "--bs=512-64k"),
        *(
            "--iodepth=16",
            "--size=32M",
            "--verify=crc32c",
            "--verify_fatal=1",
            "--do_verify=1",
            "--verify_state_save=0",
        ),
        f"--aux-path={tmp_path}",
        timeout_s=120,
    )


def test_a_file_is_served_to_qemu_with_its_own_blocks(tmp_path: Path, image: Path) -> None:
    need("qemu-img")
    before = image.read_bytes()
    socket = tmp_path / "ours"
    backing = {"kind": "file", "path": str(image), "read_only": True, "direct": False}
    with ours({"listen": {"unix": str(socket)}, "export": "disk 1", "backing": backing}):
        uri = f"nbd+unix:///disk%201?socket={socket}"
        run("qemu-img", "compare", "-f", "raw", "-F", "raw", uri, image)
        assert _core.remote_read(uri, 12_345, 1000) == before[12_345:13_345]
        with pytest.raises(OSError, match="read-only"):
            load(uri, "write", 1)
    assert image.read_bytes() == before


# --- our client, their servers -------------------------------------------------------------------


@pytest.mark.parametrize("replies", [[], ["--no-sr"]], ids=["structured", "simple"])
def test_nbdkit_memory(tmp_path: Path, replies: list[str]) -> None:
    need("nbdkit")
    socket = tmp_path / "k"
    with theirs(["nbdkit", "-f", "-U", socket, *replies, "memory", str(SIZE)], socket) as uri:
        seen = json.loads(_core.remote_probe(uri, 3))
        assert seen["size_bytes"] == SIZE and seen["multi_conn"] is True
        assert seen["structured"] is not bool(replies)
        assert len(seen["rtt_ns"]) == 3 and min(seen["rtt_ns"]) > 0
        assert _core.remote_read(uri, 0, 5000) == bytes(5000)  # never written: a hole
        for rw in ("write", "randread", "randrw"):
            result = load(f"{uri}&replies=structured", rw, 2000, connections=3, threads=2)
            # What the address asks for, as far as the server can.
            assert ("structured_replies" in result["engine"]["setup"]) is not bool(replies)
            assert "simple_replies" in load(uri, rw, 200)["engine"]["setup"]
            assert result["engine"]["kind"] == "nbd" and result["effective"]["connections"] == 3
            assert result["stop_reason"] == "ios" and result["errored"] == 0
            # Drained I/Os were issued, but are not counted in the directions.
            assert 2000 <= result["read"]["ops"] + result["write"]["ops"] <= result["completed"]
        assert _core.remote_read(uri, 0, 4096) != bytes(4096)


def test_nbdkit_file_holds_what_was_written(tmp_path: Path, image: Path) -> None:
    need("nbdkit")
    socket = tmp_path / "k"
    before = image.read_bytes()
    with theirs(["nbdkit", "-f", "-U", socket, "file", image], socket) as uri:
        assert _core.remote_read(uri, 100, 1 << 20) == before[100 : 100 + (1 << 20)]
        blocks = len(before) // 4096
        result = load(uri, "write", blocks, sync="dsync")
        assert result["effective"]["sync"] == "dsync" and result["errored"] == 0
        after = image.read_bytes()
        assert len(after) == len(before)
        assert all(after[at : at + 4096] != before[at : at + 4096] for at in range(0, len(before), 4096))
        assert _core.remote_read(uri, 0, len(after)) == after


def test_injected_errors_are_counted_by_errno(tmp_path: Path) -> None:
    need("nbdkit")
    socket = tmp_path / "k"
    command = ["nbdkit", "-f", "-U", socket, "--filter=error", "memory", str(SIZE)]
    errors = ["error-pread=ENOSPC", "error-pread-rate=20%", "error-pwrite=EIO", "error-pwrite-rate=100%"]
    with theirs([*command, *errors], socket) as uri:
        read = load(uri, "randread", 3000)
        # ENOSPC ends a run, so at least the first of them is there.
        assert [e["name"] for e in read["read"]["errors"]] == ["ENOSPC"]
        written = load(uri, "randwrite", 300)
        assert written["write"]["ops"] == 0
        (error,) = written["write"]["errors"]
        assert error["name"] == "EIO" and error["count"] >= 300
        assert written["issued"] == written["completed"] + written["errored"] + written["stuck"]


def test_qemu_nbd_file(tmp_path: Path, image: Path) -> None:
    need("qemu-nbd")
    socket = tmp_path / "q"
    before = image.read_bytes()
    with theirs(["qemu-nbd", "-t", "-e", "4", "-f", "raw", "-k", socket, image], socket) as uri:
        assert _core.remote_read(uri, 4097, 70_000) == before[4097:74_097]
        result = load(uri, "randrw", 2000, iodepth=32)
        assert result["errored"] == 0 and result["read"]["ops"] > 0 and result["write"]["ops"] > 0


def test_a_server_that_vanishes_ends_the_run(tmp_path: Path) -> None:
    need("nbdkit")
    socket = tmp_path / "k"
    with theirs(["nbdkit", "-f", "-U", socket, "memory", str(SIZE)], socket) as uri:
        job = {
            "schema": 1,
            "target": {"kind": "nbd", "uri": uri},
            "workload": {
                "rw": "randread",
                "bs": 4096,
                "iodepth": 4,
                "segments": [{"start": 0, "length": SIZE, "target": 0}],
            },
            "runtime_ns": 60_000_000_000,
        }
        handle = _core.start(json.dumps(job))
        assert handle.wait(0.2) is None
    text = handle.wait(30)
    assert text is not None
    result = json.loads(text)
    assert result["stop_reason"] == "error" and result["stuck"] == 0
    assert {e["name"] for e in result["read"]["errors"]} <= {"ENOTCONN"}


# --- refusals ------------------------------------------------------------------------------------


def test_addresses_that_lead_nowhere(tmp_path: Path) -> None:
    with pytest.raises(OSError, match="cannot connect") as refused:
        _core.remote_probe(f"nbd+unix:///?socket={tmp_path}/none", 1)
    assert isinstance(refused.value, FileNotFoundError)
    with pytest.raises(ValueError, match="write nbd://"):
        _core.remote_probe("nbd://somewhere:port", 1)
    with pytest.raises(ValueError, match="is none of nbd, smb"):
        _core.remote_probe("http://somewhere", 1)
    with pytest.raises(ConnectionRefusedError):
        _core.remote_read("nbd://127.0.0.1:1/", 0, 1)


@pytest.mark.parametrize(
    ("change", "named"),
    [
        ({"colour": "red"}, "colour"),
        ({"backing": {"kind": "tape"}}, "tape"),
        ({"shape": {"iops": 0, "bandwidth_bytes_per_s": 0}}, "shape.iops.*"),
        ({"shape": {"service_threads": 0}}, "service_threads"),
    ],
)
def test_bad_configurations_name_the_field(change: dict[str, object], named: str) -> None:
    with pytest.raises(ValueError, match=named):
        _core.target_serve(json.dumps({"listen": {"tcp": "127.0.0.1:0"}, "backing": MEMORY, **change}))


def test_a_backing_that_is_missing_is_an_oserror_with_its_path(tmp_path: Path) -> None:
    backing = {"kind": "file", "path": str(tmp_path / "none")}
    with pytest.raises(FileNotFoundError, match="none"):
        _core.target_serve(json.dumps({"listen": {"tcp": "127.0.0.1:0"}, "backing": backing}))


# --- shaping, as its users see it ----------------------------------------------------------------


@pytest.mark.alone
def test_a_far_wire_shows_in_the_probe_and_a_cap_in_the_rate(tmp_path: Path) -> None:
    shape = {"latency_ns": 4_000_000, "iops": 500.0}
    config = {"listen": {"tcp": "127.0.0.1:0"}, "backing": MEMORY, "shape": shape}
    with ours(config) as ready:
        uri = f"nbd://127.0.0.1:{ready['port']}"
        seen = json.loads(_core.remote_probe(uri, 5))
        assert min(seen["rtt_ns"]) >= 4_000_000  # the cap does not touch the handshake
        for _ in range(3):
            result = load(uri, "randread", 500, iodepth=16)
            rate = result["read"]["ops"] / (result["measured_ns"] / 1e9)
            assert rate <= 1.03 * 500
            # A second in which the machine stood still is not made up for.
            if rate >= 0.85 * 500:
                break
        assert rate >= 0.85 * 500
