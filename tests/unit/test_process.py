"""Children end with us, and are reaped."""

from __future__ import annotations

import os
import resource
import select
import signal
import subprocess
import sys

import pytest

from strata.errors import RunFailed
from strata.host.process import Child, readable

WAIT_S = 60


def gone(pid: int) -> bool:
    """Reaped, or at least dead: a zombie of another parent counts."""
    try:
        fd = os.pidfd_open(pid)
    except ProcessLookupError:
        return True
    try:
        return bool(select.select([fd], [], [], WAIT_S)[0])
    finally:
        os.close(fd)


def test_stop_ends_and_reaps() -> None:
    with Child(["sleep", "1000"]) as child:
        assert child.returncode is None
        assert os.getsid(child.pid) == child.pid
    assert child.returncode == -signal.SIGTERM
    with pytest.raises(ChildProcessError):
        os.waitpid(child.pid, os.WNOHANG)
    assert child.stop() == -signal.SIGTERM


def test_a_child_that_ignores_sigterm_is_killed() -> None:
    reader, writer = os.pipe()
    code = (
        f"import os, signal, time; signal.signal(15, signal.SIG_IGN); os.write({writer}, b'deaf\\n'); time.sleep(1e3)"
    )
    child = Child([sys.executable, "-c", code], pass_fds=[writer]).start()
    os.close(writer)
    assert child.read_ready_line(reader, WAIT_S) == "deaf"
    assert child.stop(grace_s=0.2) == -signal.SIGKILL
    os.close(reader)


def test_grandchildren_go_too() -> None:
    reader, writer = os.pipe()
    code = (
        f"import os, subprocess; p = subprocess.Popen(['sleep', '1000']); os.write({writer}, b'%d\\n' % p.pid);"
        "os._exit(3)"
    )
    with Child([sys.executable, "-c", code], pass_fds=[writer]) as child:
        os.close(writer)
        grandchild = int(child.read_ready_line(reader, WAIT_S))
        os.waitid(os.P_PID, child.pid, os.WEXITED | os.WNOWAIT)
        assert child.returncode == 3
    assert gone(grandchild)
    os.close(reader)


def test_the_child_goes_when_the_parent_is_killed() -> None:
    code = (
        "import sys, time; from strata.host.process import Child;"
        "c = Child(['sleep', '1000']).start(); print(c.pid, flush=True); time.sleep(1000)"
    )
    with subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True) as parent:
        assert parent.stdout is not None
        pid = int(parent.stdout.readline())
        os.kill(pid, 0)
        parent.kill()
    assert gone(pid)


def test_a_child_that_dies_before_it_is_ready_is_quoted() -> None:
    reader, writer = os.pipe()
    with Child([sys.executable, "-c", "import sys; sys.exit('port in use')"], pass_fds=[writer]) as child:
        with pytest.raises(RunFailed, match="ended with 1 before it was ready") as caught:
            child.read_ready_line(reader, WAIT_S)
        assert caught.value.problems == ("port in use",)
    os.close(reader)
    os.close(writer)


def test_a_child_that_never_gets_ready() -> None:
    reader, writer = os.pipe()
    with (
        Child(["sleep", "1000"], pass_fds=[writer]) as child,
        pytest.raises(RunFailed, match=r"not ready after 0\.1 s"),
    ):
        child.read_ready_line(reader, 0.1)
    os.close(reader)
    os.close(writer)


def test_a_program_that_does_not_exist() -> None:
    with pytest.raises(RunFailed, match="cannot start"):
        Child(["/no/such/program"]).start()


def test_the_environment_is_what_is_listed_and_what_is_given(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in os.environ:
        monkeypatch.delenv(name)
    monkeypatch.setenv("LD_PRELOAD", "/nowhere")
    child = Child(["/usr/bin/env"], {"ONLY": "this", "PATH": "/"}).start()
    os.waitid(os.P_PID, child.pid, os.WEXITED | os.WNOWAIT)
    assert child.stop() == 0
    assert sorted(child.last_words().splitlines()) == ["ONLY=this", "PATH=/"]


def test_an_interrupted_child_is_waited_for() -> None:
    with Child(["sleep", "1000"], heard=False) as child:
        assert not child.wait(0)
        child.interrupt()
        assert child.wait(WAIT_S)
        assert child.returncode == -signal.SIGINT
    assert child.wait(0)


def test_a_descriptor_beyond_those_that_select_knows_is_waited_for() -> None:
    """Whoever calls Strata as a library may have more than 1,024 open."""
    (before, after), high = os.pipe(), 2000
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (max(soft, high + 1), hard))
    try:
        os.dup2(before, high)
        assert readable([high], 0.01) == set()
        os.write(after, b"x")
        assert readable([high], None) == {high}
    finally:
        for fd in (before, after, high):
            os.close(fd)
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
