"""What is done for a point of a sweep: to the workload, to what it is issued to, and to the stack itself."""

from __future__ import annotations

import os
import shlex
import tempfile
from collections.abc import Callable, Mapping, Sequence

from strata.engine import Piece
from strata.errors import RunFailed, UsageError
from strata.host import process
from strata.model.access import ByteRange
from strata.model.axis import Axis
from strata.model.placement import Placement
from strata.model.plan import Cell
from strata.model.workload import Workload
from strata.text import secrets

Changed = Mapping[str, object]
HOLE = "{}"
"""Where the number goes in a command."""
SAID = 300
"""Characters of what a command said that an error repeats, the last ones."""
READ_BYTES = 4 * SAID
"""Of what it said: four bytes are the longest character."""


def _over_disks(base: Workload, disks: int) -> Changed:
    """The same I/Os in flight over so many: each disk has a client of its own with its part of them."""
    arrival = base.arrival.model_copy(update={"iodepth": each_thread(base) // disks})
    if disks == 1:
        return {"clients": 1, "shares": (), "deal": "share", "arrival": arrival}
    return {"clients": disks, "shares": (1,) * disks, "deal": "client", "arrival": arrival}


def each_thread(base: Workload) -> int:
    """I/Os in flight of each thread, over all disks."""
    return base.arrival.iodepth * base.clients


WORKLOADS: Mapping[Axis, Callable[[Workload, int], Changed]] = {
    Axis.IODEPTH: lambda base, n: {"arrival": base.arrival.model_copy(update={"iodepth": n})},
    Axis.THREADS: lambda _, n: {"threads": n},
    Axis.CLIENTS: lambda _, n: {"clients": n},
    Axis.NODES: lambda _, n: {"clients": n},
    Axis.BS: lambda _, n: {"bs": n},
    Axis.RANGE: lambda _, n: {"range": ByteRange(start=0, length=n)},
    Axis.DISKS: _over_disks,
}
"""What changes in the workload; of an axis that is not here nothing does."""

PIECES: Mapping[str, Callable[[Sequence[Piece], int], Sequence[Piece]]] = {
    Axis.CONNECTIONS.value: lambda pieces, n: [p.model_copy(update={"endpoint": p.endpoint.over(n)}) for p in pieces],
    Axis.DISKS.value: lambda pieces, n: pieces[:n],
}
"""What of the targets is driven, and how it is reached."""

PLACEMENTS: Mapping[str, Callable[[Sequence[int], int], Placement]] = {
    Axis.CORES.value: lambda cpus, n: Placement(cpus=tuple(cpus[:n])),
}
"""Where the threads of the load run, of the CPUs that there are."""


def pieces_at(cell: Cell, pieces: Sequence[Piece]) -> Sequence[Piece]:
    """What of ``pieces`` this cell drives."""
    axis, value = cell.at or ("", 0)
    return PIECES[axis](pieces, value) if axis in PIECES else pieces


def placed_at(cell: Cell, placement: Placement | None, cpus: Sequence[int]) -> Placement | None:
    """Where the load's threads run in this cell. ``cpus``: those that the process which drives it may use."""
    axis, value = cell.at or ("", 0)
    return PLACEMENTS[axis](cpus, value) if axis in PLACEMENTS else placement


def words_of(command: str, option: str, example: str) -> Sequence[str]:
    """As a shell would split it; nothing of it is run by one. Raises `UsageError`."""
    try:
        words = shlex.split(command)
    except ValueError as e:
        raise UsageError(f"cannot use {option}", command, str(e), example) from e
    if not words:
        raise UsageError(f"cannot use {option}", repr(command), "it names no command", example)
    return words


def filled(words: Sequence[str], value: int) -> Sequence[str]:
    """With the number in its place."""
    return [word.replace(HOLE, str(value)) for word in words]


def run_users(words: Sequence[str], what: str, most: int = READ_BYTES) -> str:
    """A command of the user's, until it ends, and the last ``most`` bytes of what it said. Raises `RunFailed` that
    begins with ``what``, with what it said."""
    # Into a file, not a pipe: what the command leaves running would hold a pipe open.
    with tempfile.TemporaryFile() as told:
        try:
            with process.begin_users(words, told.fileno(), process.STDOUT) as child:
                code = child.wait()
        except OSError as e:
            raise RunFailed(what, words[0], e.strerror or str(e)) from e
        told.seek(max(0, told.seek(0, os.SEEK_END) - most))
        said = told.read().decode("utf-8", "replace")
    if code:
        text = said.strip()[-SAID:] or "no output"
        raise RunFailed(what, shlex.join(secrets.hidden_line(words)), f"exit status {code}: {text}")
    return said


class Maker:
    """Makes points by a command of the user's, in which ``{}`` stands for the number. ``now``: how many there are."""

    def __init__(self, axis: Axis, command: str, now: int) -> None:
        self._words = words_of(command, "--make", EXAMPLE)
        if not any(HOLE in word for word in self._words):
            raise UsageError("cannot use --make", command, f"it has no {HOLE} for the number", EXAMPLE)
        if now < 1:
            raise UsageError("cannot use --now", str(now), "it must be at least 1", EXAMPLE)
        self.axis, self.command, self.now = axis, secrets.hidden_command(command), now
        self.at: int | None = now
        """How many there are; None: a command failed, and nobody knows."""

    def make(self, value: int) -> None:
        """So many from now on; nothing is done where there are so many. Raises `RunFailed` with what it said."""
        if value == self.at:
            return
        self.at = None
        run_users(filled(self._words, value), f"cannot set {self.axis.value}={value} with")
        self.at = value

    def put_back(self) -> str | None:
        """As many as there were; None, or why not in words."""
        try:
            self.make(self.now)
        except RunFailed as e:
            return f"{self.axis.value} was not restored to {self.now}: {e.headline}"
        return None


EXAMPLE = "for example: --make 'attach-disks {}' --now 4"
