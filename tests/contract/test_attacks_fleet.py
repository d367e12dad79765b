"""Who may speak to a scheduler and to a node: with TLS whom the authority knows, without it nobody from elsewhere."""

from __future__ import annotations

import shutil
import socket
import ssl
import struct
import subprocess
import threading
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import fleet_calls
import liars
import pytest
from commands import strata
from fleet_peers import Running, cluster, ended, said, started
from namespaces import inside, one_node, two_nodes
from tiers import rest_in_ci

from strata.errors import RunFailed, SafetyRefusal
from strata.fleet import Call, Cluster, trust
from strata.fleet.certificates import CERTIFICATE, KEY
from strata.fleet.revocation import CRL
from strata.model.nodes import Lost


@pytest.fixture(scope="module")
def folders(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """Certificates of our authority, and of another one with the same names."""
    made = tuple(tmp_path_factory.mktemp("trust") / name for name in ("ours", "foreign"))
    for folder in made:
        trust.make(folder, ("n1", "n2"), 30)
    return made  # type: ignore[return-value]


@pytest.fixture(scope="module")
def running(folders: tuple[Path, Path], tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    with cluster(tmp_path_factory.mktemp("tls"), ["n1"], "tls://127.0.0.1:0", trust=folders[0]) as made:
        yield made


def everybody(running: Running, folders: tuple[Path, Path]) -> list[tuple[str, int]]:
    """The scheduler and the node: both listen."""
    with Cluster.connect(running.address, folders[0]) as connected:
        addresses = [running.address, *(node.address for node in connected.nodes())]
    assert len(addresses) == 2
    assert all(address.startswith("tls://") for address in addresses)
    return [(host, int(port)) for host, _, port in (a.removeprefix("tls://").rpartition(":") for a in addresses)]


def answer(sock: socket.socket) -> bytes:
    """What comes after a question in Dask's frames; nothing where the other side hung up."""
    message = b"\x82\xa2op\xa4ping\xa5reply\xc3"
    frames = struct.pack("<QQ", 1, len(message)) + message
    try:
        sock.sendall(struct.pack("<Q", len(frames)) + frames)
        return sock.recv(4096)
    except OSError:
        return b""


def test_with_certificates_of_one_authority_it_works(running: Running, folders: tuple[Path, Path]) -> None:
    with Cluster.connect(running.address, folders[0]) as connected:
        assert connected.ask("n1", fleet_calls.add, 20, 3) == 23
        clock = connected.clock("n1")
        assert abs(clock.offset_ns) <= clock.bound_ns


def test_a_foreign_authority_is_refused_by_both_sides(running: Running, folders: tuple[Path, Path]) -> None:
    with pytest.raises(SafetyRefusal, match="its certificate is not of our authority") as refused:
        Cluster.connect(running.address, folders[1])
    assert refused.value.exit_code == 5
    code, err = ended(
        started(
            ["join", running.address, "--name", "n2", "--trust", folders[1], "--wait", "5s"],
            running.folder / "foreign",
        )
    )
    assert code == 5, err
    # Whoever does not look at our certificate is not let in either.
    for address in everybody(running, folders):
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
        context.load_cert_chain(folders[1] / "client" / CERTIFICATE, folders[1] / "client" / KEY)
        with pytest.raises(ssl.SSLError):
            _ask(address, context)


def _ask(address: tuple[str, int], context: ssl.SSLContext) -> bytes:
    with socket.create_connection(address, 5) as plain, context.wrap_socket(plain) as sock:
        sock.settimeout(5)
        return sock.recv(4096)


def test_nobody_without_a_certificate_is_let_in(running: Running, folders: tuple[Path, Path]) -> None:
    for address in everybody(running, folders):
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        context.check_hostname = False
        context.load_verify_locations(folders[0] / "client" / "ca.pem")
        with pytest.raises(ssl.SSLError, match=r"(?i)certificate.required"):
            _ask(address, context)
        # The same with the certificate of a node is let in, and no version before 1.3.
        context.load_cert_chain(folders[0] / "n2" / CERTIFICATE, folders[0] / "n2" / KEY)
        assert _ask(address, context)
        context.maximum_version = ssl.TLSVersion.TLSv1_2
        with pytest.raises((ssl.SSLError, ConnectionError)):
            _ask(address, context)


def test_a_plain_connection_to_a_port_with_tls_gets_no_answer(running: Running, folders: tuple[Path, Path]) -> None:
    for address in everybody(running, folders):
        with socket.create_connection(address, 5) as sock:
            sock.settimeout(5)
            assert answer(sock) == b""
    with pytest.raises(RunFailed, match="cannot connect to tcp://127"):
        Cluster.connect(running.address.replace("tls://", "tcp://"))
    # Nothing of it harmed the cluster.
    with Cluster.connect(running.address, folders[0]) as connected:
        assert connected.ask("n1", fleet_calls.add, 1, 1) == 2


def test_a_node_joins_under_the_name_of_its_certificate_alone(running: Running, folders: tuple[Path, Path]) -> None:
    words = ["join", running.address, "--name", "n9", "--trust", folders[0] / "n2"]
    code, err = ended(started(words, running.folder / "n9"))
    assert code == 1
    assert "its certificate is for n2, not for n9" in err


def test_a_key_that_others_can_read_is_not_used(running: Running, folders: tuple[Path, Path]) -> None:
    key = folders[0] / "n2" / KEY
    key.chmod(0o640)
    try:
        words = ["join", running.address, "--name", "n2", "--trust", folders[0]]
        code, err = ended(started(words, running.folder / "open"))
    finally:
        key.chmod(0o600)
    assert code == 5
    assert "open to other users (0640)" in err


@pytest.mark.parametrize(
    "address", ["tcp://192.0.2.1:8786", "tcp://0.0.0.0:0", "tcp://localhost.example:8786", "tcp://[::]:0"]
)
def test_a_plain_address_off_loopback_is_refused(address: str, tmp_path: Path) -> None:
    with pytest.raises(SafetyRefusal, match="without TLS, any machine"):
        Cluster.connect(address)
    for words in (("serve", "--listen", address), ("join", address, "--name", "n"), ("list", address)):
        done = strata("node", *words)
        assert done.returncode == 5, done.stderr
        assert "hint: make certificates with: strata node trust" in done.stderr


@pytest.mark.parametrize(
    "address", ["http://x", "tcp://", "tls://a b:1", "tls://x:99999", "tcp://127.0.0.1:1/\x1b[31m", "127.0.0.1"]
)
def test_what_is_no_address_is_refused(address: str) -> None:
    done = strata("node", "list", address)
    assert done.returncode == 2
    assert "\x1b" not in done.stderr
    assert "tls://HOST:PORT" in done.stderr


@pytest.mark.ci
@pytest.mark.root
def test_a_namespace_is_a_place_for_plain_connections_while_it_has_no_way_out(tmp_path: Path) -> None:
    with two_nodes() as nodes:
        words = ["serve", "--listen", f"tcp://{nodes.first_address}:0"]
        scheduler = started(words, tmp_path / "in", inside(nodes.first))
        said(scheduler, "scheduler at")
        scheduler.terminate()
        assert ended(scheduler)[0] == 143
        name = Path(nodes.first).name
        subprocess.run(["ip", "-n", name, "route", "add", "default", "via", nodes.second_address], check=True)
        code, err = ended(started(words, tmp_path / "out", inside(nodes.first)))
        assert code == 5, err
    with one_node() as lonely:
        node = started(["join", "tcp://127.0.0.1:1", "--name", "n", "--wait", "0s", "--netns", lonely], tmp_path / "n")
        code, err = ended(node)
        assert (code, "cannot connect to tcp://127.0.0.1:1" in err) == (1, True), err


@pytest.mark.parametrize("name", ["", "../n1", "a/b", "\x1b[31mred", "x" * 64, "n 1", ".hidden", "-v", "n\n1", "ñ"])
def test_hostile_names_of_nodes_are_refused_before_anything_is_made(name: str, tmp_path: Path) -> None:
    done = strata("node", "join", "tcp://127.0.0.1:1", f"--name={name}", "--wait", "0s")
    assert done.returncode == 2, done.stderr
    assert "\x1b" not in done.stderr
    done = strata("node", "trust", "--dir", tmp_path / "t", "--", name)
    assert done.returncode == 2
    assert not (tmp_path / "t").exists()


def test_the_scheduler_takes_no_worker_that_is_no_node(tmp_path: Path) -> None:
    """A worker of Dask's own, with whatever name, on a plain scheduler of loopback."""
    import sys

    with cluster(tmp_path, ["n1"]) as made:
        for name in ("n2", "\x1b[31mred", "../x"):
            words = [sys.executable, "-m", "distributed.cli.dask_worker", made.address, "--no-nanny", "--name", name]
            done = subprocess.run(
                [*words, "--death-timeout", "5", "--no-dashboard", "--local-directory", str(tmp_path)],
                capture_output=True, text=True, timeout=60, check=False,
            )  # fmt: skip
            assert "refused: " in done.stderr, done.stderr
        with Cluster.connect(made.address) as connected:
            assert [node.name for node in connected.nodes()] == ["n1"]


def test_nothing_else_listens(tmp_path: Path) -> None:
    """No page of statistics beside the ports of the cluster, and these on loopback alone."""
    with cluster(tmp_path, ["n1"]) as made, Cluster.connect(made.address) as connected:
        expected = {made.address, connected.nodes()[0].address}
        pids = {process.pid for process in made.processes}
        listening = {
            f"tcp://{_listener(pid, inode)}" for pid in pids for inode in _sockets(pid) if _listener(pid, inode)
        }
    assert listening == expected


def _sockets(pid: int) -> set[str]:
    links = (str(p.readlink()) for p in Path(f"/proc/{pid}/fd").iterdir())
    return {link[8:-1] for link in links if link.startswith("socket:[")}


def _listener(pid: int, inode: str) -> str | None:
    for table in ("tcp", "tcp6"):
        for line in Path(f"/proc/{pid}/net/{table}").read_text().splitlines()[1:]:
            words = line.split()
            if words[9] == inode and words[3] == "0A":
                host, port = words[1].split(":")
                return f"{socket.inet_ntoa(bytes.fromhex(host)[::-1]) if len(host) == 8 else host}:{int(port, 16)}"
    return None


def theirs(folder: Path, name: str, context: ssl.SSLContext | None = None) -> ssl.SSLContext:
    """What somebody with the key of that name opens connections with; it looks at nobody's certificate."""
    context = context or ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    context.load_cert_chain(folder / name / CERTIFICATE, folder / name / KEY)
    return context


def test_a_revoked_certificate_ends_what_is_open_and_opens_nothing(tmp_path: Path) -> None:
    """With the stolen key of n2: its node is lost with its call, and neither side lets the key in again.

    The list is copied to the scheduler's machine alone.
    """
    ours = tmp_path / "ours"
    trust.make(ours, ("n1", "n2"), 30)
    machines = tmp_path / "machines"
    shutil.copytree(ours, machines)
    shutil.rmtree(machines / "authority")
    with cluster(tmp_path, ["n1", "n2"], "tls://127.0.0.1:0", trust=machines) as made:
        stolen = theirs(machines, "n2")
        addresses = {}
        with Cluster.connect(made.address, machines) as connected:
            for name, address in [("scheduler", made.address), *((n.name, n.address) for n in connected.nodes())]:
                host, _, port = address.removeprefix("tls://").rpartition(":")
                addresses[name] = (host, int(port))
            open_ = [stolen.wrap_socket(socket.create_connection(addresses[at], 5)) for at in ("scheduler", "n1")]
            sessions = []
            for sock in open_:
                sock.settimeout(15)
                assert sock.recv(4096)
                sessions.append(sock.session)
            given: dict[str, object] = {}

            def asked() -> None:
                calls = {name: Call.of(fleet_calls.load, 12.0) for name in ("n1", "n2")}
                given.update(connected.at_once(calls, deadline_s=60))

            asking = threading.Thread(target=asked)
            asking.start()
            time.sleep(1)
            trust.revoke(ours, ("n2",))
            revoked_at = time.monotonic()
            shutil.copyfile(ours / "authority" / CRL, machines / "scheduler" / CRL)
            # What was open is closed: by the scheduler, and by the node to which it said so.
            for sock in open_:
                with suppress(ConnectionError):
                    while sock.recv(4096):
                        pass
            assert time.monotonic() - revoked_at < 10
            assert (machines / "n1" / CRL).read_bytes() == (ours / "authority" / CRL).read_bytes()
            asking.join()
            assert isinstance(given["n2"], Lost)
            assert given["n1"] == ("n1", pytest.approx(12, abs=2))
            assert [node.name for node in connected.nodes()] == ["n1"]
        code, err = ended(made.nodes["n2"])
        assert code == 1
        assert "the scheduler of node n2 is gone" in err
        # A new connection, with a session of the one before and without.
        for at in ("scheduler", "n1"):
            for session in (None, *sessions):
                with pytest.raises(ssl.SSLError, match=r"(?i)certificate.revoked"):
                    _asked_with(addresses[at], stolen, session)
        words = ["join", made.address, "--name", "n2", "--trust", machines, "--wait", "5s"]
        # Its own folder has the old list: it is the scheduler that refuses.
        code, err = ended(started(words, tmp_path / "again"))
        assert code == 5, err
        assert "our certificate is revoked" in err
        assert "strata node trust --renew NAME" in err
        _joins_renewed(made, ours, machines, words)


def _joins_renewed(made: Running, ours: Path, machines: Path, words: list[object]) -> None:
    """With a new certificate of the same name."""
    trust.make(ours, ("n2",), 30, renew=True)
    for name in (CERTIFICATE, KEY):
        shutil.copyfile(ours / "n2" / name, machines / "n2" / name)
    node = started(words, made.folder / "renewed")
    said(node, "has joined")
    node.terminate()
    assert ended(node)[0] == 143


def _asked_with(address: tuple[str, int], context: ssl.SSLContext, session: ssl.SSLSession | None) -> bytes:
    plain = socket.create_connection(address, 5)
    with context.wrap_socket(plain, session=session) as sock:
        sock.settimeout(5)
        return sock.recv(4096)


def test_a_revoked_scheduler_is_connected_to_by_nobody(tmp_path: Path) -> None:
    ours = tmp_path / "ours"
    trust.make(ours, ("n1",), 30)
    theirs_ = tmp_path / "theirs"
    shutil.copytree(ours / "scheduler", theirs_ / "scheduler")
    theirs_.chmod(0o700)
    trust.revoke(ours, ("scheduler",))
    with cluster(tmp_path, [], "tls://127.0.0.1:0", trust=theirs_) as made:
        with pytest.raises(SafetyRefusal, match="its certificate is revoked"):
            Cluster.connect(made.address, ours)
        code, err = ended(started(["join", made.address, "--name", "n1", "--trust", ours], tmp_path / "n1"))
        assert code == 5, err
        assert "its certificate is revoked" in err


@pytest.mark.parametrize("words", rest_in_ci([["list"], ["join", "--name", "n1", "--wait", "1s"]], every_day=1))
def test_whoever_takes_a_connection_and_says_nothing_is_left_in_time(words: list[str]) -> None:
    """A scheduler that hangs, or another server at that port, which waits for a question of its own protocol."""

    def mute(peer: liars.Peer) -> None:
        # Not `liars.Peer.mute`, which hangs up sooner than we do.
        while peer.sock.recv(4096):
            pass

    with liars.liar(mute) as there:
        address = f"tcp://127.0.0.1:{there.port}"
        done = strata("node", *words, address, timeout=90)
        assert done.returncode == 1
        assert f"cannot connect to {address}: no answer" in done.stderr, done.stderr
        assert f"hint: check that the scheduler runs there: strata node serve --listen {address}" in done.stderr
