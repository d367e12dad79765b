"""A real Samba server's own times, moved by a real client."""

from __future__ import annotations

import socket
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from loops import ENV, MIB, need, need_root, run

from strata.probes import ProbedNode, Sampler
from strata.probes.smbd import parse

CONF = """\
[global]
 private dir = {at}/private
 lock directory = {at}/lock
 state directory = {at}/state
 cache directory = {at}/cache
 pid directory = {at}/pid
 ncalrpc dir = {at}/ncalrpc
 log file = {at}/log
 disable netbios = yes
 smb ports = {port}
 interfaces = lo
 bind interfaces only = yes
 disable spoolss = yes
 smbd profiling level = on
 map to guest = Bad User
 server min protocol = SMB3
[s]
 path = {at}/share
 guest ok = yes
 read only = no
 force user = root
"""


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as one:
        return int(one.getsockname()[1])


@contextmanager
def samba(at: Path) -> Iterator[tuple[str, int]]:
    """Its configuration file and port."""
    for name in ("private", "lock", "state", "cache", "pid", "ncalrpc", "share"):
        (at / name).mkdir()
    port = free_port()
    conf = at / "smb.conf"
    conf.write_text(CONF.format(at=at, port=port))
    argv = [need("smbd"), "-s", str(conf), "-F", "--no-process-group", "--debug-stdout"]
    # When it ends it signals its whole process group, which must not be ours.
    quiet = subprocess.DEVNULL
    child = subprocess.Popen(argv, env=ENV, stdin=quiet, stdout=quiet, stderr=quiet, start_new_session=True)
    try:
        until = time.monotonic() + 30
        while True:
            try:
                socket.create_connection(("127.0.0.1", port), 1).close()
                break
            except OSError:
                if child.poll() is not None or time.monotonic() > until:
                    pytest.skip("smbd does not start here")
                time.sleep(0.05)
        yield str(conf), port
    finally:
        child.terminate()
        try:
            child.wait(20)
        except subprocess.TimeoutExpired:
            child.kill()
            child.wait()


@pytest.mark.root
@pytest.mark.peer
def test_protocol_and_file_system_times_of_a_samba_server(tmp_path: Path) -> None:
    need_root()
    client = need("smbclient")
    status = need("smbstatus")
    (tmp_path / "data").write_bytes(bytes(4 * MIB))
    with samba(tmp_path) as (conf, port):
        argv = [client, "//127.0.0.1/s", "-p", str(port), "-N", "-s", conf]
        node = ProbedNode("server", ports=(port,), smb_conf=conf)
        sampler = Sampler([], 60, nodes=[node]).start()
        commands = f"put {tmp_path}/data f; get f {tmp_path}/back"
        done = subprocess.run([*argv, "-c", commands], env=ENV, capture_output=True, text=True, timeout=60, check=False)
        assert done.returncode == 0, done.stdout + done.stderr
        # The process of that connection tells what it counted when it ends, which the client does not wait for.
        for _ in range(300):
            if parse(run(status, "-s", conf, "-P")).get("syscall_asys_pread_bytes", 0) >= 4 * MIB:
                break
            time.sleep(0.1)
        found = {(s.metric, s.labels.get("operation"), s.labels.get("part")): s for s in sampler.stop()}
    assert not any("smbd" in why for why in sampler.absent), sampler.absent
    for operation in ("read", "write"):
        asked = found["smbd_bytes", operation, "protocol"].delta
        moved = found["smbd_bytes", operation, "file"].delta
        assert asked is not None
        assert moved == 4 * MIB
        assert 4 * MIB <= asked < 4.2 * MIB
        whole, inner = (found["smbd_seconds", operation, part].delta for part in ("protocol", "file"))
        assert whole is not None
        assert inner is not None
        assert whole >= inner > 0, "the protocol's time holds the system call's"
    spent = [s for (metric, *_), s in found.items() if metric == "server_cpu_seconds"]
    assert spent, "smbd was found by its port"
    assert {s.labels["process"] for s in spent} == {"smbd"}
