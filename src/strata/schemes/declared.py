"""What Python alone knows of an endpoint scheme: how it is written, and what others ask about it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass


def no_problem(_names: Sequence[str], _query: Mapping[str, Sequence[str]]) -> str | None:
    """Of an address that only its client can judge further."""
    return None


@dataclass(frozen=True)
class Number:
    """A number in a header, in network order: ``scale`` times its value, up to a multiple of ``pad``."""

    at: int
    bytes: int
    mask: int = (1 << 64) - 1
    scale: int = 1
    pad: int = 1


@dataclass(frozen=True)
class Message:
    """A kind of header on a connection, for a trace that matches replies to questions without reading any data.

    ``role``: question, more (of a question that was begun), part (of a reply), reply (its last part), other. ``holds``:
    (where, bytes[, which bits of them]) in hex, by which it is known; the first kind that fits counts. ``header``: how
    many bytes the rest is about. ``tag``: what a reply repeats of its question. The message is ``plus`` bytes and those
    of ``length`` long, from the header's first byte on. ``brings``: what the reply to a question holds, where the reply
    does not say it; such replies are ``brought``. ``deed``: read, write or sync.
    """

    role: str
    holds: tuple[tuple[int, str] | tuple[int, str, str], ...]
    header: int
    plus: int
    tag: Number | None = None
    length: tuple[Number, ...] = ()
    brings: Number | None = None
    brought: bool = False
    deed: str = ""

    def row(self) -> dict[str, object]:
        """As the tracer takes it: each byte with the bits that matter."""
        held: list[tuple[int, int, int]] = []
        for at, value, *masks in self.holds:
            wanted = bytes.fromhex(value)
            bits = bytes.fromhex(masks[0]) if masks else b"\xff" * len(wanted)
            held += [(at + n, mask, byte) for n, (mask, byte) in enumerate(zip(bits, wanted, strict=True))]
        deeds = {"": 0, "read": 1, "write": 2, "sync": 3}
        return asdict(self) | {"holds": held, "deed": deeds[self.deed]}


@dataclass(frozen=True)
class Scheme:
    """One scheme. What its client does is in ``crates/strata-remote``; a cluster's own library stands in for that.

    ``forms``: how an endpoint is written, by the word before the colon. ``problem``: what is wrong with the names of
    its path and its options; None when they are sound.
    """

    name: str
    forms: Mapping[str, str]
    file: bool
    """It holds files, which can be made and removed; else units, which are there and are overwritten as a whole."""
    caches: str
    """What cannot be emptied or warmed from here, before "cannot be made cold from here"."""
    hint: str = ""
    """What to check when it cannot be reached; empty where its client says so itself."""
    port: int | None = None
    """Where an address without a port leads; None where there is none to watch."""
    problem: Callable[[Sequence[str], Mapping[str, Sequence[str]]], str | None] = no_problem
    login: bool = False
    """An address may hold a user and a password, which the client is told apart from it."""
    secrets: tuple[str, ...] = ()
    """Variables of the environment that hold a secret of its client."""
    whole: bool = False
    """A file is made with all its data at once, and none of it can be changed later."""
    unbuffered: bool = False
    """Its client can ask the server to go past its cache."""
    library: bool = False
    """A cluster's own client library reaches it, inside fio; the native engine does not."""
    verified: bool = True
    """`strata verify` speaks it."""
    named: bool = True
    """It is taken for an address also where the slashes are missing, so that a secret in it is found."""
    fio: str | None = None
    """fio's I/O engine that takes the address as it is (``--uri``)."""
    not_fio: str = ""
    """Why fio is not run over it."""
    messages: tuple[Message, ...] = ()
    """What its headers look like on a connection over TCP; none: a trace does not read them."""
    figure: str | None = "figures/data"
    """What an address names behind the host, for figures that somebody printed; None: no figures are of it."""
