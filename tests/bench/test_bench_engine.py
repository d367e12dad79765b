"""The engine's benchmark runs: every line of its table is there, with a number or the reason why there is none."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from absent import absent

ROOT = Path(__file__).resolve().parents[2]
OWN = {
    "rate error, constant 1,000/s",
    "rate error, constant 20,000/s",
    "rate error, constant 200,000/s",
    "rate error, Poisson 1,000/s",
    "rate error, Poisson 20,000/s",
    "rate error, Poisson 200,000/s",
    "lag p99 at 20,000/s",
    "overload flagged",
    "histogram, largest error",
    "histogram, one record",
    "histogram, merge of parts equals the whole",
    "statistics on − off, null, depth 32",
    "command to first I/O, native core",
    "command to first I/O, whole CLI",
    "mean latency against 1/IOPS, depth 1",
}
BESIDE_FIO = {
    "user CPU/IO, hot file, depth 32",
    "total CPU/IO, hot file, depth 32",
    "total CPU/IO, hot file, depth 1",
    "IOPS of one core, hot file, depth 32",
    "IOPS of one core, hot file, depth 1",
    "user CPU/IO, nop",
    *(f"{what}, O_DIRECT, depth {depth}" for what in ("IOPS", "user CPU/IO") for depth in (1, 8, 32)),
}
BESIDE_OTHERS = {
    "user instructions/IO, depth 32 batch 8",
    "user instructions/IO, pread",
    "NBD client, 4 KiB random read, depth 32",
    "NBD client, 256 KiB sequential read, depth 16",
    "threads 1 → 2, null",
}


@pytest.mark.ci
@pytest.mark.first
@pytest.mark.peer
def test_the_smoke_run_fills_every_line(tmp_path: Path) -> None:
    if shutil.which("cargo") is None:
        absent("cargo is not installed: it builds the programs of the benchmark")
    told = tmp_path / "rows.json"
    words = [sys.executable, "benches/engine/run.py", "--smoke", "--json", str(told)]
    env = {k: v for k, v in os.environ.items() if k != "T_IO_URING"} | {"PYTHONPATH": str(ROOT / "src")}
    done = subprocess.run(words, cwd=ROOT, env=env, capture_output=True, text=True, check=False, timeout=280)
    assert done.returncode == 0, done.stderr[-2000:]
    rows = json.loads(told.read_text())["rows"]
    assert {row["measure"] for row in rows} == OWN | BESIDE_FIO | BESIDE_OTHERS
    assert [row["why_not"] for row in rows if row["estimate"] is None and not row["why_not"]] == []
    numbers = {row["measure"] for row in rows if row["estimate"] is not None}
    # Where O_DIRECT, ptrace or a second processor is refused, the row says so; all else has a number.
    assert OWN - numbers <= {"mean latency against 1/IOPS, depth 1"}
    assert shutil.which("fio")
    assert {m for m in BESIDE_FIO - numbers if "O_DIRECT" not in m} == set()
    for row in rows:
        assert f"| {row['measure']} | {row['against']} | " in done.stdout
