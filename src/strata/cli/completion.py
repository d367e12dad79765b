"""What a shell may offer for the word that is being typed.

Typer's scripts ask for it: bash, zsh, fish and PowerShell. A plain path is left to the shell, which knows how to quote
one; a word with ``file:`` or ``block:`` before the path is not known to it. Nothing is said of what goes wrong: a
completion that cannot look somewhere has nothing to offer.
"""

from __future__ import annotations

import contextlib
import io
import os
import re
from collections.abc import Callable, Iterable, Mapping
from typing import Annotated, Literal

import typer

from strata.app import names
from strata.errors import StrataError
from strata.text.output import out

Offer = list[str | tuple[str, str]]
Shell = Literal["bash", "zsh", "fish", "powershell"]

_FIRST_WORD_IN_ZSH = """
# zsh loads this file as the function `_strata` when the first word is completed: that one is answered, too.
if [ "$funcstack[1]" = "_strata" ]; then
  _strata_completion "$@"
fi
"""

PLAIN = re.compile(r"[\w./:@%+=,~-]+", re.ASCII)
"""Words that are offered. Typer's script for zsh evaluates what it is given: a name that somebody else chose, of a file
or in a store, must not hold what a shell obeys."""


def offer(found: Iterable[str] | Mapping[str, str]) -> Offer:
    """Of these what a shell can be given."""
    if isinstance(found, Mapping):
        return [pair for pair in found.items() if PLAIN.fullmatch(pair[0])]
    return [word for word in found if PLAIN.fullmatch(word)]


def quietly(look: Callable[[], Iterable[str] | Mapping[str, str]]) -> Offer:
    """Of what ``look`` finds; nothing where it cannot look."""
    try:
        with contextlib.redirect_stderr(io.StringIO()):
            return offer(look())
    except (StrataError, OSError):
        return []


def _offering(look: Callable[[], Iterable[str]]) -> Callable[[], Offer]:
    return lambda: quietly(look)


demos, matrices = map(_offering, (names.demos, names.matrices))
profiles = _offering(names.known_profiles)
"""Strata's and the user's own; a file is left to the shell."""


def runs(ctx: typer.Context) -> Offer:
    """The newest in the store that is named, or in the usual one."""
    return quietly(lambda: names.runs(ctx.params.get("store")))


def findings(ctx: typer.Context) -> Offer:
    """Of the run that is named before."""
    return quietly(lambda: names.findings(ctx.params.get("store"), ctx.params.get("run_id")))


def baselines(ctx: typer.Context) -> Offer:
    """Those in the store that is named, or in the usual one."""
    return quietly(lambda: names.baselines(ctx.params.get("store")))


def endpoints(ctx: typer.Context, incomplete: str) -> Offer:
    """Paths behind ``file:`` and ``block:``; with --resume, runs."""
    if ctx.params.get("resume"):
        return runs(ctx)
    scheme, colon, begun = incomplete.partition(":")
    if not colon or scheme not in ("file", "block"):
        return []
    return offer(f"{scheme}:{path}" for path in names.paths(begun, devices=scheme == "block"))


def completions(shell: Annotated[Shell, typer.Argument(help="bash, zsh, fish or powershell.")]) -> None:
    """Print the completion script of a shell. Packages install it for bash, zsh and fish.

    The script asks strata itself what can follow, so it stays valid when strata is updated.
    """
    out(script(shell))


def script(shell: Shell) -> str:
    """What a shell loads in order to ask us; its file is the same for every version of Strata."""
    from typer.completion import get_completion_script  # type: ignore[attr-defined]

    text = str(get_completion_script(prog_name="strata", complete_var="_STRATA_COMPLETE", shell=shell)).strip()
    return f"{text}\n{_FIRST_WORD_IN_ZSH if shell == 'zsh' else ''}".rstrip()


def in_bash(complete: Callable[[], object]) -> None:
    """Runs Typer's completion for bash with words that are whole.

    bash breaks words at ``:`` and ``=``, asks for the last piece, and puts the answer there: ``file:mnt/`` arrives as
    three words. They are put together, and what stands before the last piece is taken off the answers. A directory is
    left to bash, which would write a blank behind ours.
    """
    words = os.environ.get("COMP_WORDS", "").split("\n")
    at = int(os.environ.get("COMP_CWORD", "0"))
    whole, before = _whole(words[: at + 1])
    os.environ["COMP_WORDS"], os.environ["COMP_CWORD"] = "\n".join(whole), str(len(whole) - 1)
    said = io.StringIO()
    try:
        with contextlib.redirect_stdout(said):
            complete()
    finally:
        offered = said.getvalue().split()
        if offered and not any(word.endswith("/") for word in offered):
            out("\n".join(word.removeprefix(before) for word in offered))


def _whole(words: list[str]) -> tuple[list[str], str]:
    """The words with what was broken put together, and what of the last one bash does not replace."""
    whole: list[str] = []
    breaks = re.compile(r"[:=]+")
    before = ""
    for n, word in enumerate(words):
        broken = n > 0 and bool(word) and bool(breaks.fullmatch(word) or breaks.fullmatch(words[n - 1]))
        if broken and len(whole) > 1:
            before = whole[-1] + (word if breaks.fullmatch(word) else "")
            whole[-1] += word
        else:
            before = ""
            whole.append(word)
    option, equals, value = before.partition("=")
    return whole, value if equals and option.startswith("-") else before
