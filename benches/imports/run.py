#!/usr/bin/env python3
"""How long others' results take to be imported: 1,000 JSON files of fio, and 100 MB of its log (see README.md)."""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
FIXTURE = ROOT / "tests" / "data" / "imports" / "fio-mixed.json"
FILES_LIMIT_S = 20.0
LOG_LIMIT_S = 10.0
MEMORY_LIMIT_MIB = 512


def main() -> int:
    """Makes the files, imports them into a store, prints; 1 where a limit is missed."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--files", type=int, default=1000)
    parser.add_argument("--log-mb", type=int, default=100)
    parser.add_argument("--dir", type=Path, default=None, help="where files and store are made; removed afterwards")
    asked = parser.parse_args()
    print("| what | wall | processor | most memory | limit |")
    print("| :-- | --: | --: | --: | --: |")
    with tempfile.TemporaryDirectory(prefix="strata-bench-imports-", dir=asked.dir) as name:
        folder = Path(name)
        results = folder / "results"
        results.mkdir()
        document = json.loads(FIXTURE.read_text())
        for n in range(asked.files):
            document["timestamp"] = 1_700_000_000 + n
            (results / f"{n:05}.json").write_text(json.dumps(document))
        log = folder / "big_lat.1.log"
        with log.open("w") as file:
            lines = 0
            while file.tell() < asked.log_mb * 1_000_000:
                file.writelines(
                    f"{i // 20}, {20_000 + i * 7919 % 880_000}, {i & 1}, 4096, 0\n"
                    for i in range(lines, lines + 50_000)
                )
                lines += 50_000
        late = imported(f"{asked.files} JSON files", results, folder / "a.db", FILES_LIMIT_S)
        late |= imported(f"{log.stat().st_size / 1e6:.0f} MB of log, {lines} lines", log, folder / "b.db", LOG_LIMIT_S)
    print(
        f"\nload {os.getloadavg()[0]:.1f} at the end, {os.cpu_count()} processors; "
        f"within the limits: {'no' if late else 'yes'}"
    )
    return int(late)


def imported(what: str, path: Path, store: Path, limit_s: float) -> bool:
    """Prints a line; whether it took too long, or too much memory."""
    words = [sys.executable, "-m", "strata", "import", str(path), "--store", str(store), "--json"]
    environment = os.environ | {"PYTHONPATH": str(ROOT / "src")}
    began = time.perf_counter()
    child = subprocess.Popen(words, stdout=subprocess.DEVNULL, env=environment)
    _, status, usage = os.wait4(child.pid, 0)
    took = time.perf_counter() - began
    if status:
        raise SystemExit(f"error: import ended with {status}")
    memory = usage.ru_maxrss / 1024
    print(
        f"| {what} | {took:.1f} s | {usage.ru_utime + usage.ru_stime:.1f} s | {memory:.0f} MiB | "
        f"{limit_s:.0f} s, {MEMORY_LIMIT_MIB} MiB |",
        flush=True,
    )
    return took > limit_s or memory > MEMORY_LIMIT_MIB


if __name__ == "__main__":
    sys.exit(main())
