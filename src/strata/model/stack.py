"""The ordered path of an I/O: nodes, layers, and which layer is held against which."""

from __future__ import annotations

from typing import Any

from pydantic import (
    Field,
    ModelWrapValidatorHandler,
    PrivateAttr,
    SecretStr,
    ValidationError,
    field_validator,
    model_validator,
)

from strata import parsing
from strata.errors import UsageError
from strata.model import smb_uri
from strata.model.base import Value
from strata.model.endpoint import Endpoint
from strata.model.toml_words import line_of, outer_line, problems, unknown
from strata.text import secrets


class Node(Value):
    """A machine; ``owner`` marks the coordinator, the one that has the disk.

    ``netns``: path of a network namespace of this machine that stands for the node, as a lab makes them. Connections
    to the endpoints of its layers are made from there; files and devices are the same from everywhere.
    ``smb_conf``: configuration file of the node's Samba server, whose own times are then read beside each measurement.
    ``counters``: address of the node's counters as OpenMetrics text, e.g. of a node_exporter.
    """

    name: str
    owner: bool = False
    netns: str | None = None
    smb_conf: str | None = Field(default=None, exclude_if=lambda path: path is None)
    counters: str | None = Field(default=None, exclude_if=lambda url: url is None)

    @field_validator("counters")
    @classmethod
    def _without_a_secret(cls, url: str | None) -> str | None:
        if url is not None and secrets.spans(url):
            secrets.know(url)
            raise ValueError("its counters are read without a password: leave it out of the address")
        return url


class Expect(Value):
    """What this layer may cost over the layer below, as a share of its IOPS (0.05 = five percent).

    ``source`` says where the allowance comes from; it is printed beside the verdict.
    """

    overhead_max: float | None = Field(default=None, ge=0, lt=1)
    source: str | None = None


class Layer(Value):
    """One station at which I/O can be issued. ``above`` names the layers below it that it is compared with.

    A password in ``endpoint`` is taken out of it and kept beside it while this value lives: it is saved nowhere.
    """

    name: str
    endpoint: str
    node: str | None = None
    above: tuple[str, ...] = ()
    expect: Expect = Expect()
    _password: SecretStr | None = PrivateAttr(default=None)

    @model_validator(mode="wrap")
    @classmethod
    def _without_password(cls, given: Any, handler: ModelWrapValidatorHandler[Layer]) -> Layer:
        endpoint = given.get("endpoint") if isinstance(given, dict) else None
        if not isinstance(endpoint, str):
            return handler(given)
        bare, password = smb_uri.split(endpoint)
        secrets.know(endpoint)
        made = handler({**given, "endpoint": bare})
        if password is not None:
            made._password = SecretStr(password)
        return made

    @property
    def target(self) -> Endpoint:
        """The parsed endpoint. Raises `UsageError`."""
        found = Endpoint.parse(self.endpoint)
        return found if self._password is None else found.with_password(self._password.get_secret_value())

    def with_password(self, password: str | None) -> Layer:
        """The same layer and this password for its endpoint."""
        made = self.model_copy()
        made._password = None if password is None else SecretStr(password)
        return made


class Stack(Value):
    """Layers from the medium upward. All reach the same data."""

    name: str
    nodes: tuple[Node, ...] = ()
    layers: tuple[Layer, ...]

    @model_validator(mode="after")
    def _sound(self) -> Stack:
        problems = []
        seen: set[str] = set()
        nodes = {n.name for n in self.nodes}
        for layer in self.layers:
            if layer.name in seen:
                problems.append(f"layer {layer.name!r} is named twice")
            for below in layer.above:
                if below not in seen:
                    before = f" ({', '.join(sorted(seen)) or 'there is none'})"
                    problems.append(f"layer {layer.name!r} is above {below!r}, which is not a layer before it{before}")
            if layer.node is not None and layer.node not in nodes:
                problems.append(f"layer {layer.name!r} is on node {layer.node!r}, which is not declared")
            seen.add(layer.name)
        if not self.layers:
            problems.append("no layer")
        if problems:
            raise ValueError("; ".join(problems))
        return self

    def layer(self, name: str) -> Layer:
        """The layer of that name. Raises `KeyError`."""
        for layer in self.layers:
            if layer.name == name:
                return layer
        raise KeyError(name)

    def endpoint_of(self, layer: Layer) -> Endpoint:
        """The layer's endpoint as its node reaches it. Raises `UsageError`."""
        netns = next((n.netns for n in self.nodes if n.name == layer.node), None)
        return layer.target if netns is None else layer.target.seen_from(netns)

    @property
    def pairs(self) -> tuple[tuple[Layer, Layer], ...]:
        """(layer, layer below) for every comparison the stack asks for."""
        return tuple((layer, self.layer(b)) for layer in self.layers for b in layer.above)

    @classmethod
    def from_toml(cls, text: str, where: str = "stack file") -> Stack:
        """Reads the stack file. Raises `UsageError` with every problem found."""
        try:
            raw = parsing.toml_of(text)
        except parsing.Malformed as e:
            raise UsageError("cannot read the stack file", where, str(e)) from e
        head = raw.get("stack", {})
        if not isinstance(head, dict):
            raise UsageError(
                "cannot use the stack file", where, "stack is not a table", 'begin with [stack] and name = "…"'
            )
        found = [f"line {outer_line(text, k)}: {unknown(k, _OUTER)}" for k in raw if k not in _OUTER]
        found += [f"[stack]: {unknown(key, ('name',))}" for key in ("nodes", "layers") if key in head]
        try:
            stack = cls.model_validate({**head, "nodes": raw.get("node", []), "layers": raw.get("layer", [])})
        except ValidationError as e:
            found += problems(e, text, cls, _TABLES)
        else:
            found += [p for n, layer in enumerate(stack.layers) if (p := _endpoint_problem(text, n, layer)) is not None]
            if not found:
                return stack
        why = f"{len(found)} problem{'s' if len(found) > 1 else ''}"
        raise UsageError("cannot use the stack file", where, why, _GUIDE, tuple(found))


_OUTER = ("stack", "node", "layer")
_TABLES = {"": "[stack]", "nodes": "[[node]]", "layers": "[[layer]]"}
_GUIDE = "strata survey PATH --write new.toml drafts a whole one; docs/guide/stack-file.md has every key"


def _endpoint_problem(text: str, number: int, layer: Layer) -> str | None:
    try:
        _ = layer.target
    except UsageError as e:
        line = line_of(text, "[[layer]]", number, "endpoint")
        return f"[[layer]] {number + 1}, line {line or '?'}: endpoint {e.where}: {e.why}; {e.hint}".removesuffix("; ")
    return None
