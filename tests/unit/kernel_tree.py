"""Writes /proc and /sys of machines that are not at hand, in the form the kernel gives them."""

from __future__ import annotations

from pathlib import Path

from strata.host.proc import Sys


class Tree:
    """A kernel's files below a temporary directory."""

    def __init__(self, root: Path) -> None:
        self.root = root

    @property
    def sys(self) -> Sys:
        return Sys(self.root)

    def file(self, path: str, text: str | int) -> None:
        at = self.root / path.lstrip("/")
        at.parent.mkdir(parents=True, exist_ok=True)
        at.write_text(f"{text}\n")

    def mounts(self, *lines: str) -> None:
        self.file("/proc/self/mountinfo", "\n".join(lines))

    def device(self, name: str, devno: str, place: str = "virtual/block", **facts: str | int) -> None:
        """``facts``: sysfs files, ``__`` for a slash; those of the queue as ``queue__scheduler``."""
        home = f"/sys/devices/{place}/{name}"
        self.file(f"{home}/dev", devno)
        self.file(f"{home}/size", 2097152)
        self.file(f"{home}/ro", 0)
        for key, value in facts.items():
            self.file(f"{home}/{key.replace('__', '/')}", value)
        for link in (f"sys/class/block/{name}", f"sys/dev/block/{devno}"):
            at = self.root / link
            at.parent.mkdir(parents=True, exist_ok=True)
            at.symlink_to(f"../../devices/{place}/{name}")
        for kind in ("slaves", "holders"):
            (self.root / home.lstrip("/") / kind).mkdir(parents=True, exist_ok=True)

    def disk(self, name: str, devno: str, place: str, *, rotational: int = 0, **facts: str | int) -> None:
        """A device with the queue files every disk has."""
        queue: dict[str, str | int] = {
            "queue__rotational": rotational,
            "queue__scheduler": "[none] mq-deadline",
            "queue__logical_block_size": 512,
            "queue__physical_block_size": 4096,
            "queue__optimal_io_size": 0,
            "queue__max_sectors_kb": 1280,
            "queue__nr_requests": 64,
            "queue__write_cache": "write back",
            "alignment_offset": 0,
        }
        self.device(name, devno, place, **{**queue, **facts})

    def partition(self, name: str, devno: str, disk: str, place: str, start: int = 2048) -> None:
        self.device(name, devno, f"{place}/{disk}", partition=1, start=start, alignment_offset=0)

    def stands_on(self, upper: str, *lower: str) -> None:
        for name in lower:
            for at, other in ((f"{upper}/slaves/{name}", name), (f"{name}/holders/{upper}", upper)):
                link = self.root / "sys/class/block" / at
                link.symlink_to((self.root / "sys/class/block" / other).resolve())
