"""Modelled disks as block devices: a lab disk in a process of its own, and loop devices on it."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from pathlib import Path

from strata.errors import UsageError
from strata.lab import disks
from strata.lab.lab import Lab
from strata.lab.parts.disk import DiskControl
from strata.lab.undo import mounted

MODELS = {
    "flash": "c=4 svc=1000",
    "fast": "c=16 svc=100",
    "hdd": "c=1 seek=8000 settle=1000 rpm=7200 bw=60 ahead=1MiB",
    "member": "c=1 svc=1000",
    "none": "",
}
"""Words of the model by the name an option has for them. ``none``: as fast as the machine is."""


@dataclass(frozen=True)
class Medium:
    """One disk of the lab: ``device`` is a loop device on it, ``control`` changes the model and tells the truth."""

    name: str
    device: str
    control: DiskControl


def model_of(word: str) -> str:
    """The model an option names. Raises `UsageError` naming the known ones."""
    if word not in MODELS:
        raise UsageError("there is no medium", repr(word), "", f"choose one of: {', '.join(MODELS)}")
    return MODELS[word]


def medium(lab: Lab, name: str, size: int, model: str = "") -> Medium:
    """A disk in memory with that model; the lab's fact ``medium`` names its directory for injections.

    A stack is built on a disk without a model, which it gets by `DiskControl.set` when everything on it is written.
    """
    directory = lab.dir(f"media/{name}")
    lab.undo("mount", path=str(directory))
    words = [sys.executable, "-m", "strata.lab.parts.disk", str(directory), "--size", str(size), "--model", model]
    lab.run(None, words, name=f"medium-{name}", wait_for=lambda: mounted(str(directory)))
    control = DiskControl(directory)
    control.wait()
    lab.fact("medium", name=name, path=str(directory))
    return Medium(name, attach(lab, control), control)


def attach(lab: Lab, control: DiskControl) -> str:
    """One more loop device on the same disk: what another node sees of it."""
    return disks.attach(lab, control.disk)


def control(lab: Lab, name: str) -> DiskControl:
    """The disk of that name. Raises `UsageError` naming those there are."""
    found = lab.last_fact("medium", name=name)
    if found is None:
        known = ", ".join(str(f["name"]) for f in lab.facts("medium")) or "none"
        raise UsageError("there is no medium", repr(name), f"in the lab {lab.name}", f"media: {known}")
    return DiskControl(Path(str(found["path"])))
