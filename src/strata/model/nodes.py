"""Nodes of a cluster: what each one says of itself, how its clock stands to ours, and how one is lost."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field, StringConstraints

from strata.model.base import UnixNs, Value

NODE_NAME = r"[A-Za-z0-9][A-Za-z0-9._-]{0,62}"
"""What a node may be called: it becomes part of a path, of a certificate and of every line about it."""
NODE_NAME_SAID = "a node's name has letters, digits, '.', '_' and '-', at most 63"

NodeName = Annotated[str, StringConstraints(pattern=rf"^{NODE_NAME}$")]
_Text = Annotated[str, StringConstraints(max_length=300)]


class ClockOffset(Value):
    """How the monotonic clock of a node stands to ours: its time is ours plus ``offset_ns``, give or take ``bound_ns``.

    ``bound_ns`` is half of the least ``round_trip_ns``: the answer cannot have been read earlier or later than that.
    """

    offset_ns: int
    bound_ns: int = Field(ge=0)
    round_trip_ns: int = Field(ge=0)

    def there(self, here_ns: int) -> int:
        """The instant of our monotonic clock, on the clock of the node."""
        return here_ns + self.offset_ns


class NodeInfo(Value):
    """A node as it described itself when it joined. ``absent``: which counters it cannot read, and why."""

    name: NodeName
    address: _Text
    version: _Text
    host: _Text
    pid: int
    cores: int
    root: bool
    absent: Annotated[tuple[_Text, ...], Field(max_length=64)] = ()
    joined_unix_ns: UnixNs


class NodeClock(Value):
    """A node, and its clock or why that could not be read."""

    node: NodeInfo
    clock: ClockOffset | None = None
    problem: str = ""


class NodeList(Value):
    """What `strata node list --json` prints."""

    schema_version: str = Field(default="strata.nodes/1", alias="schema")
    scheduler: str
    nodes: tuple[NodeClock, ...]


class Lost(Value):
    """What stands in the place of a node's result: the node, and why there is none."""

    node: str
    why: str


class TrustedName(Value):
    """The certificate of one name. ``problems``: why it cannot be used, nothing where it can.

    ``revoked_unix_ns``: since when it does not count any more.
    """

    name: str
    folder: str
    expires_unix_ns: UnixNs | None = None
    revoked_unix_ns: UnixNs | None = None
    problems: tuple[str, ...] = ()


class TrustState(Value):
    """What `strata node trust` made or found."""

    schema_version: str = Field(default="strata.trust/1", alias="schema")
    folder: str
    names: tuple[TrustedName, ...]

    @property
    def fine(self) -> bool:
        """Whether all of them can be used, but for those that were revoked: that was wanted."""
        return not any(name.problems and name.revoked_unix_ns is None for name in self.names)

    @property
    def revoked(self) -> bool:
        """Whether one of them was."""
        return any(name.revoked_unix_ns is not None for name in self.names)
