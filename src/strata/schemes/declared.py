"""What Python alone knows of an endpoint scheme: how it is written, and what others ask about it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass


def no_problem(_names: Sequence[str], _query: Mapping[str, Sequence[str]]) -> str | None:
    """Of an address that only its client can judge further."""
    return None


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
    figure: str | None = "figures/data"
    """What an address names behind the host, for figures that somebody printed; None: no figures are of it."""
