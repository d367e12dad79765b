"""One group: the sweep with its predictions, the figures before, each change, the figures after."""

from __future__ import annotations

import json
import os
import tempfile
import time
import tomllib
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from statistics import fmean
from typing import Any

from scalebench.change import Group, Reach
from strata.errors import RunFailed
from strata.host import process, programs
from strata_lab.client import inside
from strata_lab.down import down
from strata_lab.lab import Lab
from strata_lab.up import up

BUDGET, RUNTIME, RAMP = "50s", "2s", "400ms"
FILLS = "2500ms"
"""Ramp of a working set: the cache has to fill."""
Record = dict[str, Any]
Say = Callable[[str], None]


def judged(group: Group, store: Path, say: Say) -> Record:
    """Builds the lab, sweeps, changes, measures, removes it, and asks the sweep in the store; the record."""
    begun = time.monotonic()
    lab = up(group.stack, f"bench{os.getpid() % 100_000}", group.options, say=say)
    try:
        group.prepare(lab)
        with tempfile.TemporaryDirectory(prefix="strata-bench-scale-") as home:
            made = _changed(group, lab, Path(home) / "stack.toml", store, say)
    finally:
        down(lab, lambda _: None)
    return asked(made, store) | {"seconds": round(time.monotonic() - begun)}


def _changed(group: Group, lab: Lab, stack: Path, store: Path, say: Say) -> Record:
    """The sweep, the figures before, every change and the figures after it."""
    begun = time.monotonic()
    stack.write_text(_stack(group, lab))
    more = ("--iodepth", str(group.depth)) if group.over != "iodepth" else ()
    words = ("scale", str(stack), "--over", group.over, "--points", group.points, *group.words, *more)
    run = _strata((*words, "--budget", BUDGET, "--no-open-loop", "--store", str(store)), lab)["run"]
    say(f"· {group.name}: swept in {time.monotonic() - begun:.0f} s")
    places = list(dict.fromkeys(c.at for c in group.changes))
    # All twice: what cannot be undone at once, all else before and after each change, so that drift is in both.
    befores = {at: [_rate(group, lab, at, group.reach) for _ in range(1 if group.undone else 2)] for at in places}
    afters = []
    for change in group.changes:
        change.do(lab)
        name = change.asked.partition("=")[0]
        at = change.asked.split("=")[1].split("@")[0] if name == group.over else change.at
        afters.append([_rate(group, lab, at, change.reach or group.reach) for _ in range(2)])
        change.undo(lab)
        if group.undone:
            befores[change.at].append(_rate(group, lab, change.at, group.reach))
        say(f"  {change.asked}: {_words(befores[change.at])} -> {_words(afters[-1])}")
    changes = []
    for change, after in zip(group.changes, afters, strict=True):
        before, then = fmean(befores[change.at]), fmean(after)
        spread = max(*(abs(b / before - 1) for b in befores[change.at]), *(abs(a / then - 1) for a in after))
        changes.append({
            "asked": change.asked, "before": round(before, 2), "after": round(then, 2), "spread": round(spread, 4),
        })  # fmt: skip
    return {
        "record": 1, "group": group.name, "stack": group.stack, "options": dict(group.options),
        "layer": group.layers[-1], "workload": " ".join(group.words), "over": group.over, "run": run,
        "changes": changes,
    }  # fmt: skip


def _words(rates: Sequence[float]) -> str:
    return ", ".join(f"{rate:.0f}" for rate in rates)


def asked(record: Record, store: Path) -> Record:
    """The record with what the sweep in the store predicts of each change."""
    words = [word for change in record["changes"] for word in ("--what-if", change["asked"])]
    found = _strata(("scale", "--run", record["run"], *words, "--store", str(store)), None)
    layer = record["layer"]
    told = {w["asked"]: w for w in found["what_if"] if w["layer"] == layer}
    changes = []
    for change in record["changes"]:
        one = told[change["asked"]]
        gain = one["gain"] and {k: round(one["gain"][k], 4) for k in ("value", "low", "high")}
        changes.append(change | {"predicted": gain, "refused": one["refused"], "rests_on": one["rests_on"]})
    curve = next(c for c in found["curves"] if c["layer"] == layer)
    points = [[p["value"], round(p["iops"]["value"], 1)] for p in found["points"] if p["layer"] == layer]
    return record | {"points": points, "form": curve["form"], "changes": changes}


def _stack(group: Group, lab: Lab) -> str:
    """The lab's stack with the group's layers alone, each on the one before."""
    text = (lab.data / "stack.toml").read_text()
    head, layers = text.partition("[[layer]]")[0], {x["name"]: x for x in tomllib.loads(text)["layer"]}
    below: list[str] = []
    for name in group.layers:
        one = layers[name]
        last = name == group.layers[-1]
        endpoint = _reached(one["endpoint"], group.reach) if last else one["endpoint"]
        head += f'\n[[layer]]\nname = "{name}"\nnode = "{one["node"]}"\nendpoint = "{endpoint}"\n'
        head += f"on = {json.dumps(below)}\n" if below else ""
        head += "".join(f"expect.{key} = {value}\n" for key, value in group.expect.items()) if last else ""
        below = [name]
    return head


def _reached(uri: str, reach: Reach) -> str:
    return uri.partition("?")[0] + (f"?{reach.query}" if reach.query else "")


def _rate(group: Group, lab: Lab, at: str, reach: Reach) -> float:
    """IOPS of the judged layer, measured as a user would, from its node."""
    layers = tomllib.loads((lab.data / "stack.toml").read_text())["layer"]
    layer = next(x for x in layers if x["name"] == group.layers[-1])
    uris = [_reached(layer["endpoint"], reach)]
    if reach.disks > 1:
        fact = lab.last_fact("disks")
        assert fact is not None, "a stack of virtual disks"
        uris = fact["uris"][: reach.disks]
    # Several clients do not begin at once: what they do before all of them run is not counted.
    ramp = FILLS if group.over == "range" else RAMP
    times = ("--runtime", "5s", "--ramp-time", "2s") if len(uris) > 1 else ("--runtime", RUNTIME, "--ramp-time", ramp)
    words: list[str] = [*group.words, *times]
    if group.over == "range":
        words += ["--range", f"0:{at}", "--iodepth", str(group.depth)]
    elif len(uris) > 1:
        words += ["--iodepth", str(int(at) // len(uris))]
    else:
        words += [f"--{group.over}", at]
    # One export at a time is driven: of several each by a client of its own, all at once.
    with ThreadPoolExecutor(len(uris)) as pool:
        found = list(pool.map(lambda uri: _strata(["measure", uri, *words], lab, layer.get("node")), uris))
    return sum(float(one["summary"]["iops"]["value"]) for one in found)


def _strata(words: Sequence[str], lab: Lab | None, node: str | None = None) -> dict[str, Any]:
    progress = () if "--run" in words else ("--progress", "none")
    line = programs.python("strata", *words, "--json", *progress)
    if node is not None and lab is not None:
        line = inside(lab, lab.node(node), line)
    done = process.run(line, 240.0, lab.environment if lab is not None else {})
    if done.code:
        raise RunFailed("cannot measure", " ".join(words[:2]), done.words.decode("utf-8", "replace").strip()[-800:])
    found: dict[str, Any] = json.loads(done.out)
    return found


def named(group: Group) -> str:
    """The name of its record."""
    return "".join(c if c.isalnum() else "-" for c in group.name.replace(", ", "-"))
