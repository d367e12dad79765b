#!/usr/bin/env python3
"""A load runs while a storage node joins and while it leaves again: `make bench-scale ARGS=--elastic`, as root.

Beside it `strata verify` writes and reads another disk of the same store. Printed are the dip, the time to recover, the
new level, where the data was before and after, and whether anything was lost.
"""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

from scalebench.doing import model

from strata import units
from strata.analyse.scaling.elastic import ElasticResult, Moment, elastic
from strata.errors import RunFailed, StrataError
from strata.host import process, programs
from strata_lab import disks, stacks
from strata_lab.client import inside
from strata_lab.down import down
from strata_lab.lab import Lab
from strata_lab.stacks.vm_disks.build import spread
from strata_lab.up import up

SECONDS, FIRST_S = 40.0, 8.0
BEGUN = 500
"""Reads of a disk, more than whoever looks at its target before makes."""
WORDS = "c=4 svc=4000"
KEPT = Path(__file__).parent / "elastic.jsonl"


def main() -> int:
    """Join, then leave."""
    lab = up("vm-disks", f"elastic{os.getpid() % 10_000}", {"disks": "2", "queue": "16", "data": "16m"})
    try:
        model(WORDS)(lab)
        told = [during(lab, "a node joins", joined), during(lab, "the node leaves", stacks.shrink)]
    finally:
        down(lab, lambda _: None)
    KEPT.write_text("".join(json.dumps(one) + "\n" for one in told))
    print("\n".join(table(told)))
    return 0 if all(one["verified"] for one in told) else 1


def joined(lab: Lab) -> str:
    """One node more, with a disk like the others'."""
    name = stacks.grow(lab)
    model(WORDS)(lab)
    return name


def during(lab: Lab, name: str, do: Callable[[Lab], str]) -> dict[str, Any]:
    """A load on the first disk and a verification of the second, and the change in the middle of them."""
    fact = lab.last_fact("disks")
    assert fact is not None, "a stack of virtual disks"
    reads, checked = fact["uris"][:2]
    held = spread(lab)
    words = ["measure", reads, "--rw", "randread", "--bs", "8k", "--iodepth", "16", "--interval", "100ms"]
    load = begun(lab, *words, "--ramp-time", "1s", "--runtime", f"{SECONDS:g}s")
    words = ["verify", checked, "--destructive", checked, "--bs", "8k", "--iodepth", "2", "--runtime", f"{SECONDS:g}s"]
    check = begun(lab, *words)
    running(lab)
    time.sleep(FIRST_S)
    first = time.time_ns()
    do(lab)
    last = time.time_ns()
    out, said = load.communicate(timeout=180)
    verified, problems = check.communicate(timeout=180)
    if load.returncode:
        raise RunFailed("cannot measure", reads, said[-500:])
    result = json.loads(out)["result"]
    origin = result["started_unix_ns"] + result["ramp_ns"]
    series = [
        Moment((i["start_ns"] + i["end_ns"]) / 2e9, i["read"]["ops"] / (i["end_ns"] - i["start_ns"]) * 1e9)
        for i in result["intervals"]
    ]
    found = elastic(series, (first - origin) / 1e9, (last - origin) / 1e9)
    if found is None:
        raise RunFailed("cannot judge", name, f"the change took {(last - first) / 1e9:.1f} s, too long for the load")
    if check.returncode not in (0, 3):
        raise RunFailed("cannot verify", checked, problems[-500:])
    checked_of = json.loads(verified)["result"]
    return {
        "change": name, "seconds": round((last - first) / 1e9, 2), "spread_before": held, "spread_after": spread(lab),
        "verified": check.returncode == 0, "written": checked_of["writes"], "read_back": checked_of["verified_blocks"],
        "begun_s": round((first - origin) / 1e9, 2), "ended_s": round((last - origin) / 1e9, 2), **figures(found),
        "series": [[round(m.at, 2), round(m.rate)] for m in series],
    }  # fmt: skip


def running(lab: Lab) -> None:
    """Waits until the loads have begun: a busy machine starts them late."""
    control = disks.control(lab, "s1")
    until, there = time.monotonic() + 30, control.truth().read.n
    while control.truth().read.n < there + BEGUN and time.monotonic() < until:
        time.sleep(0.1)


def figures(found: ElasticResult) -> dict[str, Any]:
    """As they are kept."""
    ends = {n: [round(v, 1) for v in (e.value, e.low or e.value, e.high or e.value)] for n, e in
            (("before", found.before), ("after", found.after))}  # fmt: skip
    return {**ends, "dip": round(found.dip, 3), "recovered_s": found.recovered_s, "gain": round(found.gain, 3)}


def begun(lab: Lab, *words: str) -> process.Process[str]:
    """A command of Strata in the host of the disks."""
    line = inside(lab, lab.node("host"), programs.python("strata", *words, "--json", "--progress", "none"))
    return process.begin(
        line, lab.environment, preexec_fn=process.dies_with_us(), stdout=process.PIPE, stderr=process.PIPE, text=True
    )


def table(told: list[dict[str, Any]]) -> list[str]:
    """Markdown."""
    lines = ["| change | took | before | dip | recovered after | new level | gain | data before | data after | lost |"]
    lines.append("|---|--:|--:|--:|--:|--:|--:|---|---|---|")
    for one in told:
        held = [", ".join(f"{n} {units.size(b)}" for n, b in one[k].items()) for k in ("spread_before", "spread_after")]
        back = "not within the run" if one["recovered_s"] is None else f"{one['recovered_s']:.1f} s"
        lines.append(
            f"| {one['change']} | {one['seconds']:.1f} s | {one['before'][0]:.0f} IOPS | {one['dip']:.0%} | {back} "
            f"| {one['after'][0]:.0f} IOPS | {one['gain']:.2f} | {held[0]} | {held[1]} "
            f"| {'nothing' if one['verified'] else 'YES'} of {one['written']} writes |"
        )
    return lines


if __name__ == "__main__":
    try:
        sys.exit(main())
    except StrataError as e:
        with suppress(BrokenPipeError):
            print(e.render(), file=sys.stderr)
        sys.exit(e.exit_code)
