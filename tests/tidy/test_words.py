"""The words that are not used (docs/design/words.md) are in no help, message, page, guide, glossary or README."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

from test_help import COMMANDS

ROOT = Path(__file__).resolve().parents[2]
SOURCES = (ROOT / "src" / "strata", ROOT / "lab" / "src" / "strata_lab")


def not_used() -> list[str]:
    """The phrases of the table, in its order."""
    page = (ROOT / "docs" / "design" / "words.md").read_text()
    section = page.split("\n## Not used\n")[1].split("\n## ")[0]
    return [phrase for row in re.findall(r"^\| ([^|]+) \|", section, re.M)[1:] for phrase in row.split(" · ")]


PATTERN = re.compile(rf"(?<![\w-])({'|'.join(map(re.escape, not_used()))})(?![\w-])", re.IGNORECASE)


def strings(source: str) -> Iterator[tuple[int, str]]:
    """(line, text) of every string that is no docstring."""
    tree = ast.parse(source)
    left_out = {id(n.value) for n in ast.walk(tree) if isinstance(n, ast.Expr)}
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in left_out:
            yield node.lineno, node.value


def rust_strings(source: str) -> Iterator[tuple[int, str]]:
    """(line, text) of the strings of each line that is no comment."""
    for number, line in enumerate(source.splitlines(), 1):
        if not line.lstrip().startswith("//"):
            yield from ((number, text) for text in re.findall(r'"((?:[^"\\]|\\.)*)"', line.split(" // ")[0]))


def found_in(texts: Iterator[tuple[int, str]], where: Path) -> list[str]:
    return [
        f"{where.relative_to(ROOT)}:{line}: {hit[0]!r} in {text[:80]!r}"
        for line, text in texts
        for hit in PATTERN.finditer(text)
    ]


def test_the_pattern_finds_a_phrase_and_no_name() -> None:
    assert {"held against", "nobody", "in force"} <= set(not_used())
    assert PATTERN.search("Runs that later ones are Held against.") and PATTERN.search("x: nobody waits")
    assert not PATTERN.search("the cause `cache-flatter` and nobody_else")
    assert dict(strings('"""nobody"""\nx = f"{y} nobody"\n')) == {2: " nobody"}
    assert list(rust_strings('/// "nobody"\nlet x = "nobody \\" waits"; // "nobody"')) == [(2, 'nobody \\" waits')]


def test_help_uses_none_of_the_words() -> None:
    texts = {name: command.help or "" for name, command in COMMANDS.items()}
    for name, command in COMMANDS.items():
        texts |= {f"{name} {p.opts[0]}": getattr(p, "help", None) or "" for p in command.params}
    assert {name: hit[0] for name, text in texts.items() if (hit := PATTERN.search(text))} == {}


def test_messages_use_none_of_the_words() -> None:
    hits = []
    for path in (p for folder in SOURCES for p in folder.rglob("*.py")):
        if PATTERN.search(source := path.read_text()):
            hits += found_in(strings(source), path)
    for path in (ROOT / "crates").glob("*/src/**/*.rs"):
        if "test" not in path.stem and "tests" not in path.parts and PATTERN.search(source := path.read_text()):
            hits += found_in(rust_strings(source), path)
    assert hits == []


def test_pages_use_none_of_the_words() -> None:
    pages = [ROOT / "README.md", *(ROOT / "docs").glob("*.md"), *(ROOT / "docs" / "guide").glob("*.md")]
    pages += [p for folder in SOURCES for p in folder.rglob("templates/**/*.html")]
    assert len(pages) >= 40
    assert [hit for path in pages for hit in found_in(enumerate(path.read_text().splitlines(), 1), path)] == []
