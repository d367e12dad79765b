"""Passwords of SMB shares that nobody gave: the user is asked where one sits at a terminal."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, MutableMapping
from pathlib import Path
from urllib.parse import parse_qs, unquote, urlsplit

from strata.errors import StrataError
from strata.model.smb_uri import SCHEME
from strata.text import output, secrets

PASSWORD, FILE = "STRATA_SMB_PASSWORD", "STRATA_SMB_CREDENTIALS"
"""Variables that the compiled client reads where an address has neither a password nor ``?credentials=``."""

WARNING = (
    "warning: a password on the command line can be read by every user of this machine and stays in the shell's "
    f"history; use {PASSWORD}, ?credentials=FILE (smb), ~/.pgpass or PGPASSWORD (postgresql) instead"
)


def warn(words: Iterable[str]) -> None:
    """Says so where a secret stands on the command line."""
    if any(map(secrets.spans, words)):
        output.note(WARNING)


def ask(words: Iterable[str], environ: MutableMapping[str, str] = os.environ) -> None:
    """Asks for the password of the shares that ``words`` of a command line name, or stack files among them.

    Only where a user is named and neither the address nor the environment says where the password is. It is kept in
    this process's environment, from which the client and other parts of Strata take it.
    """
    if environ.get(PASSWORD) is not None or environ.get(FILE) is not None:
        return
    if accounts := sorted({account for uri in _addresses(words) if (account := _account(uri)) is not None}):
        given = output.asked(f"Password of {', '.join(accounts)}: ")
        if given is not None:
            environ[PASSWORD] = given


def _addresses(words: Iterable[str]) -> Iterator[str]:
    from strata.app.stacks import read_stack

    for word in words:
        if SCHEME in word:
            yield word[word.index(SCHEME) :]
        elif word.endswith(".toml") and Path(word).is_file():
            try:
                yield from (x.endpoint for x in read_stack(Path(word)).layers if x.target.password is None)
            except StrataError:
                continue  # it is no stack file, or will be refused as one


def _account(uri: str) -> str | None:
    """``user@host`` where a password is missing."""
    if not uri.startswith(SCHEME) or secrets.user_info(uri) is not None:
        return None
    try:
        parts = urlsplit(uri)
        missing = parts.username is not None and "credentials" not in parse_qs(parts.query)
    except ValueError:
        return None
    return f"{unquote(parts.username or '')}@{parts.hostname}" if missing else None
