"""A file as the import sees it, from bytes."""

from __future__ import annotations

from pathlib import Path

from strata.formats.results import Source, read_result
from strata.model.imported import Imported

DATA = Path(__file__).resolve().parents[2] / "data" / "imports"


def source_of(content: bytes, name: str = "x", piece: int = 1 << 20) -> Source:
    """In pieces of so many bytes."""
    return Source(name, len(content), lambda: (content[i : i + piece] for i in range(0, len(content), piece)))


def read_bytes(content: bytes, name: str = "x") -> Imported:
    """What these bytes say. Raises `Misread`."""
    return read_result(source_of(content, name))


def read_file(name: str) -> Imported:
    """What a file of `DATA` says."""
    return read_bytes((DATA / name).read_bytes(), name)
