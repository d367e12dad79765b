"""kill -9 of a process that saves cells as fast as it can: what it was told is saved, is there."""

from __future__ import annotations

import random
import signal
import sqlite3
import subprocess
import sys
import time

import pytest
import store_samples as sample
from tiers import rest_in_ci

from strata.store import open_store

WRITER = """
import os, sys
import store_samples as sample
from strata.store import open_store
with open_store(sys.argv[1]) as store:
    for n in range(int(sys.argv[2]), 10**6):
        # In one call: a line that the kill cuts in two would say nothing.
        os.write(1, b'begin %d\\n' % n)
        store.save_cell(sample.run().id, sample.cell(n))
        os.write(1, b'saved %d\\n' % n)
"""


def killed_writer(path, first, steps, delay_s):
    """Lets a writer save ``steps`` cells, waits, kills it; gives the last step it said was saved, and all it said."""
    child = subprocess.Popen(
        [sys.executable, "-c", WRITER, str(path), str(first)], env=sample.child_environment(), stdout=subprocess.PIPE,
        text=True,
    )  # fmt: skip
    assert child.stdout is not None
    said = []
    try:
        while len(said) < 2 * steps and (line := child.stdout.readline()):
            said.append(line.split())
        time.sleep(delay_s)
    finally:
        child.send_signal(signal.SIGKILL)
        said += [line.split() for line in child.stdout.readlines()]
        child.stdout.close()
        assert child.wait() == -signal.SIGKILL
    return [int(n) for word, n in said if word == "saved"]


@pytest.mark.parametrize("seed", rest_in_ci(range(4), every_day=1))
def test_kill_nine_leaves_every_committed_cell_and_an_intact_store(tmp_path, seed):
    path = tmp_path / "strata.db"
    rng = random.Random(seed)
    with open_store(str(path)) as store:
        store.create_run(sample.run())
    kept = 0
    for _ in range(2):
        saved = killed_writer(path, kept, rng.randrange(1, 12), rng.random() * 0.02)
        with open_store(str(path)) as store:
            cells = store.cells(sample.run().id)
        # The one that was being committed may be there or not; all before it are, and nothing else is.
        assert len(cells) - (max(saved) + 1) in (0, 1)
        assert cells == tuple(sample.cell(n) for n in range(len(cells)))
        kept = len(cells)
        db = sqlite3.connect(path)
        assert db.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
        db.close()


@pytest.mark.ci
def test_kill_nine_with_a_log_that_was_never_brought_home(tmp_path):
    """Opening alone must not lose what lies in the log, nor take it for damage."""
    path = tmp_path / "strata.db"
    with open_store(str(path)) as store:
        store.create_run(sample.run())
    saved = killed_writer(path, 0, 5, 0.0)
    log = path.with_name("strata.db-wal")
    assert log.stat().st_size > 0
    with open_store(str(path)) as store:
        assert {c.order for c in store.cells(sample.run().id)} >= set(saved)
