"""What is wrong in a TOML text, in the words of whoever wrote it: the table, the line, and the keys there are."""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable, Mapping
from typing import Any

from pydantic import BaseModel, ValidationError

from strata.errors import PROBLEMS_SHOWN

_FOLLOWS = "default_factory_not_called"
"""What goes wrong only because something else did."""


def problems(e: ValidationError, text: str, model: type[BaseModel], tables: Mapping[str, str]) -> tuple[str, ...]:
    """Each error in words. ``tables``: which table each field of ``model`` is read from; the rest is in ``tables['']``.

    A table of many is ``[[layer]]``, a single one ``[stack]``. Those that are not shown have no line: each is looked
    for in the whole text.
    """
    every = [p for p in e.errors(include_url=False, include_input=False) if p["type"] != _FOLLOWS]
    found = [said for p in every[:PROBLEMS_SHOWN] for said in _problem(p, text, model, tables)]
    return (*found, *(str(p["msg"]) for p in every[PROBLEMS_SHOWN:]))


def unknown(key: str, there: Iterable[str]) -> str:
    """``there is no key 'nmae', did you mean 'name'? There are: …``."""
    names = list(there)
    near = difflib.get_close_matches(key, names, 1)
    meant = f"; did you mean {near[0]!r}?" if near else ";"
    return f"there is no key {key!r}{meant} There are: {', '.join(names)}"


def line_of(text: str, table: str, number: int = 0, key: str | None = None) -> int | None:
    """The line (from 1) of the ``number``-th such table, or of a key in it; None where it cannot be found.

    Of the outermost keys, where ``table`` is empty.
    """
    lines = text.splitlines()
    header = re.compile(rf"\s*{re.escape(table)}\s*(#.*)?$")
    starts = [n for n, line in enumerate(lines) if header.match(line)] if table else [-1]
    if number >= len(starts):
        return None
    if key is None:
        return starts[number] + 1
    for n in range(starts[number] + 1, len(lines)):
        if re.match(r"\s*\[", lines[n]):
            break
        if re.match(rf"""\s*["']?{re.escape(key)}["']?\s*[=.]""", lines[n]):
            return n + 1
    return starts[number] + 1 if table else None


def outer_line(text: str, name: str) -> int | str:
    """The line of an outermost table or key of that name; ``?`` where it cannot be found."""
    found = (line_of(text, f"[[{name}]]"), line_of(text, f"[{name}]"), line_of(text, "", 0, name))
    return next((line for line in found if line is not None), "?")


def _problem(p: Any, text: str, model: type[BaseModel], tables: Mapping[str, str]) -> list[str]:
    loc = [part for part in p["loc"] if not (isinstance(part, str) and part.startswith("function-"))]
    said = str(p["msg"]).removeprefix("Value error, ")
    if not loc:
        parts = said.split("; ")
        return [_at_its_name(one, text) for one in parts[:PROBLEMS_SHOWN]] + parts[PROBLEMS_SHOWN:]
    table = tables.get(str(loc[0]))
    path = loc if table is None else loc[1:]
    number = 0
    if path and isinstance(path[0], int):
        number, path = path[0], path[1:]
    if not path and table is not None:
        several = p["type"] in ("tuple_type", "model_type")
        return [f"{table}: {f'write each as {table}, with its keys below' if several else said.lower()}"]
    keys = [str(part) for part in path]
    if p["type"] == "extra_forbidden":
        what = unknown(keys[-1], [key for key in _keys(model, loc) if key not in tables])
    elif p["type"] == "missing":
        what = f"{'.'.join(keys)} is missing"
    else:
        what = f"{'.'.join(keys)}: {said[:1].lower()}{said[1:]}"
    shown = tables[""] if table is None else table
    line = line_of(text, shown, number, keys[0])
    which = f" {number + 1}" if shown.startswith("[[") else ""
    return [f"{shown}{which}{'' if line is None else f', line {line}'}: {what}"]


def _at_its_name(said: str, text: str) -> str:
    """A problem of the whole that begins with ``layer 'NAME'``, with the line where that name is given."""
    named = re.match(r"\w+ '(.+?)'", said)
    given = re.compile(rf"""\s*name\s*=\s*["']{re.escape(named[1])}["']""") if named else None
    lines = [n for n, line in enumerate(text.splitlines(), 1) if given and given.match(line)]
    return f"line {lines[-1]}: {said}" if lines else said


def _keys(model: type[BaseModel], loc: list[Any]) -> list[str]:
    """The keys there are where the last part of ``loc`` is one too many."""
    at: Any = model
    for part in loc[:-1]:
        if isinstance(part, int):
            continue
        at = _inner(at.model_fields[part].annotation)
    return [name for name in at.model_fields if not name.startswith("_")]


def _inner(annotation: Any) -> Any:
    """The model in ``tuple[Layer, ...]`` or ``Expect``."""
    arguments = getattr(annotation, "__args__", ())
    return next((a for a in arguments if isinstance(a, type) and issubclass(a, BaseModel)), annotation)
