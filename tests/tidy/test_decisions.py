"""No decision looks for words in a sentence: decisions are values, sentences are made at the end."""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

PRODUCT = Path(__file__).resolve().parents[2] / "src" / "strata"
SENTENCES = {
    *("strerror", "headline", "explanation", "because", "statement", "title", "next_step", "whole", "missing"),
    *("problems", "why", "words"),
}
"""Names of what is said: attributes and variables."""
LOOKS = {"startswith", "endswith", "find", "index", "count", "search", "match", "fullmatch"}
OTHERS = ("formats", "parsing", "probes", "discover")
"""Rooms that read what other programs and the kernel write: there words are the data."""
ALLOWED = {
    "app/check.py": 1,  # how a file begins, before it is known whose format it has
    "engine/fio/engine.py": 3,  # fio says these in words alone
    "model/finding.py": 1,  # documents of earlier versions have one text where there are two now
    "model/toml_words.py": 1,  # which line is pointed at, where pydantic has one text for a whole document
    "store/schema.py": 1,  # "table NAME": how a database lists what it holds
}
"""How many such places each module has. It only shrinks."""


def decisions(source: str) -> Iterator[str]:
    """Places where words are looked for in what an error or a finding says."""
    every = [*ast.walk(ast.parse(source))]
    caught = {n.name for n in every if isinstance(n, ast.ExceptHandler) and n.name} | {"error"}
    for node in every:
        if isinstance(node, ast.Compare) and isinstance(node.ops[0], ast.In | ast.NotIn | ast.Eq | ast.NotEq):
            within = isinstance(node.ops[0], ast.In | ast.NotIn)
            word, text = node.left, node.comparators[0]
        elif (
            isinstance(node, ast.Call)
            and isinstance(node.func, ast.Attribute)
            and node.func.attr in LOOKS
            and node.args
        ):
            within, (word, text) = True, (node.args[0], node.func.value)
        else:
            continue
        if _literal(word) and (_said(text, caught, within) or (within and _several(word))):
            yield ast.unparse(node)


def _literal(node: ast.expr) -> bool:
    return isinstance(node, ast.JoinedStr) or (isinstance(node, ast.Constant) and isinstance(node.value, str))


def _several(node: ast.expr) -> bool:
    """Words with a space between: no key and no name."""
    return isinstance(node, ast.Constant) and " " in str(node.value).strip()


def _said(node: ast.expr, caught: set[str], within: bool) -> bool:
    """``str(error)``, or a sentence by its name, also within an expression."""
    for part in ast.walk(node):
        if isinstance(part, ast.Call) and isinstance(part.func, ast.Name) and part.func.id in ("str", "repr", "said"):
            of = {n.id for n in ast.walk(part) if isinstance(n, ast.Name)}
            attributes = {n.attr for n in ast.walk(part) if isinstance(n, ast.Attribute)}
            if of & caught or attributes & SENTENCES or any(_of(n) for n in ast.walk(part)):
                return True
        if isinstance(part, ast.Attribute) and part.attr in SENTENCES - {"words", "missing"}:
            return True
    return within and any(isinstance(p, ast.Name) and p.id in ("why", "problems") for p in ast.walk(node))


def _of(node: ast.AST) -> bool:
    """``told["because"]`` and ``told.get("because")``."""
    return isinstance(node, ast.Constant) and node.value in SENTENCES


def test_no_decision_looks_for_words_in_a_sentence() -> None:
    found = {}
    for path in sorted(PRODUCT.rglob("*.py")):
        name = path.relative_to(PRODUCT).as_posix()
        if name.partition("/")[0] not in OTHERS and (places := [*decisions(path.read_text())]):
            found[name] = places
    assert Counter({name: len(places) for name, places in found.items()}) == Counter(ALLOWED), found


@pytest.mark.parametrize(
    ("source", "seen"),
    [
        ('hint = "" if "network namespace" in words else other', True),
        ('ok = "namespace" not in str(error)', True),
        ('ok = "pin" in str(error.strerror)', True),
        ('ok = verdict.headline.startswith("disk")', True),
        ('ok = problems[0].endswith("again")', True),
        ('try:\n    f()\nexcept OSError as e:\n    ok = "gone" in str(e)', True),
        ('ok = f"{name}://" in e.strerror', True),
        ('ok = error.errno == 2 and "disk" in names and key.startswith("a")', False),
        ('text = f"{why} in words"', False),
    ],
)
def test_what_counts_as_looking_for_words(source: str, seen: bool) -> None:
    assert bool([*decisions(source)]) is seen
