"""What the tests of the trace need: tracefs, and load whose order is known."""

from __future__ import annotations

import mmap
import os
import random
import subprocess
import threading
from collections.abc import Sequence

from commands import STRATA

from strata_lab import tracefs

BLOCK = 8192
HIDDEN = ["unshare", "--mount", "sh", "-c", 'umount -a -t tracefs; exec "$@"', "sh"]
"""Words before a command that may not trace."""


def with_tracefs(*argv: object) -> list[str]:
    """The command, with a tracefs."""
    return tracefs.with_tracefs(argv)


def trace(*words: object) -> subprocess.CompletedProcess[str]:
    """`strata trace WORDS…` to its end."""
    argv = with_tracefs(*STRATA, "trace", *words)
    return subprocess.run(argv, capture_output=True, text=True, timeout=120, check=False)


def read_in_order(device: str, blocks: Sequence[int], threads: int = 1) -> None:
    """Direct reads of these blocks exactly in this order, by several threads that take turns."""
    turn = threading.Condition()
    done: list[int] = []

    def work(mine: int) -> None:
        buffer = mmap.mmap(-1, BLOCK)
        fd = os.open(device, os.O_RDONLY | os.O_DIRECT)
        try:
            for place in range(mine, len(blocks), threads):
                with turn:
                    while len(done) != place:
                        turn.wait()
                    os.preadv(fd, [buffer], blocks[place] * BLOCK)
                    done.append(place)
                    turn.notify_all()
        finally:
            os.close(fd)

    workers = [threading.Thread(target=work, args=(n,)) for n in range(threads)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()


def jittered(count: int, most: int, seed: int = 7) -> list[int]:
    """0…count, each held up by fewer than ``most`` places; the first 16 in order."""
    rng = random.Random(seed)
    late = sorted(range(16, count), key=lambda block: (block + rng.randrange(most), block))
    return [*range(16), *late]


def extents(blocks: Sequence[int]) -> list[int]:
    """RFC 4737 word for word: for each block that comes behind a later one, the distance to the earliest such."""
    found = []
    for place, block in enumerate(blocks):
        before = [i for i, other in enumerate(blocks[:place]) if other > block]
        found += [place - before[0]] if before else []
    return sorted(found)
