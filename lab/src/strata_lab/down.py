"""Removing a lab: everything the ledger names, newest first, whoever made it and however that ended."""

from __future__ import annotations

import time
from collections.abc import Callable

from strata.errors import RunFailed, StrataError
from strata_lab import proc
from strata_lab.belongs import complaint
from strata_lab.lab import Lab, boot_id
from strata_lab.ledger import Gone, Line
from strata_lab.leftovers import of_its_own
from strata_lab.undo import HANDLERS, OF_THIS_BOOT

_PASSES = 3

Say = Callable[[str], None]


def down(lab: Lab, say: Say = lambda _: None) -> int:
    """Removes the lab once nobody else works on it; how many lines of its ledger were undone. Raises as `remove`."""
    try:
        with lab.ledger.locked(say=say):
            # What was there to be read before the lock was waited for is not all.
            return remove(Lab(lab.ledger), say)
    except Gone:
        say(f"the lab {lab.name} was removed in the meantime")
        return 0


def remove(lab: Lab, say: Say) -> int:
    """The same for whoever holds the lock.

    What does not go at first (a mount whose server has to end before) is tried again when the rest is gone. What is no
    line of this lab's is passed over, and that is said. Raises `RunFailed` naming what is left, by the ledger and by
    the kernel; the ledger then stays, so that `down` can be called again.
    """
    todo = _obeyed(lab, say)
    count = len(todo)
    for attempt in range(_PASSES):
        todo = _pass(todo, say, last=attempt == _PASSES - 1)
        if lab.token:
            proc.end(proc.marked(lab.token))
        if not todo:
            break
        time.sleep(0.1 * attempt)
    left = [f"{line['undo']} {_what(line)}" for line in todo]
    if left := [*left, *of_its_own(lab.data, lab.token)]:
        hint = f"stop what uses it, then: strata lab down --name {lab.name}"
        raise RunFailed("cannot remove all parts of the lab", lab.name, f"{len(left)} left", hint, tuple(left))
    lab.ledger.forget()
    return count


def _obeyed(lab: Lab, say: Say) -> list[Line]:
    """The lines to carry out, newest first."""
    for number in lab.ledger.damaged():
        say(f"line {number} of {lab.ledger.path} is damaged and ignored: what it describes may not be removed")
    boot = lab.ledger.head.get("boot")
    # Whose first line is damaged says nothing of the boot; what it names is known by more than a number.
    gone = OF_THIS_BOOT if boot is not None and boot != boot_id() else frozenset()
    found = []
    for line in lab.ledger.undos():
        if why := complaint(line, lab.name, lab.data):
            say(f"not removed: {line['undo']} {_what(line)}: {why}")
        elif line["undo"] not in gone:
            found.append(line)
    return found


def _pass(lines: list[Line], say: Say, last: bool) -> list[Line]:
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
