"""What a field of a survey is when two machines are compared with each other: its words, its unit, its part."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class FieldRole(StrEnum):
    """What a difference of the field says of two machines that should be alike."""

    FACT = "fact"
    """They are not alike."""
    NAME = "name"
    """Nothing: a serial, a device's number, a host's name."""
    STATE = "state"
    """Nothing yet: it changes from look to look."""
    DERIVED = "derived"
    """What other fields say already."""


class Unit(StrEnum):
    """What the number is of."""

    PLAIN = ""
    BYTES = "bytes"
    BITS = "bit/s"
    CELSIUS = "°C"
    SHARE = "share"


@dataclass(frozen=True)
class Fact:
    """Stands in the type of a field (``Annotated``). Without a label the field's own name is shown. ``states``: keys of
    a table whose values are states, though the field is none; ``inline``: the parts of the field are shown without its
    name."""

    label: str = ""
    unit: Unit = Unit.PLAIN
    role: FieldRole = FieldRole.FACT
    states: tuple[str, ...] = ()
    inline: bool = False


BYTES = Fact(unit=Unit.BYTES)
NAME = Fact(role=FieldRole.NAME)
STATE = Fact(role=FieldRole.STATE)
DERIVED = Fact(role=FieldRole.DERIVED)
