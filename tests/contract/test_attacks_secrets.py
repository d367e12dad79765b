"""Attack: a canary as a password, wherever an address is taken. It must come out nowhere, and be kept nowhere."""

from __future__ import annotations

import json
import os
import pty
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from commands import QUICK, STRATA, one_after_another, strata
from tiers import rest_in_ci

CANARY = "Can4ryBird"
SHORT = ("--runtime", "20ms", *QUICK)
SECRETS = (CANARY, f"two {CANARY} words", f"%20{CANARY}", f"a/{CANARY}@b")
STORES = (
    "postgresql://u:{}@127.0.0.1:1/db",
    "postgresql://127.0.0.1:1/db?user=u&password={}",
    "mysql://u:{}@h/db",
    "host=127.0.0.1 password={}",
    "postgresql://u:{}@h:port/db",
    " postgresql://u:{}@127.0.0.1:1/db ",
)
SERVERS = (
    "smb://u:{}@127.0.0.1:1/share/file",
    "nbd://u:{}@127.0.0.1:1/export",
    "nfs://u:{}@127.0.0.1/e/f",
    "iscsi://u:{}@127.0.0.1:1/iqn.2026-01.example:t/0",
    "gluster://u:{}@127.0.0.1/v/f",
    "rbd:p/i:key={}",
    "smb://u:{}@127.0.0.1/share",
    "smb:/u:{}@127.0.0.1/share/f",
    "ftp://u:{}@127.0.0.1/f",
    "smb://u:x@127.0.0.1:1/share/f?password={}",
)


def stack_file(path: Path, endpoint: str, counters: str = "") -> Path:
    lines = [
        '[stack]\nname = "s"',
        '[[node]]\nname = "n"',
        counters,
        f'[[layer]]\nname = "a"\nendpoint = "file:{path}/x"',
    ]
    lines.append(f'[[layer]]\nname = "b"\nnode = "n"\nendpoint = {json.dumps(endpoint)}\non = ["a"]')
    made = path / f"stack{len(list(path.iterdir()))}.toml"
    made.write_text("\n".join(lines))
    return made


def commands(at: Path) -> Iterator[list[str]]:
    """Every command that takes an address, with each form of one, the secrets dealt out in turn."""
    dealt = 0
    for server in SERVERS:
        secret = SECRETS[dealt % len(SECRETS)]
        uri, dealt = server.format(secret), dealt + 1
        yield ["measure", uri, *SHORT]
        yield ["measure", uri, *SHORT, "--json", "--target", uri.replace("/f", "/g")]
        yield ["measure", uri, "--matrix", "small", "--budget", "1m", *QUICK]
        yield ["plan", uri, "--matrix", "small"]
        yield ["verify", uri, "--progress", "none"]
        yield ["target", uri]
        for command in ("diagnose", "plan", "survey", "trace"):
            yield [command, uri]
    for command, endpoint in (("diagnose", SERVERS[0]), ("plan", SERVERS[1]), ("survey", SERVERS[6])):
        yield [command, str(stack_file(at, endpoint.format(CANARY)))]
    for command in ("diagnose", "plan", "survey", "trace"):
        yield [command, str(stack_file(at, "nbd://h/e", f'counters = "http://u:{CANARY}@127.0.0.1:1/"'))]
    for store in STORES:
        secret = SECRETS[dealt % len(SECRETS)]
        url, dealt = store.format(secret), dealt + 1
        yield ["runs", "--store", url]
        yield ["report", f"--store={url}"]


def kept(at: Path) -> bytes:
    """The bytes of every file below, and their names."""
    return b"\n".join(os.fsencode(p) + b"\n" + (p.read_bytes() if p.is_file() else b"") for p in at.rglob("*"))


@pytest.mark.ci
@pytest.mark.first
def test_no_command_tells_or_keeps_a_password(tmp_path: Path, own_state: Path) -> None:
    inputs, elsewhere = tmp_path / "in", tmp_path / "cwd"
    inputs.mkdir()
    elsewhere.mkdir()
    lines = list(commands(inputs))
    for line, (status, out, err) in zip(lines, one_after_another(lines, inputs, cwd=elsewhere), strict=True):
        assert CANARY not in out + err, (line, out, err)
        assert "Traceback" not in err, (line, err)
        if line[0] not in ("plan", "survey"):
            assert status != 0, line
    assert CANARY.encode() not in kept(own_state) + kept(elsewhere)


@pytest.mark.ci
def test_a_password_in_the_environment_is_told_as_little(tmp_path: Path, own_state: Path) -> None:
    env = {"STRATA_STORE": STORES[0].format(f"a {CANARY}"), "STRATA_SMB_PASSWORD": CANARY, "PGPASSWORD": CANARY}
    lines = [["runs"], ["report"], ["measure", "smb://u@127.0.0.1:1/share/f", *SHORT], ["lab", "list", "--all"]]
    for line, (_, out, err) in zip(lines, one_after_another(lines, tmp_path, **env), strict=True):
        assert CANARY not in out + err, line
    assert CANARY.encode() not in kept(own_state)


@pytest.mark.parametrize("command", ["true", "false"])
def test_the_command_of_a_sweep_is_kept_without_its_password(tmp_path: Path, own_state: Path, command: str) -> None:
    make = f"{command} --password '{CANARY}' nbd://u:{CANARY}@h/e {{}}"
    words = ["scale", "null:", "--over", "queues", "--points", "1,2", "--make", make, "--now", "1", "--budget", "1s"]
    done, again = strata(*words, "--json"), strata("report", "--json")
    assert done.returncode == 0 and "--make" in again.stdout, done.stderr
    for said in (done.stdout.encode(), done.stderr.encode(), again.stdout.encode(), kept(own_state)):
        assert CANARY.encode() not in said


def test_a_run_keeps_its_command_line_without_the_password(tmp_path: Path, own_state: Path) -> None:
    """The words of a real run, also such as it did not use: the store, every form of the report, the repeat line."""
    store, page, text = tmp_path / "strata.db", tmp_path / "page.html", tmp_path / "page.md"
    words = ["measure", "null:", "--matrix", "bs=4k;iodepth=1;rw=randread", "--budget", "1s", *QUICK[2:]]
    script = (
        "import sys; from strata.cli.main import _run\n"
        "words = sys.argv[1:]; real = [w for w in words if '@' not in w]\n"
        "import strata.app.circumstances as c; c.sys = type('S', (), {'argv': ['strata', *words]})\n"
        "sys.argv = ['strata', *real]; sys.exit(_run())"
    )
    secret = [f"smb://u:a {CANARY}@h/s/f", f"--store=postgresql://h/db?x=@&password={CANARY}"]
    outputs = ["--store", str(store), "--html", str(page), "--markdown", str(text)]
    argv = [sys.executable, "-c", script, *words, *secret, *outputs]
    done = subprocess.run(argv, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stderr
    assert b"smb://u:***@h/s/f" in store.read_bytes(), "the command line was not kept at all"
    again = strata("report", "--store", store, "--json")
    assert again.returncode == 0, again.stderr
    for said in (done.stdout.encode(), done.stderr.encode(), again.stdout.encode(), kept(tmp_path), kept(own_state)):
        assert CANARY.encode() not in said


@pytest.mark.ci
def test_the_command_line_is_warned_about_and_children_have_it_not(tmp_path: Path) -> None:
    """While a stack file with a password in it is at work, nothing has the password in its arguments."""
    done = strata("measure", SERVERS[0].format(CANARY))
    assert "STRATA_SMB_PASSWORD" in done.stderr and "warning: a password on the command line" in done.stderr
    stack = stack_file(tmp_path, SERVERS[0].format(CANARY))
    with subprocess.Popen([*STRATA, "diagnose", str(stack), "--progress", "none"], stderr=subprocess.DEVNULL) as child:
        while child.poll() is None:
            for process in Path("/proc").glob("[0-9]*/cmdline"):
                try:
                    assert CANARY.encode() not in process.read_bytes()
                except OSError:
                    continue
            time.sleep(0.05)


def test_a_mistake_of_our_own_shows_no_password() -> None:
    script = (
        "import sys; sys.argv = ['strata', sys.argv[1]]; from strata.text.output import open_; open_()\n"
        "try: int(sys.argv[1][8:30])\n"
        "except ValueError as e: raise RuntimeError('at ' + sys.argv[1]) from e"
    )
    argv = [sys.executable, "-c", script, SERVERS[0].format(f"a {CANARY}")]
    done = subprocess.run(argv, capture_output=True, text=True, check=False)
    assert "RuntimeError: at smb://u:***@" in done.stderr
    assert CANARY not in done.stderr


def test_the_user_is_asked_at_a_terminal_and_types_unseen() -> None:
    argv = [*STRATA, "measure", "smb://ann@127.0.0.1:1/share/f", *SHORT]
    main, other = pty.openpty()
    with subprocess.Popen(argv, stdin=other, stdout=other, stderr=other, start_new_session=True) as child:
        os.close(other)
        said, typed = b"", False
        try:
            while data := os.read(main, 4096):
                said += data
                if not typed and b"Password of ann@127.0.0.1: " in said:
                    time.sleep(0.2)  # until the echo is off
                    os.write(main, f"{CANARY}\n".encode())
                    typed = True
        except OSError:
            pass  # the other side was closed
        child.wait(60)
    os.close(main)
    assert typed, said
    assert CANARY.encode() not in said


@pytest.mark.parametrize("mode", rest_in_ci([0o644, 0o640], every_day=1))
def test_a_credentials_file_that_others_read_is_refused_without_quoting_it(tmp_path: Path, mode: int) -> None:
    path = tmp_path / "credentials"
    path.write_text(f"username=ann\npassword={CANARY}\n")
    path.chmod(mode)
    lines = [["measure", f"smb://127.0.0.1:1/s/f?credentials={path}", *SHORT]]
    ((status, out, err),) = one_after_another(lines, tmp_path)
    assert status == 1
    assert f"chmod 600 {path}" in err
    assert CANARY not in out + err
