"""`make quick` picks the tests of what changed by the imports of the files."""

from __future__ import annotations

import ast
import importlib.util
import os
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest
from tiers import rest_in_ci

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="module")
def quick() -> ModuleType:
    spec = importlib.util.spec_from_file_location("quick", ROOT / "scripts" / "quick.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize(
    ("changed", "test"),
    rest_in_ci(
        [
            ("tests/unit/test_units.py", "test_units.py"),
            ("src/strata/units.py", "test_units.py"),
            ("src/strata/diagnose/causes/stalls.py", "diagnose/test_battery.py"),
            ("src/strata/plan/profiles/vdi.toml", "plan/test_profiles.py"),
            ("tests/unit/store/store_samples.py", "store/test_store_keeps.py"),
            ("tests/unit/report/golden_file.py", "report/test_report_terminal.py"),
            ("src/strata/app/compare.py", "test_api.py"),
            ("lab/src/strata_lab/media.py", "test_lab_specification.py"),
        ],
        every_day=1,
    ),
)
def test_what_changed_leads_to_its_tests(quick: ModuleType, changed: str, test: str) -> None:
    assert f"tests/unit/{test}" in quick.chosen([changed])


def test_the_nearest_come_first_and_what_is_no_code_has_none(quick: ModuleType) -> None:
    assert quick.chosen(["tests/unit/test_xdg.py"]) == ["tests/unit/test_xdg.py"]
    assert quick.chosen(["docs/glossary.md", "crates/strata-io/src/lib.rs", "tests/scenarios/test_demos.py"]) == []
    found = quick.chosen(["src/strata/host/xdg.py"])
    assert found.index("tests/unit/test_xdg.py") < found.index("tests/unit/test_api.py")
    assert len(found) == len(set(found))


def test_every_unit_test_is_reached_from_some_module(quick: ModuleType) -> None:
    """What imports nothing of ours would never be picked."""
    graph = quick.graph_of(ROOT)
    reached = graph.distances({name for name in graph.files if name.startswith("strata")})
    assert set(graph.tests) - set(reached) == set()


def test_when_the_minute_is_over_the_rest_is_skipped_and_says_so(tmp_path: Path) -> None:
    (tmp_path / "test_late.py").write_text("def test_late():\n    raise AssertionError\n")
    words = [sys.executable, "-m", "pytest", "-q", "-rs", "-p", "quick", "-p", "no:cacheprovider", str(tmp_path)]
    env = os.environ | {"PYTHONPATH": str(ROOT / "scripts"), "STRATA_QUICK_UNTIL": "1"}
    done = subprocess.run(words, cwd=tmp_path, env=env, capture_output=True, text=True, check=False)
    assert done.returncode == 0 and "make test runs it" in done.stdout, done.stdout + done.stderr


NESTED = """
class A:
    async def f(self):
        try:
            with x: import a
        except E:
            for _ in y: import b
        else:
            import c
        finally:
            match z:
                case 1: import d
                case _:
                    while 0: import e
"""


def test_a_statement_is_found_wherever_it_stands(quick: ModuleType) -> None:
    found = [n for n in quick.statements(ast.parse(NESTED)) if isinstance(n, ast.Import)]
    assert sorted(n.names[0].name for n in found) == [*"abcde"]
