"""Every command has a man page, and every shell its completion, in the place where it looks."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from absent import absent
from test_help import COMMANDS

from strata.errors import Exit

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="module")
def share(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What a package installs below ``share``."""
    prefix = tmp_path_factory.mktemp("prefix")
    write(prefix)
    return prefix / "share"


def write(prefix: Path) -> None:
    path = ":".join(map(str, (ROOT / "src", ROOT / "lab" / "src")))
    words = [sys.executable, str(ROOT / "scripts" / "manual.py"), str(prefix)]
    subprocess.run(words, check=True, env={"PYTHONPATH": path, "SOURCE_DATE_EPOCH": "1700000000", "PATH": "/usr/bin"})


def plain(page: Path) -> str:
    """The page's text without what roff alone reads."""
    text = page.read_text()
    return text.replace("\\-", "-").replace("\\(aq", "'").replace("\\fB", "").replace("\\fP", "")


def test_every_command_has_a_page_with_its_options_and_exit_codes(share: Path) -> None:
    pages = {page.stem: plain(page) for page in (share / "man" / "man1").iterdir()}
    assert set(pages) == {f"strata {name}".strip().replace(" ", "-") for name in COMMANDS}
    for name, command in COMMANDS.items():
        text = pages[f"strata {name}".strip().replace(" ", "-")]
        assert '"1" "2023-11-14" "strata ' in text
        spelt = [one for p in command.params if not getattr(p, "hidden", False) for one in p.opts if one[:2] == "--"]
        assert [one for one in spelt if one not in text] == []
        assert all(f".B {code.value}\n{code.short}" in text for code in Exit)
        assert [inner for inner in getattr(command, "commands", {}) if f"\n.B {inner}\n" not in text] == []


def test_a_page_leads_only_to_pages_that_are_there(share: Path) -> None:
    pages = {page.stem: plain(page) for page in (share / "man" / "man1").iterdir()}
    for name, text in pages.items():
        others = text.partition(".SH See also\n")[2].replace(".sp\n", "").partition("\n")[0].split(", ")
        assert others and {other.removesuffix("(1)") for other in others} <= set(pages) - {name}, name


@pytest.mark.ci
def test_man_shows_every_page_without_a_warning(share: Path) -> None:
    if shutil.which("man") is None or shutil.which("groff") is None:
        absent("man or groff is not installed")
    for page in sorted((share / "man" / "man1").iterdir()):
        env = {"PATH": "/usr/bin:/bin", "LC_ALL": "C.UTF-8", "MANWIDTH": "100"}
        asked = ["man", "--warnings=w", "-l", str(page)]
        done = subprocess.run(asked, capture_output=True, text=True, env=env, check=True)
        assert done.stderr == ""
        assert done.stdout.lstrip().startswith(f"{page.stem}(1)")


def test_the_same_sources_make_the_same_files(share: Path, tmp_path: Path) -> None:
    write(tmp_path)
    first, second = ({str(p.relative_to(at)): p.read_bytes() for p in at.rglob("*") if p.is_file()} for at in
                     (share, tmp_path / "share"))  # fmt: skip
    assert first == second
    assert {"bash-completion/completions/strata", "zsh/site-functions/_strata", "fish/vendor_completions.d/strata.fish",
            "strata/completions/strata.ps1"} <= set(first)  # fmt: skip
