"""What is secret in an address or a word of a command line, and text without it. Declared here, for every scheme.

In ``scheme://user:secret@host/…`` it is what stands between the first colon of the user and the last ``@`` before the
host; in options (``?password=…``, ``password=…``, ``--password …``) the value behind a name that `SECRET_NAME` finds.
A word is looked at whole, so that a secret may hold blanks, slashes and ``@``.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import islice, pairwise
from typing import NamedTuple
from urllib.parse import quote, unquote

from strata.schemes import SCHEMES

HIDDEN = "***"
SECRET_NAME = re.compile(r"password|passwd|passphrase|(?<![a-z])pass$|pwd|secret|token|[?&:;]key\b", re.IGNORECASE)
"""Names of options whose value is a secret. ``passfile``, ``credentials`` and ``sslkey`` name files."""
VARIABLES = ("PGPASSWORD", *(name for scheme in SCHEMES.values() for name in scheme.secrets))
"""Variables of the environment that hold a secret by themselves."""
STORE_VARIABLE = "STRATA_STORE"

_SCHEME = re.compile(r"(?<![\w+.-])([a-z][\w+.-]*):(/{0,2})", re.IGNORECASE)
_WITH_USERS = frozenset({"postgres", "postgresql", "postgresql+psycopg"}).union(
    s.name for s in SCHEMES.values() if s.named
)
"""Schemes whose secret is looked for although the slashes are missing."""
_PATHS = frozenset({"file", "block", "null", "sqlite"})
_SERVER = re.compile(r"(\[[^\]]*\]|[^:\[\]]*)(:\d*)?")
_OPTION = re.compile(r"""(?:(?<=[?&;,:\s'"(])|^)([\w.%-]{1,64})\s{0,3}=\s{0,3}""")
"""Of a URL or a connection string, or by itself. Bounded, as all that is looked for here: text may be foreign."""
_QUOTED = re.compile(r"'(?:[^'\\]|\\.)*'")
_NEXT_OPTION = re.compile(r"&|\s\w{1,64}\s{0,3}=")
_MOST_SCHEMES = 16
_WORD = re.compile(r"\S+")
_WITH_OPTION = re.compile(r"\s--\w")
_SHORTEST = 4
"""Shorter secrets are not looked for in text: half of all sentences would hold them."""

_known: set[str] = set()


class Span(NamedTuple):
    """Where a secret stands in a word."""

    start: int
    end: int


def user_info(word: str) -> Span | None:
    """Where the secret of a user stands in a word that holds an address, empty ones too."""
    for found in islice(filter(_may_have_users, _SCHEME.finditer(word)), _MOST_SCHEMES):
        at = found.end()
        server = re.split(r"[/?#]", word[at:], maxsplit=1)[0]
        who, sign, _ = server.rpartition("@")
        if not sign and not _SERVER.fullmatch(server):
            # No host and port: a secret with a slash, or one whose @ was forgotten.
            who = word[at:].rpartition("@")[0] or word[at:]
        user, colon, secret = who.partition(":")
        if colon:
            start = at + len(user) + 1
            return Span(start, start + len(secret))
    return None


def _may_have_users(found: re.Match[str]) -> bool:
    scheme = found[1].lower()
    return scheme not in _PATHS and (found[2] == "//" or scheme in _WITH_USERS)


def spans(word: str) -> list[Span]:
    """Where the secrets of a word stand, in order, none of them empty."""
    found = [span] if (span := user_info(word)) is not None else []
    at = found[0].end if found else 0
    while (option := _OPTION.search(word, at)) is not None:
        at = option.end()
        if SECRET_NAME.search(unquote(word[max(option.start() - 1, 0) : option.end(1)])):
            at = _end_of_value(word, option.end())
            found.append(Span(option.end(), at))
    return [span for span in found if span.end > span.start and word[span.start : span.end] != HIDDEN]


def _end_of_value(word: str, start: int) -> int:
    ends = _QUOTED.match(word, start)
    if ends is not None:
        return ends.end()
    after = _NEXT_OPTION.search(word, start)
    return len(word) if after is None else after.start()


def in_variable(name: str) -> bool:
    """Whether a variable of that name may hold a secret. Whoever needs it is given it by name."""
    return name == STORE_VARIABLE or SECRET_NAME.search(name) is not None


def hidden(word: str) -> str:
    """A word, such as an address, with ``***`` for each of its secrets."""
    parts, kept = [], 0
    for start, end in spans(word):
        parts += [word[kept:start], HIDDEN]
        kept = end
    return "".join([*parts, word[kept:]])


def hidden_line(words: Iterable[str]) -> tuple[str, ...]:
    """A command line as it may be kept and shown."""
    made: list[str] = []
    for word in words:
        made.append(HIDDEN if made and _announces(made[-1]) else hidden_command(word))
    return tuple(made)


def hidden_command(word: str) -> str:
    """A word that may be a command line by itself (``--make 'attach --password …'``), as it may be kept and shown."""
    inner = _command_in(word)
    shown = hidden_line(inner)
    return shlex.join(shown) if shown != tuple(inner) else hidden(word)


def _announces(word: str) -> bool:
    return word.startswith("--") and "=" not in word and SECRET_NAME.search(word) is not None


def _command_in(word: str) -> list[str]:
    """Its words; nothing where it is no command with options."""
    if _WITH_OPTION.search(word) is None:
        return []
    try:
        inner = shlex.split(word)
    except ValueError:
        inner = word.split()
    return inner if len(inner) > 1 else []


def _alone(words: Sequence[str]) -> Iterator[str]:
    """The secrets that are words by themselves, behind the option that announces them."""
    for before, word in pairwise(("", *words)):
        if _announces(before):
            yield word
        else:
            yield from _alone(_command_in(word))


def know(*words: str) -> None:
    """From now on the secrets of these words are taken out of every text that `redacted` makes."""
    for word in words:
        know_secret(*(word[start:end] for start, end in spans(word)))


def know_secret(*secrets: str) -> None:
    """The same for secrets that stand alone."""
    for secret in secrets:
        for form in (secret, unquote(secret), quote(unquote(secret), safe=""), repr(secret)[1:-1]):
            if len(form) >= _SHORTEST and form != HIDDEN:
                _known.add(form)


def know_process(words: Sequence[str], environ: Mapping[str, str]) -> None:
    """What this process was given: its command line and its environment."""
    know(*words, environ.get(STORE_VARIABLE, ""))
    know_secret(*_alone(words))
    know_secret(*(environ.get(name, "") for name in VARIABLES))


def redacted(text: str) -> str:
    """Running text without secrets: those that are known, and what looks like one in an address."""
    for secret in sorted(_known, key=len, reverse=True):
        text = text.replace(secret, HIDDEN)
    # A sentence may name a form: nbd://host:port/export holds no secret.
    return _WORD.sub(lambda found: hidden(found[0]) if _tells(found[0]) else found[0], text)


def _tells(word: str) -> bool:
    return ("@" in word and ":" in word) or ("=" in word and SECRET_NAME.search(word) is not None)
