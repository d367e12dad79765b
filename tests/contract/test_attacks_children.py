"""What lies in the current directory, in the PATH and in the environment, and is not run with our rights."""

from __future__ import annotations

import json
import os
import stat
import subprocess
import sys
from pathlib import Path

import pytest
from absent import absent

from strata.app.circumstances import source_revision
from strata.engine import Backing, TargetConfig, TargetProcess
from strata.host import process, programs
from strata.host.libraries.asking import ask
from strata.host.process import Child
from strata.probes.port import ProbeScope
from strata.probes.smbd import open_probe
from strata_lab import disks

NAMES = ("json", "argparse", "ctypes", "signal", "runpy", "strata", "pydantic", "errno", "base64", "sitecustomize")
TOOLS = ("nsenter", "smbstatus", "blkid", "git", "umount", "fio", "true", "sh")


@pytest.fixture
def trap(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The current directory, full of modules and programs that note that they ran; the file they note it in."""
    sprung = tmp_path / "sprung"
    for name in NAMES:
        (tmp_path / f"{name}.py").write_text(f"open({str(sprung)!r}, 'a').write({name!r})\nraise SystemExit(3)\n")
    for name in TOOLS:
        (tmp_path / name).write_text(f"#!/bin/sh\necho {name} >> {sprung}\n")
        (tmp_path / name).chmod(0o755)
    monkeypatch.chdir(tmp_path)
    for name in ("PYTHONPATH", "PYTHONSTARTUP"):
        monkeypatch.setenv(name, str(tmp_path))
    return sprung


def test_no_module_of_the_current_directory_runs_in_a_child(trap: Path, tmp_path: Path) -> None:
    with TargetProcess(TargetConfig(backing=Backing(kind="null", size_bytes=1 << 20))) as target:
        assert target.port
    # Without a library there is no answer; the child itself runs up to there.
    with pytest.raises(OSError, match=r"librbd|librados|Ceph|cannot"):
        address = {"pool": "p", "image": "i", "conf": None, "user": None}
        ask("rbd", address, "probe", netns=None, patience_s=1.0, rounds=1)
    for part in ("disk", "hop", "direct"):
        done = process.run(programs.python(f"strata_lab.parts.{part}", "--help"), 60.0)
        assert (done.code, done.out[:6]) == (0, "usage:"), done.err
    assert process.run(programs.python("strata", "--version"), 60.0).out.startswith("strata ")
    assert not trap.exists()


def test_neither_does_one_in_the_command_itself(trap: Path) -> None:
    env = {k: v for k, v in os.environ.items() if not k.startswith("PYTHON")}
    (trap.parent / "strata.py").unlink()
    done = subprocess.run([sys.executable, "-m", "strata", "--version"], env=env, capture_output=True, check=False)
    assert done.returncode == 0, done.stderr
    assert not trap.exists()


def test_root_runs_no_program_of_the_path_it_was_given(trap: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    if os.geteuid() != 0:
        absent("root alone has a list of its own")
    monkeypatch.setenv("PATH", f"{trap.parent}:.:{os.environ['PATH']}")
    for name in TOOLS:
        assert programs.find(name) != str(trap.parent / name)
    disks.tool(["sh", "-c", "true"], "try")
    disks.tool(["true"], "try")
    source_revision()
    open_probe(ProbeScope(smb_conf="smb.conf"))
    assert process.run(programs.in_netns("/proc/self/ns/net", ["true"]), 60.0).code == 0
    with Child(["sh", "-c", "true"]) as child:
        assert child.wait(60.0)
    assert not trap.exists()


def test_a_user_has_his_path_but_not_the_directory_he_is_in(
    trap: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    own = tmp_path / "own"
    own.mkdir()
    for name in ("fio", "blkid"):
        (own / name).touch(0o755)
    monkeypatch.setenv("PATH", f".::relative:{own}")
    assert programs.find("fio") == str(own / "fio")
    assert programs.find("strata-nowhere") is None
    assert stat.S_ISREG(Path(programs.find("sh") or "").stat().st_mode), "where the system keeps it"


def test_a_child_finds_what_is_listed_and_nothing_else(
    trap: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Among what it does not find: what would be loaded into it, and passwords of others' servers."""
    given = {
        "LD_PRELOAD": str(tmp_path / "evil.so"),
        "LD_AUDIT": str(tmp_path / "evil.so"),
        "BASH_ENV": str(tmp_path / "sh"),
        "GIT_SSH_COMMAND": "evil",
        "STRATA_SMB_PASSWORD": "secret",
        "STRATA_STORE": "postgresql://user:secret@host/store",
        "PGPASSWORD": "secret",
        "AWS_SECRET_ACCESS_KEY": "secret",
    }
    kept = {"LC_ALL": "C.UTF-8", "NO_COLOR": "1", "XDG_STATE_HOME": "/x", "STRATA_STATE_DIR": "here", "HOME": "/h"}
    for name, value in {**given, **kept}.items():
        monkeypatch.setenv(name, value)
    script = "import os, json; print(json.dumps([os.getcwd(), dict(os.environ)]))"
    for how in (
        process.run([sys.executable, "-I", "-c", script], 60.0, {"WANTED": "1"}).out,
        disks.tool([sys.executable, "-I", "-c", script], "try", {"WANTED": "1"}),
    ):
        place, found = json.loads(how)
        assert place == "/"
        assert found.items() >= {**kept, "STRATA_STATE_DIR": str(tmp_path / "here"), "WANTED": "1"}.items() - {
            ("LC_ALL", "C.UTF-8")
        }
        assert not set(given) & set(found)
        assert "secret" not in how


def test_a_path_that_is_relative_means_the_same_to_a_child(trap: Path, tmp_path: Path) -> None:
    (tmp_path / "image").write_bytes(bytes(1 << 20))
    backing = Backing(kind="file", path="image", direct=False)
    with TargetProcess(TargetConfig(unix="socket", backing=backing)):
        assert (tmp_path / "socket").is_socket()
