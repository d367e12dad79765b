#!/usr/bin/env python3
"""What each way to the data costs: `make bench-lab`, or `benches/lab/run.py`. README.md beside this says how.

Prints Markdown tables; `--json FILE` writes the same with all digits. Needs root: the labs are made and removed here.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import re
import sys
import time
from collections import defaultdict
from contextlib import suppress
from pathlib import Path

from labbench import measuring
from labbench.rows import Round, Row, table

from strata.engine import Timing
from strata.errors import StrataError
from strata.model.stack import Stack
from strata_lab import disks
from strata_lab.down import down
from strata_lab.lab import Lab
from strata_lab.up import up

ALL: tuple[tuple[str, dict[str, str]], ...] = (
    ("cluster-volume", {}),
    ("cluster-volume", {"medium": "none"}),
    ("mirrored", {"engine": "gluster"}),
    ("mirrored", {"engine": "gluster", "copies": "3"}),
    ("mirrored", {"engine": "btrfs"}),
    ("mirrored", {"engine": "btrfs", "copies": "3"}),
    ("vm-disks", {}),
)
CEPH = (("mirrored", {"engine": "ceph"}), ("mirrored", {"engine": "ceph", "copies": "3"}))


def main() -> int:
    """Every stack asked for, one after the other."""
    words = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    quick = bool(os.environ.get("QUICK"))
    words.add_argument("--rounds", type=int, default=3 if quick else 5)
    words.add_argument(
        "--seconds", type=float, default=0.5 if quick else 1.0, help="of each measurement, after its ramp"
    )
    # GlusterFS keeps its lock on a file for up to a second after a write: the next client waits for it once.
    words.add_argument("--ramp", type=float, default=1.0, help="seconds of each measurement that are not counted")
    words.add_argument("--ceph", action="store_true", help="Ceph too: half a minute to build, 1 GB of memory")
    words.add_argument("--only", help="stacks whose name and options match this expression")
    words.add_argument("--workloads", help="those whose name matches this expression")
    words.add_argument("--json", type=Path, help="write the rows here")
    words.add_argument("--seed", type=int, default=1)
    asked = words.parse_args()
    if os.geteuid():
        print("error: a lab of several nodes needs root", file=sys.stderr)
        return 2
    rows: list[Row] = []
    for stack, options in (*ALL, *(CEPH if asked.ceph else ())):
        title = " ".join([stack, *(f"{k}={v}" for k, v in options.items())])
        if not asked.only or re.search(asked.only, title):
            rows += bench(stack, options, title, asked)
    print(table(rows))
    clock, load = measuring.clock_hz() / 1e9, os.getloadavg()[0]
    print(f"\nClock {clock:.2f} GHz, {os.cpu_count()} processors; load average {load:.1f}.")
    if asked.json:
        asked.json.write_text(json.dumps([r.as_json() for r in rows], indent=1) + "\n")
    return 0


def bench(stack: str, options: dict[str, str], title: str, asked: argparse.Namespace) -> list[Row]:
    """One lab: up, every layer under every workload in rounds, down."""
    name = f"bench{os.getpid() % 100_000}"
    begun = time.monotonic()
    lab = up(stack, name, options, say=lambda words: print(f"· {words}", file=sys.stderr))
    try:
        print(f"· {title}: up after {time.monotonic() - begun:.1f} s", file=sys.stderr, flush=True)
        return measured(lab, title, asked)
    finally:
        down(lab, lambda words: print(f"· {words}", file=sys.stderr))


def measured(lab: Lab, title: str, asked: argparse.Namespace) -> list[Row]:
    """Rounds in which the order of the layers is shuffled, so that drift of the machine cancels."""
    stack = Stack.from_toml((lab.data / "stack.toml").read_text())
    volume = lab.facts("volume")[0]
    virtual = lab.last_fact("disks")
    places = measuring.places(stack, Path(volume["file"]), volume["fs"], virtual["uris"] if virtual else ())
    counted = measuring.Counted(
        {n.name: n.netns for n in lab.nodes if n.netns is not None},
        lab.token,
        tuple(disks.control(lab, fact["name"]) for fact in lab.facts("disk")),
    )
    timing = Timing(ramp_s=asked.ramp, runtime_s=asked.seconds, interval_s=asked.seconds)
    shuffled = random.Random(asked.seed)
    rows = []
    for workload, shape in measuring.WORKLOADS:
        if asked.workloads and not re.search(asked.workloads, workload):
            continue
        rounds: dict[str, list[Round]] = defaultdict(list)
        for number in range(asked.rounds):
            for place in shuffled.sample(places, len(places)):
                rounds[place.layer.name].append(measuring.once(place, shape, timing, number, counted))
        print(f"· {time.strftime('%H:%M:%S')} {title}: {workload}", file=sys.stderr, flush=True)
        rows += measuring.rows(title, workload, rounds, [p.layer for p in places])
    return rows


if __name__ == "__main__":
    try:
        sys.exit(main())
    except StrataError as e:
        with suppress(BrokenPipeError):
            print(e.render(), file=sys.stderr)
        sys.exit(e.exit_code)
