"""Files that the user asked for. A file that Strata did not write is never overwritten."""

from __future__ import annotations

import os
from pathlib import Path

from strata.errors import RunFailed, SafetyRefusal

STAMPS = (
    b'<meta name="generator" content="strata report">',
    b"### Strata: ",
    b'"schema": "strata.',
    b'<testsuites name="strata',
    b"# Drafted by strata survey.",
    b"# Derived by strata plan --from-trace.",
)
"""What the head of a file written by Strata holds."""


def check_output(path: Path) -> None:
    """Raises `SafetyRefusal` when writing there would replace something that is not Strata's, before the run."""
    try:
        if path.is_symlink():
            raise SafetyRefusal("will not write", str(path), "it is a symbolic link", "name the file itself")
        if path.is_dir() or (path.exists() and not path.is_file()):
            raise SafetyRefusal("will not write", str(path), "it is not a regular file", "name another file")
        if not path.parent.is_dir():
            raise RunFailed("cannot write", str(path), "its folder does not exist", f"mkdir -p {path.parent}")
        if not os.access(path.parent, os.W_OK | os.X_OK):
            raise RunFailed("cannot write", str(path), "you may not write in its folder", "name a file in one of yours")
        if path.exists() and path.stat().st_size:
            with path.open("rb") as f:
                head = f.read(4096)
            if not any(stamp in head for stamp in STAMPS):
                raise SafetyRefusal(
                    "will not overwrite", str(path), "Strata did not write it", "name another file, or move it away"
                )
    except OSError as e:
        raise RunFailed("cannot write", str(path), e.strerror or str(e)) from e


def write_output(path: Path, text: str) -> None:
    """Whole or not at all: written beside and renamed. Raises as `check_output`."""
    check_output(path)
    fresh = path.with_name(f".{path.name}.{os.getpid()}.new")
    try:
        fresh.write_text(text)
        fresh.replace(path)
    except OSError as e:
        fresh.unlink(missing_ok=True)
        raise RunFailed(
            "cannot write", str(path), e.strerror or str(e), "the run is in the store: strata report"
        ) from e
