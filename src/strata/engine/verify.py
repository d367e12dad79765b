"""The compiled verifier: hands over one job, tells how far it is, gives a value back."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

from strata import _core, units
from strata.engine.native import said
from strata.errors import RunFailed, UsageError
from strata.host import untrusted
from strata.host.shutdown import waiting
from strata.model.base import Value
from strata.model.verify import JournalState, Verified

POLL_S = 0.2
"""How often Python looks at a running verification."""


class VerifyProgress(Value):
    """How far it is: passes from 0, blocks come to and planned over all passes (None: until its time is over)."""

    elapsed_ns: int
    pass_: int
    passes: int | None
    writing: bool
    done: int
    planned: int | None
    reads: int
    writes: int
    bytes: int
    faults: int


class Journal(Value):
    """A journal on disk: the layout it was written with, and the state of its blocks."""

    head: dict[str, Any]
    state: JournalState


def read_journal(path: str) -> Journal:
    """Look at a journal without changing it. Raises `RunFailed` when it is none."""
    try:
        # Its kind alone: it is opened again by its name, as the run that goes on with it does.
        with untrusted.opened(path, "cannot use the journal", units.MOST, "give the file that --journal created"):
            raw = json.loads(_core.verify_journal(path))
    except (OSError, ValueError) as e:
        raise RunFailed("cannot use the journal", path, said(e), "give the file that --journal created") from e
    return Journal(head=raw.pop("head"), state=JournalState.model_validate(raw))


def run_verification(
    job: dict[str, Any],
    where: str,
    on_progress: Callable[[VerifyProgress], None],
    stop_requested: Callable[[], bool] = lambda: False,
) -> Verified:
    """Carry out one verification. Ctrl-C stops it cleanly and raises `KeyboardInterrupt` after its threads have ended.

    Raises `UsageError` for a job that is refused, `RunFailed` when the target or the journal cannot be opened.
    """
    try:
        with waiting():
            running = _core.verify(json.dumps(job))
    except ValueError as e:
        raise UsageError("cannot verify", where, str(e).replace("\n", "; "), "strata verify --help") from e
    except OSError as e:
        at = str(e.filename) if e.filename and str(e.filename) not in where else where
        raise RunFailed("cannot verify", at, said(e)) from e
    asked = False
    while (done := running.wait(POLL_S)) is None:
        raw = json.loads(running.poll())
        on_progress(VerifyProgress(pass_=raw.pop("pass"), **raw))
        if not asked and stop_requested():
            running.stop()
            asked = True
    return Verified.model_validate_json(done)
