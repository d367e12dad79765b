"""An engine compiled without optimisation says so before it measures and marks what it measured."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from absent import absent
from commands import QUICK, ROOT, strata

from strata.app import build


@pytest.fixture(scope="module")
def debug_sources(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of the Python sources with a debug engine beside them."""
    if shutil.which("cargo") is None:
        absent("cargo is not installed")
    place = tmp_path_factory.mktemp("debug")
    # In the folder of the workspace's tests, and with the features that dependencies have there: one of those tests is
    # named for that. So only the binding crate and PyO3 are compiled; by itself the crate would have 30 others anew.
    output = Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target"))
    words = ["cargo", "build", "--locked", "--quiet", "--workspace", "--features", "strata-py/extension-module"]
    words += ["--lib", "--test", "codec"]
    environment = os.environ | {"PYO3_PYTHON": sys.executable}
    subprocess.run(words, cwd=ROOT, env=environment, check=True, timeout=280)
    skip = shutil.ignore_patterns("_core*", "__pycache__")
    shutil.copytree(ROOT / "src" / "strata", place / "strata", ignore=skip)
    shutil.copy2(output / "debug" / "lib_core.so", place / "strata" / "_core.abi3.so")
    return place


@pytest.mark.ci
def test_a_debug_engine_warns_and_marks(debug_sources: Path) -> None:
    words = [sys.executable, "-m", "strata", "measure", "null:", "--runtime", "150ms", *QUICK]
    environment = os.environ | {"PYTHONPATH": str(debug_sources)}

    def run(*more: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [*words, *more], env=environment, cwd=debug_sources, capture_output=True, text=True, timeout=60, check=False
        )

    text = run()
    assert text.returncode == 0, text.stderr
    assert text.stderr.startswith("warning: the engine is a debug build")
    assert "! build: the engine is a debug build" in " ".join(text.stdout.split())
    document = json.loads(run("--json").stdout)
    assert document["result"]["engine"]["build"]["profile"] == "debug"
    assert "build" in [c["kind"] for c in document["checks"]]


def test_the_engine_of_everybody_does_not_warn() -> None:
    done = strata("measure", "null:", "--runtime", "100ms", *QUICK)
    assert done.returncode == 0
    assert "debug" not in done.stderr + done.stdout


@pytest.mark.parametrize(("profile", "warns"), [("debug", True), ("release", False)])
def test_the_warning_goes_by_the_build_information(monkeypatch: pytest.MonkeyPatch, profile: str, warns: bool) -> None:
    monkeypatch.setattr(build, "build_info", lambda: {"profile": profile})
    assert (build.debug_warning() is not None) is warns
