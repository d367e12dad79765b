"""A command of Strata, carried out in the process of the test.

A dozen commands in processes of their own are a dozen times the loading of what they need.
"""

from __future__ import annotations

from typing import NamedTuple

from typer.testing import CliRunner

from strata.cli.main import app
from strata.errors import StrataError


class Done(NamedTuple):
    """What it ended with, and what it printed."""

    returncode: int
    stdout: str
    stderr: str


def printed(*words: object) -> tuple[int, str]:
    """(exit code, stdout). Raises the error that ended it."""
    done = _done(*words)
    return done.returncode, done.stdout


def said(*words: object) -> tuple[int, str]:
    """(exit code, stdout or the error that ended it)."""
    done = strata(*words)
    return done.returncode, done.stdout or done.stderr


def strata(*words: object) -> Done:
    """All of it; an error as it is printed."""
    try:
        return _done(*words)
    except StrataError as e:
        return Done(e.exit_code, "", e.render())


def _done(*words: object) -> Done:
    done = CliRunner().invoke(app, list(map(str, words)), standalone_mode=False)
    if done.exception is not None and not isinstance(done.exception, SystemExit):
        raise done.exception
    return Done(int(done.return_value or 0), done.stdout, done.stderr)
