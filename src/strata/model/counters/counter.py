"""What a counter is: declared once, read by probes, analysis, rules and reports alike."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from functools import cached_property
from typing import Any

from strata.model.series import SeriesKind

NODE = "node"
"""The label of whatever was read of a named node; this machine has none."""


class Scope(StrEnum):
    """What a counter is of; `LABELS` are what tells one such thing from another of the same node."""

    MACHINE = "machine"
    NODE = "node"
    PROCESS = "process"
    PROCESSOR = "processor"
    MEMORY_NODE = "memory node"
    DEVICE = "device"
    MEMBER = "member of a device"
    FILE_SYSTEM = "file system"
    MOUNT = "mount"
    INTERFACE = "interface"
    QUEUE = "queueing discipline"
    CONNECTION = "connection"
    GROUP = "control group"
    SERVICE = "server"
    CLOCK = "clock"


LABELS: Mapping[Scope, tuple[str, ...]] = {
    Scope.MACHINE: (),
    Scope.NODE: (),
    Scope.PROCESS: ("process",),
    Scope.PROCESSOR: ("cpu",),
    Scope.MEMORY_NODE: ("numa",),
    Scope.DEVICE: ("device",),
    Scope.MEMBER: ("device", "member"),
    Scope.FILE_SYSTEM: ("path",),
    Scope.MOUNT: ("mount",),
    Scope.INTERFACE: ("interface",),
    Scope.QUEUE: ("interface", "discipline", "handle"),
    Scope.CONNECTION: ("peer", "end", "connection"),
    Scope.GROUP: ("cgroup",),
    Scope.SERVICE: (),
    Scope.CLOCK: ("clock",),
}


class Over(StrEnum):
    """How the values of several things become one."""

    SUM = "sum"
    MAX = "max"
    MEAN = "mean"
    NONE = "none"


@dataclass(frozen=True, eq=False)
class Counter:
    """One counter: what its series are called, what they count, of what, and in which words a person reads it.

    ``parts``: labels whose values add up to the whole (the two directions of a card), with the values that are known,
    none where they are open. ``aspects``: labels whose values are different things, which are never added (memory
    that is free and memory that is dirty). ``also``: labels that only some have. ``whole``: a label and the value under
    which the sum over its things stands beside them. ``nested``: things that share this label count the same, one
    inside the other: the largest stands for them. ``source``: where its probe finds it, where the probe asks this.
    """

    name: str
    unit: str
    kind: SeriesKind
    scope: Scope
    words: str
    over: Over = Over.SUM
    parts: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    aspects: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    also: tuple[str, ...] = ()
    whole: tuple[str, str] | None = None
    nested: str | None = None
    source: Any = None

    @cached_property
    def labels(self) -> tuple[str, ...]:
        """Every label that each of its series has, but for the node."""
        return (*LABELS[self.scope], *self.parts, *self.aspects)

    @cached_property
    def known(self) -> frozenset[str]:
        """Every label that a series of it may have."""
        return frozenset((NODE, *self.also, *self.labels))


class Family:
    """Counters with one first word and one scope, and whatever else they have in common (fields of `Counter`)."""

    def __init__(self, first: str, scope: Scope, **alike: Any) -> None:
        self._first, self._scope, self._alike = first, scope, alike

    def grows(self, name: str, unit: str, words: str, **own: Any) -> Counter:
        """One that only grows; ``own``: what it has not in common with the others."""
        return self._made(name, unit, SeriesKind.COUNTER, words, own)

    def stands(self, name: str, unit: str, words: str, **own: Any) -> Counter:
        """A gauge: read as it stands."""
        return self._made(name, unit, SeriesKind.GAUGE, words, own)

    def _made(self, name: str, unit: str, kind: SeriesKind, words: str, own: dict[str, Any]) -> Counter:
        return Counter(f"{self._first}{name}", unit, kind, self._scope, words, **{**self._alike, **own})
