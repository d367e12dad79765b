#!/usr/bin/env python3
"""The parts of ARCHITECTURE.md that are made from the code: the picture of the floors, and where things stand.

    scripts/architecture.py           writes them anew
    scripts/architecture.py --check   ends with 1 where they are not what is written

Standard library only.
"""

from __future__ import annotations

import ast
import configparser
import re
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import places as counted
from quick import graph_of

ROOT = Path(__file__).resolve().parent.parent
PAGE = ROOT / "ARCHITECTURE.md"
SOURCES = ROOT / "src" / "strata"
LAB = ROOT / "lab" / "src" / "strata_lab" / "__init__.py"
WIDTH = 30


@dataclass(frozen=True)
class Kind:
    """One kind of addition, told by one that is there: every place that says its name."""

    key: str
    pattern: str = ""
    under: tuple[str, ...] = ("src/strata", "crates")
    beside: tuple[str, ...] = ()
    """Folders and files that say the name and mean another thing."""
    own: str = ""
    """The one file, where only its own name says it: it is found because it lies there."""


KINDS = (
    # Which words of fio are switches is its grammar, and Strata's own fio has this one turned off for every workload.
    Kind("option", r"\bzero_buffers\b", beside=("src/strata/formats/fio_job.py", "src/strata/engine/fio/command.py")),
    Kind("bound", r"\bmisalign\b", beside=("src/strata/diagnose",)),
    Kind(
        "scheme",
        r'EndpointKind\.NFS|\bNFS = "|"nfs"(?!, "nfs4")|nfs://|\bNfs([A-Z]\w+)?\b|\bnfs::|\bnfs_\w+\b',
        beside=("src/strata/discover", "src/strata/probes", "src/strata/model/counters"),
    ),
    Kind("counter", r"\btcp\.RESENT\b|^RESENT\b"),
    Kind("law", own="src/strata/analyse/laws/little.py"),
    Kind("cause", r"\bWIRE_LOSS\b"),
    Kind("experiment", own="src/strata/diagnose/experiments/shifted.py"),
    Kind("injection", own="lab/src/strata_lab/inject/wire_loss.py"),
    Kind("result", own="src/strata/formats/results/fio_terse.py"),
    Kind("format", r"gate_junit|\bjunit: ", under=("src/strata/cli", "src/strata/report", "src/strata/app")),
)
FOLDERS = {"scheme": "nfs"}
"""A folder of this name is one row."""


def floors() -> list[list[str]]:
    """The rooms of each floor that are there, the highest first."""
    config = configparser.ConfigParser()
    config.read(ROOT / ".importlinter")
    layers = config["importlinter:contract:floors"]["layers"].split("\n")
    named = [[word.strip(" ()") for word in line.split("|")] for line in layers if line.strip()]
    return [there for rooms in named if (there := [r for r in rooms if source(r) is not None])]


def source(room: str) -> Path | None:
    """The file that says what a room is for."""
    places = (SOURCES / room / "__init__.py", SOURCES / f"{room}.py", SOURCES / f"{room}.pyi")
    return next((place for place in places if place.exists()), None)


def picture() -> str:
    """The floors as a Mermaid flow chart. An arrow is an import, unless another way of arrows says it too."""
    lines = ["```mermaid", "flowchart TB"]
    for number, rooms in enumerate(floors()):
        lines.append(f'  subgraph f{number}[" "]')
        lines += [f'    {_id(room)}["<b>{room}</b><br/>{_wrapped(_clause(source(room)))}"]' for room in rooms]
        lines.append("  end")
    lines += [f"  {_id(a)} --> {_id(b)}" for a, b in sorted(arrows())]
    lines += [
        '  subgraph beside["a package of its own"]',
        f'    r_lab["<b>strata_lab</b><br/>{_wrapped(_clause(LAB))}"]',
        "  end",
    ]
    lines += ["  r_cli <-. its commands .-> r_lab", *(f"  r_lab --> {_id(room)}" for room in of_the_lab())]
    return "\n".join([*lines, "```"])


def arrows() -> set[tuple[str, str]]:
    """Who imports whom, room by room, without what follows from the others."""
    direct = imports()
    over = {a: {c for b in direct[a] for c in _reached(b, direct)} for a in direct}
    return {(a, b) for a in direct for b in direct[a] if b not in over[a]}


def of_the_lab() -> list[str]:
    """The rooms that the lab imports, apart from the command line, without what follows from the others."""
    direct, who = imports(), graph_of(ROOT).importers
    named = {name.split(".")[1] for name in who if name.startswith("strata.") and any(map(_of_the_lab, who[name]))}
    rooms = (named & set(direct)) - {"cli"}
    return sorted(rooms - {c for b in rooms for c in _reached(b, direct)})


def _of_the_lab(module: str) -> bool:
    return module.startswith("strata_lab.")


def imports() -> dict[str, set[str]]:
    """Of each room those it imports."""
    graph = graph_of(ROOT)
    rooms = {room for floor in floors() for room in floor}
    direct: dict[str, set[str]] = {room: set() for room in rooms}
    for imported, importers in graph.importers.items():
        for importer in importers:
            a, b = (name.split(".")[1] if name.startswith("strata.") else "" for name in (importer, imported))
            if a != b and {a, b} <= rooms:
                direct[a].add(b)
    for room in rooms:
        if re.search(r"^\s*from strata import (.*\b)?_core\b", "\n".join(_texts(room)), re.M):
            direct[room].add("_core")
    return direct


def _reached(room: str, direct: dict[str, set[str]]) -> set[str]:
    """Over one arrow or more."""
    return direct[room] | {c for b in direct[room] for c in _reached(b, direct)}


def _texts(room: str) -> Iterator[str]:
    found = source(room)
    assert found is not None
    for path in found.parent.rglob("*.py") if found.name == "__init__.py" else [found]:
        yield path.read_text(encoding="utf-8")


def places(kind: Kind) -> str:
    """A table of every file that says the name, with what it says of itself. Tests are left out."""
    found = (
        [ROOT / kind.own] if kind.own else [p for p in _sources(kind) if any(counted.found_in(kind.pattern, _code(p)))]
    )
    rows: dict[str, str] = {}
    for path in found:
        name = str(path.relative_to(ROOT))
        if path.parent.name == FOLDERS.get(kind.key) and path.suffix == ".rs":
            rows[f"{path.parent.relative_to(ROOT)}/"] = _sentence(path.parent / "mod.rs")
        else:
            rows[name] = _sentence(path)
    return "\n".join(["| file | what it is |", "|---|---|", *(f"| `{name}` | {what} |" for name, what in rows.items())])


def _sources(kind: Kind) -> list[Path]:
    every = [p for folder in kind.under for p in (ROOT / folder).rglob("*") if p.suffix in (".py", ".rs")]
    names = {p: str(p.relative_to(ROOT)) for p in every}
    tests = r"(^|/)(tests?|benches)(/|\.rs$)|_tests\.rs$"
    return sorted(p for p, n in names.items() if not n.startswith(kind.beside or "//") and not re.search(tests, n))


@cache
def _code(path: Path) -> str:
    text = path.read_text(encoding="utf-8")
    return re.sub(r'""".*?"""', "", text, flags=re.S) if path.suffix == ".py" else re.sub(r"(^|\s)//.*", "", text)


def _document(path: Path) -> str:
    text = path.read_text(encoding="utf-8")
    if path.suffix == ".rs":
        lines = []
        for line in text.splitlines():
            if not line.startswith("//!"):
                break
            lines.append(line.removeprefix("//!").strip())
        return "\n".join(lines)
    return ast.get_docstring(ast.parse(text)) or ""


def _sentence(path: Path) -> str:
    """The first one of what a file says of itself."""
    paragraph = " ".join(_document(path).partition("\n\n")[0].split())
    return re.split(r"(?<=\.)\s", paragraph)[0].replace("|", "\\|")


def _clause(path: Path | None) -> str:
    assert path is not None
    return re.split(r"[:.;](?:\s|$)", _sentence(path))[0].replace("`", "").replace('"', "")


def _wrapped(text: str) -> str:
    lines = [""]
    for word in text.split():
        lines = [*lines, word] if len(lines[-1]) + len(word) > WIDTH else [*lines[:-1], f"{lines[-1]} {word}".strip()]
    return "<br/>".join(lines)


def _id(room: str) -> str:
    return f"r_{room.strip('_')}"


def made(text: str) -> str:
    """The page with its made parts as they are to be."""
    for key, part in {
        "floors": picture(),
        "counted": counted.table(),
        **{kind.key: places(kind) for kind in KINDS},
    }.items():
        begin, end = f"<!-- made: {key} -->\n", "<!-- end -->"
        if text.count(begin) != 1:
            raise SystemExit(f"error: {PAGE.name} has no place, or several, for {key}")
        head, _, rest = text.partition(begin)
        text = f"{head}{begin}{part}\n{end}{rest.partition(end)[2]}"
    return text


def main(argv: list[str]) -> int:
    """Write the page, or only look."""
    there = PAGE.read_text(encoding="utf-8")
    page = made(there)
    if "--check" in argv:
        return int(page != there)
    PAGE.write_text(page, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
