"""``strata import``: others' results into the store, each file as a run.

A file that cannot be read, or that is of no format that is known, costs a message and nothing else.
"""

from __future__ import annotations

import glob
import hashlib
import os
import stat
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from strata import units
from strata.app.imported_run import ImportedAs, id_of, outcome_of, run_of, with_workloads
from strata.app.kept import opened as store_opened
from strata.errors import StrataError, UsageError, choices
from strata.formats.results import STREAM_MOST, Misread, Source, read_result
from strata.host.untrusted import opened
from strata.model.imported import FileOutcome, ImportResult
from strata.model.workload_options import OPTIONS, Kind
from strata.text import controls

if TYPE_CHECKING:
    from strata.store import Store
    from strata.store.store import Complete

STDIN = "-"
FILES_MOST = 100_000
"""Files of one import."""
_PIECE = units.MIB
_TOGETHER = 50
"""Runs that are kept in one transaction: each alone waits for the disk."""
_WHAT = "cannot read"


def import_paths(
    words: Sequence[str], store_url: str | None, named: ImportedAs | None = None, *, dry_run: bool = False
) -> ImportResult:
    """Every file that is named: files, folders with all below them, patterns (``*``), ``-`` for standard input.

    Each understood file is kept as a run; in a ``dry_run`` nothing is written. Raises `UsageError` where nothing is
    there, and `StoreError` where the store gives trouble.
    """
    names = named or ImportedAs()
    files = list(_files(words))
    if dry_run:
        return ImportResult(files=tuple(_outcome(path, names)[0] for path in files), dry_run=True)
    made: list[FileOutcome] = []
    waiting: list[tuple[int, Complete]] = []
    with store_opened(store_url) as store:
        for path in files:
            found, modified = _outcome(path, names)
            if found.imported is not None:
                run_id = id_of(found.digest)
                if store.has(run_id) or any(one[0].id == run_id for _, one in waiting):
                    found = found.model_copy(update={"known_as": run_id})
                else:
                    run, results = run_of(found, names, modified)
                    waiting.append((len(made), (run, results, outcome_of(run, results))))
            made.append(found)
            if len(waiting) >= _TOGETHER:
                _keep(store, waiting, made)
        _keep(store, waiting, made)
    return ImportResult(files=tuple(made))


def _keep(store: Store, waiting: list[tuple[int, Complete]], made: list[FileOutcome]) -> None:
    """All that waits, and what became of it."""
    lost = _lost(store, [one for _, one in waiting])
    for at, (run, _, _) in waiting:
        became = {"not_kept": lost[run.id]} if run.id in lost else {"run": run.id}
        made[at] = made[at].model_copy(update=became)
    waiting.clear()


def _lost(store: Store, runs: list[Complete]) -> dict[str, str]:
    """Keeps them, one by one where they cannot be kept together; by run why one was not."""
    try:
        if runs:
            store.keep_whole(runs)
    except StrataError as e:
        if len(runs) == 1:
            return {runs[0][0].id: e.headline}
        return {run: why for one in runs for run, why in _lost(store, [one]).items()}
    return {}


def settings_of(words: Sequence[str]) -> dict[str, Any]:
    """``NAME=VALUE`` by the names of the options of a workload. Raises `UsageError`."""
    found: dict[str, Any] = {}
    for word in words:
        name, equals, value = word.partition("=")
        name = {"numjobs": "threads"}.get(name.strip(), name.strip())
        if not equals or name not in OPTIONS:
            raise UsageError("cannot use --set", word, "", choices(name, OPTIONS))
        flag = OPTIONS[name].kind is Kind.FLAG
        if flag and value.strip() not in ("0", "1"):
            raise UsageError("cannot use --set", word, "it is 0 or 1", f"--set {name}=1")
        plain = value.strip()
        found[name] = plain == "1" if flag else int(plain) if plain.isdecimal() and len(plain) < 19 else plain
    return found


def _outcome(path: str, names: ImportedAs) -> tuple[FileOutcome, int]:
    """What a file says, and when it was changed (ns since the epoch)."""
    shown = controls.halves(path)
    what = "standard input" if path == STDIN else shown
    try:
        with opened("/dev/stdin" if path == STDIN else path, _WHAT, STREAM_MOST) as fd:
            found = os.fstat(fd)
            digest, size = hashlib.sha256(), 0
            for piece in _pieces(fd):
                digest.update(piece)
                size += len(piece)
            head = FileOutcome(path=what, digest=digest.hexdigest(), bytes=size)
            try:
                read = read_result(Source(what, size, lambda: _pieces(fd)))
            except Misread as e:
                return head.model_copy(update={"problem": e.why, "line": e.line, "column": e.column}), 0
            return head.model_copy(update={"imported": with_workloads(read, names.settings)}), max(0, found.st_mtime_ns)
    except StrataError as e:
        return FileOutcome(path=what, problem=e.why or e.headline), 0
    except OSError as e:
        return FileOutcome(path=what, problem=(e.strerror or str(e)).lower()), 0


def _pieces(fd: int) -> Iterator[bytes]:
    """All of it, from its beginning."""
    at = 0
    while piece := os.pread(fd, _PIECE, at):
        at += len(piece)
        if at > STREAM_MOST:
            raise UsageError(_WHAT, "", f"it is larger than the limit of {units.size(STREAM_MOST)}")
        yield piece


def _files(words: Sequence[str]) -> Iterator[str]:
    seen: set[str] = set()
    for word in words:
        for path in _of_word(word):
            if path not in seen:
                if len(seen) >= FILES_MOST:
                    raise UsageError("cannot import", word, f"there are more than {FILES_MOST} files", "give fewer")
                seen.add(path)
                yield path


def _of_word(word: str) -> Iterator[str]:
    if word == STDIN:
        if sys.stdin is None or sys.stdin.isatty():
            raise UsageError("cannot import", "-", "standard input is a terminal", "strata import - < FILE")
        yield word
        return
    if Path(word).is_dir():
        yield from _below(word)
        return
    if os.path.lexists(word):
        yield word
        return
    magic = glob.has_magic(word)
    matches = sorted(map(str, Path(Path(word).anchor).glob(word.removeprefix(Path(word).anchor)))) if magic else []
    if not matches:
        raise UsageError("cannot import", word, "there is no such file", "give a file, a folder or a pattern")
    for match in matches:
        yield from _below(match) if Path(match).is_dir() else (match,)


def _below(folder: str) -> Iterator[str]:
    """Regular files, in the order of their names; hidden ones and what links lead to are left out."""
    found = False
    for root, folders, names in os.walk(folder):
        folders[:] = sorted(name for name in folders if not name.startswith("."))
        for name in sorted(names):
            path = str(Path(root) / name)
            if not name.startswith(".") and stat.S_ISREG(os.lstat(path).st_mode):
                found = True
                yield path
    if not found:
        raise UsageError("cannot import", folder, "there is no file in it", "give a folder with results")
