"""The engine's own cost must not grow: user instructions for each I/O, counted by single-step, have limits."""

from __future__ import annotations

import shutil
import tomllib
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from absent import absent
from enginebench import counting, ours
from enginebench.context import Context, context

LIMITS: dict[str, dict[str, float]] = tomllib.loads(
    (Path(__file__).resolve().parents[2] / "benches" / "engine" / "limits.toml").read_text()
)
# It makes no system call that would mark a turn of the loop, so it takes two long counts.
SLOW = pytest.mark.slow


@pytest.fixture(scope="module")
def bench() -> Iterator[Context]:
    if shutil.which("cargo") is None:
        absent("cargo is not installed: it builds the programs of the benchmark")
    with context(rounds=1, seconds=0.01, smoke=True, directory=None) as made:
        # Its small file is enough; a count that is held to a limit is taken whole.
        yield replace(made, smoke=False)


def test_every_gated_shape_has_a_limit() -> None:
    assert set(LIMITS) == set(counting.GATED)


@pytest.mark.parametrize("shape", [pytest.param(s, marks=SLOW if s == "null" else ()) for s in counting.GATED])
def test_an_io_costs_no_more_user_instructions_than_allowed(bench: Context, shape: str) -> None:
    clock: dict[str, Any] = ours.result(bench, ours.on_null(bench))[0]["engine"]["clock"]
    if clock["kind"] != "tsc":
        pytest.skip(f"the clock here is {clock['kind']}; the limits are for the CPU's counter")
    limit = LIMITS[shape]["limit"]
    try:
        count = counting.mine(bench, shape)
        # A page that was pushed out of the cache meanwhile makes its I/O wait, which takes more turns of the loop.
        for _ in range(2):
            count = min(count, counting.mine(bench, shape)) if count > limit else count
    except PermissionError as e:
        pytest.skip(str(e))
    assert 20 < count <= limit, f"{count:.1f} user instructions for each I/O at {shape}"
