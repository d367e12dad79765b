"""The kernel's log, from the oldest line it still has to the newest, within bounds.

/dev/kmsg gives one record a read (admin-guide: ``priority,number,microseconds,flags;text``); reading takes nothing away
from other readers. Where ``kernel.dmesg_restrict`` is set, as on most machines, only root may.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass

from strata.host.proc import Sys, descriptor

_PATH = "/dev/kmsg"
_RECORD_BYTES = 8192
RECORDS_MOST = 200_000
"""The largest ring that Linux is built with (32 MiB) holds fewer."""
_GONE_MOST = 100
_OVERTAKEN, _NOTHING_MORE = (BrokenPipeError,), (BlockingIOError,)


@dataclass(frozen=True)
class Record:
    """``number`` counts from 0 at the start of the machine, ``seconds`` since then; ``level``: 3 is an error."""

    number: int
    seconds: float
    level: int
    text: str


def parse(record: bytes) -> Record | None:
    """One record; None when it is not one. Lines that follow its text are left out: they are keys for programs."""
    head, semicolon, text = record.decode("utf-8", "replace").partition(";")
    words = head.split(",")
    if not semicolon or len(words) < 3 or not all(word.isdigit() for word in words[:3]):
        return None
    return Record(int(words[1]), int(words[2]) / 1e6, int(words[0]) & 7, text.partition("\n")[0])


def records(sys: Sys) -> Iterator[Record]:
    """Every record that is there now. Raises `OSError` where it may not be read."""
    if not sys.live:
        yield from filter(None, map(parse, sys.at(_PATH).read_bytes().splitlines()))
        return
    with descriptor(_PATH, os.O_RDONLY | os.O_NONBLOCK) as fd:
        gone = 0
        for _ in range(RECORDS_MOST):
            try:
                record = parse(os.read(fd, _RECORD_BYTES))
            except _OVERTAKEN:
                # What was next has been overwritten; reading goes on with the oldest that is left.
                gone += 1
                if gone > _GONE_MOST:
                    return
                continue
            except _NOTHING_MORE:
                return
            if record is not None:
                yield record
