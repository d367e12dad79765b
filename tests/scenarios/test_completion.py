"""What the shells offer for a word that is begun: names, runs, paths. A real bash is asked where there is one."""

from __future__ import annotations

import os
import pty
import select
import shutil
import subprocess
import sys
import time
from pathlib import Path

import pytest
from absent import absent
from test_history import run_of
from tiers import rest_in_ci

from strata.cli.completion import script
from strata.store import open_store

SHELLS = {"zsh": "complete_zsh", "fish": "complete_fish", "powershell": "complete_powershell"}


@pytest.fixture
def program(tmp_path: Path) -> Path:
    """A program called ``strata`` on a path of its own: completion goes by the name."""
    path = tmp_path / "bin" / "strata"
    path.parent.mkdir()
    path.write_text(f"#!{sys.executable}\nfrom strata.cli import main\nmain()\n")
    path.chmod(0o755)
    return path


def offered(program: Path, line: str, shell: str, **environ: str) -> str:
    """What the program says to the shell, the cursor at the end of the line."""
    asked = {
        "_STRATA_COMPLETE": SHELLS[shell],
        "_TYPER_COMPLETE_ARGS": line,
        "_TYPER_COMPLETE_WORD_TO_COMPLETE": line.rpartition(" ")[2],
        "_TYPER_COMPLETE_FISH_ACTION": "get-args",
    }
    env = {**os.environ, **asked, **environ}
    done = subprocess.run([program], capture_output=True, text=True, env=env, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout


def in_bash(program: Path, words: list[str], **environ: str) -> list[str]:
    """The same for bash, which breaks words itself."""
    asked = {"_STRATA_COMPLETE": "complete_bash", "COMP_WORDS": "\n".join(words), "COMP_CWORD": str(len(words) - 1)}
    env = {**os.environ, **asked, **environ}
    done = subprocess.run([program], capture_output=True, text=True, env=env, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout.splitlines()


class Terminal:
    """An interactive shell on a terminal, in which words have loaded Strata's completion."""

    def __init__(self, argv: list[str], load: str, program: Path, home: Path) -> None:
        self.end, inner = pty.openpty()
        path = f"{program.parent}:{os.environ['PATH']}"
        env = {**os.environ, "PATH": path, "PS1": "> ", "TERM": "dumb", "HOME": str(home), "INPUTRC": os.devnull}
        self.shell = subprocess.Popen(argv, stdin=inner, stdout=inner, stderr=inner, env=env, start_new_session=True)
        os.close(inner)
        self.type(f'{load} && echo load""ed\n', "loaded")

    def type(self, text: str, until: str) -> str:
        """Types it and reads until the terminal has shown so much."""
        os.write(self.end, text.encode())
        seen, deadline = "", time.monotonic() + 120
        while until not in seen:
            assert time.monotonic() < deadline, f"{text!r} showed {seen!r}"
            if select.select([self.end], [], [], 0.2)[0]:
                seen += os.read(self.end, 4096).decode(errors="replace")
        return seen

    def close(self) -> None:
        os.close(self.end)
        self.shell.kill()
        self.shell.wait(20)


def test_a_real_bash_completes_names_and_paths_behind_a_colon(program: Path, tmp_path: Path) -> None:
    if shutil.which("bash") is None:
        absent("bash is not installed")
    (tmp_path / "mnt").mkdir()
    (tmp_path / "mnt" / "volume.dat").touch()
    bash = Terminal(["bash", "--norc", "--noprofile", "-i"], 'eval "$(strata completions bash)"', program, tmp_path)
    try:
        # What is typed is echoed; the rest is written by the completion.
        bash.type("strata diagnose --demo fa\t", "--demo far-wire ")
        bash.type("\x15strata diagnose --profile=sql-o\t", "--profile=sql-oltp ")
        bash.type("\x15strata lab inject slow-medium:se\t", "slow-medium:severe ")
        bash.type(f"\x15strata measure file:{tmp_path}/mnt/vo\t", "/mnt/volume.dat ")
        bash.type(f"\x15strata measure file:{tmp_path}/mn\t", "/mnt/")
    finally:
        bash.close()


def test_a_real_zsh_completes_from_the_first_word_on(program: Path, tmp_path: Path) -> None:
    """From a folder of functions, as a package installs it: nothing is loaded before the first word is completed."""
    if shutil.which("zsh") is None:
        absent("zsh is not installed")
    folder = tmp_path / "site-functions"
    folder.mkdir()
    (folder / "_strata").write_text(script("zsh") + "\n")
    load = f"fpath=({folder} $fpath); autoload -Uz compinit; compinit -u -D"
    zsh = Terminal(["zsh", "-f", "-i"], load, program, tmp_path)
    try:
        zsh.type("strata diagnose --demo far-w\t", "far-wire ")
        zsh.type("\x15strata diagnose --profile sql-o\t", "sql-oltp ")
    finally:
        zsh.close()


@pytest.mark.ci
def test_a_real_fish_completes_names_with_their_meaning(program: Path, tmp_path: Path) -> None:
    """From a folder of completions, as a package installs it."""
    if shutil.which("fish") is None:
        absent("fish is not installed")
    folder = tmp_path / "share" / "fish" / "vendor_completions.d"
    folder.mkdir(parents=True)
    (folder / "strata.fish").write_text(script("fish") + "\n")
    own = {"PATH": f"{program.parent}:{os.environ['PATH']}", "XDG_DATA_DIRS": f"{tmp_path}/share"}
    env = {**os.environ, **own, "HOME": str(tmp_path)}
    survey = "survey\tShow the storage stack"
    for line, expected in (("strata diagnose --demo far-w", "far-wire"), ("strata surv", survey)):
        asked = ["fish", "-c", f"complete -C '{line}'"]
        done = subprocess.run(asked, capture_output=True, text=True, env=env, check=True)
        assert done.stdout.startswith(expected)


def test_the_script_of_powershell_is_one() -> None:
    """No PowerShell is at hand: its grammar reads the script; what is offered is asked below."""
    from tree_sitter import Language, Parser

    grammar = pytest.importorskip("tree_sitter_powershell")
    text = script("powershell")
    assert "Register-ArgumentCompleter -Native -CommandName strata" in text
    assert not Parser(Language(grammar.language())).parse(text.encode()).root_node.has_error


@pytest.mark.parametrize("shell", rest_in_ci(SHELLS, every_day=1))
def test_every_shell_is_told_the_demos(program: Path, shell: str) -> None:
    said = offered(program, "strata diagnose --demo f", shell)
    assert "far-wire" in said and "healthy" not in said


@pytest.mark.ci
def test_runs_and_baselines_come_from_the_store_that_is_named(program: Path, tmp_path: Path) -> None:
    with open_store(str(tmp_path / "s.db")) as store:
        for number in (1, 2):
            store.create_run(run_of(number))
        ids = [head.id for head in store.heads(9)]
        store.save_baseline("nightly", ids[:1], 1, "", new=True)
        store.save_baseline("`id`$(id)", ids[:1], 1, "", new=True)
    named = {"STRATA_STORE": str(tmp_path / "s.db")}
    assert in_bash(program, ["strata", "report", ids[0][:2]], **named) == ids
    assert in_bash(program, ["strata", "measure", "--resume", ""], **named) == ids
    # Some shells evaluate what they are given: a name with their signs in it is not offered.
    assert in_bash(program, ["strata", "gate", "--against", ""], **named) == ["nightly"]


def test_looking_for_runs_makes_no_store(program: Path, tmp_path: Path) -> None:
    state = tmp_path / "state"
    assert in_bash(program, ["strata", "report", ""], XDG_STATE_HOME=str(state), STRATA_STORE="") == []
    assert not state.exists()


def test_labs_and_own_profiles_are_offered(program: Path, tmp_path: Path) -> None:
    for file in ("lab/mine/ledger.jsonl", "config/strata/profiles/ours.toml"):
        (tmp_path / file).parent.mkdir(parents=True)
        (tmp_path / file).touch()
    assert in_bash(program, ["strata", "lab", "down", "--name", ""], STRATA_LAB_DIR=str(tmp_path / "lab")) == ["mine"]
    said = in_bash(program, ["strata", "plan", "--profile", "o"], XDG_CONFIG_HOME=str(tmp_path / "config"))
    assert said == ["ours"]


def test_a_path_behind_a_scheme_is_offered_whole_and_plain(
    program: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "mnt").mkdir()
    for name in ("a.dat", "$(touch owned)", "\\$(touch owned)", "b`id`"):
        (tmp_path / "mnt" / name).touch()
    monkeypatch.chdir(tmp_path)
    assert offered(program, "strata measure file:mnt/", "fish").split() == ["file:mnt/a.dat"]
    # A plain path is the shell's own business.
    assert offered(program, "strata measure mnt/", "fish").split() == []
