"""Files that the user asked for. A file that Strata did not write, or that was changed since, is never overwritten.

Its last line states the SHA-256 of everything before it, as a comment. There and not in a list of ours, because it goes
with the file: to another machine, into a repository, under another name. It is no signature: who computes it may have
his file replaced. Where a format has no comments (CSV, JSON Lines, Parquet), the SHA-256 of the whole stands in an
extended attribute of the file instead.
"""

from __future__ import annotations

import hashlib
import os
import re
import shlex
import stat
from collections.abc import Mapping
from enum import Enum
from pathlib import Path

from strata.errors import RunFailed, SafetyRefusal
from strata.host.atomic_write import attribute_in, directory, read_in, replace_in

_SEAL = "Written by strata, which replaces this file as long as nothing above is changed: sha256 "
_LAST = re.compile(rb"(?:<!-- |# )" + re.escape(_SEAL).encode() + rb"([0-9a-f]{64})(?: -->)?\n\Z")
_EARLIER = (
    b'<meta name="generator" content="strata report">',
    b"### Strata: ",
    b'<testsuites name="strata',
    b"# Drafted by strata survey.",
    b"# Derived by strata plan --from-trace.",
)
"""What the head of a file held by which versions without the last line knew their own."""
_HEAD_BYTES = 4096
_BESIDE = "user.strata.sha256"


class Seal(Enum):
    """How a file says that Strata wrote it: beside its content, or in a comment, of which these are both ends."""

    MARKUP = "<!-- ", " -->"
    TOML = "# ", ""
    BESIDE = None


def check_output(path: Path) -> None:
    """Raises `SafetyRefusal` when writing there would replace something that is not Strata's, before the run."""
    try:
        if not path.parent.is_dir():
            folder = shlex.quote(str(path.parent))
            raise RunFailed("cannot write", str(path), "its directory does not exist", f"mkdir -p {folder}")
        if not os.access(path.parent, os.W_OK | os.X_OK):
            raise RunFailed(
                "cannot write",
                str(path),
                "no permission to write in its directory",
                "choose a directory that you may write to",
            )
        with directory(path.parent) as folder_fd:
            _check(folder_fd, path)
    except OSError as e:
        raise RunFailed("cannot write", str(path), e.strerror or str(e)) from e


def write_output(path: Path, text: str | bytes, seal: Seal = Seal.MARKUP) -> None:
    """Whole or not at all, with its seal. Raises as `check_output`."""
    check_output(path)
    content = sealed(text, seal)
    beside = {_BESIDE: _digest(content)} if seal is Seal.BESIDE else {}
    try:
        with directory(path.parent) as folder:
            _check(folder, path)
            replace_in(folder, path.name, content, 0o666, beside)
    except OSError as e:
        raise RunFailed(
            "cannot write", str(path), e.strerror or str(e), "the run is in the store: strata report"
        ) from e


def new_folder(path: Path, files: Mapping[str, str]) -> None:
    """A folder with these files, by their paths in it. Raises `SafetyRefusal` where something is there already."""
    try:
        path.mkdir()
        for name, text in files.items():
            (path / name).parent.mkdir(parents=True, exist_ok=True)
            write_output(path / name, text, Seal.BESIDE)
    except FileExistsError as e:
        raise SafetyRefusal("will not write into", str(path), "it is there already", "give a new folder") from e
    except OSError as e:
        raise RunFailed("cannot write", str(path), e.strerror or str(e)) from e


def sealed(text: str | bytes, seal: Seal = Seal.MARKUP) -> bytes:
    """The content of the file."""
    if isinstance(text, bytes):
        return text
    body = text.encode("utf-8", "backslashreplace")
    if seal.value is None:
        return body
    begin, end = map(str.encode, seal.value)
    body += b"" if body.endswith(b"\n") else b"\n"
    return b"".join((body, begin, _SEAL.encode(), _digest(body), end, b"\n"))


def _digest(content: bytes) -> bytes:
    return hashlib.sha256(content).hexdigest().encode()


def _check(folder: int, path: Path) -> None:
    try:
        found = os.stat(path.name, dir_fd=folder, follow_symlinks=False)
    except FileNotFoundError:
        return
    if stat.S_ISLNK(found.st_mode):
        raise SafetyRefusal("will not write", str(path), "it is a symbolic link", "give the file itself")
    if not stat.S_ISREG(found.st_mode):
        raise SafetyRefusal("will not write", str(path), "it is not a regular file", "give another file")
    content = read_in(folder, path.name) or b""
    if not content:
        return
    seal, beside = _LAST.search(content[-400:]), attribute_in(folder, path.name, _BESIDE)
    if beside is not None and beside == _digest(content):
        return
    if seal is None and beside is None:
        theirs = not any(stamp in content[:_HEAD_BYTES] for stamp in _EARLIER)
        why = (
            "Strata did not write it" if theirs else "its last line does not state what Strata wrote: it may be changed"
        )
    elif seal is not None and _digest(content[: -len(seal[0])]) == seal[1]:
        return
    else:
        why = "it was changed since Strata wrote it"
    away = shlex.join(["mv", str(path), f"{path}.old"])
    raise SafetyRefusal("will not overwrite", str(path), why, f"give another file, or move it away: {away}")
