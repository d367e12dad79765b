"""The ordered path of an I/O: nodes, layers, what stands on what, and which layer is compared with which."""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Callable, Collection, Iterator, Sequence
from typing import Annotated, Any

from pydantic import (
    AfterValidator,
    BeforeValidator,
    Field,
    ModelWrapValidatorHandler,
    SecretStr,
    ValidationError,
    ValidationInfo,
    model_validator,
)

from strata import parsing
from strata.errors import PROBLEMS_SHOWN, UsageError
from strata.model import smb_uri
from strata.model.base import Value, WithPassword, sparse
from strata.model.endpoint import Endpoint, EndpointKind, own_export
from strata.model.expect import Expect
from strata.model.toml_words import line_of, outer_line, problems, unknown
from strata.text import secrets

LAYERS_MOST = 64
"""Layers, and nodes, of a stack: the longest that anybody described has nine."""
NAME_MOST = 256
"""Characters of the name of a layer or a node."""
NAMED = 8
"""Of the names there are, how many a complaint repeats."""
Name = Annotated[str, Field(max_length=NAME_MOST)]
SOURCES_MOST = 64
"""Runs and files that one layer's measurement is made of."""
Source = Annotated[str, Field(min_length=1, max_length=4096)]
Sources = Annotated[
    tuple[Source, ...],
    Field(max_length=SOURCES_MOST),
    BeforeValidator(lambda given: (given,) if isinstance(given, str) else given),
]
"""One name, or a list of them."""


def _as_words(given: Any) -> Any:
    """``("direct=1",)`` of the table ``{ direct = true }``."""
    return tuple(parsing.words_of(given)) if isinstance(given, dict) else given


Settings = Annotated[tuple[Source, ...], Field(max_length=SOURCES_MOST), BeforeValidator(_as_words)]
"""What a file does not state, as words ``NAME=VALUE``; in a stack file a table."""


def unreached(name: str) -> str:
    """The endpoint of a layer that nobody here reaches: its figures were brought."""
    slug = re.sub(r"[^a-z0-9]+", "-", name.lower()).strip("-")[:64] or "layer"
    return f"file:/imported/{slug}/{slug}"


def _without_a_secret(url: str | None, info: ValidationInfo) -> str | None:
    """An address beside which no password is kept, so that it would be saved with it."""
    if url is not None and secrets.spans(url):
        secrets.know(url)
        raise ValueError(f"passwords are not supported for {info.field_name}: leave it out of the address")
    return url


Bare = Annotated[str | None, AfterValidator(_without_a_secret)]
SOCKET_MOST = 107
"""Bytes of the path of a unix socket, as Linux takes them."""


def _of_a_socket(path: str | None) -> str | None:
    """The path of a unix socket, from whatever directory it is read."""
    if path is None:
        return None
    if not path.startswith("/"):
        raise ValueError("the path of a socket begins with /")
    if not path.isprintable():
        raise ValueError("the path of a socket has printable characters alone")
    if len(path.encode()) > SOCKET_MOST:
        raise ValueError(f"the path of a socket has at most {SOCKET_MOST} bytes")
    return path


Socket = Annotated[str | None, AfterValidator(_of_a_socket)]


class Node(Value):
    """A machine; ``owner`` marks the coordinator, the one that has the disk.

    ``netns``: path of a network namespace of this machine that stands for the node, as a lab makes them. Connections
    to the endpoints of its layers are made from there; files and devices are the same from everywhere.
    ``smb_conf``: configuration file of the node's Samba server, whose own times are then read beside each measurement.
    ``counters``: address of the node's counters as OpenMetrics text, e.g. of a node_exporter.
    """

    name: Name
    owner: bool = False
    netns: str | None = None
    smb_conf: str | None = sparse(None)
    counters: Bare = sparse(None)


class Layer(WithPassword):
    """One station at which I/O can be issued.

    ``on`` names what its requests go through next (none: it is a ground; several: paths or members), ``against`` what
    it is compared with: what it stands on, unless it says otherwise.
    ``run`` (of the store) and ``measured`` (files of whatever tool `strata import` reads) name its measurement where it
    was made at another time or place; of those that hold several layers or targets, ``of`` is the pattern of the names
    that are meant, and ``anchor`` of those that were repeated in every stage. ``set``: what a file does not state.
    Such a layer needs no endpoint.
    A password in ``endpoint`` is taken out of it and kept beside it while this value lives: it is saved nowhere.
    ``stats``: the statistics socket of the target of Strata's own that serves the layer, on the node ``server``; None:
    where the layer is driven.
    """

    name: Name
    endpoint: str
    node: Name | None = None
    stats: Socket = sparse(None)
    server: Name | None = sparse(None)
    on: tuple[Name, ...] = Field(default=(), max_length=LAYERS_MOST)
    against: tuple[Name, ...] = Field(default_factory=lambda given: given.get("on", ()), max_length=LAYERS_MOST)
    expect: Expect = Expect()
    run: Sources = sparse(())
    measured: Sources = sparse(())
    of: Name | None = sparse(None)
    anchor: Name | None = sparse(None)
    set: Settings = sparse(())
    prepare: str = sparse("", max_length=2000)

    @model_validator(mode="wrap")
    @classmethod
    def _without_password(cls, given: Any, handler: ModelWrapValidatorHandler[Layer]) -> Layer:
        brought = isinstance(given, dict) and (given.get("run") or given.get("measured"))
        if brought and "endpoint" not in given and isinstance(given.get("name"), str):
            given = {**given, "endpoint": unreached(given["name"])}
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
        return Endpoint.parse(self.endpoint).with_password(self.password)

    @property
    def brought(self) -> bool:
        """Whether its measurement was made before, by a run or a file that it names."""
        return bool(self.run or self.measured)


class Stack(Value):
    """Layers from the medium upward. All reach the same data.

    ``stages``: the layers cannot be there at once, so each is measured by itself, and its newest run in the store is
    its measurement where it names none. ``anchor``: an endpoint that is measured in every stage, so that what changed
    between them is known. ``may_differ``: what the environments of two stages may differ in, and be compared
    nevertheless. ``scheduler``: each layer is driven from its own node, by the process that has joined there under the
    node's name; ``scheduler_netns``: the network namespace of this machine from which it is reached.
    """

    name: str
    stages: bool = sparse(False)
    anchor: Bare = sparse(None)
    may_differ: tuple[Name, ...] = sparse((), max_length=LAYERS_MOST)
    scheduler: Annotated[str | None, Field(max_length=300)] = sparse(None)
    scheduler_netns: Annotated[str | None, Field(max_length=4096)] = sparse(None)
    nodes: tuple[Node, ...] = Field(default=(), max_length=LAYERS_MOST)
    layers: tuple[Layer, ...] = Field(max_length=LAYERS_MOST)

    @model_validator(mode="before")
    @classmethod
    def _of_earlier(cls, given: Any) -> Any:
        """Layers of before there were two keys, in files and in stored runs, had one: ``above``."""
        layers = given.get("layers") if isinstance(given, dict) else None
        if not isinstance(layers, (list, tuple)) or len(layers) > LAYERS_MOST:
            return given
        order = [layer.get("name") for layer in layers if isinstance(layer, dict)]
        return {**given, "layers": [_in_two_keys(layer, order) for layer in layers]}

    @model_validator(mode="after")
    def _sound(self) -> Stack:
        problems: list[str] = []
        seen: set[str] = set()
        nodes = {n.name for n in self.nodes}
        for layer in self.layers:
            if layer.name in seen:
                problems.append(f"layer {layer.name!r} is defined twice")
            problems += _below_problems(layer, seen)
            if layer.node is not None and layer.node not in nodes:
                problems.append(f"layer {layer.name!r} is on node {layer.node!r}, which is not declared")
            if layer.server is not None and layer.server not in nodes:
                problems.append(f"the server of layer {layer.name!r} is on {layer.server!r}, which is not declared")
            if layer.server is not None and layer.stats is None:
                problems.append(f"layer {layer.name!r} has server, the node of its stats, and no stats")
            seen.add(layer.name)
        if not self.layers:
            problems.append("no layer")
        if problems:
            raise ValueError("; ".join(problems))
        return self

    @property
    def staged(self) -> bool:
        """Whether any of it was measured at another time."""
        return self.stages or any(layer.brought for layer in self.layers)

    def layer(self, name: str) -> Layer:
        """The layer of that name. Raises `KeyError`."""
        return {layer.name: layer for layer in self.layers}[name]

    def here(self, hostname: str) -> str | None:
        """The node that this machine is: the one of its name, else the owner; None where no node says so."""
        names = [n.name for n in self.nodes if n.name == hostname] + [n.name for n in self.nodes if n.owner]
        return next(iter(names), None)

    def stats_from(self, layer: Layer, hostname: str) -> tuple[Node | None, str] | None:
        """The statistics socket of the layer's server, where the machine of that name reads it, and the node that
        stands for a namespace of it; None where there is none, or where it is on another machine."""
        if layer.stats is None:
            return None
        node = next((n for n in self.nodes if n.name == layer.server), None)
        if node is not None and node.netns is not None:
            return node, layer.stats
        return (None, layer.stats) if node is None or node.name == self.here(hostname) else None

    def endpoint_of(self, layer: Layer) -> Endpoint:
        """The layer's endpoint as its node reaches it. Raises `UsageError`."""
        netns = next((n.netns for n in self.nodes if n.name == layer.node), None)
        return layer.target if netns is None else layer.target.seen_from(netns)

    @property
    def pairs(self) -> tuple[tuple[Layer, Layer], ...]:
        """(layer, what it is compared with) for every comparison the stack asks for."""
        return tuple((layer, self.layer(b)) for layer in self.layers for b in layer.against)

    def stands_on(self, layer: Layer) -> tuple[Layer, ...]:
        """Everything that the layer's requests go through, nearest first, each once."""
        there = {one.name: one for one in self.layers}
        found: dict[str, Layer] = {}
        ahead = deque(layer.on)
        while ahead:
            one = ahead.popleft()
            if one not in found:
                found[one] = there[one]
                ahead += there[one].on
        return tuple(found.values())

    def may_be_faster(self, layer: Layer, below: Layer) -> bool:
        """Whether the stack gives a reason for which ``layer`` may give more than ``below``.

        It does not stand on it; or, on the way down to it, a layer says so (``expect.faster``), stands on several
        (paths, members), or keeps more connections than ``below`` does.
        """
        way = [layer, *self.stands_on(layer)]
        if below not in way[1:]:
            return True
        above: set[str] = set()
        # A stack names what a layer stands on before the layer.
        for one in self.layers:
            if below.name in one.on or not above.isdisjoint(one.on):
                above.add(one.name)
        between = [one for one in way if one.name in above]
        return any(
            one.expect.faster is not None or len(one.on) > 1 or one.target.connections > below.target.connections
            for one in between
        )

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
        odd = [key for key in raw if key not in _OUTER]
        found = [f"line {outer_line(text, k)}: {unknown(k, _OUTER)}" for k in odd[:PROBLEMS_SHOWN]]
        found += [f"there is no key {k!r}" for k in odd[PROBLEMS_SHOWN:]]
        found += [f"[stack]: {unknown(key, ('name',))}" for key in ("nodes", "layers") if key in head]
        try:
            stack = cls.model_validate({**head, "nodes": raw.get("node", []), "layers": raw.get("layer", [])})
        except ValidationError as e:
            found += problems(e, text, cls, _TABLES)
        else:
            found += [p for n, layer in enumerate(stack.layers) if (p := _endpoint_problem(text, n, layer)) is not None]
            found += [] if found else [p for n, x in enumerate(stack.layers) if (p := _stats_problem(text, n, x))]
            found += [] if (p := _anchor_problem(stack)) is None else [p]
            if not found:
                return stack
        raise UsageError("cannot use the stack file", where, "", _GUIDE, tuple(found))


def _in_two_keys(layer: Any, order: Sequence[Any]) -> Any:
    """``above`` meant both: it is compared with all of them, and stands on the one that comes first in the stack.

    That is the lowest, and all reach the same data: a request that goes through any of them ends there, while one
    further up may have been named for a comparison only.
    """
    names = layer.get("above") if isinstance(layer, dict) else None
    if not isinstance(names, (list, tuple)) or len(names) > LAYERS_MOST or "on" in layer or "against" in layer:
        return layer
    rest = {key: value for key, value in layer.items() if key != "above"}
    known = [name for name in order if name in names]
    return {**rest, "on": known[:1] or list(names), "against": list(names)}


def _below_problems(layer: Layer, before: Collection[str]) -> Iterator[str]:
    more = [f"and {len(before) - NAMED} more"] if len(before) > NAMED else []
    there = f" ({', '.join([*sorted(before)[:NAMED], *more]) or 'there is none'})"
    for what, names in (("stands on", layer.on), ("is compared with", layer.against)):
        if what == "is compared with" and names == layer.on:
            continue
        for n, name in enumerate(names):
            if name not in before:
                yield f"layer {layer.name!r} {what} {name!r}, which is not an earlier layer{there}"
            elif name in names[:n]:
                yield f"layer {layer.name!r} {what} {name!r} twice"


_OUTER = ("stack", "node", "layer")
_TABLES = {"": "[stack]", "nodes": "[[node]]", "layers": "[[layer]]"}
_GUIDE = "to draft one: strata survey PATH --write new.toml; docs/guide/stack-file.md lists every key"


def _endpoint_problem(text: str, number: int, layer: Layer) -> str | None:
    line = line_of(text, "[[layer]]", number, "endpoint")
    return _refused(lambda: layer.target, f"[[layer]] {number + 1}, line {line or '?'}: endpoint")


def _stats_problem(text: str, number: int, layer: Layer) -> str | None:
    if layer.stats is None or (layer.target.kind is EndpointKind.NBD and own_export(layer.endpoint) is None):
        return None
    why = "Strata starts this server itself, and reads its statistics"
    if layer.target.kind is not EndpointKind.NBD:
        why = f"only a target of Strata's own tells its statistics (nbd://), and this is {layer.endpoint}"
    line = line_of(text, "[[layer]]", number, "stats")
    return f"[[layer]] {number + 1}, line {line or '?'}: stats {layer.stats}: {why}"


def _anchor_problem(stack: Stack) -> str | None:
    anchor = stack.anchor
    return None if anchor is None else _refused(lambda: Endpoint.parse(anchor), "[stack]: anchor")


def _refused(parse: Callable[[], Endpoint], place: str) -> str | None:
    try:
        parse()
    except UsageError as e:
        return f"{place} {e.where}: {e.why}; {e.hint}".removesuffix("; ")
    return None
