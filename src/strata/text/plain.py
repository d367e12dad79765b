"""Text for a stream that cannot write all of it: words that mean the same, else the character's number.

A table is laid out with the words that will be written (`written`), so that its columns stay under each other.
"""

from __future__ import annotations

import codecs
import sys
from collections.abc import Mapping
from functools import partial

from strata.text.controls import escaped

ERRORS = "strata-plain"
"""The name of this handler of encoding errors."""

WORDS = {
    "·": "-", "–": "-", "−": "-", "—": "-", "…": "...", "±": "+/-", "×": "x", "÷": "/", "µ": "u", "μ": "u",
    "→": "->", "←": "<-", "≤": "<=", "≥": ">=", "≈": "~", "≠": "!=", "▼": "v", "▲": "^", "✓": "+", "✗": "x",
    "█": "#", "▇": "#", "▆": "*", "▅": "+", "▄": "=", "▃": "-", "▂": ":", "▁": ".", "━": "=", "─": "-", "│": "|",
    "└": "`", "├": "|", "\u00a0": " ", "\u202f": " ", "\u2007": " ", "’": "'", "‘": "'", "σ": "sigma", "θ": "theta",
}  # fmt: skip
"""No word may hold what JSON gives a meaning: a quotation mark or a backslash."""


def _shown(error: UnicodeError, words: Mapping[str, str]) -> tuple[str, int]:
    if not isinstance(error, UnicodeEncodeError):
        raise error
    found = error.object[error.start : error.end]
    return "".join(words.get(char) or escaped(char) for char in found), error.end


codecs.register_error(ERRORS, partial(_shown, words=WORDS))
codecs.register_error(f"{ERRORS}-exact", partial(_shown, words={}))


def encoding() -> str:
    """How standard output is encoded."""
    return getattr(sys.stdout, "encoding", None) or "utf-8"


def written(text: str) -> str:
    """``text`` as standard output will hold it."""
    if text.isascii() or (name := encoding().lower()) in ("utf-8", "utf8"):
        return text
    return text.encode(name, ERRORS).decode(name)


def exact(text: str, name: str) -> str:
    """A JSON document that the encoding ``name`` can write, with the same meaning: ``µ`` becomes ``\\u00b5``."""
    return text if text.isascii() else text.encode(name, f"{ERRORS}-exact").decode(name)
