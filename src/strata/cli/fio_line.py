"""A command line with fio's words in those of `strata measure`: the answer to ``--filename=…``."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from pathlib import PurePath

OURS = {"readwrite": "rw", "blocksize": "bs", "filesize": "size"}
"""fio's words that are called otherwise here."""

LEFT_OUT = {
    "ioengine", "direct", "group_reporting", "time_based", "thread", "randrepeat", "norandommap",
    "gtod_reduce", "end_fsync", "invalidate", "fallocate", "create_on_open", "unlink", "stonewall", "output",
    "output-format", "eta", "minimal",
}  # fmt: skip
"""fio's words that are not asked here: it is always so, it is said otherwise, or it changes nothing of the I/O."""


def in_our_words(words: Sequence[str], known: frozenset[str]) -> str | None:
    """The command line of ``words`` (those after ``measure``) in our words; None where none of them is fio's.

    ``known``: the options of `measure`. What is neither fio's nor ours stays as it is.
    """
    folder, files, kept = "", "", list[str]()
    left = list(words)
    foreign = False
    while left:
        word = left.pop(0)
        name, equals, value = word.removeprefix("--").partition("=")
        ours = f"--{OURS.get(name, name.replace('_', '-'))}"
        if not word.startswith("--") or f"--{name}" in known:
            kept.append(word)
            continue
        foreign = foreign or name in ("filename", "directory", *LEFT_OUT) or ours in known
        if name in ("filename", "directory"):
            value = value if equals else left.pop(0) if left else ""
            folder, files = (value, files) if name == "directory" else (folder, value)
        elif name in LEFT_OUT and not equals and left and not left[0].startswith("-"):
            left.pop(0)
        elif (name, value) == ("direct", "0"):
            kept.append("--buffered")
        elif name not in LEFT_OUT:
            kept.append(f"{ours}{equals}{value}" if ours in known else word)
    if not foreign:
        return None
    named = [str(PurePath(folder, file)) for file in files.split(":") if file] or ([folder] if folder else [])
    uris = [place if place.startswith("/dev/") or not files else f"file:{place}" for place in named]
    targets = [word for uri in uris[1:] for word in ("--target", uri)]
    return shlex.join(["strata", "measure", *uris[:1], *kept, *targets])
