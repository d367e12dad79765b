"""Nodes by SSH, as the guide says it: a real OpenSSH server on loopback; and Dask's own scheduler, which is refused."""

from __future__ import annotations

import os
import shlex
import shutil
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from commands import STRATA, strata
from driven import until
from fleet_peers import cluster, said

CONFIG = """
Port {port}
ListenAddress 127.0.0.1
HostKey {at}/host
AuthorizedKeysFile {at}/own.pub
PidFile none
UsePAM no
PasswordAuthentication no
StrictModes no
PermitRootLogin prohibit-password
"""
ENDS_S = 15.0
"""From a cut connection to a node that has left; its heartbeats and its farewell are in it."""


def a_free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as one:
        return int(one.getsockname()[1])


def answers(port: int) -> bool:
    with socket.socket() as one:
        return one.connect_ex(("127.0.0.1", port)) == 0


@pytest.fixture
def ssh(tmp_path: Path) -> Iterator[list[str]]:
    """The words of a client whose server, keys and known hosts are this test's own."""
    at, port = tmp_path / "ssh", a_free_port()
    at.mkdir(mode=0o700)
    for key in ("host", "own"):
        subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", at / key], check=True)
    (at / "config").write_text(CONFIG.format(port=port, at=at))
    # Its own directory of separation is compiled in, and a start by hand finds it missing.
    separation = Path("/run/sshd")
    if made := not separation.exists():
        separation.mkdir(mode=0o755)
    server = subprocess.Popen([shutil.which("sshd") or "/usr/sbin/sshd", "-D", "-e", "-f", at / "config"])
    try:
        until(lambda: answers(port), ENDS_S, "the SSH server answers")
        keys = [f"-i{at / 'own'}", "-oIdentitiesOnly=yes", f"-oUserKnownHostsFile={at / 'known'}"]
        yield ["ssh", "-F", "none", *keys, "-oStrictHostKeyChecking=accept-new", f"-p{port}", "-tt", "127.0.0.1"]
    finally:
        server.terminate()
        server.wait(timeout=15)
        if made:
            separation.rmdir()


@pytest.mark.ci
@pytest.mark.root
@pytest.mark.ssh
def test_a_node_joins_by_ssh_and_ends_with_its_connection(ssh: list[str], tmp_path: Path) -> None:
    """`ssh -tt HOST strata node join …`, as in the guide."""

    def nodes() -> str:
        return strata("node", "list", running.address).stdout

    with cluster(tmp_path, ["here"]) as running:
        (tmp_path / "there").mkdir(mode=0o700)
        env = [f"XDG_STATE_HOME={tmp_path / 'there'}", f"PYTHONPATH={os.environ.get('PYTHONPATH', '')}"]
        there = shlex.join(["env", *env, *STRATA, "node", "join", running.address, "--name", "there"])
        client = subprocess.Popen(
            [*ssh, there], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
        )
        try:
            until(lambda: "there" in nodes(), 60, "the node is in the list")
            words = ("measure", "null:", "--clients", 2, "--nodes", running.address, "--runtime", "500ms")
            done = strata(*words, "--progress", "none")
            assert done.returncode == 0, done.stderr
        finally:
            client.kill()
            client.communicate()
        until(lambda: "there" not in nodes(), ENDS_S, "the node has left")
        assert "here" in nodes()


@pytest.mark.ci
def test_the_scheduler_that_dask_ssh_starts_is_refused_at_once(tmp_path: Path) -> None:
    """It starts this module on its first host. A node waits for a scheduler that is not there yet, not for another."""
    port = a_free_port()
    words = ["--host", "127.0.0.1", "--port", str(port), "--no-dashboard", "--no-show"]
    theirs = subprocess.Popen(
        [sys.executable, "-m", "distributed.cli.dask_scheduler", *words], stderr=subprocess.PIPE, text=True
    )
    try:
        assert said(theirs, "Scheduler at:")
        address = f"tcp://127.0.0.1:{port}"
        for command in (("join", address, "--name", "n1", "--wait", "300s"), ("list", address)):
            done = strata("node", *command, timeout=100)
            assert done.returncode == 1
            assert f"cannot use {address}: it is no scheduler of Strata's" in done.stderr
            assert f"hint: strata node serve --listen {address}" in done.stderr
    finally:
        theirs.terminate()
        theirs.communicate(timeout=15)
