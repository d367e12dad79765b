"""What only reads the store loads only what reading takes: a list of runs is not worth the libraries that measure."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

LOADED = """
import json, sys
from strata.cli.main import app
app(json.loads(sys.argv[1]), standalone_mode=False)
print("loaded:", json.dumps(sorted(sys.modules)))
"""
HEAVY = {"numpy", "scipy", "rich.console", "jinja2", "pyroute2", "strata.engine", "strata.app.session"}


def loaded(words: list[str], store: Path) -> set[str]:
    done = subprocess.run(
        [sys.executable, "-c", LOADED, json.dumps(words)],
        capture_output=True, text=True, check=True, env=os.environ | {"STRATA_STORE": str(store)},
    )  # fmt: skip
    return set(json.loads(done.stdout.rpartition("loaded:")[2]))


@pytest.mark.parametrize("words", [["runs"], ["baseline", "list"]], ids=" ".join)
def test_a_list_loads_neither_the_engine_nor_the_numerical_libraries(words: list[str], tmp_path: Path) -> None:
    assert loaded(words, tmp_path / "s.db") & HEAVY == set()
