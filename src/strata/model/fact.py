"""What a field of a survey is when two machines are held against each other: its words, its unit, its part."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class Role(StrEnum):
    """What a difference of the field says of two machines that should be alike."""

    FACT = "fact"
    """They are not alike."""
    NAME = "name"
    """Nothing: a serial, a device's number, a host's name."""
    STATE = "state"
    """Nothing yet: it changes from look to look."""


class Unit(StrEnum):
    """What the number is of."""

    PLAIN = ""
    BYTES = "bytes"
    BITS = "bit/s"
    CELSIUS = "°C"
    SHARE = "share"


@dataclass(frozen=True)
class Fact:
    """Stands in the type of a field (``Annotated``). Without a label the field's own name is shown."""

    label: str = ""
    unit: Unit = Unit.PLAIN
    role: Role = Role.FACT


BYTES = Fact(unit=Unit.BYTES)
NAME = Fact(role=Role.NAME)
STATE = Fact(role=Role.STATE)
