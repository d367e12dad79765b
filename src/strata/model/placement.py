"""Where the load's threads run."""

from __future__ import annotations

import re

from strata.errors import UsageError
from strata.model.base import Value
from strata.model.workload_options import CPU_HIGHEST

_PART = re.compile(r"(\d{1,4})(?:-(\d{1,4}))?")


class Placement(Value):
    """Thread n on the n-th of ``cpus`` (in turn), or on all CPUs of the n-th of ``nodes`` with its memory.

    Both empty: wherever the scheduler puts them.
    """

    cpus: tuple[int, ...] = ()
    nodes: tuple[int, ...] = ()

    @property
    def job(self) -> dict[str, list[int]]:
        """Its keys in the engine's job."""
        return ({"pin_cpus": list(self.cpus)} if self.cpus else {}) | (
            {"pin_nodes": list(self.nodes)} if self.nodes else {}
        )


def parse_placement(cpus: str | None, nodes: str | None) -> Placement:
    """From the kernel's lists, as ``0,2-3``. Raises `UsageError`."""
    if cpus is not None and nodes is not None:
        raise UsageError("cannot use both --cpus and", "--numa-node", "", "give only one of them")
    return Placement(cpus=_list("--cpus", cpus), nodes=_list("--numa-node", nodes))


def _list(option: str, text: str | None) -> tuple[int, ...]:
    if text is None:
        return ()
    found: list[int] = []
    for part in text.split(","):
        match = _PART.fullmatch(part.strip())
        first, last = (int(match[1]), int(match[2] or match[1])) if match else (1, 0)
        if not first <= last <= CPU_HIGHEST:
            raise UsageError(f"cannot use {option}", text, f"{part!r} is not a number or range", "for example: 0,2-3")
        found += range(first, last + 1)
    return tuple(dict.fromkeys(found))
