"""A real Samba server's own times, moved by a real client."""

from __future__ import annotations

import subprocess
import time
from pathlib import Path

import pytest
from loops import ENV, MIB, need, need_root, run
from samba import PASSWORD, smbd

from strata.probes import ProbedNode, Sampler
from strata.probes.smbd import parse


@pytest.mark.root
@pytest.mark.peer
def test_protocol_and_file_system_times_of_a_samba_server(tmp_path: Path) -> None:
    need_root()
    client = need("smbclient")
    status = need("smbstatus")
    (tmp_path / "data").write_bytes(bytes(4 * MIB))
    with smbd(tmp_path / "smb", " smbd profiling level = on\n") as server:
        conf = str(tmp_path / "smb" / "smb.conf")
        argv = [client, "//127.0.0.1/share", "-p", str(server.port), "-U", f"root%{PASSWORD}", "-s", conf]
        node = ProbedNode("server", ports=(server.port,), smb_conf=conf)
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
