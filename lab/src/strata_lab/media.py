"""Modelled disks as block devices: a lab disk in a process of its own, and loop devices on it."""

from __future__ import annotations

from dataclasses import dataclass

from strata.errors import UsageError
from strata_lab import disks
from strata_lab.lab import Lab
from strata_lab.parts.disk import DiskControl

MODELS = {
    "flash": "c=4 svc=1000",
    "fast": "c=16 svc=100",
    "hdd": "c=1 seek=8000 settle=1000 rpm=7200 bw=20 ahead=4MiB",
    "member": "c=4 svc=2000",
    "slow": "c=1 svc=2500",
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


def medium(lab: Lab, name: str, size: int) -> Medium:
    """A disk in memory, as yet without a model: it gets one by `DiskControl.set` when everything on it is written."""
    made = disks.modelled(lab, name, size, "")
    return Medium(name, disks.attach(lab, made.disk), made)
