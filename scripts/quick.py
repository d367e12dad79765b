"""Which unit tests belong to what changed: by the imports of modules and test files, the nearest first.

Standard library only. `make quick` uses it (scripts/house.py); CONTRIBUTING.md says what it does not see.
"""

from __future__ import annotations

import ast
import os
import subprocess
import time
from collections import defaultdict
from collections.abc import Iterable, Iterator
from functools import cache
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
ALWAYS = ("tests/tidy",)
"""Rules about the code as a whole; they take half of the minute."""
NEAREST = 5
"""So many test files run before them."""
HOMES = {"src/strata": "src", "lab/src/strata_lab": "lab/src", "tests/unit": "."}
"""What is looked through, and the folder that its modules are named from."""
HELPERS = ("tests/unit", "tests/unit/store", "tests/unit/report")
"""Folders from which test files import their helpers by bare name (pytest's ``pythonpath``)."""
DEADLINE = "STRATA_QUICK_UNTIL"


def changed(base: str) -> list[str]:
    """Files that differ from where this branch left ``base``, committed or not, and new ones."""
    since = _git("merge-base", base, "HEAD") or ["HEAD"]
    return sorted({*_git("diff", "--name-only", since[0]), *_git("ls-files", "--others", "--exclude-standard")})


def chosen(files: Iterable[str]) -> list[str]:
    """Test files of tests/unit that reach one of ``files`` by imports: first those that changed, then those that name
    it, then those that reach it over one module more, and so on."""
    graph = graph_of(ROOT)
    near = graph.distances({module for file in files for module in graph.modules_of(file)})
    tests = ((near[module], path) for module, path in graph.tests.items() if module in near)
    return [path for _, path in sorted(tests)]


def statements(tree: ast.AST) -> Iterator[ast.AST]:
    """Every statement, and every function and class, at any depth. Most of a tree is expressions, which are not looked
    through: `ast.walk` takes four times as long.
    """
    for block in ("body", "orelse", "finalbody", "handlers", "cases"):
        for node in getattr(tree, block, ()):
            yield node
            yield from statements(node)


class Graph:
    """Who imports whom, in Strata, its lab and tests/unit."""

    def __init__(self, root: Path) -> None:
        self._root = root
        self.files = {
            _name(path.relative_to(root / home)): path
            for folder, home in HOMES.items()
            for path in sorted((root / folder).rglob("*.py"))
        }
        tests = {
            name: str(path.relative_to(root)) for name, path in self.files.items() if path.name.startswith("test_")
        }
        self.tests = {name: path for name, path in tests.items() if path.startswith("tests/unit/")}
        self.importers: dict[str, set[str]] = defaultdict(set)
        for name, path in self.files.items():
            for other in self._imports(path):
                self.importers[other].add(name)

    def modules_of(self, file: str) -> set[str]:
        """The modules that a file stands for: itself, of data its package, of what nobody imports (it is found because
        it lies there) its package too."""
        home = next((home for folder, home in HOMES.items() if file.startswith(f"{folder}/")), None)
        if home is None:
            return set()
        path = Path(file).relative_to(home)
        name, package = _name(path), "" if home == "." else _name(path.parent)
        if path.suffix != ".py":
            return {package} & set(self.files)
        return {name} | ({package} & set(self.files) if not self.importers[name] else set())

    def distances(self, modules: set[str]) -> dict[str, int]:
        """Of everything that reaches one of ``modules``, over how many imports."""
        found, edge = dict.fromkeys(modules, 0), set(modules)
        while edge:
            edge = {other for name in edge for other in self.importers[name]} - set(found)
            found |= dict.fromkeys(edge, max(found.values()) + 1)
        return found

    def _imports(self, path: Path) -> set[str]:
        named: set[str] = set()
        for node in statements(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Import):
                named |= {alias.name for alias in node.names}
            elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
                # ``from a import b``: b may be a module. Where it is, it is what is meant.
                inner = {f"{node.module}.{alias.name}" for alias in node.names}
                named |= {module for module in inner if self._resolved(module)} or {node.module}
        return {module for name in named if (module := self._resolved(name))}

    def _resolved(self, name: str) -> str | None:
        if name in self.files:
            return name
        places = (f"{folder.replace('/', '.')}.{name}" for folder in HELPERS)
        return next((place for place in places if place in self.files), None)


@cache
def graph_of(root: Path) -> Graph:
    """Read once."""
    return Graph(root)


def _name(path: Path) -> str:
    return ".".join(path.with_suffix("").parts).removesuffix(".__init__")


def _git(*words: str) -> list[str]:
    done = subprocess.run(["git", "-C", str(ROOT), *words], capture_output=True, text=True, check=False)
    return done.stdout.splitlines() if done.returncode == 0 else []


def pytest_runtest_setup() -> None:
    """As a plugin of pytest: what has not begun when the time is up is left to `make test`."""
    import pytest

    if time.time() > float(os.environ.get(DEADLINE, "inf")):
        pytest.skip("the minute is over: make test runs it")
