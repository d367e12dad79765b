"""The order of tests that several workers share: the processors have work all the time, and all workers end together.

Sorted by folder, as they are collected, all that computes is done in the first half, and in the second all workers
wait. A long test that begins last is waited for by the others.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby, islice
from pathlib import Path

WAITING = ("contract", "lab", "scenarios")
"""Folders whose tests wait half of their time for processes and measurements; those of the others compute."""


def shared_by(workers: int, files: Sequence[tuple[str, Path]], first: Sequence[bool]) -> list[int]:
    """The numbers of the tests in their new order. ``files``: folder and file of each; ``first``: whether a worker is
    to begin with it.

    It fits ``--dist worksteal``: each worker gets an equal run of the list, and who is done gets the end of another's.
    Each run begins with its part of ``first``; files stay whole, and those that wait are spread over the others.
    """
    long = [n for n, begins in enumerate(first) if begins]
    kinds: tuple[list[list[int]], list[list[int]]] = ([], [])
    for (folder, _), tests in groupby((n for n, begins in enumerate(first) if not begins), lambda n: files[n]):
        kinds[folder in WAITING].append(list(tests))
    spread = [(at / len(kind), tests) for kind in kinds for at, tests in enumerate(kind)]
    mixed = iter([n for _, tests in sorted(spread) for n in tests])
    ordered: list[int] = []
    for worker in range(workers):
        begins = long[worker::workers]
        run = (len(files) - len(ordered)) // (workers - worker)
        ordered += [*begins, *islice(mixed, max(0, run - len(begins)))]
    return [*ordered, *mixed]
