"""What a word of the command line names: an endpoint, a directory or a stack file, however a newcomer writes it."""

from __future__ import annotations

import difflib
import shlex
import stat
from pathlib import Path

from strata.errors import UsageError
from strata.host.untrusted import kind_of
from strata.schemes import WRITTEN
from strata.text import secrets

SCHEME_OF = {stat.S_IFREG: "file", stat.S_IFBLK: "block"}
LOCAL = tuple(SCHEME_OF.values())
MAKERS = ("measure", "verify")
"""Commands that make a test file where they are given its name."""


def is_endpoint(where: str) -> bool:
    """Whether the word is an endpoint's URI and not a directory or a stack file."""
    return ":" in where and not Path(where).exists()


def understood(word: str, verb: str = "measure") -> str:
    """The word as an endpoint's URI with an absolute path, where it names one file or device; else as it is.

    ``file:mnt/a.dat`` and ``file:~/a.dat`` are made absolute; a bare path to a file becomes ``file:``, to a device
    ``block:``. A directory and a stack file stay, where the ``verb`` takes them. Raises `UsageError` with what to type.
    """
    scheme, colon, rest = word.partition(":")
    if colon and scheme in LOCAL and not Path(word).exists():
        return f"{scheme}:{_absolute(rest)}"
    if is_endpoint(word):
        return word
    path = Path(word)
    try:
        kind = stat.S_IFMT(path.stat().st_mode)
    except (FileNotFoundError, NotADirectoryError) as e:
        raise missing(path, verb) from e
    if verb == "verify" and (kind == stat.S_IFDIR or path.suffix == ".toml"):
        inside = path.absolute() if kind == stat.S_IFDIR else path.absolute().parent
        raise UsageError("cannot verify", word, "it is not an endpoint", f"strata verify file:{inside / 'verify.dat'}")
    if kind == stat.S_IFDIR or path.suffix == ".toml":
        return word
    if kind not in SCHEME_OF:
        raise _no_storage(path, verb)
    return f"{SCHEME_OF[kind]}:{_absolute(word)}"


def file_or_directory(where: Path | str) -> Path:
    """The path, where it is one. Raises `UsageError` that leads on for an endpoint, a device and what is not there."""
    uri = understood(str(where), "diagnose")
    path = Path(where)
    if not is_endpoint(uri) or path.is_file():
        return path
    hint = f"strata measure {uri} measures it alone"
    if uri.startswith("file:"):
        hint = f"strata diagnose {Path(uri.removeprefix('file:')).parent} compares the layers below it; {hint}"
    raise UsageError("cannot compare the layers of", str(where), "it is a single endpoint", hint)


def local(where: Path | str) -> Path:
    """The path that ``file:…`` or ``block:…`` names, for commands that take paths; any other as it is."""
    scheme, colon, rest = str(where).partition(":")
    path = Path(where)
    return _absolute(rest) if colon and scheme in LOCAL and not path.exists() else path


def existing(where: Path | str, verb: str) -> Path:
    """As `local`. Raises `UsageError` for another endpoint, by the address as it was written (a `Path` drops slashes),
    for what does not exist, and for a pipe, a socket or a terminal, behind which there is no storage.
    """
    path = local(where)
    if path.exists():
        if stat.S_IFMT(path.stat().st_mode) not in (*SCHEME_OF, stat.S_IFDIR):
            raise _no_storage(path, verb)
        return path
    scheme, colon, _ = str(where).partition(":")
    if colon and scheme in WRITTEN and scheme not in LOCAL:
        word = secrets.hidden(str(where))
        why = f"it is an endpoint, and {verb} takes a path, a device or a stack file"
        raise UsageError(f"cannot {verb}", word, why, f"strata measure {shlex.quote(word)} measures it")
    raise missing(path, verb)


def _no_storage(path: Path, verb: str) -> UsageError:
    why = f"it is {kind_of(path.stat().st_mode)}, and no file, directory or block device"
    return UsageError(f"cannot {verb}", str(path), why, "lsblk -p lists devices")


def place_of(where: str) -> Path | None:
    """Where a diagnosis would make its own file: the stack file, or the directory of a path; None for a device."""
    path = local(Path(where))
    if path.suffix == ".toml" and path.is_file():
        return path
    if path.is_dir():
        return path
    return path.parent if path.is_file() else None


def diagnosis_of(place: Path, nodes: str | None = None) -> str:
    """The command of a diagnosis there. ``nodes``: the scheduler whose nodes drive the layers, where it is named beside
    the stack.
    """
    return f"strata diagnose {shlex.quote(str(place))}" + ("" if nodes is None else f" --nodes {shlex.quote(nodes)}")


def missing(path: Path, verb: str) -> UsageError:
    """That nothing is there, and what to type instead."""
    above = path.absolute().parent
    if path.suffix == ".toml":
        surveyed = shlex.quote(str(above)) if above.is_dir() else "/mnt/volume"
        hint = f"strata survey {surveyed} --write {shlex.quote(str(path))} drafts a stack file"
        return UsageError("cannot open the stack file", str(path), "it does not exist", hint)
    if not above.is_dir():
        hint = f"list what exists: ls {shlex.quote(str(next(p for p in above.parents if p.is_dir())))}"
    else:
        names = [p.name for p in above.iterdir() if p.name != path.name]
        near = difflib.get_close_matches(path.name, names, 1)
        makes = (
            f"strata {verb} {shlex.quote(f'file:{above / path.name}')} makes a test file there"
            if verb in MAKERS
            else ""
        )
        meant = f"did you mean strata {verb} {shlex.quote(str(path.parent / near[0]))}" if near else ""
        hint = "; ".join(filter(None, (meant, makes))) or f"list what exists: ls {shlex.quote(str(above))}"
    why = "it is a link that leads nowhere" if path.is_symlink() else "it does not exist"
    return UsageError(f"nothing to {verb} at", str(path), why, hint)


def _absolute(text: str) -> Path:
    path = Path(text.removeprefix("//"))
    try:
        return path.expanduser().absolute()
    except RuntimeError as e:
        raise UsageError("cannot find", str(path), "no user has that name", "give the whole path") from e
