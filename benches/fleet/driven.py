"""The lab's stacks of several nodes, each diagnosed twice: its layers driven from their own nodes, and from one host.

    python benches/fleet/driven.py OUT [STACK…]       as root; writes OUT/STACK-nodes.json and OUT/STACK-host.json

The two are of the same lab, one after the other. Prints a row for each layer and what each run said.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

from strata_lab.down import down
from strata_lab.up import up

STACKS = {"mirrored": {"engine": "btrfs"}, "cluster-volume": {}, "vm-disks": {"disks": "1"}}
BUDGET = "30s"
"""For further rounds and experiments: the two ways are compared, and a lab is up for both."""
KEYS = re.compile(r'^scheduler(_netns)? = ".*"\n', re.MULTILINE)


def diagnosed(stack: Path, out: Path) -> tuple[dict[str, Any], float]:
    """The document, and how long it took."""
    argv = [sys.executable, "-m", "strata", "diagnose", str(stack), "--json", "--progress", "none", "--budget", BUDGET]
    argv += ["--store", f"sqlite:///{out.with_suffix('.db')}"]
    began = time.monotonic()
    done = subprocess.run(argv, capture_output=True, text=True, check=False, stdin=subprocess.DEVNULL)
    took = time.monotonic() - began
    if done.returncode not in (0, 4):
        raise SystemExit(f"{stack}: {done.stderr}")
    out.write_text(done.stdout)
    document: dict[str, Any] = json.loads(done.stdout)
    return document, took


def said(document: dict[str, Any]) -> str:
    """Its verdict."""
    verdict = document["verdict"]
    return f"{verdict['kind']}: {verdict['layer']}, {verdict['cause']} ({verdict['confidence']:.2f})"


def rates(document: dict[str, Any]) -> dict[str, dict[str, float]]:
    """IOPS by layer and workload."""
    found: dict[str, dict[str, float]] = {}
    for cell in document["cells"]:
        found.setdefault(cell["layer"], {})[cell["workload_key"]] = cell["iops"]["value"]
    return found


def both(name: str, folder: Path) -> None:
    """One stack both ways."""
    began = time.monotonic()
    lab = up(name, f"d{name.replace('-', '')[:8]}", STACKS[name], nodes=True)
    print(f"\n{name}: up with {len(lab.nodes)} nodes in {time.monotonic() - began:.0f} s", flush=True)
    try:
        own = lab.data / "stack.toml"
        host = lab.data / "host.toml"
        host.write_text(KEYS.sub("", own.read_text()))
        driven, took_nodes = diagnosed(own, folder / f"{name}-nodes.json")
        single, took_host = diagnosed(host, folder / f"{name}-host.json")
    finally:
        down(lab)
    print(f"  from the nodes ({took_nodes:.0f} s): {said(driven)}")
    print(f"  from one host  ({took_host:.0f} s): {said(single)}")
    here, there = rates(driven), rates(single)
    for layer in there:
        shared = [k for k in there[layer] if k in here.get(layer, {})]
        ratio = sorted(here[layer][k] / there[layer][k] for k in shared if there[layer][k])
        middle = ratio[len(ratio) // 2] if ratio else float("nan")
        spread = f"{ratio[0]:.2f}–{ratio[-1]:.2f}" if ratio else ""
        print(f"  {layer:<28} {len(shared)} cells, IOPS nodes/host: median {middle:.2f} ({spread})")


if __name__ == "__main__":
    to = Path(sys.argv[1])
    to.mkdir(parents=True, exist_ok=True)
    for stack_name in sys.argv[2:] or STACKS:
        both(stack_name, to)
