"""TOML on its way out: values, lines and comments, for texts that people go on writing.

A TOML string is JSON's, so Python's own encoder escapes it. `tomli_w` is no choice for these texts: it knows no
comments, breaks every list over several lines, and folds ``[[workload]]`` tables that are short into inline ones.
`tomlkit` can all that, for 6,400 lines and 56 ms of loading, but a comment that ends its line goes out as it is.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any


def value(of: Any) -> str:
    """Text, a number, a truth value, a list, or a table in one line. `ValueError` for what is not finite."""
    if isinstance(of, Mapping):
        return "{ " + ", ".join(f"{key} = {value(inner)}" for key, inner in of.items()) + " }"
    if isinstance(of, Sequence) and not isinstance(of, str):
        return f"[{', '.join(map(value, of))}]"
    # DEL is the one character that JSON leaves as it is and TOML wants escaped.
    return json.dumps(of, ensure_ascii=False, allow_nan=False).replace("\x7f", "\\u007f")


def lines(table: Mapping[str, Any]) -> str:
    """``key = value`` of each, with its line end. Keys are ours: letters, digits, ``_`` and, between two, dots."""
    return "".join(f"{key} = {value(of)}\n" for key, of in table.items())


def comment(text: str, unseen: str = "?") -> str:
    """What may stand behind a ``#``: one line, with ``unseen`` for every character that does not print."""
    return "".join(c if c.isprintable() else unseen for c in text)
