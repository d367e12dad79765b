"""The demos of `strata diagnose --demo`: modelled stacks with a known limit, one folder with a `truth.toml` each.

It says what is injected, and what must and must not be named.
"""

from __future__ import annotations

from importlib import resources

from pydantic import Field

from strata import parsing
from strata.errors import UsageError, choices
from strata.host import shipped
from strata.model.base import Value
from strata.model.finding import Cause, VerdictKind

DEMO_PREFIX = "demo-"
"""The stack of a demo is called by it and the scenario's name."""


class Service(Value):
    """The modelled medium behind every layer: `servers` requests at once, `service_time_us` each."""

    servers: int
    service_time_us: float


class Wire(Value):
    """What is injected between client and remote end. Absent means: nothing."""

    bandwidth_mib_s: float | None = None
    round_trip_us: float = 0.0
    iops_cap: float | None = None


class Truth(Value):
    """What the diagnosis must say. ``kinds`` are the verdicts that are right; ``never`` must not be named."""

    kinds: tuple[VerdictKind, ...] = Field(min_length=1)
    layer: str | None
    cause: Cause | None
    never: tuple[Cause, ...] = ()


class Scenario(Value):
    """A two-layer stack over one modelled medium: the medium alone, and a share of it over a shaped wire."""

    name: str
    title: str
    mechanism: str
    medium: Service
    wire: Wire
    truth: Truth


def scenario(name: str) -> Scenario:
    """Raises `UsageError` naming the known ones."""
    if name not in shipped.demos():
        raise UsageError("there is no demo", repr(name), "", choices(name, shipped.demos()))
    text = (resources.files(__name__) / name / "truth.toml").read_text(encoding="utf-8")
    return Scenario.model_validate({"name": name, **parsing.toml_of(text)})


def demo_of(stack_name: str) -> str | None:
    """The scenario whose demo has a stack of that name; None for everybody else's stacks, whatever they begin with."""
    name = stack_name.removeprefix(DEMO_PREFIX)
    return name if name != stack_name and name in shipped.demos() else None
