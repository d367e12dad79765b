"""Strata is whole without the lab, and says how to get it."""

from __future__ import annotations

import subprocess
import sys

import pytest
from tiers import rest_in_ci

from strata.errors import Exit
from strata.host import shipped

WITHOUT = "import sys; sys.modules['strata_lab'] = None; "


def without(code: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, "-c", WITHOUT + code], capture_output=True, text=True, check=False)


@pytest.mark.ci
def test_every_module_and_every_demo_is_there() -> None:
    done = without("""
import pkgutil, importlib, strata
skipped = ("strata.__main__", "strata.store.migrations")
for module in pkgutil.walk_packages(strata.__path__, "strata."):
    if not module.name.startswith(skipped) and not module.name.endswith((".__main__", ".start")):
        importlib.import_module(module.name)
from strata.app.demos import scenario
from strata.host import shipped
print(*(scenario(name).name for name in shipped.demos()))
""")
    assert (done.stdout.split(), done.stderr) == (list(shipped.demos()), "")


@pytest.mark.parametrize(
    "words", rest_in_ci(["lab", "lab list", "lab up -h", "lab up share --set protocol=smb"], every_day=2)
)
def test_its_command_says_what_to_install(words: str) -> None:
    done = without(f"sys.argv = ['strata', *{words.split()}]; from strata.cli import main; main()")
    assert (done.returncode, done.stdout) == (Exit.FAILED, "")
    assert done.stderr == "error: cannot run strata lab: the lab is not installed\nhint: pip install 'strata[lab]'\n"
