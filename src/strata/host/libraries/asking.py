"""Asking a client library for something: one child process for each question."""

from __future__ import annotations

import base64
import errno
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from strata.host import process, programs

STARTING_S = 10.0
"""What the child may take to begin, beside the patience with what it asks."""


def ask(
    library: str, address: Mapping[str, str | None], what: str, *, netns: str | None, patience_s: float, **words: Any
) -> tuple[dict[str, Any], bytes]:
    """The answer and, of a read, the data. ``what``: probe, read, create, fill or remove (see `answering`).

    ``patience_s`` is how long the cluster is waited for. Raises `OSError` with the errno and words of the library;
    ETIMEDOUT when no answer comes, ELIBACC where the library is not installed.
    """
    if netns is not None and not Path(netns).exists():
        raise OSError(errno.ENOENT, f"there is no network namespace {netns}")
    sent = {key: base64.b64encode(v).decode() if isinstance(v, bytes) else v for key, v in words.items()}
    question = {"library": library, "address": address, "what": what, "patience_s": patience_s, **sent}
    argv = programs.in_netns(netns, programs.python("strata.host.libraries"))
    try:
        done = process.run(argv, STARTING_S + patience_s, given=json.dumps(question).encode() + b"\n")
    except TimeoutError as e:
        raise OSError(errno.ETIMEDOUT, f"no answer within {patience_s:g} s") from e
    head, _, data = done.data.partition(b"\n")
    try:
        answer: dict[str, Any] = json.loads(head)
    except ValueError as e:
        last = done.err.strip().splitlines()[-1:]
        why = f"the client library exited with {done.code}: {last[0] if last else 'no message'}"
        raise OSError(errno.EIO, why) from e
    if "errno" in answer:
        raise OSError(answer["errno"], answer["said"])
    return answer, data
