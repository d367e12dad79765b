"""The axes of a matrix from words, and the bound of what it writes."""

from __future__ import annotations

import pytest

from strata.errors import UsageError
from strata.model.workload import Sync
from strata.plan.matrix import matrix_of, most_written
from strata.units import GIB, KIB


@pytest.mark.parametrize(("name", "cells"), [("full", 280), ("published", 280), ("small", 80)])
def test_named_matrices(name: str, cells: int) -> None:
    grid, workloads = matrix_of(name)
    assert grid.cells == cells == len(workloads) == len({w.key for w in workloads})
    assert len(grid.patterns) == 5 and "random 70/30" in grid.patterns
    assert all((w.sync is Sync.DSYNC) == w.rw.writes and w.direct for w in workloads)


def test_the_published_one_is_that_of_the_method() -> None:
    grid, _ = matrix_of("published")
    assert grid.depths == (1, 4, 16, 32, 64, 128, 256)
    assert grid.sizes == tuple(n * KIB for n in (4, 8, 16, 64, 128, 256, 512, 1024))


def test_words_of_ones_own() -> None:
    grid, workloads = matrix_of("rw=randread,randrw:90; bs=64k,4k; iodepth=8,1", direct=False, sync=Sync.NONE)
    assert (grid.depths, grid.sizes) == ((1, 8), (4 * KIB, 64 * KIB))
    assert grid.patterns == ("random read", "random 90/10") and len(workloads) == 8
    assert not any(w.direct for w in workloads)
    only, _ = matrix_of("full", read_only=True)
    assert only.patterns == ("sequential read", "random read")


@pytest.mark.parametrize(
    "text",
    [
        "big", "bs=4k;bs=8k", "iodepth=zero", "iodepth=0", "bs=4000", "bs=4kb", "rw=trim", "rw=read:70",
        "rw=randrw:170", "iodepth=" + ",".join(map(str, range(1, 60))) + ";bs=4k,8k,16k,32k",
    ],
)  # fmt: skip
def test_what_is_no_matrix_is_refused(text: str) -> None:
    with pytest.raises(UsageError):
        matrix_of(text)


def test_only_writing_cells_left_by_read_only_is_refused() -> None:
    with pytest.raises(UsageError):
        matrix_of("rw=write", read_only=True)


def test_the_bound_of_bytes_holds_the_fill_and_nothing_where_nothing_writes() -> None:
    reads = matrix_of("rw=randread")[1]
    assert most_written(reads, 1, 60.0, GIB) == GIB
    assert most_written(matrix_of("full")[1], 1, 60.0, GIB) >= GIB + 60 * GIB
