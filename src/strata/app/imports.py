"""``strata import``: others' results into the store, each file as a run, those in archives as well.

A file that cannot be read, or that is of no format that is known, costs a message and nothing else.
"""

from __future__ import annotations

import glob
import hashlib
import os
import stat
import sys
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from strata import units
from strata.app.imported_run import RUNTIME, ImportedAs, id_of, outcome_of, run_of, with_workloads
from strata.app.kept import opened as store_opened
from strata.errors import StrataError, UsageError, choices
from strata.formats.results import STREAM_MOST, Misread, Source, read_result
from strata.host import archives
from strata.host.untrusted import WORDS_MOST, opened, read_text
from strata.model.imported import FileOutcome, ImportResult
from strata.model.workload_options import OPTIONS, Kind
from strata.parsing import Malformed, toml_of, words_of
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
    """Every file that is named: files, archives, folders with all below them, patterns (``*``), ``-`` for stdin.

    Each understood file is kept as a run; in a ``dry_run`` nothing is written. Raises `UsageError` where nothing is
    there, and `StoreError` where the store gives trouble.
    """
    names = named or ImportedAs()
    files = list(_files(words))
    if dry_run:
        read = (one for path in files for one, _ in _outcomes(path, names))
        return ImportResult(files=tuple(read), dry_run=True)
    made: list[FileOutcome] = []
    waiting: list[tuple[int, Complete]] = []
    with store_opened(store_url) as store:
        for found, modified in (one for path in files for one in _outcomes(path, names)):
            outcome = found
            if found.imported is not None:
                run_id = id_of(found.digest)
                if store.has(run_id) or any(one[0].id == run_id for _, one in waiting):
                    outcome = found.model_copy(update={"known_as": run_id})
                else:
                    run, results = run_of(found, names, modified)
                    waiting.append((len(made), (run, results, outcome_of(run, results))))
            made.append(outcome)
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


def mapping_of(path: Path) -> tuple[dict[str, str], dict[str, Any]]:
    """(columns by their headings, settings) of a mapping file: ``[columns]`` and ``[set]``. Raises `UsageError`."""
    what = "cannot use the mapping file"
    hint = 'write [columns] with "BW" = "rate [MiB/s]", and [set] with direct = true'
    text = read_text(path, what, WORDS_MOST, "give a file that you may read")
    try:
        found = toml_of(text)
    except Malformed as e:
        raise UsageError(what, str(path), str(e), hint) from e
    columns, given = found.pop("columns", {}), found.pop("set", {})
    if found or not isinstance(columns, dict) or not isinstance(given, dict):
        odd = ", ".join(found) or "columns or set"
        raise UsageError(what, str(path), f"{odd}: there are the tables [columns] and [set]", hint)
    if wrong := [key for key, value in columns.items() if not isinstance(value, str)]:
        raise UsageError(what, str(path), f"{', '.join(wrong)}: the meaning of a column is a text", hint)
    return columns, settings_of(words_of(given))


def settings_of(words: Iterable[str]) -> dict[str, Any]:
    """``NAME=VALUE`` by the names of the options of a workload. Raises `UsageError`."""
    found: dict[str, Any] = {}
    for word in words:
        name, equals, value = word.partition("=")
        name = {"numjobs": "threads"}.get(name.strip(), name.strip())
        if equals and name == RUNTIME:
            found[name] = units.parse_duration_ns(value.strip()) / units.NS_PER_S
            continue
        if not equals or name not in OPTIONS:
            raise UsageError("cannot use --set", word, "", choices(name, [*OPTIONS, RUNTIME]))
        flag = OPTIONS[name].kind is Kind.FLAG
        if flag and value.strip() not in ("0", "1"):
            raise UsageError("cannot use --set", word, "it is 0 or 1", f"--set {name}=1")
        plain = value.strip()
        found[name] = plain == "1" if flag else int(plain) if plain.isdecimal() and len(plain) < 19 else plain
    return found


def _outcomes(path: str, names: ImportedAs) -> Iterator[tuple[FileOutcome, int]]:
    """What a file says, or each file of an archive, and when it was changed (ns since the epoch)."""
    shown = controls.halves(path)
    where = FileOutcome(path="standard input" if path == STDIN else shown)
    try:
        with opened("/dev/stdin" if path == STDIN else path, _WHAT, STREAM_MOST) as fd:
            modified = max(0, os.fstat(fd).st_mtime_ns)
            for found in _of(fd, where, names, archives.Allowance(), 0):
                yield found, modified
    except StrataError as e:
        yield where.model_copy(update={"problem": e.why or e.headline}), 0
    except OSError as e:
        yield where.model_copy(update={"problem": (e.strerror or str(e)).lower()}), 0


def _of(
    fd: int, where: FileOutcome, names: ImportedAs, allowed: archives.Allowance, depth: int
) -> Iterator[FileOutcome]:
    """Of one file. An archive that cannot be read costs a message, and nothing of what was read of it before."""
    try:
        kind = archives.kind_of(fd)
        if kind is None:
            yield _read(fd, where, names)
            return
        if depth >= archives.DEEPEST:
            raise Malformed(f"it is an archive within {depth} others: unpack it, and import what is in it")
        empty = True
        for name, member in archives.members(fd, kind, allowed):
            inner = "/".join(filter(None, (where.member, controls.halves(name))))
            one = where.model_copy(update={"member": inner})
            empty = False
            if isinstance(member, str):
                yield one.model_copy(update={"problem": member})
            else:
                yield from _of(member, one, names, allowed, depth + 1)
        if empty:
            raise Malformed("it is an archive without a file")
    except Malformed as e:
        yield where.model_copy(update={"problem": str(e)})


def _read(fd: int, where: FileOutcome, names: ImportedAs) -> FileOutcome:
    digest, size = hashlib.sha256(), 0
    for piece in _pieces(fd):
        digest.update(piece)
        size += len(piece)
    head = where.model_copy(update={"digest": digest.hexdigest(), "bytes": size})
    try:
        name = (where.member or where.path).removesuffix(".gz")
        read = read_result(Source(name, size, lambda: _pieces(fd), names.columns))
    except Misread as e:
        return head.model_copy(update={"problem": e.why, "line": e.line, "column": e.column})
    return head.model_copy(update={"imported": with_workloads(read, names.settings)})


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
