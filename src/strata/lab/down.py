"""Removing a lab: everything the ledger names, newest first, whoever made it and however that ended."""

from __future__ import annotations

import time
from collections.abc import Callable

from strata.errors import RunFailed, StrataError
from strata.lab import proc
from strata.lab.lab import Lab, boot_id
from strata.lab.ledger import Line
from strata.lab.undo import HANDLERS, OF_THIS_BOOT

_PASSES = 3


def down(lab: Lab, say: Callable[[str], None] = lambda _: None) -> int:
    """Removes the lab; how many lines of its ledger were undone.

    What does not go at first (a mount whose server has to end before) is tried again when the rest is gone. Raises
    `RunFailed` naming what is left; the ledger then stays, so that `down` can be called again.
    """
    with lab.ledger.locked():
        # A line may have been added while the lock was waited for.
        todo = lab.ledger.undos()
        if lab.ledger.head.get("boot") != boot_id():
            todo = [line for line in todo if line["undo"] not in OF_THIS_BOOT]
        count = len(todo)
        for attempt in range(_PASSES):
            todo = _pass(todo, say, last=attempt == _PASSES - 1)
            if lab.token:
                proc.end(proc.marked(lab.token))
            if not todo:
                break
            time.sleep(0.1 * attempt)
        if todo:
            left = tuple(f"{line['undo']} {_what(line)}" for line in todo)
            raise RunFailed("cannot remove all of the lab", lab.name, f"{len(left)} left", "", left)
        lab.ledger.forget()
    return count


def _pass(lines: list[Line], say: Callable[[str], None], last: bool) -> list[Line]:
    left = []
    for line in lines:
        # A directory goes when everything in it is gone.
        try:
            HANDLERS[str(line["undo"])](line)
        except (StrataError, OSError) as e:
            left.append(line)
            if last:
                say(e.headline if isinstance(e, StrataError) else f"{line['undo']} {_what(line)}: {e}")
    return left


def _what(line: Line) -> str:
    return str(line.get("path") or line.get("name") or line.get("backing") or line.get("pid") or "")
