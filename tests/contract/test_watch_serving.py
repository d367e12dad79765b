"""Who serves a command, by real processes: a server that has a process for each client, over unix and TCP sockets."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pytest
from absent import absent
from loops import need, need_root
from namespaces import inside, one_node
from others import OTHER

from strata.probes.issuers import Issuers
from strata.probes.processes import Processes
from strata.probes.serving import Serving

# The parent listens, and each connection has a child. `sh` starts it, as a service manager would.
SERVER = """
import os, socketserver, sys, time
class Handler(socketserver.BaseRequestHandler):
    def handle(self):
        while self.request.recv(64):
            self.request.sendall(b"done")
if sys.argv[1] == "unix":
    class Server(socketserver.ForkingMixIn, socketserver.UnixStreamServer): pass
    server = Server(sys.argv[2], Handler)
else:
    class Server(socketserver.ForkingMixIn, socketserver.TCPServer): pass
    server = Server(("127.0.0.1", 0), Handler)
helper = os.fork()
if helper == 0:
    time.sleep(120)
    os._exit(0)
print(helper, server.server_address if sys.argv[1] == "unix" else server.server_address[1], flush=True)
server.serve_forever()
"""
CLIENT = """
import socket, sys, time
if sys.argv[1] == "unix":
    one = socket.socket(socket.AF_UNIX); one.connect(sys.argv[2])
else:
    one = socket.create_connection(("127.0.0.1", int(sys.argv[2])))
while True:
    one.sendall(b"asked"); one.recv(64); time.sleep(0.01)
"""


@contextmanager
def server(kind: str, path: Path) -> Iterator[tuple[int, int, str]]:
    """(its process, one that it began for itself, its address)"""
    shell = f'{sys.executable} -c "$0" "$@" & echo $!; wait'
    words = ["sh", "-c", shell, SERVER, kind, str(path)]
    with subprocess.Popen(words, stdout=subprocess.PIPE, text=True) as started:
        assert started.stdout is not None
        pid = int(started.stdout.readline())
        helper, address = started.stdout.readline().split()
        try:
            yield pid, int(helper), address
        finally:
            for one in (*_below(pid), pid):
                os.kill(one, 9)


def _below(pid: int) -> set[int]:
    from strata.host.proc import Sys

    processes = Processes(Sys())
    processes.look()
    return set(processes.descendants([pid])) - {pid}


@pytest.mark.parametrize(
    ("kind", "apart"), [("unix", ()), ("tcp", ()), pytest.param("unix", ("unshare", "--net"), marks=pytest.mark.root)]
)
def test_who_holds_the_other_end_serves_with_all_that_belongs_to_it(
    kind: str, apart: tuple[str, ...], tmp_path: Path
) -> None:
    """``apart``: a client in a network namespace of its own."""
    if apart and os.geteuid():
        absent("root, for a network namespace")
    with (
        server(kind, tmp_path / "socket") as (pid, helper, address),
        server(kind, tmp_path / "other") as (stranger, *_),
    ):
        looked = Issuers(look_s=0.02).start()
        client = subprocess.Popen([*apart, sys.executable, "-c", CLIENT, kind, address])
        try:
            looked.command(client.pid)
            deadline = time.monotonic() + 30
            while pid not in looked.serving and time.monotonic() < deadline:
                time.sleep(0.1)
            # The process of the connection is the third.
            assert looked.serving == tuple(sorted({pid, *_below(pid)}))
            assert {pid, helper} < set(looked.serving)
            assert not {stranger, client.pid, os.getpid(), os.getppid(), 1} & set(looked.serving)
        finally:
            client.kill()
            client.wait()
            looked.stop()


def test_a_standard_stream_is_no_connection_to_a_server() -> None:
    """The journal of a service manager is no server of what it runs."""
    ours, theirs = socket.socketpair()
    with ours, theirs:
        reader = subprocess.Popen(["cat"], stdin=ours, stdout=subprocess.DEVNULL)
        holder = subprocess.Popen(["sleep", "60"], pass_fds=[theirs.fileno()])
        ours.close()
        theirs.close()
        try:
            serving = Serving()
            serving.look([reader.pid])
            assert serving.found == set()
            serving.look([holder.pid])
            serving.close()
            assert serving.found == {reader.pid}
        finally:
            for one in (reader, holder):
                one.kill()
                one.wait()


CONNECTED = """
import socket, sys
one = socket.socket()
one.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
if sys.argv[1] == "server":
    one.bind(("127.0.0.1", 5432)); one.listen(); print("there", flush=True); held = one.accept()
else:
    one.bind(("127.0.0.1", 40000)); one.connect(("127.0.0.1", 5432))
print("connected", flush=True)
sys.stdin.read()
"""


@contextmanager
def connected(netns: str) -> Iterator[tuple[int, int]]:
    """(a client, its server) of a namespace, with the same addresses in each."""
    with ExitStack() as held:
        found = []
        for what, said in (("server", "there\n"), ("client", "connected\n")):
            words = [*inside(netns), sys.executable, "-c", CONNECTED, what]
            one = subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
            held.enter_context(one)
            held.callback(one.kill)
            assert one.stdout is not None and one.stdout.readline() == said
            found.append(one)
        assert found[0].stdout is not None and found[0].stdout.readline() == "connected\n"
        yield found[1].pid, found[0].pid


def descriptors() -> int:
    """Of this process."""
    return len(list(Path("/proc/self/fd").iterdir()))


@pytest.mark.root
def test_a_neighbour_with_the_same_addresses_in_another_namespace_does_not_serve() -> None:
    """As two containers whose databases are at 127.0.0.1:5432."""
    need_root()
    with one_node() as here, one_node() as there, connected(here) as mine, connected(there) as neighbours:
        serving, before = Serving(), descriptors()
        serving.look([mine[0]], neighbours)
        assert serving.found == {mine[1]} and serving.unseen == ""
        # One socket for each namespace; of those that nobody is in any more none is kept, which would keep them.
        assert descriptors() == before + 3
        serving.look([neighbours[0]])
        assert descriptors() == before + 2
        serving.close()
        assert descriptors() == before


LOOKED = """
import os, sys
from strata.probes.serving import Serving
os.setgroups([]); os.setresgid(*[int(sys.argv[1])] * 3); os.setresuid(*[int(sys.argv[1])] * 3)
serving = Serving()
serving.look([int(sys.argv[2])])
print(sorted(serving.found), serving.unseen)
serving.look([])
print(serving.unseen)
"""


@pytest.mark.root
def test_what_may_not_be_looked_at_is_said_also_when_the_command_has_ended() -> None:
    """By an ordinary user: a client of root, and a client of its own whose server is root's."""
    need_root()
    ours, theirs = socket.socketpair()
    with ours, theirs, ExitStack() as held:
        user = [need("setpriv"), f"--reuid={OTHER}", f"--regid={OTHER}", "--clear-groups", "--"]
        server = subprocess.Popen(["sleep", "60"], pass_fds=[theirs.fileno()])
        client = subprocess.Popen([*user, "sleep", "60"], pass_fds=[ours.fileno()])
        for one in (server, client):
            held.enter_context(one)
            held.callback(one.kill)
        while Path(f"/proc/{client.pid}/comm").read_text() != "sleep\n":
            time.sleep(0.01)
        ours.close()
        theirs.close()
        said = []
        for pid in (server.pid, client.pid):
            words = [sys.executable, "-c", LOOKED, str(OTHER), str(pid)]
            said.append(subprocess.run(words, capture_output=True, text=True, check=True, timeout=30).stdout)
    assert said == [
        f"[] {why}\n{why}\n"
        for why in (
            "its open files may not be looked at",
            "who holds the other ends of its connections is not seen",
        )
    ]
